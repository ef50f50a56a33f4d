"""Accumulators: arrays that parallel updates go to.

common     what both schedules do; erase: accumulators as effects
cpu        private copies, added up
gpu        atomic updates
"""
