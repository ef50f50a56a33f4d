"""`#[param(name)]`: a number that may be set when the program runs."""

from __future__ import annotations

import numpy as np
import pytest

from minifut import compiler
from minifut.errors import CompileError, Source
from minifut.program import Program
from minifut.stages import Options

TEXT = "entry main (xs: []i32) = map (\\x -> (#[param(foo)] x) + 1) xs"


def load(text: str, backend: str, **parameters: int) -> Program:
    options = Options(backend=backend, parameters=parameters, use_tuning=False)
    return compiler.compile_program(Source("a.fut", text), options)


@pytest.mark.parametrize(
    "backend",
    [
        "interpreter",
        pytest.param("opencl", marks=pytest.mark.device),
        pytest.param("sequential", marks=pytest.mark.device),
    ],
)
def test_what_is_set_counts_and_else_the_expression(backend: str) -> None:
    xs = np.arange(3, dtype=np.int32)
    assert load(TEXT, backend).main(xs).tolist() == [1, 2, 3]
    assert load(TEXT, backend, foo=7).main(xs).tolist() == [8, 8, 8]


@pytest.mark.device
def test_a_loaded_program_follows_its_parameters() -> None:
    program = load(TEXT, "opencl")
    xs = np.arange(3, dtype=np.int32)
    for value, expected in ((5, [6, 6, 6]), (0, [1, 2, 3])):
        program.tuning["foo"] = value
        assert program.main(xs).tolist() == expected


@pytest.mark.parametrize("expression", ["1.5f32", "true", "[1, 2]", "(1, 2)"])
def test_only_integers_can_be_set(expression: str) -> None:
    with pytest.raises(CompileError, match="not supported"):
        load(f"entry main (n: i64) = #[param(foo)] {expression}", "interpreter")
