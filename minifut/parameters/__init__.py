"""Parameters that shape the performance of a program: their values, their files, and
the decisions between versions that they guide."""
