"""`prog.tuning`: the numbers that shape a loaded program's performance.

    prog.tuning["main.map_reduce_map.outer"] = 128     # from the next call on
    prog.tuning.load("prog.fut.tuning")
    print(prog.tuning)                                 # a table of all of them

A threshold chooses between versions when the program runs: nothing is compiled again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from minifut.immutables import immutable
from minifut.ir.thresholds import NEVER as NEVER
from minifut.parameters.file import located, read_tuning, write_tuning

if TYPE_CHECKING:
    from minifut.opencl.runtime.watch import Observation


@immutable
class Tunable:
    """A parameter: its class, its default per kind of device, what it guards."""

    name: str
    kind: str
    defaults: Mapping[str, int]
    bounds: tuple[int, int] | None
    guards: str


@immutable
class Tuned:
    """What a search found: the parameters that left their defaults, and a table."""

    changed: Mapping[str, int]
    gain: float
    """the geometric mean of the speed-ups"""
    table: str

    def __str__(self) -> str:
        return self.table

    __repr__ = __str__


class Tuning(Mapping[str, int]):
    """The current value of each parameter by name; assign to change one."""

    def __init__(
        self,
        tunables: Sequence[Tunable],
        device: str,
        change: Callable[[Mapping[str, int]], None],
        values: Mapping[str, int],
        watch: Callable[[Observation | None], None] | None = None,
    ) -> None:
        self.tunables = {t.name: t for t in tunables}
        self.device = device
        self._change = change
        self._watch = watch
        self._values = {
            t.name: values.get(t.name, t.defaults.get(device, 1)) for t in tunables
        }

    def __repr__(self) -> str:
        return f"Tuning({self._values})"

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, name: str, value: int) -> None:
        self.update({name: value})

    def update(self, values: Mapping[str, int]) -> None:
        """Change several at once. Raises `UsageError` for unknown names and values out
        of bounds; then none is changed."""
        from minifut.suggestions import check_names

        check_names(values, self._values)
        self._change(values)
        self._values.update(values)

    @contextlib.contextmanager
    def watch(self) -> Iterator[Observation]:
        """Within the block, `seen.comparisons` grows with each comparison that a run
        makes with a threshold, as (name, amount), and `seen.launches` with the number
        of each kernel that it starts, `seen.kernels` with its name and the numbers that
        shape it. Without an observation there is no
        overhead."""
        from minifut.opencl.runtime.watch import Observation

        seen = Observation()
        if self._watch is not None:
            self._watch(seen)
        try:
            yield seen
        finally:
            if self._watch is not None:
                self._watch(None)

    def reset(self) -> None:
        """Back to the defaults."""
        defaults = {
            name: tunable.defaults.get(self.device, 1)
            for name, tunable in self.tunables.items()
        }
        self.update(defaults)

    def load(self, path: str | Path) -> None:
        """Take the values of a tuning file; names that are unknown are left out."""
        values = read_tuning(Path(path))
        with located(values):
            self.update({n: v for n, v in values.items() if n in self._values})

    def save(self, path: str | Path) -> None:
        """Write a tuning file with all values; one that is there keeps what it says of
        parameters that are not the program's, but those of derivatives, say."""
        write_tuning(Path(path), self._values, self._values)

    def __str__(self) -> str:
        return table(list(self.tunables.values()), self._values)


def table(tunables: Sequence[Tunable], values: Mapping[str, int]) -> str:
    """A line for each parameter: name, class, value, defaults, bounds, what it
    guards."""
    if not tunables:
        return "The program has no parameters."
    rows: list[tuple[str, ...]] = [
        ("name", "class", "value", "cpu", "gpu", "bounds", "guards")
    ]
    for t in sorted(tunables, key=lambda t: t.name):
        bounds = "" if t.bounds is None else f"{t.bounds[0]}..{value_text(t.bounds[1])}"
        defaults = [value_text(t.defaults.get(kind, 1)) for kind in ("cpu", "gpu")]
        value = value_text(values.get(t.name, 1))
        rows.append((t.name, t.kind, value, *defaults, bounds, t.guards))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def value_text(value: int) -> str:
    """The value of a parameter as tables show it."""
    return "never" if value >= NEVER else str(value)
