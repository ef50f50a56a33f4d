"""Rotations by distances that are known when the program runs."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

BODIES = {
    "rows": "map3 (\\x y g -> rotate x (map (rotate y) g)) cs (reverse cs) f",
    "other sides": "map2 (\\x g -> map (\\r -> rotate (-x) r) g) cs f",
    "twice the same": """map2 (\\x g -> tabulate_2d n m (\\i j ->
        g[i, (j - x) % m] * 2 + g[(i + 1) % n, (j - x) % m])) cs f""",
    "two distances": """map2 (\\x g -> tabulate_2d n m (\\i j ->
        g[i, (j + x) % m] * 2 + g[i, (j - x) % m])) cs f""",
    "inner counters": """map2 (\\x g -> tabulate_2d n m (\\i j ->
        loop s = g[i, (j + x) % m] for d < 4 do s * 2 + g[i, (d + j) % m])) cs f""",
    "other divisors": """map2 (\\x g -> tabulate_2d n m (\\i j ->
        if n > 0 && m > 0 then g[(j + x) % n, i % m] else 0)) cs f""",
    "positions that are computed": """map2 (\\x g -> tabulate_2d n m (\\i j ->
        let k = (j + x) % m in g[i, k] + f32.i64 k)) cs f""",
}
FAR = 1 << 62


@pytest.mark.device
@pytest.mark.parametrize("name", BODIES)
def test_rotations_by_any_distance(name: str) -> None:
    text = f"""
      def main [k][n][m] (cs: [k]i64) (f: [k][n][m]f32) : [k][n][m]f32 = {BODIES[name]}"""
    core = stages.to_core(stages.check(Source("r", text)))
    oracle = interpreted_program(core)
    program = minifut.compile(text, schedule="cpu")
    random = np.random.default_rng(1)
    for shape in ((3, 21), (1, 1), (4, 40), (2, 0), (0, 3)):
        distances = [0, 1, -1, shape[1] - 1, 7, -100, 1000, FAR, -FAR, 2 * FAR - 1]
        cs = np.array(distances, np.int64)
        f = random.integers(0, 100, (len(cs), *shape)).astype(np.float32)
        np.testing.assert_array_equal(program.main(cs, f), oracle.main(cs, f))


@pytest.mark.device
def test_long_rotations() -> None:
    text = "def main [n] (c: i64) (f: [n]f32) : [n]f32 = map (+ 1) (rotate c f)"
    program = minifut.compile(text, schedule="cpu")
    f = np.arange(5_000_000, dtype=np.float32)
    for c in (0, 1, -1, 4_999_999, 12_345_678, 16):
        np.testing.assert_array_equal(program.main(c, f), np.roll(f, -c) + 1)


def test_a_rotation_has_a_loop_for_each_side() -> None:
    text = f"def main [k][n][m] (cs: [k]i64) (f: [k][n][m]f32) = {BODIES['rows']}"
    core = stages.to_core(stages.check(Source("r.fut", text)))
    kernels = stages.to_host_module(stages.to_kernels(core), "cpu", "r")
    assert "long again" in kernels


def test_chains_of_definitions_are_not_written_out() -> None:
    """Each is used twice by the next: written out there are 2^60 of the first."""
    chain = "\n".join(f"let x{k + 1} = x{k} * x{k} + x{k} ^ {k}" for k in range(60))
    text = f"""
      def main [n] (f: [n]i64) =
        map (\\x0 -> {chain} in (x0 + x60) % (x60 | 1)) f"""
    core = stages.to_core(stages.check(Source("r.fut", text)))
    assert "mod_i64" in stages.to_host_module(stages.to_kernels(core), "cpu", "r")


@pytest.mark.device
def test_a_distance_that_the_loop_changes() -> None:
    text = """
      def main [n] (c: *[1]i64) (f: [n]i64) : ([1]i64, [n]i64) =
        loop (c, g) = (c, copy f) for i < n do
          let g[i] = f[(i + c[0]) % n]
          in (c with [0] = c[0] + g[i], g)"""
    core = stages.to_core(stages.check(Source("r", text)))
    program = minifut.compile(text, schedule="cpu")
    f = np.arange(17) * 3 % 17
    for one, other in zip(
        program.main(np.array([5]), f),
        interpreted_program(core).main(np.array([5]), f),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


LOOPS = {
    "vectors": "loop x for i < k do map2 (\\a b -> a * 3 + b) x (rotate (i * i) x)",
    "rows": """flatten (loop y = unflatten (x :> [(n / 4) * 4]i32) for i < k do
        map2 (map2 (\\a b -> i32.max a (b - 1))) y (rotate i (map (rotate (-i)) y)))""",
    "a distance that is computed": """loop x for i < k do
        let d = i64.i32 (x[0] % 7) in map2 (+) x (rotate (d - i) x)""",
}


@pytest.mark.device
@pytest.mark.parametrize("name", LOOPS)
def test_rotations_in_loops_of_one_thread(name: str) -> None:
    text = f"entry main [n] (x: [n]i32) (k: i64): []i32 = {LOOPS[name]}"
    oracle = minifut.compile(text, backend="interpreter")
    program = minifut.compile(text, schedule="cpu")
    for limit in (0, 1 << 62):
        for key in [key for key in program.tuning if key.endswith(".host")]:
            program.tuning[key] = limit
        for n in (4, 20, 76):
            x = np.arange(n, dtype=np.int32) * 7 % 5
            np.testing.assert_array_equal(program.main(x, 9), oracle.main(x, 9))


def test_rotations_in_loops_of_one_thread_are_split() -> None:
    text = f"def main [n] (x: [n]i32) (k: i64) = {LOOPS['vectors']}"
    core = stages.to_core(stages.check(Source("r.fut", text)))
    kernels = stages.to_host_module(stages.to_kernels(core), "cpu", "r")
    assert kernels.count("long again") >= 2
