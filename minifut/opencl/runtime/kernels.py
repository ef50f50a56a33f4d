"""Kernels as Python callables: built on first use, from the cache if possible.

Kernels that a run launches first, one after the other, are one OpenCL program
(first_launches.py), so that nothing is compiled that never runs, and a tunable number
rebuilds only the kernels whose text uses it. What the driver made of a program is kept
(binaries.py): loading it takes 2 ms, compiling 50-700 for each kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime.batch import MOST_WORK, Batch, Member
from minifut.opencl.runtime.builds import build_together
from minifut.opencl.runtime.describe import Kernel
from minifut.opencl.runtime.device_family import register_options
from minifut.opencl.runtime.enqueue import Commands
from minifut.opencl.runtime.sections import Section
from minifut.opencl.runtime.templates import expanded
from minifut.opencl.runtime.unlocked import enqueue_unlocked

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session

WORK_ITEMS = "WORK_ITEMS"
"""the macro for the size of groups that a launch gives"""
FLOAT_ATOMICS = "_atomic_add)"
"""in the text of a kernel that adds to floats, natively in OpenCL C 3.0"""
MANY_BARRIERS = 40
"""in a kernel: PoCL takes minutes to optimise what is between more of them"""

SMALL_WORK = 1 << 18
"""scalar operations that one thread executes, mostly in vectors, before others would
have been woken"""

CALLER_WORK = 1 << 20
"""the same of all larger launches between two waits: so a loop over launches leaves
them to all threads, which are woken once for many (`batch`), but a call of one or two
kernels does not wait until threads are awake, 20 to 80 us"""

ALONE_WORK = 1 << 24
"""the same of a launch of one group, to which other threads add nothing: more keeps the
caller's from answering Ctrl-C for milliseconds"""

UNKNOWN_WORK = 1 << 62
"""of a launch that no call of `of` precedes"""


