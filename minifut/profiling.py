"""The time of a call: each kernel with its calls, seconds and bandwidth.

    found = profile(program, "main", arguments)
    print(found)                  # a table, the longest first
    found.to_json()

Kernels are timed by the events of the driver, which cost no waiting between launches.
What is left of the wall time is the host's: its own code and the enqueuing, by the
source lines of the launch that it leads to, and waits that no kernel fills. Where the
host goes on while kernels run, its lines share what no kernel fills. So all of the wall
time is attributed. How much longer the call took because it was observed is said, too.

Bytes are those of the arrays that a launch is given, each once: an upper bound of what
it has to move, if it reads nothing twice. Bandwidth is compared with a copy in memory,
measured on the same machine with as many threads as the device has cores.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError
from minifut.inspection import meant

if TYPE_CHECKING:
    from minifut.opencl.runtime.watch import Started
    from minifut.program import EntryPoint, Program

HOST, WAITING = "(host)", "(waiting)"
BUSY_MEMORY = 0.5
"""of the bandwidth of a copy: from there on memory is taken for the bound"""
SHORT = 20e-6
"""seconds of a launch that is about as long as the launch itself takes"""
COPIED = 1 << 25
"""bytes of the measured copy: beyond caches"""


@dataclass(frozen=True, slots=True)
class Line:
    """One kernel, the host on the way to launches from these places, or its waits.
    `bandwidth` is in bytes per second; `bound` says what limits it: memory, arithmetic,
    launches, one thread, the host, or the driver."""

    name: str
    calls: int
    seconds: float
    share: float
    places: tuple[str, ...]
    nbytes: int
    bandwidth: float
    bound: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Comparisons of amounts, from `least` to `most`, with a threshold that went the
    same way: whether the version that it guards was chosen."""

    name: str
    threshold: int
    chosen: bool
    times: int
    least: int
    most: int

    def __str__(self) -> str:
        same = self.least == self.most
        amount = str(self.least) if same else f"{self.least}..{self.most}"
        sign = ">=" if self.chosen else "<"
        return f"{self.name}: {amount} {sign} {self.threshold}, {self.times} times"


@dataclass(frozen=True, slots=True)
class Profile:
    """The lines, the longest first; the comparisons with thresholds that chose the
    versions; the memory peak in bytes; and by how much of its time the run was longer
    than one that was not observed."""

    entry: str
    device: str
    seconds: float
    lines: tuple[Line, ...]
    choices: tuple[Choice, ...]
    peak: int
    copy_bandwidth: float
    overhead: float

    def to_json(self) -> str:
        """Everything, as an object of JSON."""
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        head = (
            f"{self.entry}: {_time(self.seconds)} on {self.device}, "
            f"memory peak {self.peak / 1e6:.1f} MB, "
            f"a copy {self.copy_bandwidth / 1e9:.1f} GB/s, "
            f"watching {100 * self.overhead:.1f} %"
        )
        rows = [("kernel", "calls", "total", "share", "MB", "GB/s", "bound", "source")]
        for line in self.lines:
            on_host = line.name in (HOST, WAITING)
            rows.append((
                line.name,
                "" if on_host else str(line.calls),
                _time(line.seconds),
                f"{100 * line.share:.1f} %",
                "" if on_host else f"{line.nbytes / 1e6:.2f}",
                "" if on_host else f"{line.bandwidth / 1e9:.1f}",
                line.bound,
                ", ".join(line.places),
            ))  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            for row in rows
        ]
        chosen = [str(choice) for choice in self.choices]
        return "\n".join(line.rstrip() for line in [head, *table, *chosen])

    __repr__ = __str__


