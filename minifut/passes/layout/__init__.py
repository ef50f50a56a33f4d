"""In which order arrays are laid out in memory, and which dimension of a kernel runs
fastest:
`strategies` and `accesses` of one kernel, `costs` of a schedule, `plan` for the whole
host program, `rules` that carry it out, `driver` the pass."""
