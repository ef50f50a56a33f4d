"""Memory-bound primitives against a plain copy of the same bytes."""

# being written by the runtime engineer
