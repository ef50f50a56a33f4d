"""Register tiles of CPU groups: planned, then emitted.

clamp_sizes       tile sizes clamped to the results, blocks balanced over cores
plan              all decisions for a group, a frozen `TilePlan` that prints
nan_free          minima and maxima whose accumulator is never a NaN
threads           emission of the threads of a group, and of loops around them
register_nests    emission of register nests, in vectors
transfers         tiles from and to memory, with full-tile guards
"""
