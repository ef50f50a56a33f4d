"""Partners within a vector: what points read of each other is what they did without
vectors, and processors with wide vectors have the loops that they had."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.interpret import run
from minifut.kernel_passes.strip_mine import SHORTEST
from minifut.opencl.runtime.templates import expanded

HEAD = "entry main [n] (w: i64) (v: i64) (xs: [n]E): [n]E = "
PROGRAMS = {
    "partner": "tabulate n (\\i -> if xs[i] == xs[0] then xs[i] else xs[i ^ w])",
    "sorting": """tabulate n (\\i ->
        let a = xs[i]
        let up = (i >> v) & 2 == 0
        in if i & w == 0
           then let b = xs[i | w] in if up == (a <= b) then a else b
           else let b = xs[i ^ w] in if up == (b <= a) then a else b)""",
    "guarded": """tabulate n (\\i ->
        if (i ^ w) < n - v then xs[i ^ w] else if i & w == 0 then xs[i | w] else xs[i])""",
    "own elements of some": """tabulate n (\\i ->
        if i < n - v then (if xs[i] > xs[i ^ w] then xs[i] else xs[i & w]) else xs[v])""",
    "two periods": "tabulate n (\\i -> if xs[i] <= xs[i ^ w] then xs[i | v] else xs[i])",
}
DISTANCES = [(1, 0), (2, 1), (4, 3), (8, 2), (3, 1), (0, 4), (16, 16), (-1, 2), (2, 2)]
ELEMENTS = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "u8": np.uint8}
CASES = [(name, "f32") for name in PROGRAMS]
CASES += [("sorting", element) for element in ("f64", "i64", "u8")]


def _outcome(call: Any) -> Any:
    """The result, or how the message of the failure begins."""
    try:
        return np.asarray(call())
    except ProgramError as error:
        return error.message.split("[")[0]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize(("name", "element"), CASES)
def test_results_are_those_of_the_interpreter(name: str, element: str) -> None:
    text = (HEAD + PROGRAMS[name]).replace("E", element)
    core = stages.to_core(stages.check(Source("program.fut", text)))
    short = minifut.compile(text)
    short.tuning[SHORTEST.name] = 8
    long = minifut.compile(text)
    long.tuning[SHORTEST.name] = 32
    generator = np.random.default_rng(7)
    for n in (5, 8, 16, 67, 128):
        xs = generator.integers(0, 100, n).astype(ELEMENTS[element])
        for distances in DISTANCES if n > 8 else DISTANCES[:4]:
            given: list[Any] = [*map(np.int64, distances), xs]
            wanted = _outcome(lambda given=given: run(core, "main", given)[0])
            for program in (short, long):
                got = _outcome(lambda p=program, given=given: p.main(*given))
                np.testing.assert_array_equal(got, wanted)


def _kernel(name: str, shortest: int) -> str:
    text = (HEAD + PROGRAMS[name]).replace("E", "f32")
    core = stages.to_core(stages.check(Source("program.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    first = module.split('rt.Kernel("main_')[1].split('"""')[1]
    made = expanded(first[first.index("__kernel") :], {"SHORTEST_PERIOD": shortest})
    return re.sub("SHORTEST_PERIOD", str(shortest), made)


@pytest.mark.parametrize("name", ["sorting", "partner"])
def test_partners_are_shuffles_where_periods_may_be_short(name: str) -> None:
    made = _kernel(name, 8)
    assert all(f"LANES_XOR_{d}_16X32" in made for d in (1, 2, 4, 8))
    assert made.count("LANES_OR") == (4 if name == "sorting" else 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_wide_vectors_have_the_loops_that_they_had(name: str) -> None:
    made = _kernel(name, 32)
    assert "LANES_" not in made and "float8" not in made
    assert ">= 32L" in made or ">= 32)" in made


def test_elements_that_not_all_points_read_are_loaded_by_lanes() -> None:
    assert "LANES_" not in _kernel("guarded", 8)
