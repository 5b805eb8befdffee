"""The Children's Book Test: its format, its questions rebuilt from tagged books, windows for networks."""
