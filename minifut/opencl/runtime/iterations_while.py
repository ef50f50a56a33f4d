"""Iterations of a loop that goes on as long as the device says: left to the device.

    iterations = run.iterations_while(c, xs)     a batch, built without waiting until
    while c:                                     memory is used again:
        step(xs, ys, f)                   →        step(a, b, f)  unless f is 0:
        c, xs = iterations.goes_on(f, ys)          step(b, a, g)  unless g is 0:
                                                   in turns: step(a, b, f) step(b, a, g)

The host takes it that the loop goes on, and has the batch look at the flag of each
iteration before it does the next one. When what is passed on is in the same memory as
some iterations ago (iterations.py), the batch does iterations in turns until a flag
says that the loop ends. Only then the host waits. It goes on behind the last iteration,
with what that passes on: it has taken the memory of all of them out of the pool before.

An iteration of a loop that may have ended only enqueues launches and allocates as much
as the one before: else, or if there is little memory, the host waits for the flag. So
nothing that it does differs from what an iteration before it did.

Launches of such a loop are in batches from its first iteration on, and their kernels
become parts of one sooner: each iteration would wait for threads otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime.batch import MOST_LAUNCHES, address_of
from minifut.opencl.runtime.iterations import (
    LONGEST,
    MOST,
    MOST_WORK,
    TRIES,
    Iteration,
    Repeated,
    are_same,
    blocks_by_buffer,
    is_missing,
    period_of,
    place_of,
    taken_from,
)
from minifut.opencl.runtime.pool import LARGE, Block, Pool

if TYPE_CHECKING:
    from minifut.opencl.runtime.run import Run

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
