"""Networks that read processes: what happens to each participant in a sentence, and where it is then."""
