"""Segmented operations under the CPU schedule: work-groups of one work-item.

A work-item takes a chunk of the work and goes through it as loops; what the operator
allows is done in lanes of vectors. `units` says who takes what, `nest` makes nests of
parallel loops, `segred`, `segscan` and `seghist` name the ways to do one operation and
choose; `group` is a whole work-group as one work-item, whose tiles lie in its memory.
"""
