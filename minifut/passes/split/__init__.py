"""Index-set splitting: maps whose bodies select by position become pieces.

    map (\\i -> if i == 0 || i == n - 1 then a[i] else a[i - 1] + a[i + 1]) (iota n)

    →  let edges = scatter of the same body at 0 and n - 1
       in edges with [1:n - 1] = map (\\i -> a[i] + a[i + 2]) (iota (n - 2))

`nest` recognises nests of maps, `borders` finds how far from each end of a dimension
the conditions of the body are all decided, `split_map` is the rule, `driver` tries it
on every map of the host. Interior and borders write into one result: the `Update` of a
slice by a map is done without a copy (`analysis.destinations`).

Source: Griebl, Feautrier, Lengauer, Index set splitting (2000); Halide's partitioning
of loops into prologue, steady state and epilogue.
"""
