"""What a thread holds while it uses a driver.

    with only_thread_in_drivers() as is_alone: ..

A process is forked while no thread of it is in a driver, whose locks would stay locked
in the new one (sessions.py, build_processes.py).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

opening = threading.RLock()
"""held while a session is opened"""
listing = threading.RLock()
"""held while drivers are loaded, which is done once"""
runs: list[threading.RLock] = []
"""of each session, held by a run"""


def all_locks() -> list[threading.RLock]:
    """In the order in which they are to be acquired."""
    return [opening, listing, *runs]


@contextlib.contextmanager
def only_thread_in_drivers() -> Iterator[bool]:
    """Whether no other thread uses a driver, nor begins to within the block: then a
    fork there waits for none."""
    with contextlib.ExitStack() as held:
        for lock in all_locks():
            if not lock.acquire(blocking=False):
                yield False
                return
            held.callback(lock.release)
        yield True
