"""Futhark text to checked syntax, and from there to the core by elaboration."""
