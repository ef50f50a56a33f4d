"""Calls on few elements that are repeated: recorded once, then executed step by step.

    entry f [n] (xs: [n]f32): [n]f32         its host function, called with n = 16
    →  given_0[...] = xs                     memory that belongs to the recording
       start(queue, kernel, ..)              a kernel object with its arguments in place
       out_0.copy()                          a view of the result's block

With the same sizes and scalars a host function does the same again, unless it reads
what kernels computed, other than in its end (`function_ends`), which is called. So
after some equal calls in a row it runs once with a `Recorder` in the place of `Run`,
which executes nothing and notes launches, copies and fills. What it cannot note, such
as a read whose value is used, raises `NotRecordableError`: then these calls are made as
all others are, as they are if arrays are large, since arguments and results are copied
here.

Launches are those of the device without threads, so that each step is done when the
next one begins. If one has recorded a failure, the call is made again in the other way,
which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.immutables import immutable
from minifut.opencl.runtime.describe import DTYPES, Entry, EntryLeaf, leaves_of
from minifut.opencl.runtime.entry import wrapped
from minifut.opencl.runtime.host_scalars import quiet
from minifut.opencl.runtime.kernels import SMALL_WORK, Launcher
from minifut.opencl.runtime.pool import Block, PoolBlock, bytes_of

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session
    from minifut.opencl.runtime.run import Run

IN_A_ROW = 16
"""equal calls before they are recorded, which takes as long as some ten of them"""
MOST = 4
"""recordings of an entry point"""
MOST_STEPS = 256
MOST_BYTES = 1 << 20
"""of all blocks of a recording"""
COPIED_BYTES = 1 << 15
"""of arguments and results, a step: from there on, to copy them takes longer than to
use them in place"""

Replay = Callable[..., tuple[Any, ...] | None]
"""called with the arrays among the arguments, gives the results, which no one else has;
None: to be called in the other way"""
Step = tuple[Callable[..., Any], tuple[Any, ...]]


class NotRecordableError(Exception):
    """The run does what depends on more than sizes, or is not worth it."""


def refuse(*arrays: Any) -> None:
    """In place of a recording where there can be none."""


class Recordings:
    """The recorded calls of an entry point, by their sizes and scalars."""

    __slots__ = ("_entry", "_run", "_session", "_turns", "latest", "on_device", "ready")

    def __init__(self, session: Session, run: Run, entry: Entry) -> None:
        self._session, self._run, self._entry = session, run, entry
        self.ready: dict[tuple[Any, ...], Replay] = {}
        self.on_device: dict[tuple[Any, ...], Replay] = {}
        """the same calls with results that stay on the device"""
        self.latest: tuple[Any, ...] | None = None
        """the key of the latest call that was made in the other way"""
        self._turns = 0

    def clear(self) -> None:
        """Forget all: the run has other kernels or parameters."""
        self.ready.clear()
        self.on_device.clear()
        self.latest, self._turns = None, 0

    def start(self, key: tuple[Any, ...]) -> None:
        """A call was made with another key than the one before."""
        self.latest, self._turns = key, 0

    def again(self, key: tuple[Any, ...], leaves: Sequence[Any]) -> None:
        """A call was made with the same key as the one before, and these arguments:
        the run, and those of the host function."""
        self._turns += 1
        if self._turns < IN_A_ROW or key in self.ready:
            return
        self._turns = 0
        if len(self.ready) >= MOST:
            self.ready.clear()
            self.on_device.clear()
        replay: Replay = refuse
        try:
            replay = recorded(self._session, self._run, self._entry, leaves[1:])
        except (NotRecordableError, MemoryError):
            pass
        finally:
            self.ready[key] = replay
            self.on_device[key] = refuse
            if replay is not refuse:
                self.on_device[key] = self._lending(key, replay, leaves[1:])

    def _lending(
        self, key: tuple[Any, ...], replay: Replay, leaves: Sequence[Any]
    ) -> Replay:
        """The recorded call with results on the device, as it is called first."""
        given = [_without_contents(leaf) for leaf in leaves]

        def first(*arrays: Any) -> tuple[Any, ...] | None:
            from minifut.opencl.runtime.lent import lending

            make = partial(record, self._run, self._entry, given)
            found = lending(self._session, make, replay, keep)
            keep(found)
            return found(*arrays)

        def keep(found: Replay) -> None:
            self.on_device[key] = found

        return first


def _without_contents(leaf: Any) -> Any:
    """An argument that is recorded like this one, and keeps no array of the user's."""
    if not isinstance(leaf, Block):
        return leaf
    return Block(None, leaf.nbytes, np.empty_like(leaf.host))


