"""Random programs against all that must agree with them, for as long as one likes.

    python -m benchmarks.campaign FOLDER --passes 10000 --device 1500 --oclgrind 200
    python -m benchmarks.campaign FOLDER --passes 200 --seconds 300
    python -m benchmarks.campaign FOLDER --summary

A stage takes the seeds 0, 1, ... in turn. Each makes a program
(`tests/random_sources`), arguments for it, and a related program that must give the
same results (`tests/random_sources/relations`):

    passes      the interpreter runs the core after every pass of the pipeline and of
                both schedules, with random parameters; kernel code is verified after
                each of its passes, and C generated; no device
    device      the interpreter, the sequential backend, both schedules, every forced
                version, three sets of random tile sizes
    oclgrind    both schedules in a simulator that reports races, accesses out of bounds
                and reads of uninitialised memory

FOLDER has `state.jsonl`, a line for each seed and stage as it is done, by which a
campaign goes on where it was stopped; a line says `agrees` or what is wrong. A program
that disagrees is reduced, by the same check, to `FOLDER/found/STAGE-SEED.fut`.

`mutations` damages all kinds of files that are read, `faults` the caches and the
processes, `endurance` calls programs for long.
"""
