"""A program to be measured: loaded, with its kernels' IR and an oracle for its results.

loaded = load_program(path, stages.Options())
call = loaded.timed(data)                    # arguments on the device
seconds = call()
wrong = loaded.judge(data, call.results())   # None: as expected
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from minifut import compiler, loaded_module, stages
from minifut.backend import Timed
from minifut.benchmarking.datasets import Data, DataSet
from minifut.interpreted import interpreted_program
from minifut.ir.core import Program as CoreProgram
from minifut.program import EntryPoint, Program
from minifut.testing.judge import judge_values
from minifut.testing.oracle import Oracle


@dataclass(slots=True)
class Loaded:
    """`kernels` is the program as it is lowered, with its versions; None where the
    backend has none. Without an `oracle` nothing is known of results."""

    path: Path
    program: Program
    kernels: CoreProgram | None
    oracle: Oracle | None

    def timed(self, data: Data) -> Timed:
        """The entry point with the data's arguments. Raises `UsageError`."""
        entry = self.program.entry(data.entry)
        arguments = tuple(data.arguments(self.program))
        if entry.prepare is not None:
            return entry.prepare(arguments)
        return _Plain(entry, arguments)

    def expected(self, data: DataSet) -> list[Any] | None:
        """What the oracle gives for the data; None if it has no answer."""
        if self.oracle is None:
            return None

        def arguments(program: Program, entry: EntryPoint) -> list[Any]:
            return data.arguments(program)

        folder = self.path.parent
        return self.oracle.expected(data.entry, data.case, folder, arguments)

    def judge(self, data: DataSet, results: Sequence[Any]) -> str | None:
        """What is wrong with the results, if the data says what they must be."""
        expected = data.expected(self.expected)
        return None if expected is None else judge_values(results, expected)


def load_program(path: Path, options: stages.Options) -> Loaded:
    """All stages. Raises `CompileError` and `UsageError`."""
    core = stages.to_core(stages.check(stages.read_source(path)))
    interpreted = partial(interpreted_program, core, options.parameters)
    sequential = partial(_sequential, core, options, path.stem)
    kernels = None
    match options.backend:
        case "interpreter":
            program = interpreted()
        case "sequential":
            program = sequential()
        case _:
            schedule = options.schedule or compiler.device_kind(options.device)
            kernels = stages.to_kernels(core)
            module = stages.to_host_module(kernels, schedule, path.stem)
            program = loaded_module.load(
                module,
                options.device,
                options.parameters,
                tuned=compiler.tuned_values(path, options),
                max_memory=options.max_memory,
            )
    other = None if options.backend == "sequential" else sequential
    return Loaded(path, program, kernels, Oracle(core, interpreted, other))


def _sequential(core: CoreProgram, options: stages.Options, name: str) -> Program:
    from minifut.sequential.load import sequential_program

    return sequential_program(core, options, name)


class _Plain:
    """A call of a backend that has no device: all of it is timed."""

    def __init__(self, entry: EntryPoint, arguments: tuple[Any, ...]) -> None:
        self._entry = entry
        self._arguments = arguments
        self._results: tuple[Any, ...] = ()

    def __call__(self) -> float:
        started = time.perf_counter()
        self._results = self._entry.call(self._arguments)
        return time.perf_counter() - started

    def results(self) -> tuple[Any, ...]:
        return self._results

    @property
    def nbytes(self) -> int:
        values = (*self._arguments, *self._results)
        return sum(v.nbytes for v in values if getattr(v, "shape", ()))

    @property
    def peak(self) -> int:
        return 0
