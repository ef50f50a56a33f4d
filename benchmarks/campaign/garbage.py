"""Memory full of garbage: what a program reads before it writes it shows in results.

    with garbage(0xFF):        integers are -1, floats NaN
        entry.call(..)

The system hands out zeros, which hide such reads; a pool of blocks hands out what an
earlier run left, often the right results.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minifut.opencl.runtime import sessions
from minifut.opencl.runtime.pool import Pool

BYTES = (0xFF, 0x5A)
"""-1 and NaN; large and positive"""


@contextmanager
def garbage(byte: int) -> Iterator[None]:
    """Blocks that devices allocate are full of this byte, where the host can fill them;
    none is from before."""
    create = Pool._create

    def filled(self: Pool, capacity: int) -> tuple[Any, Any, int]:
        buffer, host, address = create(self, capacity)
        if host is not None:
            host[:] = byte
        return buffer, host, address

    for session in sessions._sessions.values():
        session.pool.empty()
    Pool._create = filled  # type: ignore[method-assign]
    try:
        yield
    finally:
        Pool._create = create  # type: ignore[method-assign]
