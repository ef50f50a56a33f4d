"""Histograms at the level of the grid.

histograms             bins, neutral elements and updates
cpu, subhistograms     copies of the bins for work-items
gpu, gpu_cells         bins in local or global memory, with atomics
"""
