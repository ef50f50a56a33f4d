"""What thresholds of versions are compared with, for programs and for their users."""

NEVER = 1 << 62
"""a threshold that no parallelism reaches"""
