"""What operations share under the CPU schedule: groups of one work-item.

A work-item takes a chunk of the work and executes it as loops; what the operator
allows is done in lanes of vectors. `partition` says which elements a worker takes,
`reduction` and
`vector_operators` are the code of a chunk, `segment_blocks` vectorises across segments.
"""
