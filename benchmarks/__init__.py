"""How fast this package trains, beside plain PyTorch and beside what the machine can do."""
