"""Histograms under the CPU schedule."""

# being written by the GPU reductions engineer
