"""Networks for the Children's Book Test, which read windows round ten candidates."""
