"""Histograms at the level of the grid.

histograms             bins, neutral elements and updates
cpu, subhistograms     copies of the bins for work-items
gpu                    bins in local or global memory, with atomics
"""
