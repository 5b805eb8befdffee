"""Networks that choose among the candidates of a question: the readers of the Children's Book Test."""
