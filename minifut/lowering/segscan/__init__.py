"""Scans at the level of the grid.

cpu, chained_scan, vector_scan    in one pass, chunk after chunk, in vectors
gpu                               partial results, then a scan of these
look_back                         or in one pass, on GPUs where groups may wait
"""
