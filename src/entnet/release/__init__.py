"""The networks that come with the package: which runs they are, and the cards that say so."""
