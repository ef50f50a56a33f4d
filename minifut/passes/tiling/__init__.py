"""Tiling: kernels that read the same elements at many points read them once.

`recognise` which nests gain, one file per rule that takes part, `composition` their
order, `versions` what chooses between tiled and untiled, `driver` the pass.
"""