class Recorder:
    """What a host function calls in place of `Run`: notes, and executes nothing."""

    def __init__(self, run: Run) -> None:
        self.device, self.parameters = run.device, run.parameters
        self.constants = run.constants
        self.group_size, self.check_group = run.group_size, run.check_group
        self.check_requested_tiles = run.check_requested_tiles
        self.kernels = tuple(NotedLauncher(self, each) for each in run.kernels)
        self.steps: list[Step] = []
        self.blocks: list[PoolBlock] = []
        """all of the recording, none of which is used a second time"""
        self.iterations = run.iterations
        self.last: Callable[[], tuple[Any, ...]] | None = None
        """the end of a host function, called after the steps"""
        self._run = run
        self._bytes = 0
        self.has_read = False

    def __getattr__(self, name: str) -> Any:
        """What `Run` has and no step can be."""
        raise NotRecordableError

    def allocate(self, nbytes: int) -> PoolBlock:
        """Memory that stays with the recording."""
        self._bytes += nbytes
        if self._bytes > MOST_BYTES:
            raise NotRecordableError
        block = self._run.allocate(nbytes)
        self.blocks.append(block)
        return block

    def note(self, function: Callable[..., Any], *arguments: Any) -> None:
        """One more step."""
        if self.has_read or len(self.steps) >= MOST_STEPS:
            raise NotRecordableError
        self.steps.append((function, arguments))

    def copy(
        self, to: Block, to_byte: int, source: Block, source_byte: int, nbytes: int
    ) -> None:
        """A copy between blocks."""
        if nbytes > 0:
            target = bytes_of(to)[to_byte : to_byte + nbytes]
            content = bytes_of(source)[source_byte : source_byte + nbytes]
            self.note(np.copyto, target, content)

    def fill(self, block: Block, byte: int, nbytes: int, pattern: bytes) -> None:
        """Bytes filled with a repeated pattern."""
        if nbytes > 0:
            unit = np.dtype(f"V{len(pattern)}")
            part = bytes_of(block)[byte : byte + nbytes].view(unit)
            self.note(np.copyto, part, np.frombuffer(pattern, unit))

    def write(self, block: Block, byte: int, type_: str, value: Any) -> None:
        """A store of a scalar."""
        if isinstance(value, Unread):
            raise NotRecordableError
        pattern = np.asarray(value).astype(DTYPES[type_]).tobytes()
        self.fill(block, byte, len(pattern), pattern)

    def read(self, block: Block, byte: int, type_: str) -> Unread:
        """A scalar that steps have computed, as long as it is only a result: no step
        comes after it."""
        self.has_read = True
        return Unread(
            "out_{}[()]", np.ndarray((), DTYPES[type_], bytes_of(block), byte)
        )

    def end(
        self, count: int, function: Callable[..., Any], *given: Any
    ) -> list[Unread]:
        """The scalars that come from the end of a host function, as `read` does."""
        if self.last is not None or any(isinstance(each, Unread) for each in given):
            raise NotRecordableError
        self.has_read = True
        self.last = partial(function, self._run, *given)
        return [Unread(f"out_{{}}(last[{number}])", None) for number in range(count)]


class Unread:
    """A scalar that is not known yet, from a view of memory or the end of a function:
    any use of it ends the recording."""

    __slots__ = ("form", "view")

    def __init__(self, form: str, view: np.ndarray | None) -> None:
        self.form, self.view = form, view


def _use(self: Unread, *_: object) -> Any:
    raise NotRecordableError


COMPARED = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__")
for _name in {*dir(int), "__array__"}.difference(dir(object)).union(COMPARED):
    setattr(Unread, _name, _use)


class NotedLauncher:
    """A launcher that notes small launches of kernels that are built."""

    def __init__(self, recorder: Recorder, launcher: Any) -> None:
        self._recorder = recorder
        self._launcher = launcher

    def __call__(self, *_: Any) -> None:
        """A launch of nobody knows how much work."""
        raise NotRecordableError

    def of_group(self, group: int) -> NotedLauncher:
        """The same with groups of that size."""
        return NotedLauncher(self._recorder, self._launcher.of_group(group))

    def built(self, *values: int) -> NotedLauncher:
        """The same of another build."""
        return NotedLauncher(self._recorder, self._launcher.built(*values))

    def of(self, work: int) -> Callable[..., None]:
        """What notes the launch of so much work."""
        launcher = self._launcher
        if work > SMALL_WORK or not isinstance(launcher, Launcher):
            raise NotRecordableError

        def note(points: Any, *arguments: Any) -> None:
            if points.__class__ is not int:
                raise NotRecordableError
            if self._recorder.has_read:  # among the arguments may be what was read
                raise NotRecordableError
            if points > 0:
                small = launcher.small
                step = small.prepared(points, arguments) if small else None
                if step is None:
                    raise NotRecordableError
                self._recorder.note(*step)

        return note


