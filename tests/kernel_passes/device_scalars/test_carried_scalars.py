"""Scalars that loops of the host pass on: in memory of the device, with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source

SUMS = """def sum = f64.sum
def dot [n] (a: [n]f64) (b: [n]f64) = sum (map2 (*) a b)
"""
PROGRAMS = {
    "conjugate gradients": """
  let b = map (+ 60) xs
  let (x, _, _, _) = loop (x, r, p, rs) = (map (* 0) b, b, b, dot b b) for i < k do
    let q = map2 (\\p i -> p * (2 + f64.i64 i / f64.i64 n)) p (iota n)
    let alpha = rs / dot p q
    let x = map2 (\\x p -> x + alpha * p) x p
    let r = map2 (\\r q -> r - alpha * q) r q
    let new = dot r r
    let p = map2 (\\r p -> r + new / (rs + 1) * p) r p
    in (x, r, p, new)
  in x""",
    "only the last": """
  loop (t, ys) = (k, xs) for _i < k do
    let m = f64.maximum (map f64.abs ys)
    in (i64.f64 m + 1, map (\\y -> y / (m + 1) + 1) ys)""",
    "a total": """
  loop (t, ys) = (1f64, xs) for i < k do
    let t = t + sum ys * f64.i64 i in (t, map (+ t / 1e6) ys)""",
    "one for the other": """
  loop (a, b, ys) = (1f64, 2f64, xs) for _i < k do
    let s = sum (map (\\y -> y * a - b) ys)
    let m = f64.maximum ys
    in (b / 2 + m, s / (1 + f64.abs s), map (\\y -> y + a / (1 + f64.abs b)) ys)""",
    "exchanged": """
  loop (a, b, ys) = (1f64, 2f64, xs) for _i < k do
    let m = f64.minimum (map (+ a) ys) in (b, m, map (\\y -> y * 0.5 + b) ys)""",
    "the host as well": """
  loop (t, ys) = (3f64, xs) for _i < k do
    let ys = if t > 0 then map (+ t) ys else map (\\y -> y - t) ys
    in (f64.maximum ys - 20, ys)""",
    "condition": """
  loop (t, s, ys) = (1e9f64, 1f64, xs) while t > 10 do
    let ys = map (\\y -> y / 2 + s / 1e9) ys
    in (f64.maximum (map f64.abs ys), sum ys, ys)""",
    "nested": """
  loop (t, ys) = (1f64, xs) for i < k do
    let (u, zs) = loop (u, zs) = (t, ys) for _j < i do
      let m = f64.maximum zs in (m, map (\\z -> z / 2 + u - m) zs)
    let m = f64.minimum zs
    in (m, map (\\z -> z / 3 + t / (1 + f64.abs u)) zs)""",
    "small types": """
  loop (b, i, f, ys) = (true, 1i8, 2f32, xs) for j < k do
    let zs = map (\\y -> if (y > 0) == b then y + f64.i8 i else y / 2 + f64.f32 f) ys
    in (or (map (> 40) zs), i8.sum (map i8.f64 (map (% 100) zs)),
        f32.maximum (map f32.f64 zs) / f32.i64 (j + 1), zs)""",
    "the last element": """
  loop (c, ys) = (1f64, xs) for _i < k do
    let ys = scan (+) 0 (map (\\y -> y / (1 + f64.abs c)) ys) in (ys[n - 1], ys)""",
    "versions": """
  let rows = unflatten (sized (1 * n) xs)
  let (a, s) = loop (a, s) = (rows, 1) for _i < k do
    let b = map (map (\\x -> x / s + 1)) a
    in (b, f64.sqrt (sum (map (\\r -> sum (map (\\x -> x * x) r)) b)) + 1)
  in (flatten a, s)""",
    "one side": """
  loop (t, ys) = (1f64, xs) for i < k do
    let s = if i % 2 == 0 then sum ys else t + 1
    in (s, map (\\y -> y + s / (1 + f64.abs t)) ys)""",
    "overwritten": """
  loop (t, ys) = (1f64, copy xs) for i < k do
    let zs = map (+ t) ys
    let a = zs[0]
    let zs[0] = f64.i64 i
    in (a, zs)""",
    "pivots": """
  loop (p, ys) = (0i64, xs) for i < k do
    let (_, p) = reduce_comm (\\(v, i) (w, j) -> if v > w || v == w && i < j
                                                 then (v, i) else (w, j))
                             (-f64.inf, n) (zip (map (+ f64.i64 p) ys) (iota n))
    in (p, map2 (\\y j -> if j == p then f64.i64 i else y) ys (iota n))""",
}


def program_of(name: str) -> str:
    return f"{SUMS}entry main [n] (xs: [n]f64) (k: i64) = {PROGRAMS[name]}"


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_agree_with_the_interpreter(name: str, schedule: str) -> None:
    device = minifut.compile(program_of(name), schedule=schedule)
    loops = {each: 0 for each in device.tuning if each.endswith(".host")}
    assert loops
    device = minifut.compile(program_of(name), schedule=schedule, params=loops)
    oracle = minifut.compile(program_of(name), backend="interpreter")
    for n, steps in ((1, 3), (17, 0), (17, 1), (1001, 5), (20_001, 4)):
        xs = np.random.default_rng(n).integers(-50, 50, n).astype(np.float64)
        found, wanted = device.main(xs, steps), oracle.main(xs, steps)
        if not isinstance(wanted, tuple):
            found, wanted = (found,), (wanted,)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-9)


def host_program(name: str, schedule: str) -> str:
    source = Source("program.fut", program_of(name))
    kernels = stages.to_kernels(stages.to_core(stages.check(source)))
    return stages.to_host_module(kernels, schedule, "program")


def reads_in_loops(text: str) -> int:
    """Reads of scalars within loops of host functions, also of whether they go on."""
    reads, loops = 0, list[int]()
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        while loops and depth <= loops[-1]:
            loops.pop()
        reads += (line.count("run.read(") + line.count(".goes_on(")) if loops else 0
        if line.lstrip().startswith(("for ", "while ")):
            loops.append(depth)
    return reads


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("conjugate gradients", 0),
        ("only the last", 0),
        ("a total", 0),
        ("one for the other", 0),
        ("the host as well", 1),
        ("condition", 1),
        ("pivots", 0),
        ("versions", 0),
        ("the last element", 0),
        ("one side", 1),
    ],
)
def test_iterations_read_what_the_host_needs(
    name: str, reads: int, schedule: str
) -> None:
    assert reads_in_loops(host_program(name, schedule)) == reads


def test_no_kernel_stores_what_is_read_without_waiting() -> None:
    text = """entry main [n] (xs: [n]i64) =
      let ys = map (* 2) xs in loop t = 0 for y in ys do t * 3 + y"""
    kernels = stages.to_kernels(stages.to_core(stages.check(Source("a.fut", text))))
    assert "main_store" not in stages.to_host_module(kernels, "cpu", "program")


@pytest.mark.device
def test_a_failure_in_an_iteration_is_told() -> None:
    text = f"""{SUMS}entry main [n] (xs: [n]f64) (is: [n]i64) (k: i64) =
      loop (t, ys) = (1f64, xs) for _j < k do
        (sum ys, map (\\i -> ys[i] + t) is)"""
    program: Any = minifut.compile(text, params={"main.loop_reduce_map.host": 0})
    xs, inside = np.ones(5000), np.arange(5000)
    assert program.main(xs, inside, 3)[0] == 5000 * (1 + 1 + 5000)
    with pytest.raises(ProgramError, match=r"Index"):
        program.main(xs, inside + 2001, 3)
    assert program.main(xs, inside, 1)[0] == 5000
