"""minifut's command with memory that Oclgrind 21.10 follows: each byte, from its store.

    python -m benchmarks.campaign.shadow_memory test PROGRAM.fut --device Oclgrind

The simulator notes for each buffer which bytes are initialised, but takes the buffer to
be as large as what a command of the host (write, copy, fill) last changed of it. What
kernels store behind that counts as uninitialised:

    enqueue_copy(queue, a, np.zeros(2, np.int32))
    set<<<1>>>(a)             a[i] = 7 for i < 5
    copy<<<1>>>(a, b)         b[i] = a[i]: a[2], a[3] and a[4] are reported

It does not forget them with the buffer either. So no memory is used again, and a kernel
copies what commands of the host would. Of shuffles of two vectors it confuses the
elements, so they are written element by element:

    __builtin_shufflevector(a, b, 1, 2)   →   ({ .. r.s0 = a.s1; r.s1 = b.s0; r; })
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from minifut.__main__ import main
from minifut.opencl.runtime import builds
from minifut.opencl.runtime.pool import Block, Pool
from minifut.opencl.runtime.queue import Session

SOURCE = """
__kernel void copy(__global uchar *to, long to_byte,
                   __global const uchar *from, long from_byte) {
    long i = get_global_id(0);
    to[to_byte + i] = from[from_byte + i];
}
"""


KEPT: list[Any] = []
"""all buffers, for as long as the process lives"""


def keep(self: Pool, capacity: int, buffer: Any, host: Any, address: int) -> None:
    """`Pool.release`, by which nothing gets the block again."""
    KEPT.append(buffer)


def copy(
    self: Session, to: Block, to_byte: int, source: Block, source_byte: int, nbytes: int
) -> None:
    """`Session.copy` by a kernel."""
    copy_buffer(self, to, to_byte, source.buffer, source_byte, nbytes)


def store(self: Session, block: Block, array: np.ndarray) -> None:
    """`Session.store` by a kernel."""
    copy_bytes(self, block, 0, array)


def fill(self: Session, block: Block, byte: int, nbytes: int, pattern: bytes) -> None:
    """`Session.fill` by a kernel."""
    whole = pattern * (max(nbytes, 0) // len(pattern))
    copy_bytes(self, block, byte, np.frombuffer(whole, np.uint8))


def copy_bytes(session: Session, block: Block, byte: int, array: np.ndarray) -> None:
    """Copy an array into a block, from a buffer that is made with its contents."""
    if array.nbytes:
        flags = session.cl.mem_flags
        mode = flags.READ_ONLY | flags.COPY_HOST_PTR
        source = session.cl.Buffer(session.context, mode, hostbuf=array)
        KEPT.append(source)
        copy_buffer(session, block, byte, source, 0, array.nbytes)


def copy_buffer(
    session: Session, to: Block, to_byte: int, source: Any, source_byte: int, size: int
) -> None:
    """Launch the kernel, a work-item for each byte."""
    if size > 0:
        kernel = copy_kernel(session.cl, session.context)
        places = np.int64(to_byte), np.int64(source_byte)
        kernel.set_args(to.buffer, places[0], source, places[1])
        session.last_event = session.cl.enqueue_nd_range_kernel(
            session.queue, kernel, (size,), None
        )


@cache
def copy_kernel(cl: Any, context: Any) -> Any:
    """The kernel, without pyopencl's cache: what is killed there leaves a lock."""
    program = cl.Program(context, SOURCE)
    return program.build(["-cl-opt-disable"], cache_dir=False).copy


SHUFFLE = re.compile(r"__builtin_shufflevector\(a, b, ([\d, ]+)\)")


def with_elements(text: str) -> str:
    """A program without shuffles of two vectors."""

    def picked(found: re.Match[str]) -> str:
        places = [int(place) for place in found[1].split(",")]
        wide = len(places)
        stores = (
            f"picked_.s{i:x} = {'ab'[p // wide]}_.s{p % wide:x};"
            for i, p in enumerate(places)
        )
        first = "__typeof__(b) a_ = a, b_ = b, picked_ = b_;"
        return f"({{ {first} {' '.join(stores)} picked_; }})"

    return SHUFFLE.sub(picked, text)


def main_followed() -> None:
    """The command, with memory and texts that the simulator follows."""
    build = builds.build

    def followed(session: Session, handle: Any, text: str, *rest: Any) -> Any:
        return build(session, handle, with_elements(text), *rest)

    builds.build = followed
    Pool.release = keep  # type: ignore[method-assign]
    for name, method in {"copy": copy, "store": store, "fill": fill}.items():
        setattr(Session, name, method)
    main()


if __name__ == "__main__":
    main_followed()
