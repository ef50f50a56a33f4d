"""Python's collector of cycles, which traverses long-lived objects again and again.

Imports and compilation make many small objects that stay, hardly ever in cycles: at its
usual thresholds the collector takes a quarter of the time of a compilation and a tenth
of that of imports.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (1_000_000, 20, 100)
"""thresholds of commands, and of any process while it compiles"""


def collect_rarely() -> None:
    """From now on, look for cycles rarely."""
    gc.set_threshold(*RARELY)


class _Blocks:
    """Those that run, in all threads, and the thresholds from before the first."""

    lock = threading.Lock()
    count = 0
    thresholds = (0, 0, 0)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Within the block, look for cycles rarely. What the outermost block, and the last
    of those that run in several threads, leaves is with the old objects: else the next
    allocation would look through all of it."""
    with _Blocks.lock:
        if not _Blocks.count:
            _Blocks.thresholds = gc.get_threshold()
            collect_rarely()
        _Blocks.count += 1
    try:
        yield
    finally:
        with _Blocks.lock:
            _Blocks.count -= 1
            if not _Blocks.count:
                if not gc.get_freeze_count():
                    gc.freeze()
                    gc.unfreeze()
                gc.set_threshold(*_Blocks.thresholds)
