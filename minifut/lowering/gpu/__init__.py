"""What operations share under the GPU schedule: an element or a lane per work-item.

`work_distribution` assigns segments to work-items, `lane_groups` are the work-items
that share one.
"""
