"""Which operators give the operand whose keys win: proved for these, refused for those."""

from __future__ import annotations

import pytest

from minifut.analysis.selections import Key, KeyOrder, key_order_of
from minifut.ir.kernels import SegRed
from minifut.ir.traverse import walk
from tests.passes.test_versions import compiled

GREATEST, LEAST = (True, False)
CASES = {
    "if a > b || (a == b && i < j) then (a, i) else (b, j)":
        KeyOrder((Key(0, GREATEST), Key(1, LEAST)), keeps_left=True),
    "if a > b then (a, i) else if b > a then (b, j) else if i < j then (a, i) else (b, j)":
        KeyOrder((Key(0, GREATEST), Key(1, LEAST)), keeps_left=True),
    "if b > a then (b, j) else (a, i)": KeyOrder((Key(0, GREATEST),), keeps_left=True),
    "if b >= a then (b, j) else (a, i)": KeyOrder((Key(0, GREATEST),), keeps_left=False),
    "if b < a then (b, j) else (a, i)": KeyOrder((Key(0, LEAST),), keeps_left=True),
    "(f32.min a b, if a <= b then i else j)": KeyOrder((Key(0, LEAST),), keeps_left=True),
    "if i < j then (a, i) else (b, j)": KeyOrder((Key(1, LEAST),), keeps_left=False),
    "(f32.max a b, if a > b then i else if b > a then j else i64.max i j)":
        KeyOrder((Key(0, GREATEST), Key(1, GREATEST)), keeps_left=True),
    "if !(a < b) && a != b || (a == b && i <= j) then (a, i) else (b, j)":
        KeyOrder((Key(0, GREATEST), Key(1, LEAST)), keeps_left=True),
    # the positions of the other operand, or of none
    "if b > a then (b, i) else (a, j)": None,
    "if b > a then (b, j) else (a, i + 1)": None,
    "if b > a then (b, j + 0) else (a, 7)": None,
    # no order: both may lose
    "if a > b || i < j then (a, i) else (b, j)": None,
    "if a > b && i < j then (a, i) else (b, j)": None,
    # both extremes at once, of different elements
    "(f32.max a b, i64.max i j)": None,
    # depends on more than comparisons with each other
    "if b > a && j < 10 then (b, j) else (a, i)": None,
    "if b > 2 * a then (b, j) else (a, i)": None,
    # a NaN would be found only where the positions are equal
    "if i < j || (i == j && a > b) then (a, i) else (b, j)": None,
    "(a + b, i + j)": None,
}  # fmt: skip


@pytest.mark.parametrize("body", CASES)
def test_operators(body: str) -> None:
    source = f"""
entry main [n] (xs: [n]f32) =
  reduce (\\(a, i) (b, j) -> {body}) (-f32.inf, -1) (zip xs (iota n))"""
    _, program = compiled(source)
    folds = [node for node in walk(program) if isinstance(node, SegRed)]
    found = {key_order_of(o.operator) for fold in folds for o in fold.operators}
    assert found == {CASES[body]}
