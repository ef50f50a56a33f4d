"""The sessions of a process, and what becomes of them when it is forked.

    session = open_session(None)       # the same object for the same device

The driver's threads stay behind when a process is forked. So a fork waits until runs
have ended, and the new process opens PoCL's device that has no threads; where there is
no such device, it gets an error that says so.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from typing import Any

from minifut.errors import ForkedError
from minifut.opencl.runtime import driver_locks
from minifut.opencl.runtime.device import open_device
from minifut.opencl.runtime.queue import Session

_sessions: dict[tuple[Any, ...], Session] = {}
_left_behind: list[Session] = []
"""of the process that this one was forked from: never used, and never destroyed, since
a driver would wait for its threads"""


def open_session(device: str | None = None, max_memory: int | None = None) -> Session:
    """The session of the device that matches; made once per process."""
    with driver_locks.opening:
        chosen = open_device(device)
        if _left_behind:
            if chosen.synchronous is None:
                raise ForkedError
            # as many cores as before: results have the same bits
            chosen = replace(chosen, handle=chosen.synchronous, synchronous=None)
        key = (chosen.platform, chosen.version, chosen.name, chosen.number, max_memory)
        if key not in _sessions:
            _sessions[key] = Session(chosen, max_memory)
            driver_locks.runs.append(_sessions[key].lock)
        return _sessions[key]


_held: list[Any] = []
"""locks, while this process is being forked"""


def _before_fork() -> None:
    """Let runs of other threads end, in which the driver may hold locks."""
    for lock in driver_locks.all_locks():
        lock.acquire()
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


def _after_fork_in_child() -> None:
    _after_fork()
    for session in _sessions.values():
        session.is_forked = session.is_dirty = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
    _left_behind.extend(_sessions.values())
    _sessions.clear()
    driver_locks.runs.clear()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork,
    after_in_child=_after_fork_in_child,
)
