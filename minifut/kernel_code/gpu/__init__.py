"""Segmented operations under the GPU schedule: an element or a lane per work-item.

`work_distribution` assigns segments to work-items, `nest` launches nests of parallel
loops, `segred`, `segscan` and `seghist` are the two-stage forms with trees in local
memory; `group` is a segmap of groups: its code is in `group_code`, `group_reductions`
and `group_hist`, and `group_builder` places barriers.
"""
