"""A second, smaller checker: it states what is to be proved from the text of a program alone, and asks two solvers."""
