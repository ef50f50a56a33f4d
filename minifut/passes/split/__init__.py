"""Index-set splitting: maps and reductions that select by position become pieces.

    map (\\i -> if i == 0 || i == n - 1 then a[i] else a[i - 1] + a[i + 1]) (iota n)

    →  map (\\i -> if i >= 1 && i < n - 1 then a[i - 1] + a[i + 1]
                   else if i == 0 || i == n - 1 then a[i] else a[i - 1] + a[i + 1])

`nest` recognises nests of maps, `borders` finds how far from each end of a dimension
the conditions of the body are all decided, `split_map` is the rule, `driver` tries it
on every map of the host. The facts of the place then clear the body of the interior.
The CPU schedule gives each side of the branch a loop, or tests it once for each block
of a reduction (`kernel_passes.split_loop`); for the threads of a GPU it is one branch
in place of several.

Where points are parallel inside, a branch would hide that: such maps stay whole.

Source: Griebl, Feautrier, Lengauer, Index set splitting (2000); Halide's partitioning
of loops into prologue, steady state and epilogue.
"""