class Launcher:
    """`launcher(points, *arguments)` enqueues the kernel over that many work-items.

    Where a launch gives the size of groups, the kernel is built for each such size, as
    a constant that loops are unrolled by and registers are counted for.

    `launcher.of(work)` enqueues so much work: a small launch, while nothing else runs,
    goes to the device that executes it at once in this thread. Each device has a build
    of its own, when it is first needed.
    """

    __slots__ = (
        "_batches",
        "_build",
        "_built",
        "_commands",
        "_enqueue",
        "_events",
        "_first_launches",
        "_local",
        "_member",
        "_queue",
        "_width",
        "_work",
        "is_built",
        "is_synchronous",
        "kernel",
        "program",
        "session",
        "small",
        "start",
    )

    def __init__(
        self,
        session: Session,
        kernel: Kernel,
        prelude: str,
        options: str,
        constants: Mapping[str, int] = MappingProxyType({}),
        synchronous: bool = False,
        program: str = "",
        batches: dict[tuple[str, str], Batch] | None = None,
    ) -> None:
        self.kernel = kernel
        self.program = program
        self._batches = {} if batches is None else batches
        """of the loaded program, by what kernels are built with"""
        self.session = session
        self.is_synchronous = synchronous
        """whether its commands are done when they are enqueued"""
        self._queue = session.synchronous if synchronous else session.commands
        self._events: Any = Done() if synchronous else session
        self.small: Launcher | None = None
        """the launcher for small launches, when there was one"""
        self.start: Callable[..., None] = self
        """called as the launcher is, what is known of it evaluated"""
        self._first_launches = session.first_launches
        local = kernel.local
        self._local = (local,) if isinstance(local, int) else local
        self._width = local if isinstance(local, int) else 0
        self._build = (prelude, options, constants)
        self._built: dict[tuple[Any, ...], Launcher] = {}
        self._commands: Commands | None = None
        self._enqueue: Any = self._first
        self._work = UNKNOWN_WORK
        self.is_built = False
        self._member: Member | None = None
        """its place in a batch"""

    @property
    def latest(self) -> Any:
        """The event of the latest command on its queue, or of this thread's instead."""
        self.session.launch_first()
        event = self._events.last_event
        return self.small.latest if event is None and self.small else event

    def of(self, work: int) -> Callable[..., None]:
        """What enqueues so many scalar operations, called as the launcher is."""
        session = self.session
        if session.last_event is not None or session.synchronous is None:
            self._work = work
            return self
        if self._first_launches.loops:
            if self._may_join():
                self._work = work
                return self
            self._first_launches.others += 1
        if work > SMALL_WORK:
            counts = session.since_wait
            if counts.caller_work + work > CALLER_WORK:
                self._work = work
                return self
            counts.caller_work += work
        return self._in_caller().start

    def _is_for_caller(self) -> bool:
        """Whether nothing runs, and a launch of one group is one work-item."""
        session = self.session
        idle = session.last_event is None and session.synchronous is not None
        is_left = self._first_launches.loops and self._may_join()
        return idle and self._width == 1 and not is_left

    def _may_join(self) -> bool:
        """Whether the kernel is part of a batch, or may become one."""
        return self._member is not None or not self.is_built

    def _in_caller(self) -> Launcher:
        """The launcher for this thread."""
        if self.small is None:
            given = self.session, self.kernel, *self._build
            self.small = Launcher(*given, synchronous=True, program=self.program)
        return self.small

    def built(self, *values: int) -> Launcher:
        """The kernel with these values of the macros that launches choose."""
        found = self._built.get(values)
        if found is None:
            chosen = dict(zip(self.kernel.per_launch, values, strict=True))
            found = self._built[values] = self._with(self.kernel, chosen)
        return found

    def _with(self, kernel: Kernel, more: Mapping[str, int]) -> Launcher:
        """The same with more macros."""
        prelude, options, constants = self._build
        macros = {**constants, **more}
        given = self.session, kernel, prelude, options, macros
        return Launcher(*given, self.is_synchronous, self.program, self._batches)

    def __call__(self, points: int | tuple[int, ...], *arguments: Any) -> None:
        first, work = self._first_launches, self._work
        self._work = UNKNOWN_WORK
        if points == 1 and work <= ALONE_WORK and self._is_for_caller():
            first.others += 1
            self._in_caller().start(points, *arguments)
            return
        member = self._member
        if member is not None and work <= MOST_WORK:
            if member.number is not None:
                assert isinstance(points, int)
                if points > 0:
                    first.join(member, points, arguments, work)
                return
            member.count_launch()
        elif points != 0:  # what is in no batch ends one
            self.session.since_wait.launches = 0
        if points != 0:
            first.others += 1
        if first.waiting and self.is_built:
            self.session.launch_first()
        width = self._width
        self._events.pending += work
        if width and points.__class__ is int:
            if points > 0:
                whole = (points + width - 1) // width * width
                self._events.last_event = self._enqueue(
                    self._queue, (whole,), self._local, *arguments
                )
            return
        assert self._local is not None
        extents = points if isinstance(points, tuple) else (points,)
        if min(extents) > 0:
            sizes = tuple(
                (n + g - 1) // g * g for n, g in zip(extents, self._local, strict=True)
            )
            self._events.last_event = self._enqueue(
                self._queue, sizes, self._local, *arguments
            )

    def of_group(self, group: int) -> Launcher:
        """The launcher with groups of that size."""
        found = self._built.get((WORK_ITEMS, group))
        if found is None:
            kernel = self.kernel._replace(local=group)
            found = self._with(kernel, {WORK_ITEMS: group})
            self._built[WORK_ITEMS, group] = found
        return found

    def _first(self, queue: Any, sizes: Any, local: Any, *arguments: Any) -> Any:
        first = self.session.first_launches
        if first.batch is not None:
            self.session.launch_first()
        if first.is_ready_for(self, arguments):
            return first.add(self, queue, sizes, local, arguments)
        self.session.launch_first()
        if not self.is_built:
            build_together([(self, sizes, local)])
        return self._launch_first(queue, sizes, local, arguments)

    def adopt(self, commands: Commands) -> None:
        """From now on launch by these."""
        self._commands, self._enqueue = commands, commands.enqueue
        self.is_built = True
        if self._width != 1:
            return
        if self.is_synchronous:
            self.start = commands.start_here
        elif self.session.has_batches and self.kernel.is_part:
            section = self.section()
            key = section.prelude, section.options
            batch = self._batches.setdefault(key, Batch(self.session))
            self._member = batch.member_of(self)

    def launch_as_added(
        self, queue: Any, sizes: Any, local: Any, arguments: tuple[Any, ...]
    ) -> None:
        """Enqueue what waited for the kernel to be built."""
        self._events.last_event = self._launch_first(queue, sizes, local, arguments)

    def prepared(self, points: int, arguments: tuple[Any, ...]) -> Any:
        """A launch of the built kernel in this thread, as a function with arguments, on
        a kernel object that only it uses; None if groups have several work-items."""
        commands = self._commands
        if commands is None or self.start is not commands.start_here:
            return None
        return commands.copy().launch_here(points, arguments)

    def launch_alone(self, points: int, arguments: tuple[Any, ...]) -> None:
        """Enqueue what waited for others of a batch."""
        self._events.last_event = self._enqueue(
            self._queue, (points,), self._local, *arguments
        )

    def _launch_first(
        self, queue: Any, sizes: Any, local: Any, arguments: tuple[Any, ...]
    ) -> Any:
        """A launch that may compile."""
        assert self._commands is not None
        if self.is_synchronous:
            return enqueue_unlocked(self._commands, queue, sizes, local, arguments)
        return self._enqueue(queue, sizes, local, *arguments)

    def section(self) -> Section:
        """The text of the kernel and what it is compiled with."""
        prelude, options, constants = self._build
        text = expanded(self.kernel.text or "", constants)
        device = self.session.device
        if device.is_pocl and text.count("barrier(") > MANY_BARRIERS:
            options += " -cl-opt-disable"
        if device.adds_floats and FLOAT_ATOMICS in text:
            options += " -cl-std=CL3.0"
        section = Section(self.kernel.name, prelude, text, options, constants)
        if device.takes_nvidia_options and WORK_ITEMS in constants:
            more = register_options(prelude + text, constants[WORK_ITEMS])
            return replace(section, options=" ".join((options, *more)))
        return section

    @property
    def handle(self) -> Any:
        """The device that the kernel is built for."""
        device = self.session.device
        return device.synchronous if self.is_synchronous else device.handle

    def kernel_of(self, program: Any) -> Commands:
        """How the kernel of a program that has it is launched."""
        kernel = self.session.cl.Kernel(program, self.kernel.name)
        return Commands(self.session, kernel, self.kernel.types)


class Done:
    """Where the events of commands go that are done when they are enqueued."""

    last_event: Any = None
    pending = 0
