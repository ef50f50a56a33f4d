"""Operations at the level of groups, whose tiles are in the group's memory.

cpu, cpu_threads, cpu_results     a group is one work-item
gpu, gpu_builder, gpu_code, ..    work-items of a group, and barriers between them
"""
