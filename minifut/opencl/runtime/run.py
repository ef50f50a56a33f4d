"""`Run`: what host functions of generated modules call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import UsageError
from minifut.opencl.runtime.describe import DTYPES, Failure
from minifut.opencl.runtime.device import Device
from minifut.opencl.runtime.failures import device_error, failure_error, show
from minifut.opencl.runtime.iterations import Iterations, IterationsWhile
from minifut.opencl.runtime.kernels import Launcher
from minifut.opencl.runtime.pool import Block
from minifut.opencl.runtime.queue import Session
from minifut.opencl.runtime.watch import WatchedLauncher

if TYPE_CHECKING:
    from minifut.opencl.runtime.recorded import Recordings

DEEPEST = 100_000
"""calls of recursive functions, one inside the other"""
MARGIN = 10_000
"""Python frames of everything else"""


LAYOUTS = {"bool": Struct("?"), "i8": Struct("b"), "u8": Struct("B")}
LAYOUTS |= {"i16": Struct("h"), "i32": Struct("i"), "i64": Struct("q")}
LAYOUTS |= {"u16": Struct("H"), "u32": Struct("I"), "u64": Struct("Q")}
"""of scalars that are Python's on the host: to read one takes half as long as by an
array of NumPy"""


class Run:
    """One loaded program on a device, seen from its host functions."""

    def __init__(
        self,
        session: Session,
        kernels: tuple[Launcher | WatchedLauncher, ...],
        parameters: list[int],
        failures: Sequence[Failure],
        places: Sequence[str] = (),
    ) -> None:
        self.session = session
        self.kernels = kernels
        self.parameters = parameters
        self.changed: frozenset[str] = frozenset()
        self.constants: tuple[Any, ...] = ()
        self.depth = 0
        self.recordings: list[Recordings] = []
        """those of the entry points, which hold for these kernels and parameters"""
        self._failures = failures
        self._places = places
        self.device: Device = session.device
        self.allocate = session.pool.allocate
        self.copy = session.copy
        self.fill = session.fill
        self.upload = session.upload

    def group_size(self, wanted: int, most: int) -> int:
        """Work-items for a group with so many points: a power of two from 32 on."""
        size = 32
        most = min(most, self.device.group_size)
        while size * 2 <= most and size < wanted:
            size *= 2
        return min(size, most)

    def check_group(
        self, group: int, local_bytes: int, parameters: Mapping[str, int]
    ) -> None:
        """An error if the device cannot run such groups (PoCL would crash)."""
        device = self.device
        if group > device.group_size:
            raise UsageError(
                f"a kernel needs groups of {group} work-items{_chosen(parameters)}; "
                f"the device allows {device.group_size}"
            )
        self._check_local(local_bytes, parameters)

    def check_requested_tiles(
        self, local_bytes: int, parameters: Mapping[str, int]
    ) -> None:
        """An error if parameters that are not at their defaults require more local
        memory than there is; what those need is left to other versions."""
        if not self.changed.isdisjoint(parameters):
            self._check_local(local_bytes, parameters)

    def _check_local(self, local_bytes: int, parameters: Mapping[str, int]) -> None:
        if local_bytes > self.device.local_memory:
            raise UsageError(
                f"a kernel needs {local_bytes} bytes of local memory"
                f"{_chosen(parameters)}; the device has {self.device.local_memory}"
            )

    def iterations(self, count: int) -> Iterations:
        """The iterations of a loop that are launches of which none counts them."""
        return Iterations(self.session, count)

    def iterations_while(self, goes_on: bool, *passed_on: Any) -> IterationsWhile:
        """The iterations of a loop, if it goes on, that are launches and a flag; with
        what the first one takes."""
        return IterationsWhile(self, goes_on, passed_on)

    def local(self, nbytes: int) -> Any:
        """Local memory of that size, as an argument of a kernel."""
        return self.session.cl.LocalMemory(max(1, nbytes))

    def read(self, block: Block, byte: int, type_: str) -> Any:
        """A scalar of device memory: waits, and raises what kernels recorded, unless
        the memory has another owner, so that no command writes it."""
        session = self.session
        if not block.borrowed and not session.is_at_rest:
            self.check()
        host, layout = block.host, LAYOUTS.get(type_)
        if host is not None and layout is not None:
            return layout.unpack_from(host, byte)[0]
        dtype = DTYPES[type_]
        if host is not None:
            return np.frombuffer(host, dtype, 1, byte)[0]
        into = np.empty(1, dtype)
        session.cl.enqueue_copy(session.queue, into, block.buffer, src_offset=byte)
        return into[0] if dtype.kind == "f" else into[0].item()

    def end(self, count: int, function: Callable[..., Any], *given: Any) -> Any:
        """So many scalars that the end of a host function computes: what records calls
        calls it by itself."""
        return function(self, *given)

    def write(self, block: Block, byte: int, type_: str, value: Any) -> None:
        """Enqueue the store of a scalar."""
        session, layout = self.session, LAYOUTS.get(type_)
        if layout is not None and session.is_idle_in(block):
            layout.pack_into(block.host, byte, value)
            return
        dtype = DTYPES[type_]
        pattern = np.asarray(value).astype(dtype).tobytes()
        session.fill(block, byte, dtype.itemsize, pattern)

    def write_bytes(self, block: Block, content: bytes) -> None:
        """Copy bytes to the start of a block."""
        self.session.store(block, np.frombuffer(content, np.uint8))

    def check(self) -> None:
        """Wait for all commands and raise what a kernel recorded."""
        session = self.session
        if session.failed():
            error = device_error(self._failures, session.cell, self._places)
            session.clear_failure()
            raise error

    def fail(self, number: int, *values: Any) -> None:
        """Raise failure `number`, unless the device failed before."""
        self.check()
        raise failure_error(self._failures[number - 1], values)

    @contextmanager
    def deep(self) -> Iterator[None]:
        """Let functions recurse deeper than Python would."""
        limit, self.depth = sys.getrecursionlimit(), 0
        sys.setrecursionlimit(max(limit, DEEPEST + MARGIN))
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)

    def enter(self, number: int) -> None:
        """A recursive function begins: failure `number`, if that is too deep."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(number)

    def trace(self, label: str, value: Any) -> None:
        """Show a value on standard error."""
        print(f"{label}: {show(value)}", file=sys.stderr)


def _chosen(parameters: Mapping[str, int]) -> str:
    """The parameters to blame, in parentheses."""
    named = ", ".join(f"{name}={value}" for name, value in parameters.items())
    return f" ({named})" if named else ""
