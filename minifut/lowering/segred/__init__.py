"""Reductions at the level of the grid.

cpu, chunk_reduction    a chunk for each work-item, its points in lanes
gpu                     lanes for each segment, trees in local memory
"""
