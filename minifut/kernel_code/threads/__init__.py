"""Sequential code of a thread: core statements to KernelCode, in both schedules.

`builder` is the state, `code` and `control` have a rule per expression. Arrays whose
sizes only the thread knows lie in an `arena` or are `roaming`; what has constant sizes
may lie in named variables (`register_tiles`).
"""
