"""The runtime: what a generated module needs to run, without the compiler.

It imports numpy, pyopencl, `minifut.errors`, `minifut.debug` and `minifut.cache`,
nothing else. A generated module describes a program by data and one host function per
entry point:

    from minifut.opencl import runtime as rt

    def main(run, n, xs, a):                    # sizes first, then the leaves
        kernels = run.kernels
        ys = run.allocate(4 * n)                # a Block, from the pool
        kernels[0](n, xs.buffer, ys.buffer, n, a)   # 1-d: enqueued, not waited for
        return ((ys, (n,)),)                    # a leaf: scalar, or (block, shape)

    program = rt.Program(
        name="axpy", schedule="cpu", prelude=PRELUDE,
        kernels=(rt.Kernel("main_map", ("buffer", "buffer", "i64", "f32"), TEXT, 64),),
        failures=(
            rt.Failure(("Index ", rt.Hole("i64"), " is wrong."), ("a.fut:3:4",)),),
        parameters=(rt.Parameter("main_tile", "tile_size", {"cpu": 64, "gpu": 16}),),
        entries=(rt.Entry("main", main, ("n",),
            parameters=(rt.Value("xs", "[]f32", (rt.EntryLeaf("f32", ("n",)),)),
                        rt.Value("a", "f32", (rt.EntryLeaf("f32"),))),
            results=(rt.Value("", "[]f32", (rt.EntryLeaf("f32", (None,)),)),)),),
    )
    instance = program.load(device=None, parameters={"main_tile": 32})
    ys = instance.main(xs, 2.0)                 # NumPy in, NumPy out

Host functions. `run` is a `Run` (run.py). Arrays are `Block`s, row-major from byte 0;
sizes, integers and bools are Python ints and bools, floats NumPy or Python floats.

* `run.kernels[i](points, *arguments)`: starts at least `points` work-items in groups
  of the kernel's `local` size; 0 starts nothing. Buffers are passed as `block.buffer`,
  scalars as they are, `run.local(nbytes)` for local memory. A tuple of points makes it
  2-d or 3-d; `kernels[i].of_group(group)(points, ..)` chooses the group size, for
  which the kernel is then built (WORK_ITEMS in its text).
* `run.allocate(nbytes)`: a block; when the last reference dies it goes back to the
  pool (so `del` early). Zero bytes are fine. All commands run in order, so a block may
  be let go as soon as its last use is enqueued.
* `run.copy(to, to_byte, source, source_byte, nbytes)`, `run.fill(block, byte, nbytes,
  pattern)`, `run.upload(numpy_array)` -> block.
* `run.read(block, byte, "i64")` waits, raises a failure if one is recorded, gives a
  scalar; `run.write(block, byte, "i64", value)` enqueues a scalar store.
* `run.iterations(n)` and `run.iterations_while(c, *passed_on)` are for loops whose
  iterations launch kernels and do nothing else that the device has to be done for.
* `run.fail(number, *values)` raises failure `number` (from 1) unless the device failed
  earlier; `run.check()` waits and raises what is recorded.
* `run.parameters[i]`: the value of tunable parameter i; `run.device.kind` ("cpu",
  "gpu"), `.cores`, `.local_memory`, `.group_size` (most work-items), `.name`.
* `run.trace(label, value)` prints to stderr. `program.constants(run)`, if given, runs
  once per load; what it returns is `run.constants`.

Kernels. Each takes `global int *failure` as its **first** parameter, which the launcher
passes; `Kernel.types` describes the others: "buffer", "local" or a scalar's name
("bool" is a `uchar`, "f16" a `float`). A kernel tests `failure[0]` first and returns
if it is not 0. To fail with number k and values (longs; floats as the bits of a double)
it calls `minifut_fail0(failure, k)`, `minifut_fail1(failure, k, a)`, ... of
`FAILURE_TEXT`, which precedes the program's prelude, and ends safely. Arrays are
aligned to their element only (a user's NumPy array is used in place on CPU devices):
use `vload16`, `vstore16`, never a cast to a vector pointer. Kernels must not write to
blocks that came as arguments unless the parameter is unique (those are copied on the
way in). A kernel's text may use the macro of a parameter: list it in `Kernel.macros` as
(macro, parameter index); it is then built with `-D macro=value`. For macros in
`Kernel.per_launch` the value comes with each launch: `kernels[i].built(value)(points,
..)`.

Speed. `kernels[i].of(work)(points, ..)` says how many scalar operations it is: where
they are few and nothing else runs, PoCL executes the launch in the calling thread,
which takes 2 us where waking its threads takes 20 to 30; launches of kernels that are
launched often, several in a row, are executed by one (batch.py).
`benchmarks/latency.py` measures calls. They stay fast if host functions do no lookups
by name and no allocation that could be avoided.

Generated modules are read before any device is needed, so that what drives one is
imported by name when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.opencl.runtime.describe import (
    DTYPES,
    Entry,
    EntryLeaf,
    Failure,
    Hole,
    Kernel,
    Parameter,
    Value,
)
from minifut.opencl.runtime.program import Program, Schedules

if TYPE_CHECKING:
    from minifut.opencl.runtime.parts import (
        FAILURE_TEXT,
        Block,
        Device,
        Instance,
        Opaque,
        Run,
        Session,
        list_devices,
        open_device,
        open_session,
    )

__all__ = [
    "DTYPES",
    "FAILURE_TEXT",
    "Block",
    "Device",
    "Entry",
    "EntryLeaf",
    "Failure",
    "Hole",
    "Instance",
    "Kernel",
    "Opaque",
    "Parameter",
    "Program",
    "Run",
    "Schedules",
    "Session",
    "Value",
    "list_devices",
    "open_device",
    "open_session",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in __all__:
        from minifut.opencl.runtime import parts

        found: object = getattr(parts, name)
        globals()[name] = found
        return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
