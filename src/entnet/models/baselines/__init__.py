"""Systems without a memory that train on text: counts of words, language models."""
