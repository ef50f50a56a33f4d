"""Forward mode: statements with the tangents of what they compute."""
