"""Loops of scalars: one thread where a function has nothing else, else the host."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.interpret import run
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

ON_HOST = {
    "while": (
        "def main (x: f64) = loop y = 1 while f64.abs (y * y - x) > 1e-9 do (y + x / y) / 2"
    ),
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
def test_one_thread(name: str) -> None:
    text, arguments = IN_ONE_THREAD[name]
    before, after = compiled(text)
    assert kernels_of(after) == ["SegMap(1)"]
    values = [np.asarray(a)[()] for a in arguments]
    (wanted,), (got,) = run(before, "main", values), run(after, "main", values)
    assert got == wanted


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
