"""Iterations of a host's loop that are the same launches again: left to the device.

    iterations = run.iterations(n)
    for _ in iterations:                        a batch, once memory is used again:
        step(xs, ys)                              step(a, b)  step(b, a)
        xs, ys = iterations.end(ys, xs)     →     n - 2 in turns: step(a, b) step(b, a)

What an iteration launches depends on what the loop passes on: blocks and scalars. So if
these are what they were some iterations ago, the launches since then come
again, in the same memory, until the loop ends, and the batch (batch.py) goes through
them again itself: the host, which takes longer for a launch than the device for a small
one, is not needed any more. It goes on behind the loop, with what the last iteration
passes on, of which the blocks may have been free in the meantime.

That holds where all that an iteration does is to launch kernels that are parts of one
batch; anything else ends the batch, which is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minifut.immutables import immutable
from minifut.opencl.runtime.pool import Block, PoolBlock

if TYPE_CHECKING:
    from minifut.opencl.runtime.first_launches import DelayedLaunch
    from minifut.opencl.runtime.pool import Pool
    from minifut.opencl.runtime.queue import Session

LONGEST = 12
"""iterations after which what is passed on is in the same blocks again: a scalar often
has three in turns, and a vector two"""
TRIES = 4 * LONGEST
"""iterations after which none is taken for a repeated one"""
FEWEST = 8
"""launches that are left, for which the host would not be faster"""
MOST = 1 << 12
"""launches of a batch that repeats some: each has counters, which the host clears"""
MOST_WORK = 1 << 30
"""scalar operations of these: the host answers Ctrl-C when they are done"""


@immutable
class Iteration:
    """An iteration: its launches, of so many scalar operations, and what it passes on,
    of blocks the buffer, size and capacity."""

    launches: Sequence[DelayedLaunch]
    work: int
    passed_on: tuple[Any, ...]
    flag: int = 0
    """where the device says whether the loop goes on (iterations_while.py)"""


@immutable
class Repeated:
    """Iterations that a batch does after others, in turns: `count` in all. Among what
    it does before, it has `decided` so often whether there are more."""

    iterations: Sequence[Iteration]
    count: int
    decided: int = 0

    @property
    def launches(self) -> int:
        """How many, at most."""
        turns = -(-self.count // len(self.iterations))
        return turns * sum(len(each.launches) for each in self.iterations)

    @property
    def places(self) -> int:
        """How many, and how often it is decided whether the loop goes on."""
        return self.launches + (self.count + 1 if self.iterations[0].flag else 0)

    @property
    def work(self) -> int:
        """Scalar operations."""
        return self.count * max(each.work for each in self.iterations)


class Iterations:
    """The iterations of a loop that its body does not count."""

    __slots__ = (
        "_before",
        "_first",
        "_left",
        "_session",
        "_start",
        "_tries",
        "_waiting",
        "_work",
    )

    def __init__(self, session: Session, count: int) -> None:
        self._session = session
        self._first = session.first_launches
        self._left = count
        self._tries = TRIES
        self._before: list[Iteration] = []
        """the last iterations, all of launches in one batch"""

    def __iter__(self) -> Iterations:
        return self

    def __next__(self) -> None:
        if self._left <= 0:
            raise StopIteration
        self._left -= 1
        first = self._first
        may_repeat = first.batch is not None and self._tries > 0
        self._waiting = first.waiting if may_repeat else None
        self._start, self._work = len(first.waiting), first.work

    def end(self, *passed_on: Any) -> tuple[Any, ...]:
        """What an iteration passes on; gives what the next one that the host does, or
        the end of the loop, takes."""
        first, before = self._first, self._before
        if first.waiting is not self._waiting or first.is_guess:
            before.clear()
            return passed_on
        launches, left = first.waiting[self._start :], self._left
        work = first.work - self._work
        before.append(Iteration(launches, work, tuple(map(place_of, passed_on))))
        if len(before) > LONGEST + 1:
            del before[0]
        self._tries -= 1
        period = period_of(before)
        if not period or left * len(launches) < FEWEST:
            return passed_on
        longest = max(len(each.launches) for each in period)
        most = MOST_WORK // max(1, *(each.work for each in period))
        repeated = Repeated(period, min(left, MOST // max(1, longest), most))
        last = period[(repeated.count - 1) % len(period)].passed_on
        taken = taken_from(self._session.pool, last, blocks_by_buffer(passed_on))
        if repeated.count < len(period) or is_missing(taken):
            return passed_on
        self._left -= repeated.count
        first.repeat(repeated)
        before.clear()
        self._tries = TRIES
        return taken


def blocks_by_buffer(values: Iterable[Any]) -> dict[int, Block]:
    """The blocks among these values, by the identities of their buffers."""
    return {id(each.buffer): each for each in values if isinstance(each, Block)}


def taken_from(
    pool: Pool, places: tuple[Any, ...], blocks: dict[int, Block]
) -> tuple[Any, ...]:
    """What is passed on in these places: `blocks`, or such of the pool, which are added
    to these. None for a place where something else is."""
    taken: list[Any] = []
    for place in places:
        if isinstance(place, tuple):
            at = id(place[0])
            block = blocks.get(at) or pool.take(*place)
            if block is not None:
                blocks[at] = block
            taken.append(block)
        else:
            taken.append(place)
    return tuple(taken)


def is_missing(taken: tuple[Any, ...]) -> bool:
    """Whether something else is in one of the places."""
    return any(each is None for each in taken)


def place_of(value: Any) -> Any:
    """What tells a value from others: of a block of the pool where it is, so that it is
    not kept."""
    if isinstance(value, PoolBlock):
        return value.buffer, value.nbytes, value.capacity
    return value


def period_of(before: Sequence[Iteration]) -> Sequence[Iteration]:
    """The last iterations, from one on that passed on the same as the last."""
    now = before[-1].passed_on
    for start in range(len(before) - 2, -1, -1):
        if are_same(before[start].passed_on, now):
            return before[start + 1 :]
    return ()


def are_same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether they are the same blocks and scalars; of zeros, with the same sign."""
    return all(
        type(a) is type(b)
        and (
            a[0] is b[0] and a[1:] == b[1:]
            if isinstance(a, tuple)
            else a == b and (bool(a) or repr(a) == repr(b))
        )
        for a, b in zip(some, others, strict=True)
    )
