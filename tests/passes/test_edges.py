"""Programs whose meaning hangs on an edge: signs of zero, NaN, loops that never run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import ProgramError

BACKENDS = [
    "interpreter",
    pytest.param("cpu", marks=pytest.mark.device),
    pytest.param("gpu", marks=pytest.mark.device),
]
on_all = pytest.mark.parametrize("backend", BACKENDS)


def compiled(source: str, backend: str) -> Any:
    if backend == "interpreter":
        return minifut.compile(source, backend=backend)
    return minifut.compile(source, schedule=backend)


@on_all
def test_zero_and_minus_zero_are_two_numbers(backend: str) -> None:
    program = compiled(
        "entry branches (c: bool): f32 = 1 / (if c then 0.0 else -0.0)\n"
        "entry twice (x: f32) = (x / 0.0, x / -0.0)\n"
        "entry matched (c: bool): i32 =\n"
        "  match (if c then -0.0f32 else 1.0f32) case 0.0 -> 1 case _ -> 2\n"
        "entry known: i32 = match -0.0f32 case 0.0 -> 1 case _ -> 2",
        backend,
    )
    assert program.branches(True) == np.inf
    assert program.branches(False) == -np.inf
    assert program.twice(np.float32(1)) == (np.inf, -np.inf)
    assert program.matched(True) == program.known() == 1


@on_all
def test_the_least_of_nan_and_infinity_is_infinity(backend: str) -> None:
    program = compiled(
        "entry main (x: f32) = (f32.min x f32.inf, f32.max (-f32.inf) x)", backend
    )
    assert program.main(np.float32(np.nan)) == (np.inf, -np.inf)
    assert program.main(np.float32(3)) == (3, 3)


@on_all
def test_what_moves_out_of_a_loop_that_never_runs_does_no_harm(backend: str) -> None:
    program = compiled(
        "entry main (n: i64) (m: i64) =\n"
        "  loop s = 0 for i < n do\n"
        "    let a = iota m with [i] = s\n"
        "    in s + i64.sum a",
        backend,
    )
    assert program.main(np.int64(0), np.int64(-1)) == 0
    assert program.main(np.int64(3), np.int64(4)) == 38
    with pytest.raises(ProgramError):
        program.main(np.int64(1), np.int64(-1))


@on_all
@pytest.mark.parametrize("fold", ["reduce", "scan"])
def test_rows_without_elements_do_not_hide_a_failing_check(
    fold: str, backend: str
) -> None:
    program = compiled(
        "entry main [n][m] (xss: [n][m]i32) (ks: [n]i32) =\n"
        f"  {fold} (map2 (+)) (replicate m 0)\n"
        "         (map2 (\\xs k -> map (+ 1) (assert (k > 0) xs)) xss ks)",
        backend,
    )
    rows = np.zeros((2, 0), np.int32)
    program.main(rows, np.array([1, 1], np.int32))
    with pytest.raises(ProgramError, match="k > 0"):
        program.main(rows, np.array([1, -1], np.int32))


def test_an_attribute_stays_when_a_result_turns_out_to_be_an_input() -> None:
    from minifut import stages
    from minifut.errors import Source
    from minifut.ir.parser import names_after
    from minifut.ir.traverse import walk
    from minifut.passes.simplify.driver import simplify

    text = (
        "entry main [n] (xs: [n]i32) =\n"
        "  #[sequential] map (\\x -> (x, x + 1)) xs |> unzip"
    )
    program = stages.to_core(stages.check(Source("edges.fut", text)))
    after = simplify(program, names_after(program))
    found = [getattr(node, "attributes", ()) for node in walk(after)]
    assert ("sequential",) in found
