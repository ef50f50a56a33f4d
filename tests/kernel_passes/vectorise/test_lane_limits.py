"""The lanes of divergent loops of integers of 64 bits."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program
from minifut.kernel_passes.vectorise.lane_limits import LONG_INTEGERS

HEAD = "entry main (xs: []i64) = map (\\x -> "
LONG = {
    "Collatz": """(loop (y, n) = (x & 255, 0i32) while y > 1 do
        (if y % 2 == 0 then y / 2 else 3 * y + 1, n + 1)).1) xs""",
    "roots": """(loop (l, h) = (0, 1 << 20) while h - l > 1 do
        let m = (l + h) / 2 in if m * m <= x then (m, h) else (l, m)).0) xs""",
    "divisors": "(loop (a, b) = (x, 360) while b != 0 do (b, a % b)).0) xs",
    "bits": "(loop (u, n) = (u64.i64 x, 0i8) while u != 0 do (u & (u - 1), n + 1)).1) xs",
}
OTHERS = {
    "counters": """(loop (y, n) = (f32.i64 (x & 15), 0i64) while y < 99 do
        (y * 1.5 + 1, n + 1)).1) xs""",
    "short": """(loop (y, n) = (i32.i64 x & 255, 0i64) while y > 1 do
        (if y % 2 == 0 then y / 2 else 3 * y + 1, n + 1)).1) xs""",
    "floats": """(loop (y, k) = (f64.i64 (x & 15), x) while y < 99 do
        (y * 1.5 + 1, k / 2)).0) xs""",
}
BODIES = LONG | OTHERS


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("name", BODIES)
def test_any_number_of_lanes_gives_the_same(name: str) -> None:
    text = HEAD + BODIES[name]
    oracle = interpreted_program(stages.to_core(stages.check(Source("r", text))))
    xs = np.random.default_rng(3).integers(-(1 << 40), 1 << 40, 45)
    xs[:7] = -1, 0, 1, 1 << 62, -(1 << 63), (1 << 63) - 1, -7
    for lanes in (16, 8, 1):
        params = {LONG_INTEGERS.name: lanes} if name in LONG else {"lanes": lanes}
        program = minifut.compile(text, schedule="cpu", params=params)
        np.testing.assert_array_equal(program.main(xs), oracle.main(xs))


@pytest.mark.parametrize("name", BODIES)
def test_loops_of_long_integers_have_a_parameter(name: str) -> None:
    core = stages.to_core(stages.check(Source("r.fut", HEAD + BODIES[name])))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "r")
    assert (LONG_INTEGERS.name in text) == (name in LONG)


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("fold", ["(+)", "(\\a b -> if b == 0 then a else b)"])
def test_points_that_are_folded_have_it_too(name: str, fold: str) -> None:
    text = HEAD.replace("= map", f"= reduce {fold} 0 (map") + LONG[name] + ")"
    core = stages.to_core(stages.check(Source("r.fut", text)))
    xs = np.random.default_rng(5).integers(-(1 << 40), 1 << 40, 1000)
    expected = interpreted_program(core).main(xs)
    for lanes in (16, 1):
        params = {LONG_INTEGERS.name: lanes}
        program = minifut.compile(text, schedule="cpu", params=params)
        assert program.main(xs) == expected


@pytest.mark.sweep
@pytest.mark.parametrize("operation", ["/", "%", "//", "%%"])
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "u8", "u64"])
@pytest.mark.device
@pytest.mark.optimised
def test_quotients_by_powers_of_two(element: str, operation: str) -> None:
    text = f"""
      entry main (xs: []{element}) =
        map (\\x -> loop y = x {operation} 4 while y > 100 do y {operation} 2) xs"""
    oracle = interpreted_program(stages.to_core(stages.check(Source("r", text))))
    ends = np.iinfo(np.dtype(element[0] + str(int(element[1:]) // 8)))
    xs = np.array([ends.min, ends.min + 1, 0, 1, 2, 3, 4, 5, 99, ends.max], ends.dtype)
    program = minifut.compile(text, schedule="cpu", params={"lanes": 1})
    np.testing.assert_array_equal(program.main(xs), oracle.main(xs))
