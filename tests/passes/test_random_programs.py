"""Random programs mean the same after every step, and with updates really in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut.analysis.in_place import called_functions, in_place_updates
from minifut.ir import core
from minifut.ir.dialect import SOACS
from minifut.ir.interpret import walk as walker
from minifut.ir.node import replace
from minifut.ir.parser import names_after
from minifut.ir.traverse import map_children, walk
from minifut.ir.verify import verify
from minifut.names import Name, NameSource
from minifut.passes.pipelines import PipelineOptions, run_pipeline
from tests.passes.meaning import assert_same, outcome
from tests.passes.random_programs import random_program

SHAPES = ((0, 2), (1, 0), (4, 3), (3, 5))


def arguments(seed: int) -> list[list[Any]]:
    random = np.random.default_rng(seed)
    return [
        [
            random.integers(-3, 6, (n,)),
            random.integers(-3, 6, (n, m)),
            np.int64(random.integers(-3, 6)),
        ]
        for n, m in SHAPES
    ]


@pytest.mark.parametrize("seed", range(60))
def test_every_step_keeps_the_results(seed: int) -> None:
    program = random_program(seed, statements=10)
    verify(program, SOACS)
    given = arguments(seed)
    expected = [outcome(program, values) for values in given]
    steps: list[tuple[str, core.Program]] = []
    options = PipelineOptions(
        dump_after=frozenset({"all"}),
        on_dump=lambda step, after: steps.append((step, after)),
    )
    run_pipeline(program, names_after(program), options=options)
    for step, after in steps:
        if after is program:
            continue
        program = after
        for values, wanted in zip(given, expected, strict=True):
            assert_same(wanted, outcome(after, values), step)


def with_copies(program: core.Program, copied: set[Any]) -> core.Program:
    """The program with the copies before loops that the analysis requires."""
    names: NameSource = names_after(program)

    def inside(node: Any) -> Any:
        if hasattr(node, "statements"):
            made = [s for statement in node.statements for s in around(statement)]
            return replace(node, statements=tuple(made))
        return map_children(node, inside)

    def around(statement: core.Stm) -> list[core.Stm]:
        statement = map_children(statement, inside)
        exp = statement.exp
        if not isinstance(exp, core.Loop):
            return [statement]
        before, initial = [], []
        for parameter, atom in zip(exp.parameters, exp.initial, strict=True):
            if parameter.name in copied and isinstance(atom, Name):
                name = names.like(atom)
                order = tuple(range(parameter.type.rank))  # type: ignore[union-attr]
                bound = core.Param(name, parameter.type)
                before.append(core.Stm((bound,), core.Manifest(atom, order)))
                atom = name
            initial.append(atom)
        return [*before, replace(statement, exp=replace(exp, initial=tuple(initial)))]

    return inside(program)


@pytest.mark.parametrize("seed", range(100, 160))
def test_updates_in_place_are_never_noticed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = random_program(seed, statements=12)
    program = run_pipeline(program, names_after(program))
    given = arguments(seed)
    expected = [outcome(program, values) for values in given]
    (function,) = program.functions
    found = in_place_updates(function, called_functions(program))

    def overwrite(frame: Any, exp: core.Update, _: Any) -> Any:
        array = frame.values[exp.array]
        changed = array if exp in in_place else array.copy()
        changed[frame.index(exp.slice)] = frame.atom(exp.value)
        return changed

    copied = with_copies(program, found.copied)
    in_place = {
        node.exp
        for node in walk(copied)
        if isinstance(node, core.Stm)
        and isinstance(node.exp, core.Update)
        and node.pattern[0].name in found.updates
    }
    monkeypatch.setitem(walker.SIMPLE, core.Update, overwrite)
    for values, wanted in zip(given, expected, strict=True):
        assert_same(wanted, outcome(copied, values), "in place")
