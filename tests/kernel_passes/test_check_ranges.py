"""Checks that are tested for a block of points at once fail where those of the points
do, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.interpret import run

HEAD = "entry main [n] (w: i64) (v: i64) (xs: [n]i64): [n]i64 = "
PROGRAMS = {
    "shifted": "tabulate n (\\i -> if xs[i] > 0 then xs[i + w] else xs[i + w] - v)",
    "partner": "tabulate n (\\i -> xs[i ^ w] + i)",
    "pair": """tabulate n (\\i ->
        if i & w == 0 then i64.min xs[i] xs[i | w] else i64.max xs[i] xs[i ^ w])""",
    "one side": "tabulate n (\\i -> if v > 3 then xs[i | w] else xs[i + v])",
    "partner of another": "tabulate n (\\i -> xs[(i + v) ^ w])",
    "two": "tabulate n (\\i -> xs[i + v - w] * xs[i | w])",
    "backwards": "tabulate n (\\i -> xs[w - i])",
    "gathered": "tabulate n (\\i -> xs[i + xs[i]])",
}
SUMS = """
  entry main [n] (v: i64) (xs: [n]{type}): [3]{type} =
    let best (a, i) (b, j) = if b > a || (b == a && j < i) then (b, j) else (a, i)
    let at i l = ({type}.sum (tabulate (n - l) (\\j -> xs[j] * i + xs[j + l + v])), l)
    in map (\\i -> (reduce best (0, 9) (map (at i) (iota (i64.min 5 n)))).0) [0, 1, 2]
"""
DTYPES = {"i32": np.int32, "i64": np.int64, "f32": np.float32}
NUMBERS = [(0, 0), (1, 0), (2, 1), (64, 5), (2048, 2048), (3, 4), (-1, -1), (-1, 1)]
FAR = [(1 << 62, 1 << 62), (-(1 << 63), 4), ((1 << 63) - 1, 1)]


@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_failures_are_those_of_the_interpreter(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text)
    for n in (1, 2, 128, 150, 4096 if name in ("partner", "pair") else 130):
        for xs in (np.zeros(n, np.int64), np.arange(n, dtype=np.int64) % 2):
            for numbers in (*NUMBERS, *FAR):
                compare(program, core, [*map(np.int64, numbers), xs])


def compare(program: Any, core: Any, given: list[Any]) -> None:
    """Results, or failures, of a program and of the interpreter."""
    try:
        (wanted,) = run(core, "main", given)
    except ProgramError as error:
        with pytest.raises(ProgramError) as failure:
            np.asarray(program.main(*given))
        said, known = failure.value.message, error.message
        assert said.split("[")[0] == known.split("[")[0]
    else:
        np.testing.assert_array_equal(program.main(*given), wanted)


@pytest.mark.device
@pytest.mark.parametrize("type_", DTYPES)
def test_sums_inside_of_folds_are_those_of_the_interpreter(type_: str) -> None:
    text = SUMS.format(type=type_)
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text)
    for n in (0, 1, 7, 40, 129):
        xs = (np.arange(n) % 5).astype(DTYPES[type_])
        for lag in (-3, -1, 0, 1, 2, 1 << 62, -(1 << 63), (1 << 63) - 1):
            compare(program, core, [np.int64(lag), xs])


@pytest.mark.parametrize(
    ("name", "blocks"), [("two", True), ("pair", True), ("gathered", False)]
)
def test_partners_are_tested_by_the_ends_of_blocks(name: str, blocks: bool) -> None:
    source = Source("program.fut", HEAD + PROGRAMS[name])
    core = stages.to_core(stages.check(source))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    assert ("& (0L - (w + w))" in module) == blocks
