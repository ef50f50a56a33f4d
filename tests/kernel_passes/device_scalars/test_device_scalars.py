"""Scalars that kernels compute for kernels: never read by the host, and always right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source

PROGRAMS = {
    "normalise": """[n] (xs: [n]f64) (k: i64) =
  let s = f64.sum xs let m = f64.maximum xs
  in map (\\x -> (x - s / f64.i64 n) / (f64.abs m + f64.i64 k)) xs""",
    "steps": """[n] (xs: [n]f64) (k: i64) =
  loop xs for _i < k do let t = f64.sqrt (f64.sum (map (\\x -> x * x) xs))
                        in map (\\x -> x / (t + 1) + 1) xs""",
    "overwritten": """[n] (xs: [n]f64) (k: i64) =
  let ys = map (+ 1) xs
  let a = ys[n - 1] let t = f64.sum ys
  let ys[n - 1] = t
  let b = ys[n - 1]
  in (map (\\x -> x + a + f64.i64 k) ys, map (* b) xs)""",
    "a scalar of the host twice": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let c = 1 / f64.i64 k
  in map (\\x -> x * c + t * c) xs""",
    "in branches": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs
  in if k > 3 then map (+ t) xs else map (\\x -> x - t * 2) xs""",
    "after branches": """[n] (xs: [n]f64) (k: i64) =
  let t = if k > 3 then f64.sum xs else f64.maximum xs
  in map (* t) xs""",
    "host as well": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let s = f64.sqrt (t * t)
  in (t, map (\\x -> x / (s + f64.i64 k)) xs)""",
    "in a result by branches": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let m = if t > f64.i64 k then t * 2 else 1
  in (m, t, map (\\x -> x / (t * t + 1)) xs)""",
    "result before it is overwritten": """[n] (xs: [n]f64) (k: i64) =
  let ys = map (+ f64.i64 k) xs let t = f64.sum ys let a = ys[0]
  let ys[0] = t
  in (a, t, map (* t) xs, ys)""",
    "condition": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let m = f64.maximum xs
  in if t > 0 then map (+ m) xs else map (\\x -> x * t - f64.i64 k) xs""",
    "two users": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let ys = map (/ (t + 300)) xs
  let u = f64.sum (map2 (*) ys xs)
  in (map2 (\\x y -> x * t + y * u) xs ys, f64.sum (map (\\y -> y - t * f64.i64 k) ys))""",
    "small types": """[n] (xs: [n]f64) (k: i64) =
  let b = or (map (> 40) xs) let i = i8.sum (map i8.f64 xs) let f = f32.sum (map f32.f64 xs)
  let u = u16.maximum (map u16.f64 (map f64.abs xs))
  in map (\\x -> f64.bool ((x > 0) == b) + f64.i8 i * x + f64.f32 f - f64.u16 u) xs""",
    "one kernel for a scalar and what is computed from it": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let u = f64.i64 k * t
  in (replicate n t, replicate n u)""",
    "one kernel for three": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs let u = f64.i64 k * t
  in (replicate n (t + u), replicate n t, replicate n u)""",
    "at an index": """[n] (xs: [n]f64) (k: i64) =
  let ys = scan (+) 0 xs let zs = map (* 2) xs
  let i = k % n
  in map (\\x -> x / (f64.abs ys[n - 1] + 1) + zs[i]) xs""",
    "at an index of the device": """[n] (xs: [n]f64) (k: i64) =
  let ys = map (\\x -> x * 3 + f64.i64 k) xs
  let (_, i) = reduce_comm (\\(v, i) (w, j) -> if v > w || v == w && i < j
                                              then (v, i) else (w, j))
                           (-f64.inf, n - 1) (zip xs (iota n))
  let y = #[unsafe] ys[i]
  in map (\\x -> x * y) xs""",
    "nested": """[n] (xs: [n]f64) (k: i64) =
  let t = f64.sum xs
  in loop xs for i < k do
       let s = f64.sum xs let m = f64.maximum xs
       in if i % 2 == 0 then map (\\x -> (x - s / f64.i64 n) / (t * t + f64.abs m + 1)) xs
          else let q = f64.minimum xs in map (\\x -> x * q / (f64.abs t + 1)) xs""",
    "while": """[n] (xs: [n]f64) (k: i64) =
  loop (xs, i) = (xs, k) while f64.sum (map f64.abs xs) > 1 && i > 0 do
    let m = f64.maximum xs in (map (\\x -> x / 2 + m / 8) xs, i - 1)""",
}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_agree_with_the_interpreter(name: str, schedule: str = "cpu") -> None:
    text = f"entry main {PROGRAMS[name]}"
    device = minifut.compile(text, schedule=schedule)
    oracle = minifut.compile(text, backend="interpreter")
    for n in (1, 2, 17, 20_001):
        xs = np.random.default_rng(n).integers(-50, 50, n).astype(np.float64)
        for k in (2, 5):
            found, wanted = device.main(xs, k), oracle.main(xs, k)
            if not isinstance(wanted, tuple):
                found, wanted = (found,), (wanted,)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-9)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_agree_in_groups(name: str) -> None:
    test_results_agree_with_the_interpreter(name, "gpu")


def host_program(name: str, schedule: str) -> str:
    source = Source("program.fut", f"entry main {PROGRAMS[name]}")
    kernels = stages.to_kernels(stages.to_core(stages.check(source)))
    return stages.to_host_module(kernels, schedule, "program")


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("normalise", 0),
        ("host as well", 1),
        ("in a result by branches", 1),
        ("condition", 1),
        ("after branches", 0),
        ("at an index", 0),
        ("at an index of the device", 0),
    ],
)
def test_the_host_reads_what_it_needs(name: str, reads: int, schedule: str) -> None:
    assert host_program(name, schedule).count("run.read(") == reads


@pytest.mark.parametrize("name", ["host as well", "in a result by branches"])
def test_results_are_read_after_the_last_launch(name: str) -> None:
    main = host_program(name, "cpu").partition("def main(")[2].partition("\n\n")[0]
    assert main.rfind("kernels[") < main.find("run.read(")


@pytest.mark.device
def test_a_scalar_of_a_failed_kernel_is_not_used() -> None:
    program: Any = minifut.compile("""entry main [n] (xs: [n]i64) (at: [n]i64) =
      let t = i64.sum (map (\\i -> xs[i]) at) in map (\\x -> xs[x + t]) at""")
    xs = np.zeros(5000, np.int64)
    with pytest.raises(ProgramError, match=r"Index \[7000\]"):
        program.main(xs, np.full(5000, 7000))
    np.testing.assert_array_equal(program.main(xs, np.arange(5000)), xs)
