"""Running programs before and after passes, for tests of meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minifut.errors import ProgramError
from minifut.ir.core import Program
from minifut.ir.interpret import run
from minifut.ir.parser import names_after, parse_program
from minifut.passes.pipelines import PipelineOptions, run_pipeline


def outcome(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...] | str:
    """The results, or the message of the failure."""
    given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        return run(program, "main", given)
    except ProgramError as error:
        return f"failed: {error.message}"


def assert_same(
    before: tuple[Any, ...] | str, after: tuple[Any, ...] | str, stage: str
) -> None:
    """Equal results; of several checks that fail, any may be the one reported."""
    if isinstance(before, str) or isinstance(after, str):
        assert isinstance(before, str) and isinstance(after, str), (
            stage,
            before,
            after,
        )
        return
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=stage)


def stages(text: str) -> Iterator[tuple[str, Program]]:
    """The program as parsed and after each step of the default pipeline."""
    program = parse_program(text)
    seen: list[tuple[str, Program]] = [("as written", program)]
    options = PipelineOptions(
        dump_after=frozenset({"all"}),
        on_dump=lambda step, after: seen.append((f"after {step}", after)),
    )
    run_pipeline(program, names_after(program), options=options)
    yield from seen


def check_all_stages(text: str, arguments: Sequence[Sequence[Any]]) -> None:
    """Every stage gives what the program as written gives, on all the arguments."""
    (_, first), *later = stages(text)
    expected = [outcome(first, given) for given in arguments]
    known = first
    for stage, program in later:
        if program is known:
            continue
        known = program
        for given, wanted in zip(arguments, expected, strict=True):
            assert_same(wanted, outcome(program, given), stage)
