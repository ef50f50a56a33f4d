"""Reverse mode: a forward sweep that keeps what is needed, and a return sweep."""
