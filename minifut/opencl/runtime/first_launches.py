"""First launches of kernels: they wait for each other, to be built as one program.

    kernels[0](..)   kernels[1](..)   kernels[2](..)   run.read(..)
    →  one OpenCL program of three kernels, then the launches, then the read

The driver takes a tenth of a second for a program, whatever it holds (PoCL links its
library to each), and hundredths for another kernel in it. Which kernels a run needs is
known when it launches them, so a launch of a kernel that is not built waits, and with
it those of further ones, until a kernel is launched that is built, or one for the
second time, or the host needs a result. The order of all commands stays the same.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from minifut.errors import InternalError
from minifut.immutables import mutable
from minifut.opencl.runtime.batch import MOST_LAUNCHES, Batch, FlagBorder, Member
from minifut.opencl.runtime.builds import build_together
from minifut.opencl.runtime.kernels import Launcher

if TYPE_CHECKING:
    from minifut.opencl.runtime.iterations import Repeated
    from minifut.opencl.runtime.queue import Session

MOST = 32
"""kernels of a program"""

DelayedLaunch = tuple[Any, Any, Any, Any, tuple[Any, ...]]
"""a launcher with its queue, sizes and arguments; in a batch with its place there,
work-items and arguments"""


class Waiting:
    """The event of a launch that waits: commands after it are not to be done first."""


@mutable
class FirstLaunches:
    """What waits, in order, and the latest event of the session before."""

    session: Session
    is_used: bool
    """whether launches may wait: where kernels share the memory of the process"""
    waiting: list[DelayedLaunch] = field(default_factory=list)
    before: Any = None
    batch: Batch | None = None
    """of which all are that wait"""
    work: int = 0
    """scalar operations of these"""
    loops: int = 0
    """loops that go on, of which a batch may do iterations (iterations_while.py)"""
    others: int = 0
    """launches in such loops that were in no batch"""
    is_guess: bool = False
    """whether what waits is to be done only if such a loop goes on"""

    def is_ready_for(self, launcher: Launcher, arguments: tuple[Any, ...]) -> bool:
        """Whether a launch of this launcher can wait with the others."""
        name = launcher.kernel.name
        if not self.is_used or launcher.is_built or len(self.waiting) >= MOST:
            return False
        if any(isinstance(each, self.session.cl.SVM) for each in arguments):
            return False  # a pointer keeps no memory
        return all(each.kernel.name != name for each, *_ in self.waiting)

    def add(
        self, launcher: Launcher, queue: Any, sizes: Any, local: Any, arguments: Any
    ) -> Waiting:
        """Let a launch wait; gives what stands for its event."""
        if not self.waiting:
            self.before = self.session.last_event
        self.waiting.append((launcher, queue, sizes, local, arguments))
        return Waiting()

    def join(
        self, member: Member, points: int, arguments: tuple[Any, ...], work: int
    ) -> None:
        """Let a launch wait in its batch, with which no others wait."""
        session, batch = self.session, member.batch
        is_first = self.batch is not batch
        if is_first:
            session.launch_first()
            if session.batch_memory.is_in_use:
                session.wait()
            self.before, self.work = session.last_event, 0
        self.waiting.append((member.launcher, member, points, None, arguments))
        self.work += work
        if is_first:
            self.batch, session.last_event = batch, Waiting()
        if len(self.waiting) >= MOST_LAUNCHES:
            session.wait()

    def repeat(self, repeated: Repeated) -> None:
        """Start the batch that waits, and these iterations after it."""
        self.work += repeated.work
        self.run(repeated)

    def guess(self, flag: int) -> None:
        """Let what joins the batch from now on be done only if this flag is set."""
        self.waiting.append((None, FlagBorder(flag), 0, None, ()))
        self.is_guess = True

    def decide(self, repeated: Repeated | None) -> None:
        """Start the batch that waits, with what was guessed, and these iterations."""
        self.is_guess = False
        if repeated is None:
            self.run()
        else:
            self.repeat(repeated)

    def run(self, repeated: Repeated | None = None) -> None:
        """Build what is not built, and enqueue what waits, with what a batch does after
        it."""
        if self.is_guess:
            message = "launches of a loop that may have ended are followed by others"
            raise InternalError("opencl", message)
        batch, work, waiting = self.batch, self.work, self.drop()
        if batch is not None:
            self.session.pending += work
            if len(waiting) > 1 or repeated is not None:
                self.session.last_event = batch.start(waiting, repeated)
            else:
                ((launcher, _, points, _, arguments),) = waiting
                launcher.launch_alone(points, arguments)
            return
        build_together([(each, sizes, own) for each, _, sizes, own, _ in waiting])
        for launcher, *launch in waiting:
            launcher.launch_as_added(*launch)

    def drop(self) -> list[DelayedLaunch]:
        """Forget what waits, as if it had not been launched; gives it. May be
        interrupted, and called again."""
        waiting, self.is_guess = self.waiting, False
        if waiting:
            self.session.last_event = self.before
            self.waiting, self.batch = [], None
        return waiting
