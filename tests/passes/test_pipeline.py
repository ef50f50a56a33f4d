"""How pipelines are run: what is verified when, and which pass a fault names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minifut.errors import InternalError
from minifut.ir.core import Program
from minifut.ir.dialect import SOACS
from minifut.ir.node import replace
from minifut.ir.parser import names_after, parse_program
from minifut.names import NameSource
from minifut.passes.pipeline import Pass, run_steps

TEXT = """fun f (x: f32) -> (result: f32) {
  let y: f32 = add_f32(x, x)
  return y
}
"""


def lose_a_statement(program: Program, names: NameSource) -> Program:
    (function,) = program.functions
    body = replace(function.body, statements=())
    return replace(program, functions=(replace(function, body=body),))


def copy(program: Program, names: NameSource) -> Program:
    return Program(program.entries, program.constants, program.functions)


def crash(program: Program, names: NameSource) -> Program:
    raise KeyError("y")


def made(*functions: Callable[..., Any]) -> list[Pass]:
    return [Pass(f.__name__, f, SOACS, SOACS, "") for f in functions]


@pytest.mark.parametrize("topics", ["", "verify"])
@pytest.mark.parametrize("last", [copy, crash])
def test_a_fault_names_the_first_pass_whose_result_does_not_verify(
    topics: str, last: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIFUT_DEBUG", topics)
    program = parse_program(TEXT)
    with pytest.raises(InternalError) as fault:
        run_steps(made(copy, lose_a_statement, last), program, names_after(program))
    assert "lose_a_statement" in str(fault.value)
