"""Kernels are compiled side by side, by copies of this process (PoCL 3.0).

PoCL compiles one kernel at a time: a lock is around LLVM. A copy of the process (a
fork) has a lock of its own, and PoCL's library is read in it already. Only the thread
that made it goes on in a copy, in which the device without threads compiles. What is
compiled lies in PoCL's folder, where this process finds it instead of compiling:

    this process   |-- program 1: compile --|-- programs 2, 3: load --|-- launches --
    a copy         |-- program 2 --|
    a copy         |-- program 3 ----|
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from minifut.opencl.runtime.driver_locks import only_thread_in_drivers
from minifut.process_copies import done_by_copies


def compiled_by_copies(
    jobs: Sequence[Callable[[], object]],
) -> AbstractContextManager[None]:
    """While the block runs, copies of this process do these jobs. Nothing of a driver
    may be running."""
    return done_by_copies(jobs, only_thread_in_drivers)
