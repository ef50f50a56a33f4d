"""Rewriting by named rules: `rule` what a rule is, `strategy` where rules are tried,
`trace` the derivation, `examples` the executed docstrings."""
