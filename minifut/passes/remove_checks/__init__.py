"""What the facts of its place make superfluous: checks, branches, clamps, remainders.

    map (\\i -> if i > 0 then check (i - 1 < n); xs[i - 1] else 0) (iota n)
    →  map (\\i -> if i > 0 then xs[i - 1] else 0) (iota n)

`driver` walks a program and collects `minifut.analysis.facts`; `rules` query them.
"""
