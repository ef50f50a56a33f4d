"""Sequential code of a thread: core statements to KernelCode, in both schedules.

`builder` is the state, `code` and `control` lower each kind of expression. Arrays whose
sizes are known in the thread only are allocated in an `arena`; those whose sizes
change are
`relocatable_arrays`; arrays of constant sizes may be variables (`register_tiles`).
"""
