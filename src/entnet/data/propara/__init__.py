"""ProPara: paragraphs on processes, with the state of every participant after each sentence.

``process`` has the paragraphs and their states, ``files`` reads and writes the official files, ``spans``
finds the places that a paragraph names, ``document`` and ``sentence`` are the two official scores.
"""
