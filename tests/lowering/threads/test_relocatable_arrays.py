"""Loops over arrays that change their size keep only what they carry on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut import compiler
from minifut.errors import Source
from minifut.stages import Options

TEXT = """
def step (i: i64) (xs: []i64) =
  filter (\\x -> x % 7 != i % 7 || x > i) (map (+ 1) xs)

entry one (n: i64) =
  loop xs = iota n for i < 2000 do step i xs

entry several (n: i64) =
  loop (xs, ys) = (iota n, map f64.i64 (iota (n + 3))) for i < 1500 do
    (step i xs ++ [i], map (+ 1) (filter (\\y -> y < 5000 - f64.i64 i) ys))

entry updated (n: i64) =
  let ys = iota n
  let zs = loop zs = copy ys for i < 3 do (zs with [0] = 100 + i) ++ [1]
  in (ys, zs)

entry in_threads (n: i64) =
  map (\\j -> i64.sum (loop xs = iota (n % 100 + j) for i < 300 do
                       step (i + j) xs ++ [i]))
      (iota 50)
"""
MEMORY = 32 << 20
"""bytes; all rounds of the first two together take more"""


def step(i: int, xs: Any) -> Any:
    xs = xs + 1
    return xs[(xs % 7 != i % 7) | (xs > i)]


def one(n: int) -> tuple[Any, ...]:
    xs = np.arange(n)
    for i in range(2000):
        xs = step(i, xs)
    return (xs,)


def several(n: int) -> tuple[Any, ...]:
    xs, ys = np.arange(n), np.arange(n + 3.0)
    for i in range(1500):
        xs, ys = np.append(step(i, xs), i), ys[ys < 5000 - i] + 1
    return xs, ys


def updated(n: int) -> tuple[Any, ...]:
    zs = np.append(np.arange(n), [1, 1, 1])
    zs[0] = 102
    return np.arange(n), zs


def in_threads(n: int) -> tuple[Any, ...]:
    sums = []
    for j in range(50):
        xs = np.arange(n % 100 + j)
        for i in range(300):
            xs = np.append(step(i + j, xs), i)
        sums.append(xs.sum())
    return (np.array(sums),)


@pytest.mark.device
@pytest.mark.parametrize("backend", ["opencl", "sequential"])
@pytest.mark.parametrize("function", [one, several, updated, in_threads])
def test_memory_is_let_go_of(function: Any, backend: str) -> None:
    options = Options(backend=backend, use_tuning=False, max_memory=MEMORY)
    program = compiler.compile_program(Source("a.fut", TEXT), options)
    results = program.entry(function.__name__).call([1999])
    for got, wanted in zip(results, function(1999), strict=True):
        assert np.array_equal(got, wanted)
