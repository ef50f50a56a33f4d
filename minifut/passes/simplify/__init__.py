"""Small local rewrites, repeated a bounded number of times; see `simplify.driver`."""
