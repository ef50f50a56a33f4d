"""The second oracle: a whole entry point as one OpenCL kernel with one work-item.

    entry main (xs: [n]f32) = ...        kernel void main(xs, n, arena, places) { ... }

The interpreter judges results independently but runs on Python, which large inputs do
not allow. Here every SOAC becomes a plain loop, in the order in which the program says
it, and the kernel compiler of a CPU device makes native code of it. What the compiler
under test decides is not done at all: no fusion, no simplification, no flattening and
no versions, no tiling, no coalescing, no schedule and no work-group. Shared with it
are: elaboration to the core, the rewriting of one SOAC as a loop, the code of single
threads and the runtime; each of these is tested against the interpreter.

Why a kernel and not C or Python: a device's compiler is what minifut needs anyway, and
a thread's code is already written; a kernel with one thread needs nothing but memory.
That is in arenas, one for each element type: allocation counts up, what an
iteration of a loop made is let go of at its end, and a kernel that runs out of memory
is run again with more, its inputs being as they were because a parameter that the
program consumes is copied first. Results stay in the arenas, and the kernel says where
(sizes only become known there); the host copies them out.

Recursion, and programs that are too long once all calls are put in place, are not
supported: `lower` says so by `NotSequential`, and the interpreter does it.
"""
