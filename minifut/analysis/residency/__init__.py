"""Residency: which arrays that the threads of a group make need no memory of the group.

uses            how names are used: mentions, reads of own elements, transfers
distributed     arrays of which each thread keeps its element in registers
accumulators    chains of arrays of tiles that are in registers and in the result
"""
