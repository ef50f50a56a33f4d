"""The plan of a distributed entry point: frozen, printable, all that executors need.

    plan of total over n
      chunks    chunk_0(n_chunk, xs) -> reduced
      tree      combine_0 of reduced
      once      once_1(n, reduced) -> mean
      results   mean

Values are named. A value is the same everywhere, or there is one for each chunk; where
that is an array, `axes` says along which dimension the whole was cut. Functions are
entry points of `module`. `chunk_size`, `chunk_start` and `whole` name the numbers that
an executor provides: of a chunk, of where it begins, and of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from minifut.loaded_module import LoadedModule


@dataclass(frozen=True, slots=True)
class Once:
    """Run a function once; its results are the same everywhere."""

    function: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnChunks:
    """Run a function on each chunk; there is one of its results for each."""

    function: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """Combine neighbours pairwise until one is left, which is then everywhere. The
    function takes `arguments`, the values of the left and of the right."""

    function: str
    arguments: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromTheLeft:
    """For each chunk, `start` combined with the totals of all chunks before it."""

    function: str
    arguments: tuple[str, ...]
    totals: tuple[str, ...]
    start: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run steps again and again: `bound` times, with `index` as the number of the
    round; or as long as `condition`, one of `values`, is true. The values begin as
    `initial` and become `after` each round; at last they are called `results`."""

    values: tuple[str, ...]
    initial: tuple[str, ...]
    index: str | None
    bound: str | int | None
    condition: str | None
    steps: tuple[PlanStep, ...]
    after: tuple[str, ...]
    results: tuple[str, ...]


PlanStep: TypeAlias = Once | OnChunks | Tree | FromTheLeft | Repeat


@dataclass(frozen=True, slots=True)
class InputSize:
    """Dimension `dimension` of an input is the size `name`, `base` in the source."""

    name: str
    base: str
    input: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Plan:
    """See the module. `inputs` and `results` name values in the order of the entry
    point, the arrays and scalars of records and tuples one by one."""

    entry: str
    over: str
    module: LoadedModule
    inputs: tuple[str, ...]
    sizes: tuple[InputSize, ...]
    whole: str
    chunk_size: str
    chunk_start: str
    steps: tuple[PlanStep, ...]
    results: tuple[str, ...]
    axes: Mapping[str, int]

    def __repr__(self) -> str:
        lines = [f"plan of {self.entry} over {self.over}"]
        for name in self.inputs:
            if name in self.axes:
                lines.append(f"  in chunks {name} along dimension {self.axes[name]}")
        for step in self.steps:
            lines += (f"  {line}" for line in _shown(step))
        for name in self.results:
            where = f", along dimension {self.axes[name]}" if name in self.axes else ""
            lines.append(f"  result    {name}{where}")
        return "\n".join(lines)


def _shown(step: PlanStep) -> Iterator[str]:
    def listed(names: tuple[str, ...]) -> str:
        return ", ".join(names)

    match step:
        case Once(function, arguments, results):
            yield f"once      {function}({listed(arguments)}) -> {listed(results)}"
        case OnChunks(function, arguments, results):
            yield f"chunks    {function}({listed(arguments)}) -> {listed(results)}"
        case Tree(function, _, values):
            yield f"tree      {function} of {listed(values)}"
        case FromTheLeft(function, _, totals, _, results):
            yield f"prefixes  {function} of {listed(totals)} -> {listed(results)}"
        case Repeat():
            how = f"while {step.condition}" if step.condition else f"{step.bound} times"
            state = zip(step.values, step.initial, strict=True)
            begun = ", ".join(f"{name} = {first}" for name, first in state)
            yield f"repeat    {how}: {begun}"
            for inner in step.steps:
                yield from (f"  {line}" for line in _shown(inner))
            yield f"  next    {listed(step.after)}"
            yield f"  at last {listed(step.results)}"
