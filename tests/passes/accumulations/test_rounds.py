"""Sums over the rounds of return sweeps: one fold behind the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Loop
from minifut.ir.traverse import walk
from minifut.passes.pipeline import PipelineOptions
from tests.passes.differentiate.derivatives import check

RECURRENT = """
def times [n][m][p] (a: [n][m]f64) (b: [m][p]f64): [n][p]f64 =
  map (\\row -> map (\\c -> f64.sum (map2 (*) row c)) (transpose b)) a
def f [n][k][d] (u: [d][d]f64, w: [k][d]f64, xs: [n][3][k]f64): [3][d]f64 =
  loop s = replicate 3 (replicate d 0.1) for x in xs do
    map2 (map2 (\\a b -> f64.tanh (a + b))) (times x w) (times s u)
"""
VECTORS = """
def f [n][k][d] (u: [d][d]f64, w: [k][d]f64, xs: [n][k]f64): [d]f64 =
  let times [m] (x: [m]f64) (b: [m][d]f64) =
    map (\\c -> f64.sum (map2 (*) x c)) (transpose b)
  in loop s = replicate d 0.1 for x in xs do
    map2 (\\a b -> f64.tanh (a + b)) (times x w) (times s u)
"""
BIASED = """
def f [n][d] (u: [d][d]f64, b: [d]f64, xs: [n][4][d]f64): [4][d]f64 =
  loop s = replicate 4 (replicate d 0.1) for x in xs do
    map2 (\\r y -> map3 (\\c v z -> v + z + f64.sin (f64.sum (map2 (*) r c)))
                       (transpose u) b y) s x
"""
STRIPS = RECURRENT.replace("  loop s", "  #[stripmine(2)] loop s")
SIZES = {"n": 4, "k": 2, "d": 3}


def argument(type_: str, random: np.random.Generator) -> Any:
    shape = [SIZES.get(s) or int(s) for s in type_[1:].split("]f64")[0].split("][")]
    return random.uniform(-0.6, 0.6, size=shape)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "types", "sizes"),
    [
        (RECURRENT, ("[d][d]f64", "[k][d]f64", "[n][3][k]f64"), "[n][k][d]"),
        (STRIPS, ("[d][d]f64", "[k][d]f64", "[n][3][k]f64"), "[n][k][d]"),
        (VECTORS, ("[d][d]f64", "[k][d]f64", "[n][k]f64"), "[n][k][d]"),
        (BIASED, ("[d][d]f64", "[d]f64", "[n][4][d]f64"), "[n][d]"),
    ],
)
@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.device
def test_the_sums_are_those_of_all_rounds(
    text: str, types: tuple[str, ...], sizes: str, rounds: int
) -> None:
    import minifut
    from tests.passes.differentiate.derivatives import entries

    random = np.random.default_rng(1)
    arguments = [argument(type_, random) for type_ in types]
    arguments[-1] = arguments[-1][:rounds]
    for schedule in ("cpu", "gpu"):
        program = minifut.compile(entries(text, types, sizes), schedule=schedule)
        check(text, types, arguments, sizes, run=program)


def summed(text: str, result: str = "[3][d]f64") -> list[int]:
    """How many arrays each loop of the gradient in the weights carries."""
    source = f"""{text}
entry main [n][k][d] (u: [d][d]f64) (w: [k][d]f64) (xs: [n][3][k]f64) (s: {result}) =
  vjp (\\(u, w) -> f (u, w, xs)) (u, w) s
"""
    core = stages.to_core(stages.check(Source("test.fut", source)))
    program = stages.to_kernels(core, PipelineOptions(stop_after="accumulate"))
    loops = [node for node in walk(program) if isinstance(node, Loop)]
    return [len(loop.parameters) for loop in loops]


def test_a_return_sweep_keeps_what_products_need() -> None:
    # forward: the state and two tapes of products and one of states; back: the adjoint
    # of the state and a tape of that of the products, which both sums need
    assert summed(RECURRENT)[1] == 2


def test_a_sum_that_users_write_keeps_its_order() -> None:
    source = """
entry main [n][m] (a: [n][m]f64) (b: [n][m]f64): [m]f64 =
  (loop (s, c) = (replicate m 0, replicate m 1) for i < n do
     let c = map2 (\\x y -> f64.sin (x + y)) c b[i]
     in (map2 (+) s (map2 (*) c a[i]), c)).0
"""
    core = stages.to_core(stages.check(Source("test.fut", source)))
    program = stages.to_kernels(core, PipelineOptions(stop_after="accumulate"))
    (loop,) = [node for node in walk(program) if isinstance(node, Loop)]
    assert len(loop.parameters) == 2


def test_a_loop_may_carry_what_it_does_not_use() -> None:
    source = """
entry main [n][m] (u: [m]f64) (xs: [n][m]f64) (w: f64) =
  vjp (\\u -> (loop (s, _) = (0.5, 1) for x in xs do
                (f64.sin (s + f64.sum (map2 (*) u x)), s)).0) u w
"""
    core = stages.to_core(stages.check(Source("test.fut", source)))
    stages.to_kernels(core, PipelineOptions(stop_after="accumulate"))
