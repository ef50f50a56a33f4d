"""PoCL starts while the compiler works.

Before PoCL builds a first program for a device it reads its library of built-in
functions, for half a second, in which Python's lock is free. A program that is not
known has kernels that are not built. So while it is compiled, a thread builds an empty
program for the device that kernels are compiled for (driver_binaries.py):

    compiler    |-- passes -----------|   |-- kernels of first calls --
    thread      |-- library --|

Nothing is begun once the compiler is done, which may be before.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from threading import Event, Thread

from minifut.opencl.runtime import driver_binaries, driver_cache
from minifut.opencl.runtime.builtin_declarations import compile_program
from minifut.opencl.runtime.sessions import open_session

NAME = "minifut-driver"
_begun: set[str] = set()
"""the devices, as users name them"""


@contextlib.contextmanager
def driver_starts(device: str | None, max_memory: int | None) -> Iterator[None]:
    """Within the block, the driver of the device may start, once in a process."""
    is_over = Event()
    wanted = device or os.environ.get("MINIFUT_DEVICE") or ""
    if wanted not in _begun:
        _begun.add(wanted)
        # Not a daemon: a process must not end within the driver.
        given = wanted, max_memory, is_over
        Thread(target=_start, name=NAME, args=given).start()
    try:
        yield
    finally:
        is_over.set()


def _start(wanted: str, max_memory: int | None, is_over: Event) -> None:
    # An error comes again where the device is needed.
    with contextlib.suppress(Exception):
        session = open_session(wanted or None, max_memory)
        device = session.device
        if not driver_binaries.serves_both(device):
            return
        with session.lock:  # runs and forks wait
            if not is_over.is_set():
                driver_cache.restore_private_folder()
                driver_cache.require_disk_space()
                compile_program(session, device.synchronous, "", "-w")