@immutable
class Result:
    """A result of a recording: `form.format(place)` is its text in generated code,
    where `out_PLACE` is a view of memory of the recording, a number, or what makes one
    of a number from the end of a host function."""

    form: str
    view: Any
    block: Block | None = None
    """that of an array"""


@immutable
class Recording:
    """Memory of its own for each array, and what is done with it."""

    steps: list[Step]
    blocks: list[PoolBlock]
    given: list[np.ndarray]
    results: list[Result]
    last: Callable[[], tuple[Any, ...]] | None

    @property
    def places(self) -> list[int]:
        """Which results are arrays."""
        return [n for n, result in enumerate(self.results) if result.block is not None]

    def names(self, session: Session) -> dict[str, Any]:
        """What generated code knows."""
        names: dict[str, Any] = {
            "blocks": self.blocks,
            "clear_failure": session.clear_failure,
            "end": self.last,
            "number": session.number,
            "quiet": quiet,
            "steps": self.steps,
        }
        names |= {f"given_{place}": view for place, view in enumerate(self.given)}
        return names | {f"out_{n}": each.view for n, each in enumerate(self.results)}


def record(run: Run, entry: Entry, leaves: Sequence[Any]) -> Recording:
    """The recording of a call with these arguments of the host function, of which the
    blocks are arrays of NumPy in place."""
    recorder = Recorder(run)
    count = len(entry.sizes)
    arguments: list[Any] = []
    given: list[np.ndarray] = []
    for leaf, value in zip(leaves_of(entry.parameters), leaves[count:], strict=True):
        if leaf.shape is None:
            arguments.append(value)
            continue
        block = recorder.allocate(value.nbytes)
        block.borrowed = True
        given.append(_view(block, value.host.shape, leaf))
        arguments.append(block)
    try:
        outcome = entry.function(recorder, *leaves[:count], *arguments)
    finally:
        recorder.kernels = ()  # no cycle: blocks return to the pool at once
    results: list[Result] = []
    for leaf, value in zip(leaves_of(entry.results), outcome, strict=True):
        if leaf.shape is not None:
            block, shape = value
            results.append(Result("out_{}.copy()", _view(block, shape, leaf), block))
        elif isinstance(value, Unread):
            made = partial(wrapped, dtype=DTYPES[leaf.type])
            results.append(
                Result(value.form, made if value.view is None else value.view)
            )
        else:
            results.append(Result("out_{}", wrapped(value, DTYPES[leaf.type])))
    blocks = [result.block for result in results if result.block is not None]
    copied = sum(view.nbytes for view in given) + sum(b.nbytes for b in blocks)
    if copied > COPIED_BYTES * max(1, len(recorder.steps)):
        raise NotRecordableError
    return Recording(recorder.steps, recorder.blocks, given, results, recorder.last)


def recorded(session: Session, run: Run, entry: Entry, leaves: Sequence[Any]) -> Replay:
    """The recorded call with these arguments, with results of NumPy."""
    recording = record(run, entry, leaves)
    names = recording.names(session)
    forms = tuple(result.form for result in recording.results)
    exec(_code(len(recording.given), forms), names)
    replay: Replay = names.pop("replay")  # no cycle either
    return replay


@cache
def _code(arrays: int, forms: tuple[str, ...]) -> CodeType:
    results = "".join(f"{form.format(place)}, " for place, form in enumerate(forms))
    lines = [
        f"def replay({', '.join(f'array_{place}' for place in range(arrays))}):",
        *lines_of(arrays, forms),
        f"    return ({results})",
    ]
    return compile("\n".join(lines), "<recorded call>", "exec")


def lines_of(arrays: int, forms: tuple[str, ...]) -> list[str]:
    """What is done in a recorded call before it gives results of these forms."""
    lines = [
        *(f"    given_{place}[...] = array_{place}" for place in range(arrays)),
        "    for function, arguments in steps:",
        "        function(*arguments)",
        "    if number[0]:",
        "        return clear_failure()",
    ]
    if any("last" in form for form in forms):
        lines += ["    with quiet():", "        last = end()"]
    return lines


def _view(block: Block, shape: tuple[int, ...], leaf: EntryLeaf) -> np.ndarray:
    return np.ndarray(shape, DTYPES[leaf.type], bytes_of(block))
