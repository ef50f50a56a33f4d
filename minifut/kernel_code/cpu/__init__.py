"""Segmented operations under the CPU schedule: work-groups of one work-item.

partition                   segments split into chunks, distributed over groups
nest                        nests of parallel loops
segred, segscan, seghist    one operation each: choose a strategy and emit it
chunk_reduction             the loop over a chunk, with many accumulators
segment_blocks              vectorisation across segments
chained_scan, vector_scan   scans of long segments, of ranges in vectors
subhistograms               replicas of the bins of a chunk
group, group_threads        a work-group as one work-item, its threads as loops
tiles                       register tiles of a group: planned, then emitted
packing                     copies of a group: their layouts and loops
transposition, streaming    copies that transpose; non-temporal stores
"""
