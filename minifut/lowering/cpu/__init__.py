"""What operations share under the CPU schedule: groups of one work-item.

A work-item takes a chunk of the work and goes through it as loops; what the operator
allows is done in lanes of vectors. `partition` says who takes what, `reduction` and
`vector_operators` are the code of a chunk, `segment_blocks` vectorises across segments.
"""
