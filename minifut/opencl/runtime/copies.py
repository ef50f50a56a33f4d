"""Copies between blocks: of large ones by the threads of all cores.

    for each chunk, in a thread of its own:
        up to 63 bytes until the place is aligned
        for 64 bytes at a time: prefetch; store, around the caches if they are too small
        up to 63 bytes

PoCL copies in one thread, and reads each line before it overwrites it. Measured on two
cores with AVX-512: 4 MB take 0.6 of its time, 16 MB 0.6, 64 MB 0.45.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.opencl.runtime.builds import build
from minifut.opencl.runtime.pool import Block
from minifut.opencl.runtime.trial_launches import Trial

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session

LEAST = 1 << 21
"""bytes; fewer are copied before the threads are woken"""
AROUND_CACHES = 1 << 24
"""bytes that, with as many of the source, exceed the last-level cache"""
CHUNK = 1 << 18
"""bytes of a thread's turn"""
NAME = "minifut_copy"
TYPES = ("buffer", "i64", "buffer", "i64", "i64", "i64")
SOURCE = f"""\
typedef ulong8 loose_ulong8 __attribute__((aligned(1)));
__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void {NAME}(
        __global int *failure,
        __global uchar *target,
        long target_byte,
        __global const uchar *source,
        long source_byte,
        long nbytes,
        long around)
{{
    if (failure[0]) return;
    long at = (long)get_global_id(0) * {CHUNK};
    long last = at + {CHUNK} < nbytes ? at + {CHUNK} : nbytes;
    __global uchar *to = target + target_byte;
    __global const uchar *from = source + source_byte;
    long aligned = at + (64 - ((ulong)(to + at) & 63)) % 64;
    if (aligned > last) aligned = last;
    for (; at < aligned; at++) to[at] = from[at];
    for (; at + 64 <= last; at += 64) {{
        __builtin_prefetch((const void *)(ulong)(from + at + 8192));
        ulong8 taken = *(__global const loose_ulong8 *)(from + at);
        if (around)
            __builtin_nontemporal_store(taken, (__global ulong8 *)(to + at));
        else
            *(__global ulong8 *)(to + at) = taken;
    }}
    for (; at < last; at++) to[at] = from[at];
}}
"""


class BlockCopies:
    """Those of a session. The kernel is built for the first large one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kernel: Any = None

    def enqueue(
        self, to: Block, to_byte: int, source: Block, source_byte: int, nbytes: int
    ) -> Any:
        """Enqueue a copy between parts that do not overlap; gives its event."""
        session = self._session
        cl, queue = session.cl, session.queue
        if nbytes < LEAST or not session.has_batches:
            return cl.enqueue_copy(
                queue,
                to.buffer,
                source.buffer,
                byte_count=nbytes,
                src_offset=source_byte,
                dst_offset=to_byte,
            )
        if self._kernel is None:
            self._kernel = self._built()
        numbers = source_byte, nbytes, nbytes >= AROUND_CACHES
        self._kernel.set_args(
            session.failure,
            to.buffer,
            np.int64(to_byte),
            source.buffer,
            *map(np.int64, numbers),
        )
        groups = -(-nbytes // CHUNK)
        return cl.enqueue_nd_range_kernel(queue, self._kernel, (groups,), (1,))

    def _built(self) -> Any:
        session = self._session
        trials = [Trial(NAME, TYPES)]
        program = build(session, session.device.handle, SOURCE, "-w", NAME, trials)
        return session.cl.Kernel(program, NAME)
