"""Segmented scans under the GPU schedule."""

# being written by the GPU reductions engineer
