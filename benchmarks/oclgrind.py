"""Run programs under Oclgrind and report data races and accesses out of bounds."""

# being written by the GPU reductions engineer
