"""Loops write their results where an update would put them; see `driver`."""
