"""Entry points over more data than one machine holds.

    plan = plan_of(prog.total, "n")      which SOACs run on chunks, and how results of
    print(plan)                          chunks are combined

`chunked`     which arrays are in chunks, from their types.
`locality`   which statements do on each chunk what they do on the whole.
`folds`      reductions and histograms, and how their results are combined.
`filters`    filters, recognised in what they became.
`phases`     which statement runs where and when.
`functions`  the functions of a plan, as entry points of one program.
`planner`    all of these in order; `plan` is the result, frozen.
`execute`    runs a plan, on `on_dask`, `on_mpi` or whatever else can run functions;
             `arguments` says which arguments are cut, and where.
"""
