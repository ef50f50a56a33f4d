"""One device in use: context, queue, pool and failure cell, shared by all programs.

Commands are enqueued in order and waited for only when a value must reach the host.
Launches that are known to be brief are waited for in `clFinish`. For others a thread of
its own does the waiting, and the main thread waits for that: then Ctrl-C is handled at
once, while a main thread blocked in `clFinish` sees no signal until the kernels end.
Waking two threads takes longer than a small kernel, so the main thread polls by itself
for a while, and gives way to any thread of the driver that waits for the same core.
Meanwhile no core becomes idle, which a virtual one is slow to leave: products
that take 1 ms gain 7 %, those of 9 ms lose nothing. Brief launches and batches lose by
it, since the thread that polls takes a core from those that work.

Waking the threads of the driver takes longer than a small launch. PoCL has a device
without threads, whose commands are done when they are enqueued: small launches go to
its queue while nothing else runs (kernels.py), copies of a few bytes need no queue.

Threads take turns: a run holds the session's `lock`, since kernels keep their arguments
and failures are recorded in one place.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import Any

import numpy as np

from minifut.errors import ForkedError, ProgramError
from minifut.opencl.runtime import arrays, batch, build_notice, first_launches, memory
from minifut.opencl.runtime.copies import BlockCopies
from minifut.opencl.runtime.device import Device
from minifut.opencl.runtime.failures import CELL_LONGS, INTERRUPTED
from minifut.opencl.runtime.pool import ALIGNMENT, Block, Pool, PoolBlock, bytes_of

SPIN_SECONDS = 5e-3
"""seconds of looking whether the device is done, before waiting for it"""
REST_SECONDS = 0.1
"""seconds that kernels may take to the end before others are compiled in one process"""
BRIEF_WORK = 1 << 24
"""scalar operations that end within milliseconds: a main thread that is blocked so
long answers Ctrl-C soon enough, and leaves its core to the driver"""
WARN_AFTER = 1.0
"""seconds of waiting for an interrupted run before it is worth a line"""
SMALL_COPY = 1 << 15
"""bytes that are copied faster than a command is enqueued and waited for"""


yield_core: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


class Waiter:
    """A thread that waits for a queue, so that the main thread stays interruptible.

    Every call has its own place for the result. So an exception may end a call at
    any point (Ctrl-C, a time limit) and the next one finds nothing half done.
    """

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._asked: SimpleQueue[SimpleQueue[Exception | None]] = SimpleQueue()
        threading.Thread(target=self._serve, name="minifut", daemon=True).start()

    def _serve(self) -> None:
        while True:
            answer = self._asked.get()
            try:
                self._queue.finish()
            except Exception as error:
                answer.put(error)
            else:
                answer.put(None)

    def wait(self) -> None:
        """Return when the queue has finished. May be interrupted, and called again."""
        answer: SimpleQueue[Exception | None] = SimpleQueue()
        self._asked.put(answer)
        error = answer.get()
        if error is not None:
            raise ProgramError(f"the device reports an error: {error}")


@dataclass(slots=True)
class LaunchCounts:
    """What was launched since the last wait: `launches` that could be in batches, and
    the scalar operations of larger ones that the calling thread executed."""

    launches: int = 0
    caller_work: int = 0


class Session:
    """A device with its queue and memory."""

    def __init__(self, device: Device, max_memory: int | None = None) -> None:
        import pyopencl as cl

        self.cl = cl
        self.device = device
        self.lock = threading.RLock()
        self.is_forked = False
        handles = [device.handle, device.synchronous]
        self.context = cl.Context([handle for handle in handles if handle is not None])
        timed = cl.command_queue_properties.PROFILING_ENABLE
        self.commands = cl.CommandQueue(self.context, device.handle, timed)
        self.first_launches = first_launches.FirstLaunches(self, device.shares_memory)
        self.batch_memory = batch.BatchMemory(self)
        self.copies = BlockCopies(self)
        self.synchronous = (
            None
            if device.synchronous is None
            else cl.CommandQueue(self.context, device.synchronous, timed)
        )
        """commands are done when they are enqueued here; only while no other runs"""
        self._waiter = Waiter(self.commands)
        self.pool = Pool(self, max_memory)
        self.shares_memory = device.shares_memory
        self.last_event: Any = None
        self.builds = build_notice.BuildNotice()
        self.since_wait = LaunchCounts()
        self.pending = 0
        """scalar operations of launches since the last wait (`Launcher.of`)"""
        self.cell, self.failure = self._make_cell()
        self.number = self.cell.view(np.int32)
        """the first is not 0 when a kernel has recorded a failure"""
        self.device_arrays = arrays.DeviceArrays(self)
        self.running = ""
        """the entry point of the latest run"""
        self.is_dirty = False
        """whether an interrupted run has left commands behind"""
        self._complete = cl.command_execution_status.COMPLETE

    def _make_cell(self) -> tuple[np.ndarray, Any]:
        raw = np.zeros(8 * CELL_LONGS + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        cell = raw[start : start + 8 * CELL_LONGS].view(np.int64)
        flags = self.cl.mem_flags
        mode = flags.USE_HOST_PTR if self.shares_memory else flags.COPY_HOST_PTR
        buffer = self.cl.Buffer(self.context, flags.READ_WRITE | mode, hostbuf=cell)
        return cell, buffer

    @property
    def device_array(self) -> Any:
        """The class of arrays on the device."""
        return self.device_arrays.kind or self.device_arrays.make()

    @property
    def has_batches(self) -> bool:
        """Whether launches may be executed by one: by the threads of PoCL, which take
        longer to be woken than the work of some."""
        return self.synchronous is not None and self.shares_memory

    @property
    def queue(self) -> Any:
        """The queue for a command that comes after all launches."""
        self.launch_first()
        return self.commands

    def launch_first(self) -> None:
        """Enqueue launches that wait for their kernels to be built."""
        if self.first_launches.waiting:
            self.first_launches.run()

    # --- waiting ----------------------------------------------------------------------

    def comes_to_rest(self) -> bool:
        """Whether no command is running, nor is after a while."""
        event, stop = self.last_event, perf_counter() + REST_SECONDS
        while event is not None:
            if event.command_execution_status <= self._complete:
                return True
            if perf_counter() > stop:
                return False
            sleep(REST_SECONDS / 100)
        return True

    def wait(self) -> None:
        """Return when all commands are done."""
        self.launch_first()
        self.since_wait.caller_work = 0
        event = self.last_event
        if event is None:
            return
        pending, self.pending = self.pending, 0
        if pending <= BRIEF_WORK:
            self.queue.finish()
        elif self.batch_memory.is_in_use:  # by work-items on all cores
            self._waiter.wait()
        status = event.command_execution_status
        if status > self._complete:
            self.queue.flush()
            stop = perf_counter() + SPIN_SECONDS
            while status > self._complete and perf_counter() < stop:
                yield_core()
                status = event.command_execution_status
        if status > self._complete:
            self._waiter.wait()
            status = event.command_execution_status
        self.last_event = None
        self.since_wait.launches = 0
        self.batch_memory.is_in_use = False
        if status < self._complete:
            raise ProgramError(f"the device reports an error in a kernel ({status})")

    def failed(self) -> bool:
        """Wait; returns whether a kernel recorded a failure (it is then in `cell`)."""
        if not self.shares_memory and self.last_event is not None:
            self.last_event = self.cl.enqueue_copy(
                self.queue, self.cell, self.failure, is_blocking=False
            )
        self.wait()
        return bool(self.number[0])

    def clear_failure(self) -> None:
        """Make the cell ready for the next run."""
        self.cell[:] = 0
        if not self.shares_memory:
            self.cl.enqueue_copy(self.queue, self.failure, self.cell)

    # --- interruptions ----------------------------------------------------------------

    def failure_of(self, error: BaseException, *in_use: Any) -> BaseException:
        """What to raise for an error that ended a run, with the device at rest.

        A user's interrupt is not kept waiting: kernels may go on and use what is
        `in_use`. Any other exception that is no `Exception` cancels what has not begun;
        while that is waited for, another one is like a user's interrupt.
        """
        self.first_launches.drop()
        self.first_launches.loops = 0
        if isinstance(error, KeyboardInterrupt):
            self.abandon(*in_use)
            return error
        try:
            if not isinstance(error, Exception) and self.shares_memory:
                self.number[0] = self.number[0] or INTERRUPTED
            if self.failed():
                self.clear_failure()
        except BaseException as interrupt:
            if isinstance(interrupt, Exception):
                raise
            self.abandon(*in_use)
            return interrupt
        if isinstance(error, self.cl.MemoryError):
            # Drivers that allocate late find out when a kernel starts.
            leaves = [
                leaf for part in in_use if isinstance(part, list) for leaf in part
            ]
            needed = sum(x.nbytes for x in leaves if isinstance(x, Block))
            return self.pool.out_of_memory(needed)
        return error

    def abandon(self, *in_use: Any) -> None:
        """Stop waiting for running kernels, which may still use what is `in_use`.

        Kernels that have not begun return at once where the cell is shared. The memory
        stays as long as the process: when a kernel that may never end lets go of it
        cannot be known.
        """
        if self.last_event is None:
            return
        if self.shares_memory:
            self.number[0] = INTERRUPTED
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((in_use, self.pool, self.cell)))
        self.is_dirty = True

    def recover(self, entry: str = "") -> None:
        """Before a run of an entry point: wait for what an interrupted one left behind;
        a warning says so when that takes longer than a second."""
        if self.is_dirty:
            if self.is_forked:
                raise ForkedError
            with said_after(
                WARN_AFTER,
                "waiting for kernels of %s, which was interrupted: what has begun on "
                "the device cannot be ended, but with this process",
                self.running or "a run",
            ):
                self.wait()
            self.is_dirty = False
        self.running = entry
        if self.number[0]:
            self.clear_failure()

    # --- data -------------------------------------------------------------------------

    def borrow(self, array: np.ndarray) -> Block:
        """A NumPy array as a block in place (devices that share memory only)."""
        if array.nbytes > self.device.largest_array:
            raise self.pool.out_of_memory(array.nbytes)
        flags, most = self.cl.mem_flags.READ_ONLY, self.device.largest_buffer
        buffer = memory.share(self.cl, self.context, array, flags, most)
        return Block(buffer, array.nbytes, array)

    def upload(self, array: np.ndarray) -> PoolBlock:
        """A copy of a contiguous NumPy array in a block of the pool."""
        block = self.pool.allocate(array.nbytes)
        self.store(block, array)
        return block

    def store(self, block: Block, array: np.ndarray) -> None:
        """Copy a contiguous NumPy array to the start of a block; wait for it."""
        if not array.nbytes:
            return
        if self.shares_memory:
            self.wait()  # earlier kernels may still use this memory
            bytes_of(block)[: array.nbytes] = array.reshape(-1).view(np.uint8)
        else:
            self.cl.enqueue_copy(self.queue, block.buffer, array)

    def copy(
        self, to: Block, to_byte: int, source: Block, source_byte: int, nbytes: int
    ) -> None:
        """Enqueue a copy between blocks, which may be the same if parts are apart."""
        if nbytes > 0:
            if self._is_for_the_host(nbytes, to, source):
                bytes_of(to)[to_byte : to_byte + nbytes] = bytes_of(source)[
                    source_byte : source_byte + nbytes
                ]
                return
            given = to, to_byte, source, source_byte, nbytes
            self.last_event = self.copies.enqueue(*given)

    def fill(self, block: Block, byte: int, nbytes: int, pattern: bytes) -> None:
        """Enqueue filling bytes with a repeated pattern of 1, 2, 4 or 8 bytes."""
        if nbytes > 0:
            if self._is_for_the_host(nbytes, block):
                unit = np.dtype(f"V{len(pattern)}")
                part = bytes_of(block)[byte : byte + nbytes]
                part.view(unit)[:] = np.frombuffer(pattern, unit)
                return
            self.last_event = self.cl.enqueue_fill_buffer(
                self.queue, block.buffer, pattern, byte, nbytes
            )

    def _is_for_the_host(self, nbytes: int, *blocks: Block) -> bool:
        """Whether the host accesses the blocks in place, which it may from now on: what
        is small, while nothing runs, and what no command takes (memory.py)."""
        if nbytes <= SMALL_COPY and self.is_idle_in(*blocks):
            return True
        if all(isinstance(block.buffer, self.cl.Buffer) for block in blocks):
            return False
        self.wait()
        return True

    @property
    def is_at_rest(self) -> bool:
        """Whether all commands are done, and none has failed."""
        return not (
            self.last_event is not None or self.first_launches.waiting or self.number[0]
        )

    def is_idle_in(self, *blocks: Block) -> bool:
        """Whether the host may access the blocks now, in place."""
        self.launch_first()
        return self.last_event is None and all(b.host is not None for b in blocks)

    def fetch(self, block: Block, into: np.ndarray) -> None:
        """Copy the first bytes of a block into an array; wait for it."""
        nbytes = into.nbytes
        if not nbytes:
            return
        if self.shares_memory:
            self.wait()
            into.reshape(-1).view(np.uint8)[:] = bytes_of(block)[:nbytes]
        else:
            self.cl.enqueue_copy(self.queue, into, block.buffer)


@contextmanager
def said_after(seconds: float, message: str, *arguments: object) -> Iterator[None]:
    """A warning in the log if the block takes longer than that."""
    log = logging.getLogger("minifut")
    timer = threading.Timer(seconds, log.warning, (message, *arguments))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
