"""Tuning in Python: the arguments of calls are the data sets.

    found = prog.autotune([(xs, ys), (few, few)])    # sets the best that is known
    print(found)                                     # before and after, for each call
    prog.tuning.save("prog.fut.tuning")

Unlike `minifut autotune`, this tunes a program that is loaded, and writes no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minifut.benchmarking.loaded import Loaded
from minifut.errors import ProgramError, UsageError
from minifut.inspection import lowered, meant
from minifut.parameters.tuning import Tuned
from minifut.program import EntryPoint, Program
from minifut.tuning.autotune import Limits
from minifut.tuning.loaded_subject import tuner_of
from minifut.tuning.summary import summary_table

POINTS = 48
"""combinations of sizes that are tried"""


@dataclass(frozen=True, slots=True)
class CallData:
    """The arguments of a call as a data set; what they give is judged by the results
    under the settings that come first."""

    entry: str
    name: str
    values: tuple[Any, ...]

    def arguments(self, program: Program) -> list[Any]:
        """The values themselves."""
        return list(self.values)

    def expected(self, oracle: object = None) -> None:
        """Nothing is known before the first run."""


def autotune(
    program: Program,
    data: Iterable[tuple[Any, ...] | Mapping[str, Any]],
    entry: str | EntryPoint | None = None,
    tiles: bool = False,
    runs: int = 5,
) -> Tuned:
    """Find the parameters with which calls with these arguments run best, and set them
    in `program.tuning`. See `Program.autotune`."""
    point = meant(program, entry)
    found = []
    for number, given in enumerate(data):
        if not isinstance(given, Mapping | tuple | list):
            raise UsageError(
                f"autotune: call {number} is of type {type(given).__name__}; give each "
                "call as a tuple of its arguments: autotune([(xs, k)])"
            )
        named = dict(given) if isinstance(given, Mapping) else {}
        values, _ = point.bound(() if named else tuple(given), named)
        with suppress(ProgramError, MemoryError):  # those are left out
            point(*values)  # wrong arguments are a mistake of the caller's
        shapes = " ".join(str(np.shape(value)) for value in values)
        found.append(CallData(point.name, f"#{number} {shapes}", values))
    if not found or runs < 1:
        raise UsageError("autotune: give the arguments of a call, and runs from 1 on")
    loaded = Loaded(Path(), program, lowered(program), None)
    before = dict(program.tuning)
    limits = Limits(runs, POINTS if tiles else 0)
    tuner = tuner_of(loaded, found, limits=limits)
    try:
        tuner.run()
    finally:
        program.tuning.update(tuner.values or before)
    if len(tuner.failures) == len(found):
        raise ProgramError("; ".join(tuner.failures.values()))
    return Tuned(tuner.changed, tuner.gain, summary_table(tuner))
