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

Loops that go on as long as the device says are left to it, too:

    iterations = run.iterations_while(c, xs)     a batch, built without waiting until
    while c:                                     memory is used again:
        step(xs, ys, f)                   →        step(a, b, f)  unless f is 0:
        c, xs = iterations.goes_on(f, ys)          step(b, a, g)  unless g is 0:
                                                   in turns: step(a, b, f) step(b, a, g)

The host takes it that the loop goes on, and has the batch look at the flag of each
iteration before it does the next one. When iterations are launches in the same memory
again, the batch does them in turns until a flag says that the loop ends. Only then the
host waits. It has taken the memory of all iterations out of the pool before.

An iteration of a loop that may have ended only enqueues launches and allocates as much
as the one before: else, or if there is little memory, the host waits for the flag. So
nothing that it does differs from what an iteration before it did.

Launches of such a loop are in batches from its first iteration on, and their kernels
become parts of one sooner: each iteration would wait for threads otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minifut.immutables import immutable
from minifut.opencl.runtime.batch import MOST_LAUNCHES, address_of
from minifut.opencl.runtime.pool import LARGE, Block, Pool, PoolBlock

if TYPE_CHECKING:
    from minifut.opencl.runtime.first_launches import DelayedLaunch
    from minifut.opencl.runtime.queue import Session
    from minifut.opencl.runtime.run import Run

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


Ending = tuple[bool, tuple[Any, ...]]
"""whether the loop goes on, and what its next iteration or its end takes"""
LITTLE = 4
"""the memory is this many times as much as all blocks, where the host goes on before it
knows whether the loop does: these allocate no more than once again"""
FEW = 1 << 8
"""launches of the first batch that repeats some, and how often each has as many as the
one before: most loops are short, and counters for each launch are cleared first"""
GROWTH = 4


class IterationsWhile:
    """The iterations of a loop that are launches and the read of a flag."""

    __slots__ = (
        "_before",
        "_begun",
        "_first",
        "_form",
        "_guessed",
        "_is_left",
        "_run",
        "_tries",
    )

    def __init__(self, run: Run, goes_on: bool, passed_on: tuple[Any, ...]) -> None:
        self._run = run
        self._first = run.session.first_launches
        self._tries = TRIES
        self._before: list[Iteration] = []
        """the last iterations, all of launches in one batch"""
        self._guessed: list[Iteration] = []
        """those after which it is not known yet whether the loop goes on"""
        self._form = form_of(passed_on)
        self._is_left = goes_on and run.session.has_batches
        """whether it goes on, and may be left to the device"""
        if self._is_left:
            self._first.loops += 1
            self._begin()

    def _begin(self) -> None:
        """Note where the launches of an iteration begin."""
        first = self._first
        work = 0 if first.batch is None else first.work
        self._begun = first.waiting, len(first.waiting), work, first.others

    def goes_on(self, flag: Block, *passed_on: Any) -> tuple[Any, ...]:
        """What an iteration passes on, and where it says whether the loop goes on;
        gives whether it does, and what the next iteration or the end of the loop
        takes."""
        found = self._noted(flag, passed_on) if self._is_left else None
        goes_on, taken = found or (self._run.read(flag, 0, "bool"), passed_on)
        if self._is_left:
            if goes_on and (self._tries > 0 or self._guessed):
                self._begin()
            else:
                self._is_left = False
                self._first.loops -= 1
        return goes_on, *taken

    def _noted(self, flag: Block, passed_on: tuple[Any, ...]) -> Ending | None:
        """The same, or None if the host is to read the flag."""
        first, before = self._first, self._before
        waiting, start, work_before, others = self._begun
        is_same = first.waiting is waiting and first.others == others
        if first.batch is None or not is_same:
            assert not self._guessed
            before.clear()
            return None
        self._tries -= 1
        launches, work = waiting[start:], first.work - work_before
        places = tuple(map(place_of, passed_on))
        before.append(Iteration(launches, work, places, address_of(flag.buffer)))
        if len(before) > LONGEST + 1:
            del before[0]
        turn = period_of(before)
        if not turn and self._may_guess(passed_on):
            self._guessed.append(before[-1])
            first.guess(before[-1].flag)
            return True, passed_on
        return self._done(turn, flag, passed_on)

    def _may_guess(self, passed_on: tuple[Any, ...]) -> bool:
        """Whether an iteration like the last one may be launched before it is known
        whether there is one."""
        form, self._form = self._form, form_of(passed_on)
        pool, first, last = self._run.session.pool, self._first, self._before[-1]
        more = len(last.launches) + 2
        return (
            self._tries > 0
            and len(self._guessed) < LONGEST
            and len(first.waiting) + more < MOST_LAUNCHES
            and first.work + last.work <= MOST_WORK
            and LITTLE * pool.held <= min(pool.limit, LITTLE * LARGE)
            and are_same(form, self._form)
        )

    def _done(
        self, turn: Sequence[Iteration], flag: Block, passed_on: tuple[Any, ...]
    ) -> Ending | None:
        """Execute what waits, and iterations in turns, if there are turns, until the
        loop ends. None if it is at the flag of the last one whether it does."""
        guessed, self._guessed = self._guessed, []
        blocks = blocks_by_buffer((flag, *passed_on))
        pool = self._run.session.pool
        ends = [taken_from(pool, each.passed_on, blocks) for each in (*guessed, *turn)]
        if any(map(is_missing, ends[len(guessed) :])):
            turn = ()
        last = self._last(len(guessed), turn) if turn or guessed else None
        if last is None:
            return None
        places = (*guessed, *turn)[last].passed_on
        return False, tuple(
            copied(pool, place) if value is None else value
            for value, place in zip(ends[last], places, strict=True)
        )

    def _last(self, guessed: int, turn: Sequence[Iteration]) -> int | None:
        """Do iterations until the loop ends; gives the place of the last among those
        that were `guessed` and the turn, of which the last one is waiting. None if
        there is no turn, and the loop has not ended before that one."""
        session, batch = self._run.session, self._first.batch
        assert batch is not None
        launches = sum(len(each.launches) for each in turn)
        work = sum(each.work for each in turn)
        most = max(1, min(MOST // max(1, launches), MOST_WORK // max(1, work)))
        turns = max(1, FEW // max(1, launches))
        repeated = Repeated(turn, len(turn) * min(turns, most), guessed)
        self._first.decide(repeated if turn else None)
        self._run.check()
        passed = session.batch_memory.passed
        if passed < guessed:
            return passed
        passed -= guessed
        while turn:
            last = (passed - 1) % len(turn)
            if not ctypes.c_uint8.from_address(turn[last].flag).value:
                return guessed + last
            turns *= GROWTH
            repeated = Repeated(turn, len(turn) * min(turns, most))
            session.pending += repeated.work
            session.last_event = batch.start((), repeated)
            self._run.check()
            passed = session.batch_memory.passed
        return None


def copied(pool: Pool, place: tuple[Any, int, int]) -> Block:
    """What is in the place of a block, which has another user: what was made before the
    loop, and is used behind it."""
    buffer, nbytes, _ = place
    block = pool.allocate(nbytes)
    ctypes.memmove(address_of(block.buffer), address_of(buffer), nbytes)
    return block


def form_of(passed_on: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes of the blocks among these, and the scalars."""
    return tuple(v.nbytes if isinstance(v, Block) else v for v in passed_on)