def profile(
    program: Program,
    entry: str | EntryPoint | None,
    arguments: Sequence[Any],
    named: Mapping[str, Any] = MappingProxyType({}),
) -> Profile:
    """Run the entry point until all kernels are built and warm, and profile it then.
    Raises `UsageError` where the backend has no device."""
    from minifut.opencl.runtime.watch import started_by

    point = meant(program, entry)
    if point.prepare is None:
        raise UsageError("only programs on OpenCL devices can be profiled")
    given, _ = point.bound(tuple(arguments), dict(named))
    timed: Any = point.prepare(given)
    timed()
    plain = timed()
    with program.tuning.watch() as seen:
        seen.started = []
        seconds = timed()
    session = timed.session
    copy = copy_bandwidth(session.device.cores)
    started = started_by(seen.started)
    kernels = _lines(started, seconds, copy)
    rest = max(0.0, seconds - sum(line.seconds for line in kernels))
    host = _host_lines(started, timed.began, rest, seconds)
    lines = sorted([*kernels, *host], key=lambda line: -line.seconds)
    return Profile(
        point.name,
        str(session.device),
        seconds,
        tuple(lines),
        _choices(seen.comparisons, program.tuning),
        timed.peak,
        copy,
        max(0.0, 1 - plain / seconds),
    )


def _choices(
    comparisons: Sequence[tuple[str, int]], thresholds: Mapping[str, int]
) -> tuple[Choice, ...]:
    amounts: dict[tuple[str, bool], list[int]] = {}
    for name, amount in comparisons:
        amounts.setdefault((name, amount >= thresholds[name]), []).append(amount)
    return tuple(
        Choice(name, thresholds[name], chosen, len(each), min(each), max(each))
        for (name, chosen), each in amounts.items()
    )


def _lines(started: Sequence[Started], wall: float, copy: float) -> list[Line]:
    groups: dict[str, list[Started]] = {}
    for launch in started:
        groups.setdefault(launch.kernel.name, []).append(launch)
    lines = []
    for name, launches in groups.items():
        seconds = sum(_seconds_of(launch) for launch in launches)
        nbytes = sum(launch.nbytes for launch in launches)
        bandwidth = nbytes / seconds if seconds else 0.0
        bound = _bound(launches, seconds, bandwidth, copy)
        places = launches[0].kernel.places
        lines.append(
            Line(name, len(launches), seconds, seconds / wall, places, nbytes,
                 bandwidth, bound)
        )  # fmt: skip
    return lines


def _host_lines(
    started: Sequence[Started], began: float, rest: float, wall: float
) -> list[Line]:
    """How the host's part of the wall time is shared among the launches' places."""
    calls: dict[tuple[str, ...], int] = {}
    own: dict[tuple[str, ...], float] = {}
    for launch in started:
        places = launch.kernel.places
        took = launch.clock - began - (_seconds_of(launch) if launch.is_done else 0.0)
        began = launch.clock
        calls[places] = calls.get(places, 0) + 1
        own[places] = own.get(places, 0.0) + max(0.0, took)
    total = sum(own.values())
    scale = min(1.0, rest / total) if total else 0.0
    lines = [
        Line(HOST, calls[places], scale * seconds, scale * seconds / wall, places,
             0, 0.0, "the host")
        for places, seconds in own.items()
    ]  # fmt: skip
    waiting = max(0.0, rest - scale * total)
    return [
        *lines, Line(WAITING, 1, waiting, waiting / wall, (), 0, 0.0, "the driver")
    ]  # fmt: skip


def _seconds_of(launch: Started) -> float:
    """How long the kernel ran."""
    span = launch.event.profile
    return 1e-9 * float(span.end - span.start)


def _bound(
    launches: Sequence[Started], seconds: float, bandwidth: float, copy: float
) -> str:
    if seconds < SHORT * len(launches):
        return "launches"
    if all(launch.points == 1 for launch in launches):
        return "one thread"
    return "memory" if bandwidth >= BUSY_MEMORY * copy else "arithmetic"


def copy_bandwidth(threads: int) -> float:
    """Bytes per second that a copy in memory reads and writes."""
    import numpy as np

    source = np.zeros(COPIED, np.uint8)
    target = np.ones(COPIED, np.uint8)
    step = -(-COPIED // threads)
    parts = [slice(at, at + step) for at in range(0, COPIED, step)]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            started = time.perf_counter()
            list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))
            best = min(best, time.perf_counter() - started)
    return 2 * COPIED / best


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{1e6 * seconds:.1f} us"
    return f"{1e3 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
