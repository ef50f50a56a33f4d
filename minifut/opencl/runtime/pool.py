"""A memory pool of the device: free lists by size class.

A fresh 64 MB buffer costs more than the kernel that fills it (its pages are mapped one
by one), so unreferenced blocks are kept and reused. Classes are
eighths of powers of two: at most 12.5 % is wasted.

    block = pool.allocate(nbytes)      # a block; it returns by itself when forgotten

Of the blocks that are free the first that was made is used. So what a loop allocates
is in the same memory in every other iteration, however many arrays it passes on; the
last that became free would have arrays take turns, in periods of dozens of iterations.

On devices that share the process's memory a block is a NumPy array that OpenCL uses in
place, so that results need no copy: the array given to the user keeps the block.

Commands run in order on one queue, so a block may be allocated while kernels that
used it before are still to run.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.opencl.runtime.memory import available_memory, share

if TYPE_CHECKING:
    from collections.abc import Callable

    from minifut.opencl.runtime.queue import Session

BYTES = np.dtype(np.uint8)
SMALLEST = 1024
LARGE = 1 << 28
"""bytes of a block from which on the free memory of the system is queried"""
ALIGNMENT = 128
PAGE, SEVERAL_PAGES = 4096, 1 << 20
"""Blocks of so many bytes start at a page. NumPy's large arrays start 16 bytes behind
one, and a kernel that reads one and writes a block goes through both at one pace: reads
must not come to the offset in a page at which the last writes are under way, because
processors compare only these bits before they let a read pass a write."""


def size_class(nbytes: int) -> int:
    """The size of the block for a request."""
    if nbytes <= SMALLEST:
        return SMALLEST
    step = 1 << max(0, nbytes.bit_length() - 4)
    return (nbytes + step - 1) & -step


class Block:
    """`nbytes` of device memory, and the buffer that kernels get."""

    __slots__ = ("buffer", "host", "nbytes")
    borrowed: bool = True
    """whether the contents have another owner, so that a result needs a copy: an
    argument used in place, a constant of the program"""

    def __init__(self, buffer: Any, nbytes: int, host: Any = None) -> None:
        self.buffer = buffer
        self.nbytes = nbytes
        self.host = host
        """the same memory as a NumPy array of bytes, where the device shares it"""


class PoolBlock(Block):
    """A block that returns to its pool."""

    __slots__ = ("borrowed", "capacity", "memory", "number", "pool")

    def __init__(
        self,
        buffer: Any,
        nbytes: int,
        host: Any,
        pool: Pool,
        capacity: int,
        memory: Any,
        number: int,
    ) -> None:
        self.buffer = buffer
        self.nbytes = nbytes
        self.host = host
        self.borrowed = False
        self.capacity = capacity
        self.memory = memory
        """that of `host` as an array of ctypes: results of NumPy are made over it,
        without a chain of arrays behind them"""
        self.number = number
        """how many blocks were made before"""
        self.pool: Pool | None = pool

    def leave(self) -> None:
        """Belong to the pool no longer: when it is forgotten, the system has the memory
        again. Commands that use it must be complete."""
        if self.pool is not None:
            self.pool.in_use -= self.capacity
            self.pool.held -= self.capacity
            self.pool = None

    def __del__(self, push: Callable[..., None] = heappush) -> None:
        # An interrupt may have come before it was complete. Names of the module may be
        # gone when a process ends.
        pool = getattr(self, "pool", None)
        if pool is not None:
            capacity = self.capacity
            pool.in_use -= capacity
            entry = self.number, self.buffer, self.host, self.memory
            push(pool.free[capacity], entry)


FreeBlock = tuple[int, Any, Any, Any]
"""number, buffer, host and memory of a block that is not in use"""


def bytes_of(block: Block) -> np.ndarray:
    """The memory of a block that the process shares."""
    host: np.ndarray = block.host
    if host.dtype is BYTES and host.ndim == 1:
        return host
    return host.reshape(-1).view(BYTES)


class Pool:
    """The free list of one device, with a limit on what is in use and kept together."""

    def __init__(self, session: Session, limit: int | None) -> None:
        self.session = session
        self._device = session.device
        self.free: defaultdict[int, list[FreeBlock]] = defaultdict(list)
        """heaps of blocks that are not in use, by their size"""
        self.made = 0
        """blocks, in all"""
        self.limit = min(limit or self._device.memory, self._device.memory)
        self.in_use = 0
        self.held = 0
        """bytes of all blocks, in use or not"""
        self.peak = 0

    @property
    def kept(self) -> int:
        """Bytes of the blocks that are not in use."""
        return self.held - self.in_use

    def allocate(self, nbytes: int) -> PoolBlock:
        """A block of at least `nbytes`; MemoryError when too little memory is free.

        Of fewer than none there is an empty block: such are requested by code that was
        moved out of a loop that never runs, and never read.
        """
        if nbytes <= SMALLEST:
            nbytes, capacity = max(nbytes, 0), SMALLEST
        else:
            capacity = size_class(nbytes)
            if capacity > self._device.largest_buffer:
                capacity = nbytes
        free = self.free[capacity]
        if free:
            number, buffer, host, memory = heappop(free)
        else:
            buffer, host, memory = self._fresh(nbytes, capacity)
            self.held += capacity
            self.made = number = self.made + 1
        self.in_use = in_use = self.in_use + capacity
        if in_use > self.peak:
            self.peak = in_use
        return PoolBlock(buffer, nbytes, host, self, capacity, memory, number)

    def take(self, buffer: Any, nbytes: int, capacity: int) -> PoolBlock | None:
        """The block with this buffer; None if it is in use."""
        free = self.free[capacity]
        for at, (number, own, host, memory) in enumerate(free):
            if own is buffer:
                del free[at]
                heapify(free)
                self.in_use += capacity
                self.peak = max(self.peak, self.in_use)
                return PoolBlock(buffer, nbytes, host, self, capacity, memory, number)
        return None

    def empty(self) -> None:
        """Let go of all blocks that are not in use."""
        if self.kept:
            # Launches that wait for their kernels use blocks that are free.
            self.session.launch_first()
            self.session.commands.finish()
            self.held -= sum(size * len(kept) for size, kept in self.free.items())
            self.free.clear()

    def _fresh(self, nbytes: int, capacity: int) -> tuple[Any, Any, Any]:
        if nbytes > self._device.largest_array:
            raise self.out_of_memory(nbytes)
        if self.held + capacity > self.limit:
            self.empty()
        if self.in_use + capacity > self.limit or self._is_too_much(capacity):
            raise self.out_of_memory(nbytes)
        try:
            return self._create(capacity)
        except (MemoryError, self.session.cl.Error):
            self.empty()
        try:
            return self._create(capacity)
        except (MemoryError, self.session.cl.Error) as error:
            raise self.out_of_memory(nbytes) from error

    def _is_too_much(self, capacity: int) -> bool:
        """Whether the system would end processes for want of memory, in place of
        refusing a block."""
        if not self._device.shares_memory or capacity < LARGE:
            return False
        free = available_memory()
        if free is not None and free < capacity and self.kept:
            self.empty()
            free = available_memory()
        return free is not None and free < capacity

    def _create(self, capacity: int) -> tuple[Any, Any, Any]:
        flags = self.session.cl.mem_flags
        if not self._device.shares_memory:
            buffer = self.session.cl.Buffer(
                self.session.context, flags.READ_WRITE, capacity
            )
            if capacity > 1 << 20:
                # Drivers allocate late: touch it, so that failure comes here.
                self.session.cl.enqueue_fill_buffer(
                    self.session.commands, buffer, b"\0", 0, 1
                )
            return buffer, None, None
        alignment = PAGE if capacity >= SEVERAL_PAGES else ALIGNMENT
        raw = np.empty(capacity + alignment, np.uint8)
        start = -raw.ctypes.data % alignment
        host = raw[start : start + capacity]
        most = self._device.largest_buffer
        buffer = share(
            self.session.cl, self.session.context, host, flags.READ_WRITE, most
        )
        address = buffer.address = host.ctypes.data
        memory = (ctypes.c_uint8 * capacity).from_address(address)
        return buffer, host, memory

    def out_of_memory(self, nbytes: int) -> MemoryError:
        """The error for a request that cannot be fulfilled."""
        lines = [f"out of device memory: {_megabytes(nbytes)} needed"]
        lines.append(f"{_megabytes(self.in_use)} in use")
        lines.append(f"limit {_megabytes(self.limit)}")
        if nbytes > self._device.largest_array:
            largest = _megabytes(self._device.largest_array)
            lines.append(f"largest single array {largest}")
        return MemoryError(", ".join(lines) + f" on {self._device}")


def _megabytes(nbytes: int) -> str:
    if abs(nbytes) < 10_000_000:
        return f"{nbytes:,} bytes"
    return f"{nbytes / 1e6:,.0f} MB"
