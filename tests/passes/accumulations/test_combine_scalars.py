"""Folds and histograms of small arrays are those of scalars, and give the same."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.kernels import SegHist, SegRed, SegScan
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType
from tests.opencl.device_programs import SCHEDULES

MATRICES = "(\\a b -> map (\\r -> map (\\c -> i32.sum (map2 (*) r c)) (transpose b)) a)"
LINEAR = "(\\a b -> [a[0] * b[0], a[0] * b[1] + a[1]])"
TEXT = f"""
entry reduced [n] (xs: [n][2][2]i32): [2][2]i32 = reduce {MATRICES} [[1, 0], [0, 1]] xs
entry scanned [n] (xs: [n][2][2]i32): [n][2][2]i32 =
  scan {MATRICES} [[1, 0], [0, 1]] xs
entry mixed [n] (xs: [n][2][2]i32): (i32, [2]i32, [n]i32) =
  let (s, p) = reduce (\\(s, p) (t, q) -> (s + t, {LINEAR} p q)) (0, [1, 0])
                      (map (\\x -> (x[1][0], x[0])) xs)
  in (s, p, map (\\x -> x[1][1] + s) xs)
entry rows [n] (xs: [n][2][2]i32): [n][2]i32 = map (reduce {LINEAR} [1, 0]) xs
entry binned [n] (xs: [n][2][2]i32): [3][2]i32 =
  reduce_by_index (map (\\i -> [1, i32.i64 i]) (iota 3)) {LINEAR} [1, 0]
                  (map (\\i -> i % 4 - 1) (iota n))
                  (map (\\x -> [i32.bool (x[0, 0] > 0) * 2 - 1, 0]) xs)
entry largest [n] (xs: [n][2][2]i32): [2][2]i32 =
  reduce_by_index [[0, 0], [0, 7]] (map2 i32.max) [0, 0] (map (% 3) (iota n))
                  (map (\\x -> x[0]) xs)
"""
ENTRIES = ("reduced", "scanned", "mixed", "rows", "binned", "largest")
OF_UNKNOWN_SIZE = (
    "entry main [n][d] (xs: [n][d]i32) ="
    " reduce (\\a b -> if a[0] > b[0] then a else b) (replicate d 0) xs"
)


def operators(text: str) -> list[object]:
    """What operators of segmented operations combine."""
    program = stages.to_kernels(stages.to_core(stages.check(Source("x.fut", text))))
    return [
        type_
        for node in walk(program)
        if isinstance(node, SegRed | SegScan | SegHist)
        for operator in node.operators
        for type_ in operator.operator.results
    ]


def test_operators_of_segmented_operations_combine_scalars() -> None:
    found = operators(TEXT)
    assert len(found) >= 14
    assert not any(isinstance(type_, ArrayType) for type_ in found)


def test_operators_on_arrays_of_unknown_size_stay() -> None:
    (type_,) = operators(OF_UNKNOWN_SIZE)
    assert isinstance(type_, ArrayType)


@pytest.mark.device
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_results_are_those_of_the_interpreter(schedule: str) -> None:
    program = minifut.compile(TEXT, schedule=schedule)
    oracle = minifut.compile(TEXT, backend="interpreter")
    random = np.random.default_rng(3)
    for n in (0, 1, 2, 37, 700):
        xs = random.integers(-9, 9, (n, 2, 2), np.int32)
        for entry in ENTRIES:
            expected = getattr(oracle, entry)(xs)
            found = getattr(program, entry)(xs)
            assert str(found) == str(expected), (entry, n)
            np.testing.assert_equal(found, expected)


@pytest.mark.device
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_many_matrices_are_scanned_by_many_work_items(schedule: str) -> None:
    program = minifut.compile(TEXT, schedule=schedule)
    xs = np.random.default_rng(4).integers(-1, 2, (50_000, 2, 2), np.int32)
    prefix, expected = np.eye(2, dtype=np.int64), []
    for x in xs:
        prefix = (prefix @ x).astype(np.int32).astype(np.int64)
        expected.append(prefix)
    np.testing.assert_array_equal(program.scanned(xs), np.array(expected, np.int32))
    np.testing.assert_array_equal(program.reduced(xs), expected[-1])
