"""Numbers that shape performance: their values, their files, what they mean."""
