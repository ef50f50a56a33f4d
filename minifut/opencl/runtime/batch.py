"""Launches that one launch executes: a batch, for kernels that are launched often.

    kernels[1](16, xs, ys, n)   kernels[2](16, ys, zs, n)   run.read(..)
    →  one launch of `minifut_batch`, which calls part_0 16 times, then part_1 16 times

PoCL wakes its threads for each launch, which takes 10 to 20 us, as long as a step of
many host loops. So launches of kernels that have been launched often, and are not too
large, wait until the host needs a result (first_launches.py). Then a list of them lies
in memory, and a work-item for each core goes through it: it takes groups of the first
launch until none is left, waits until those that others took are done, and goes on to
the second. No work-item waits for one that has not begun. One that waits for long,
since another thread has the core of what it waits for, gives way to others on its own
(`sched_yield`, a call of the system without a library), or else leaves the rest to it.

Each work-item begins with a range of groups of its own, the same in every launch, so
that what a step wrote is in the cache of the core that reads it in the next. Where
groups wait for each other, which they say by atomic operations, all are taken in order.
Where what the host would launch comes again, the list leads back to it (iterations.py).
Whether it does may be for the launches to say: the first work-item that comes to where
that is decided notes what it finds there, since later launches may use that memory.

A part is the text of a kernel, as a function of its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.opencl.runtime.builds import build
from minifut.opencl.runtime.enqueue import ARGUMENTS, Commands
from minifut.opencl.runtime.memory import share
from minifut.opencl.runtime.pool import ALIGNMENT
from minifut.opencl.runtime.sections import Section, together
from minifut.opencl.runtime.trial_launches import Trial

if TYPE_CHECKING:
    from minifut.opencl.runtime.first_launches import DelayedLaunch
    from minifut.opencl.runtime.iterations import Repeated
    from minifut.opencl.runtime.kernels import Launcher
    from minifut.opencl.runtime.queue import Session

IN_A_ROW = 8
"""launches that the host does not wait for, before others count: a batch of few gains
less than it loses, for the device waits until the host has come to its end"""
OFTEN = 256
"""of these launches of a kernel, after which it becomes a part: building it takes as
long as it gains in some thousand, and later processes find it built"""
SOMETIMES = OFTEN // 16
"""launches of others that become parts with it"""
MOST_WORK = 1 << 27
"""scalar operations of a launch in a batch: in larger ones, waking threads is little"""
MOST_LAUNCHES = 256
"""of a batch: so long the device waits for the host"""
LINE = 16
"""ints of a cache line"""
NAME = "minifut_batch"
AS_FUNCTIONS = {
    "__kernel": "static",
    "reqd_work_group_size(x, y, z)": "noinline",
    "get_global_id(dimension)": "minifut_group",
}
"""macros by which kernels are functions of their group"""
_PARTS = {"b": "b7x", "h": "h6x", "i": "i4x", "f": "f4x", "B": "B7x", "H": "H6x"}
_PARTS |= {"I": "I4x", "l": "q", "q": "q", "L": "Q", "Q": "Q", "d": "d"}
"""8 bytes of an argument, by the letter of its type in NumPy"""
_SPELLED = {"i8": "char", "i16": "short", "i32": "int", "i64": "long", "bool": "uchar"}
_SPELLED |= {"u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong"}
_SPELLED |= {"f16": "float", "f32": "float", "f64": "double"}
HEAD = 4
"""longs of a launch before its arguments: part, groups, whether they have ranges, and
the longs of all"""
BORDER = -1
"""in place of a part, before an iteration (iterations.py): a batch that has passed as
many of these as the next long ends; else it goes on so many longs from here, or back,
unless a byte, at the address that comes last if it is none, says that the loop ends"""
_BORDER = Struct(f"<{HEAD}q")

BRIEF = 1 << 12
"""polls of what others have done, of some nanoseconds each, before giving way"""
_TEXT = f"""\
#if defined(__x86_64__) && defined(__linux__)
#define GIVE_WAY(round) {{ long code = 24; __asm__ volatile("syscall" \
        : "+a"(code) : : "rcx", "r11", "memory"); }}
