"""A random program that is checked: its text, arguments and expected results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.campaign.arguments import SMALL, TINY, copies, random_arguments
from benchmarks.campaign.comparison import Disagreement, compare
from minifut import stages
from minifut.errors import MinifutError, ProgramError, Source
from minifut.ir.core import Program
from minifut.ir.interpret import Interpreter
from minifut.ir.interpret.steps import TooManySteps
from minifut.ir.kernels import NEVER, GetParameter, Parameter
from minifut.ir.traverse import walk
from minifut.stages import without_derivatives

STEPS = 60_000
"""of the interpreter, for one run"""
LARGEST_TILE = 5


@dataclass(slots=True)
class Subject:
    """`text` is the program, `core` what it is elaborated to; each of `runs` has
    arguments and expected results. Raises `Disagreement` where the program does not
    check or a run fails: random programs do neither."""

    text: str
    seed: int
    sets: int = 2
    sizes: Sequence[int] = SMALL
    core: Program = field(init=False)
    runs: list[tuple[list[Any], tuple[Any, ...]]] = field(init=False)
    compared: int = 0
    rounded: int = 0
    skipped: int = 0

    def __post_init__(self) -> None:
        self.core = elaborated(self.text, self.seed)
        chance = random.Random(self.seed)
        interpreter = Interpreter(without_derivatives(self.core), steps=STEPS)
        runs = (self._run(interpreter, chance) for _ in range(self.sets))
        self.runs = [run for run in runs if run is not None]
        self.skipped = self.sets - len(self.runs)

    def _run(
        self, interpreter: Interpreter, chance: random.Random
    ) -> tuple[list[Any], tuple[Any, ...]] | None:
        """Arguments and results; smaller arguments where a run takes too long."""
        for sizes in (self.sizes, SMALL, TINY):
            given = random_arguments(self.core, chance, sizes)
            try:
                return given, interpreter.run("main", copies(given))
            except TooManySteps:
                continue
            except ProgramError as error:
                raise Disagreement(
                    f"the program as elaborated fails: {error}"
                ) from None
        return None

    def interpret(self, program: Program, what: str, chance: random.Random) -> None:
        """Compare what a later form of the program gives, with random parameters."""
        settings = random_settings(program, chance)
        interpreter = Interpreter(program, settings, steps=20 * STEPS)
        for given, expected in self.runs:
            try:
                got = interpreter.run("main", copies(given))
            except TooManySteps:
                self.skipped += 1
                continue
            except ProgramError as error:
                raise Disagreement(f"{what}: {error}\nwith {settings}") from None
            self.judge(expected, got, f"{what}, with {settings}" if settings else what)

    def judge(self, expected: Sequence[Any], got: Sequence[Any], what: str) -> None:
        """Compare one run."""
        self.rounded += not compare(expected, got, what)
        self.compared += 1


def elaborated(text: str, seed: int) -> Program:
    """The core of a program that must be right."""
    try:
        return stages.to_core(stages.check(Source(f"seed{seed}.fut", text)))
    except MinifutError as error:
        raise Disagreement(f"{type(error).__name__}: {error}") from None


def parameters_of(program: Program) -> dict[str, Parameter]:
    """The tuning parameters that a program of kernels requires, by name."""
    return {
        node.parameter.name: node.parameter
        for function in program.functions
        for node in walk(function.body)
        if isinstance(node, GetParameter) and node.parameter.kind != "limit"
    }


def random_settings(program: Program, chance: random.Random) -> dict[str, int]:
    """A value for each parameter: versions at random, small tiles."""
    return {
        name: random_setting(parameter, chance)
        for name, parameter in sorted(parameters_of(program).items())
    }


def random_setting(parameter: Parameter, chance: random.Random) -> int:
    """A legal value of one parameter."""
    if parameter.kind == "threshold":
        return chance.choice((0, NEVER))
    if parameter.bounds is None:
        return dict(parameter.defaults)["cpu"]
    least, most = parameter.bounds
    if parameter.kind in ("group_size", "num_groups"):
        most = min(most, 64)
    elif parameter.kind != "choice":
        most = min(most, LARGEST_TILE)
    return chance.randint(least, max(least, most))
