"""Updates of accumulators as what they really are: reductions, histograms, maps."""