#else
#define GIVE_WAY(round) {{ if (round > {BRIEF << 8}) return; }}
#endif
__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void {NAME}(
        __global int *failure,
        __global int *state,
        __global const ulong *launch)
{{
    if (failure[0]) return;
    long worker = get_global_id(0);
    long workers = get_global_size(0);
    volatile __global int *outcome = state;
    state += {LINE} * (workers + 1);
    int passed = 0;
    for (;;) {{
        if ((long)launch[0] == {BORDER}) {{
            if (passed >= (long)launch[1] || failure[0]) break;
            if (launch[3]) {{
                int own = *(volatile __global uchar *)launch[3] ? 1 : 2;
                int first = atomic_cmpxchg((volatile __global int *)state, 0, own);
                if ((first ? first : own) == 2) break;
                state += {LINE} * (workers + 1);
            }}
            passed++;
            launch += (long)launch[2];
            continue;
        }}
        long groups = launch[1];
        long ranges = launch[2] ? workers : 1;
        volatile __global int *done = state + {LINE} * workers;
        long own = 0;
        for (long number = 0; number < ranges; number++) {{
            long range = (worker + number) % ranges;
            long stop = groups * (range + 1) / ranges;
            long start = groups * range / ranges;
            int each = ranges > 1 ? max(1L, (stop - start) / 8) : 1;
            volatile __global int *taken = state + {LINE} * range;
            for (;;) {{
                long first = start + atomic_add(taken, each);
                if (first >= stop) break;
                long last = min(first + each, stop);
                for (long group = first; group < last; group++) {{
                    switch ((int)launch[0]) {{
                    CASES
                    }}
                }}
                own += last - first;
            }}
        }}
        if (own > 0) atomic_add(done, (int)own);
        for (int round = 0; *done < groups; round++)
            if (round > {BRIEF}) GIVE_WAY(round)
        atomic_add(done, 0);
        launch += launch[3];
        state += {LINE} * (workers + 1);
    }}
    atomic_max(outcome, passed);
}}
"""


def part_of(section: Section, number: int) -> Section:
    """The kernel as a function of a group of one work-item, by `AS_FUNCTIONS`."""
    head = f"{section.name}(...) part_{number}(long minifut_group, __VA_ARGS__)"
    text = f"#define {head}\n{section.text}#undef {section.name}\n"
    return replace(section, text=text)


def call_of(number: int, types: Sequence[str]) -> str:
    """The case of a part, with its arguments from memory."""
    arguments = ["group", "failure"]
    for place, type_ in enumerate(types, HEAD):
        if type_ == "buffer":
            arguments.append(f"(__global void *)launch[{place}]")
        else:
            pointer = f"(__global const {_SPELLED[type_]} *)(launch + {place})"
            arguments.append(f"*{pointer}")
    return f"case {number}: part_{number}({', '.join(arguments)}); break;"


def batch_text(parts: Sequence[tuple[Section, Sequence[str]]]) -> str:
    """The text of a program with parts for these kernels, of these types."""
    found = [part_of(section, number) for number, (section, _) in enumerate(parts)]
    defined = (f"#define {macro} {text}\n" for macro, text in AS_FUNCTIONS.items())
    undefined = (f"#undef {macro.partition('(')[0]}\n" for macro in AS_FUNCTIONS)
    cases = [call_of(number, types) for number, (_, types) in enumerate(parts)]
    text = _TEXT.replace("CASES", ("\n" + 20 * " ").join(cases))
    return "".join((*defined, together(found), *undefined, text))


class Member:
    """A kernel that can be a part of a batch, and how its launches lie in memory."""

    __slots__ = (
        "batch",
        "buffers",
        "has_ranges",
        "launcher",
        "launches",
        "number",
        "pack_into",
        "size",
    )

    def __init__(self, batch: Batch, launcher: Launcher) -> None:
        dtypes = [ARGUMENTS[type_] for type_ in launcher.kernel.types]
        letters = ["Q" if d is None else _PARTS[d.char] for d in dtypes]
        layout = Struct(f"<{HEAD}q{''.join(letters)}")
        self.batch = batch
        self.launcher = launcher
        self.pack_into = layout.pack_into
        self.size = layout.size
        self.has_ranges = launcher.kernel.has_ranges
        self.buffers = [place for place, d in enumerate(dtypes) if d is None]
        self.launches = 0
        """that followed some others and could have been in a batch with them"""
        self.number: int | None = None
        """of the part that it is"""

    def count_launch(self) -> None:
        """Note a launch of what is no part yet, before it."""
        session = self.batch.session
        session.since_wait.launches += 1
        if session.since_wait.launches > IN_A_ROW or session.first_launches.loops:
            self.launches += 1
            if self.launches == OFTEN:
                self.batch.extend()


class FlagBorder:
    """In the place of a member: where a batch ends if a flag is not set."""

    __slots__ = ("flag",)
    size = _BORDER.size

    def __init__(self, flag: int) -> None:
        self.flag = flag


class Batch:
    """The kernels of a program that may be launched in batches."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.members: list[Member] = []
        """of kernels that are built"""
        self.parts: list[Member] = []
        self._commands: Commands | None = None

    def member_of(self, launcher: Launcher) -> Member:
        """What a kernel is that has been built and can be a part."""
        member = Member(self, launcher)
        self.members.append(member)
        return member

    def extend(self) -> None:
        """Build parts for those that have been launched sometimes, too."""
        more = [m for m in self.members if m.launches >= SOMETIMES]
        parts = list(dict.fromkeys([*self.parts, *more]))
        first, session = parts[0].launcher, self.session
        sections = [member.launcher.section() for member in parts]
        types = [member.launcher.kernel.types for member in parts]
        text = sections[0].prelude + batch_text(list(zip(sections, types, strict=True)))
        session.builds.begin(first.program)
        given = ("buffer", "buffer")
        trials = [Trial(NAME, given)]
        options = sections[0].options
        program = build(session, first.handle, text, options, NAME, trials)
        kernel = session.cl.Kernel(program, NAME)
        self._commands, self.parts = Commands(session, kernel, given), parts
        for number, member in enumerate(parts):
            member.number = number

    def start(
        self, launches: Sequence[DelayedLaunch], repeated: Repeated | None = None
    ) -> Any:
        """Enqueue launches of parts, then iterations of such; the event. No batch may
        be running."""
        more = repeated.iterations if repeated else ()
        count = repeated.decided + repeated.count if repeated else 0
        memory, size = self.session.batch_memory, _BORDER.size
        rows = [launches, *(iteration.launches for iteration in more)]
        nbytes = sum(launch[1].size for row in rows for launch in row)
        most = repeated.places if repeated else 0
        memory.reserve(nbytes + size * len(rows), len(launches) + most)
        place = first = _pack_all(memory.content, 0, launches)
        flag = more[-1].flag if more else 0
        for row, iteration in zip(rows[1:], more, strict=True):
            _BORDER.pack_into(memory.content, place, BORDER, count, size // 8, flag)
            place = _pack_all(memory.content, place + size, row)
            flag = iteration.flag
        back = (first + size - place) // 8
        _BORDER.pack_into(memory.content, place, BORDER, count, back, flag)
        assert self._commands is not None
        cells = memory.state_buffer, memory.buffer
        queue, sizes = self.session.commands, (memory.workers,)
        return self._commands.enqueue(queue, sizes, (1,), *cells)


def _pack_all(content: Any, place: int, launches: Sequence[DelayedLaunch]) -> int:
    """Lay launches out in memory from a place on; gives where they end."""
    for _, member, points, _, arguments in launches:
        if isinstance(member, FlagBorder):
            border = BORDER, MOST_LAUNCHES, member.size // 8, member.flag
            _BORDER.pack_into(content, place, *border)
            place += member.size
            continue
        given = list(arguments)
        for number in member.buffers:
            given[number] = address_of(given[number])
        head = member.number, points, member.has_ranges, member.size // 8
        member.pack_into(content, place, *head, *given)
        place += member.size
    return place


class BatchMemory:
    """Where the launches of a batch lie, and how far they are: made when needed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.workers = session.device.cores
        self.is_in_use = False
        """by a batch that nobody has waited for"""
        self._line = LINE * (self.workers + 1)
        self.content: Any = np.empty(0, np.uint8)
        self.state = np.empty(0, np.uint8)
        self.buffer: Any = None
        self.state_buffer: Any = None

    def _make(self, nbytes: int) -> tuple[np.ndarray, Any]:
        raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        memory = raw[start : start + nbytes]
        session, flags = self._session, self._session.cl.mem_flags
        most = session.device.largest_buffer
        given = session.cl, session.context, memory, flags.READ_WRITE, most
        return memory, share(*given)

    def reserve(self, nbytes: int, count: int) -> None:
        """Make room for launches, and so many places for how far they are: nothing is
        done."""
        if nbytes > self.content.nbytes:
            self.content, self.buffer = self._make(2 * nbytes)
        size = 4 * self._line * (count + 1)
        if size > self.state.nbytes:
            self.state, self.state_buffer = self._make(2 * size)
        self.state[:size] = 0
        self.is_in_use = True

    @property
    def passed(self) -> int:
        """How many iterations the last batch repeated, which is done."""
        return int(self.state[:4].view(np.int32)[0])


def address_of(buffer: Any) -> int:
    """Where the memory of a buffer begins that the process shares."""
    try:
        address: int = buffer.address
    except AttributeError:
        array = buffer.get_host_array((1,), np.uint8, "C")
        buffer.address = address = array.ctypes.data
    return address
