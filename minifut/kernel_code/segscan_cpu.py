"""Segmented scans under the CPU schedule."""

# being written by the runtime engineer
