"""Maps at the level of the grid: nests of parallel loops that write results.

points      the code of a point and where its results go
cpu, gpu    how points are shared by work-items
streaming   results around the caches of a CPU
"""
