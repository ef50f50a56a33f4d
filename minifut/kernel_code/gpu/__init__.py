"""Segmented operations under the GPU schedule: an element or a lane per work-item.

`spread` says how work-items share the segments, `nest` makes nests of parallel loops,
`segred`, `segscan` and `seghist` are the two-stage forms with trees in local memory;
`group` is a segmap of groups: its code is in `group_code`, `group_folds` and
`group_hist`, and `group_builder` places barriers.
"""
