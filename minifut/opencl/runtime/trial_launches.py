"""Kernels are compiled by launches that do nothing (PoCL 3.0).

PoCL compiles a kernel when it is launched first, for that size of groups, and for few
or many of them. Each kernel returns at once where an earlier one has failed. So a
kernel is launched on zeros and no memory, with a failure cell that says so:

    main_mapped(.., 20000, xs, ys)   →   main_mapped(tripped, 0, NULL, NULL)

on the device that executes commands in the thread that enqueues them, before the launch
that was asked for, which may be on the other device (driver_binaries.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minifut.opencl.runtime.builtin_declarations import compile_program
from minifut.opencl.runtime.enqueue import ARGUMENTS
from minifut.opencl.runtime.failures import CELL_LONGS
from minifut.opencl.runtime.unlocked import start_unlocked

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session

MANY_GROUPS = (1 << 16) - 1
"""in one dimension: PoCL compiles launches of fewer apart from those of others"""
LOCAL_BYTES = 64
"""of memory of a group, which is not used"""


class Trial(NamedTuple):
    """A kernel, the types of its arguments after the failure cell, and the sizes of a
    launch to compile it for."""

    name: str
    types: tuple[str, ...]
    sizes: tuple[int, ...] = (1,)
    local: tuple[int, ...] = (1,)

    @property
    def brief_sizes(self) -> tuple[int, ...]:
        """The sizes of the smallest launch that the same is compiled for."""
        groups = [n // g for n, g in zip(self.sizes, self.local, strict=True)]
        most = max(groups)
        few = [1] * len(groups)
        few[groups.index(most)] = MANY_GROUPS if most >= MANY_GROUPS else 1
        return tuple(n * g for n, g in zip(few, self.local, strict=True))


def compile_by_launches(
    session: Session, text: str, options: str, trials: Sequence[Trial]
) -> Any:
    """The program for the device without threads, with these kernels compiled."""
    program = compile_program(session, session.device.synchronous, text, options)
    cl = session.cl
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    tripped = cl.Buffer(session.context, flags, hostbuf=np.ones(CELL_LONGS, np.int64))
    for trial in trials:
        kernel = cl.Kernel(program, trial.name)
        kernel.set_arg(0, tripped)
        for number, type_ in enumerate(trial.types, 1):
            dtype = ARGUMENTS[type_]
            nothing = None if dtype is None else dtype.type(0)
            is_local = type_ == "local"
            kernel.set_arg(number, cl.LocalMemory(LOCAL_BYTES) if is_local else nothing)
        start_unlocked(session.synchronous, kernel, trial.brief_sizes, trial.local)
    return program
