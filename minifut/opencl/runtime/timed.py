"""Calls that are timed: arguments on the device before the clock starts.

    call = TimedCall(run, session, program, entry, arguments)
    seconds = call()            # from the first command to the end of the last one
    values = call.results()     # those of the latest run, as a user gets them
    other = call.of(function)   # another host function with the same arguments in place

Reading and transferring arguments is outside, so is what makes arrays of the results;
allocation, launches and the final wait are inside. What a run consumes is loaded again
before the next one. Ctrl-C ends a run as it ends any call; an exception that is no
`Exception`, such as a time limit's, cancels what has not begun on the device.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.opencl.runtime.describe import DTYPES, Entry, HostCallable, leaves_of
from minifut.opencl.runtime.entry import Converter
from minifut.opencl.runtime.pool import Block

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session
    from minifut.opencl.runtime.run import Run


class TimedCall:
    """An entry point and its arguments, to be run again and again."""

    def __init__(
        self,
        run: Run,
        session: Session,
        program: str,
        entry: Entry,
        arguments: tuple[Any, ...],
    ) -> None:
        self._run = run
        self._session = session
        self._converter = Converter(session, program, entry)
        self._entry = entry
        self._arguments = arguments
        self._consumes = any(p.unique for p in entry.parameters)
        self._leaves: list[Any] | None = None
        self._outcome: tuple[Any, ...] = ()
        self._known_out = 0
        self._program = program
        self.shapes: tuple[tuple[int, ...], ...] = ()
        """of the latest run's result leaves; () for a scalar"""
        self.began = 0.0
        """when the latest run did"""
        session.pool.peak = session.pool.in_use

    @property
    def session(self) -> Session:
        """The device on which it runs."""
        return self._session

    @property
    def entry(self) -> Entry:
        """What it calls."""
        return self._entry

    def of(self, function: HostCallable) -> TimedCall:
        """The same call of a function that takes the entry point's place."""
        entry = self._entry._replace(function=function)
        other = TimedCall(
            self._run, self._session, self._program, entry, self._arguments
        )
        other._leaves = self._leaves
        return other

    def __call__(self) -> float:
        """One run; its seconds. Waiting for runs of other threads does not count."""
        with self._session.lock:
            return self._timed()

    def _timed(self) -> float:
        session = self._session
        self._outcome = ()
        session.recover(self._entry.name)
        leaves = self._leaves
        try:
            if leaves is None:
                leaves = self._converter.leaves_of(self._arguments)
                self._leaves = None if self._consumes else leaves
                session.wait()
            self.began = time.perf_counter()
            outcome = self._entry.function(self._run, *leaves)
            self._run.check()
            seconds = time.perf_counter() - self.began
        except BaseException as error:
            raise session.failure_of(error, self._arguments, leaves or []) from None
        finally:
            session.builds.end()
        self._outcome = outcome
        self.shapes = tuple(
            leaf[1] if isinstance(leaf, tuple) else () for leaf in outcome
        )
        return seconds

    def results(self) -> tuple[Any, ...]:
        """The results of the latest run (which they outlive), as NumPy arrays."""
        with self._session.lock:
            if not self._outcome and self._entry.results:
                self()
            self._bytes_out()
            outcome, self._outcome = self._outcome, ()
            results = self._converter.results_of(outcome, False)
            self._run.check()
        return results

    @property
    def peak(self) -> int:
        """Bytes of device memory that were in use at most, arguments included."""
        given = sum(
            leaf.nbytes for leaf in self._leaves or () if leaf.__class__ is Block
        )
        return self._session.pool.peak + given

    @property
    def nbytes(self) -> int:
        """How large the arrays are that go in and, in the latest run, came out."""
        entry = self._entry
        leaves = self._leaves or self._converter.leaves_of(self._arguments)
        pairs = zip(
            leaves_of(entry.parameters), leaves[len(entry.sizes) :], strict=True
        )
        given = sum(
            block.nbytes
            for leaf, block in pairs
            if leaf.shape is not None and isinstance(block, Block)
        )
        return given + self._bytes_out()

    def _bytes_out(self) -> int:
        if self._outcome:
            self._known_out = sum(
                DTYPES[leaf.type].itemsize * int(np.prod(given[1], dtype=np.int64))
                for leaf, given in zip(
                    leaves_of(self._entry.results), self._outcome, strict=True
                )
                if leaf.shape is not None
            )
        return self._known_out
