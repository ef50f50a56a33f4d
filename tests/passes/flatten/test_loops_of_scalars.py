"""Loops of scalars: one thread where a function has nothing else, else the host."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import minifut
from minifut.ir.interpret import run
from minifut.passes.flatten import loop_pieces
from tests.passes.test_versions import compiled, kernels_of

IN_ONE_THREAD = {
    "a factorial": ("def main (n: i64) = loop a = 1i64 for i < n do a * (i + 1)", [20]),
    "nested": (
        "def main (n: i64) = loop a = 0i64 for i < n do loop b = a for j < i do b + j",
        [9],
    ),
    "Collatz, summed": (
        "def main (n: i64) = loop s = 0i64 for i < n do s + (loop (x, k) = (i + 1, 0i64)\n"
        "  while x != 1 do (if x % 2 == 0 then x / 2 else 3 * x + 1, k + 1)).1",
        [27],
    ),
    "under a condition": (
        "def main (n: i64) = if n < 3 then n else loop a = 1i64 for i < n do a ^ (3 * i)",
        [50],
    ),
}
IN_ONE_THREAD |= {
    "a root": (
        "def main (x: f64) = loop y = 1 while f64.abs (y * y - x) > 1e-9 do (y + x / y) / 2",
        [2.0],
    ),
    "no iteration": ("def main (n: i64) = loop k = n while k < 0 do k + 1", [4]),
    "as many as on the host": (
        "def main (n: i64) = loop k = 0 while k < n do k + 1",
        [2730],
    ),
    "several pieces": (
        "def main (n: i64) = (loop (k, s) = (0, true) while k < n do (k + 1, !s))",
        [5000],
    ),
    "loops inside": (
        "def main (n: i64) = (loop (x, s) = (n, 0) while x > 0 do\n"
        "  (x - 1, s + (loop y = 0 while y * y < x do y + 1))).1",
        [40],
    ),
    "a constant condition": (
        "def main (n: i64) = loop k = n while (if k > 90 then false else true) do k * 2",
        [1],
    ),
}

ON_HOST = {
    "short": "def main (x: f32) = loop x for _i < 5 do x * x",
    "with arrays": (
        "def main [n] (xs: [n]i64) (k: i64) =\n"
        "  let s = loop a = 0i64 for i < k do a ^ i in map (+ s) xs"
    ),
    "the size of an array": (
        "def main (n: i64) = iota ((loop k = 1i64 while k < n do 2 * k))"
    ),
}


@pytest.mark.parametrize("name", IN_ONE_THREAD)
def test_one_thread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_pieces, "PIECE_WORK", 1 << 14)
    text, arguments = IN_ONE_THREAD[name]
    before, after = compiled(text)
    assert kernels_of(after) == ["SegMap(1)"]
    values = [np.asarray(a)[()] for a in arguments]
    assert run(before, "main", values) == run(after, "main", values)


@pytest.mark.parametrize("name", ON_HOST)
def test_on_the_host(name: str) -> None:
    assert "SegMap(1)" not in kernels_of(compiled(ON_HOST[name])[1])


@pytest.mark.device
def test_failures_and_both_versions_agree() -> None:
    program = minifut.compile(
        "entry main (n: i64) (d: i64): i64 = loop a = 1 for i < n do a + i / (d - i)"
    )
    for host in (0, 1 << 62):
        program.tuning["main.loop.host"] = host
        assert program.main(3, 10) == 1
        assert program.main(0, 10) == program.main(-1, 10) == 1
        with pytest.raises(minifut.ProgramError, match="division by zero"):
            program.main(30, 10)


LOOPS = """
entry root (x: f64) = loop y = 1f64 while f64.abs (y * y - x) > 1e-9 do (y + x / y) / 2
entry gcd (a: i64) (b: i64) = (loop (a, b) while b != 0 do (b, a % b)).0
entry steps (n: i64) = (loop (x, k) = (n, 0i64)
  while x != 1 do (if x % 2 == 0 then x / 2 else 3 * x + 1, k + 1)).1
entry digits (n: u64) (base: u64) = (loop (n, s) = (n, 0u64)
  while n > 0 do (n / base, s + n % base)).1
entry bisect (n: i64) = (loop (low, high) = (0i64, n + 1)
  while high - low > 1 do
    let middle = (low + high) / 2
    in if middle * middle <= n then (middle, high) else (low, middle)).0
entry map_to (x: f32) (n: i32) = (loop (x, k, up) = (x, 0i32, false)
  while k < n do (3.7f32 * x * (1 - x), k + 1, x > 0.5)).2
entry fail (n: i64) (d: i64) = (loop (a, i) = (1i64, 0i64)
  while i < n do (a + i / (d - i), i + 1)).0
"""
CALLS = [
    ("root", (2.0,)),
    ("gcd", (1836311903, 1134903170)),
    ("steps", (837799,)),
    ("digits", (1 << 63, 2)),
    ("bisect", (10**12,)),
    *(("map_to", (0.3, n)) for n in (0, 1, 1365, 3000, 100_000)),
]


@pytest.mark.device
def test_pieces_agree_with_the_host() -> None:
    there, here = (minifut.compile(LOOPS) for _ in range(2))
    for name in here.tuning:
        if name.endswith(".host"):
            here.tuning[name] = 0
    for name, arguments in CALLS:
        assert there[name](*arguments) == here[name](*arguments), name
    for program in (there, here):
        with pytest.raises(minifut.ProgramError, match="division by zero"):
            program.fail(100_000, 50_000)
        assert program.fail(3, 10) == 1


@pytest.mark.device
@pytest.mark.usefixtures("interruptible")
def test_a_loop_that_does_not_end_is_interrupted() -> None:
    program = minifut.compile("entry run (k: i64) = loop k while k >= 0 do (k + 1) % 9")
    timer = threading.Timer(1.5, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        program.run(1)
    timer.join()
    assert program.run(-1) == -1


SEARCH = """
  let path = loop path = replicate h 0i64 for i < h do
    let last = if i == 0 then w / 2 else path[i - 1]
    let best = loop b = i64.max 0 (last - 1) for c in i64.max 0 (last - 1)..<i64.min w (last + 2) do
      if costs[i, c] < costs[i, b] then c else b
    in path with [i] = best"""


def test_loops_of_elements_whose_number_depends_on_data_are_one_thread() -> None:
    text = f"def main [h][w] (costs: [h][w]f32) = {SEARCH} in path"
    before, after = compiled(text)
    assert "SegMap(1)" in kernels_of(after)
    values = [np.random.default_rng(1).random((7, 9)).astype(np.float32)]
    assert np.array_equal(run(before, "main", values), run(after, "main", values))


def test_loops_of_elements_have_versions_among_kernels() -> None:
    text = f"""def main [h][w] (costs: [h][w]f32) (k: i64) =
      loop costs for s < k do {SEARCH}
        in map2 (\\p row -> map (\\c -> c + row[p]) row) path costs"""
    host = compiled(text)[1]
    assert kernels_of(host).count("SegMap(1)") == 2
