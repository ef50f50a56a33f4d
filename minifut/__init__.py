"""minifut."""
