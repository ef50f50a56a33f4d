"""Patterns that leave values out are found, with examples of those."""

from __future__ import annotations

import pytest

from minifut.frontend import syntax
from minifut.frontend.check.exhaustive import unmatched

from .checking import check, nodes

TYPES = "type t = #a | #b i32 | #c (bool, bool)\n"


def left_out(cases: str, of: str = "t") -> list[str]:
    """What a match without the last, catching case leaves out."""
    checked = check(f"{TYPES}def f (x: {of}) = match x {cases} case _ -> 0i32")
    [match] = nodes(checked, syntax.Match)
    return unmatched([case.pattern for case in match.cases[:-1]])


@pytest.mark.parametrize(
    ("cases", "of", "missing"),
    [
        ("case #a -> 1", "t", ["#b _", "#c _"]),
        ("case #a -> 1 case #b _ -> 2", "t", ["#c _"]),
        ("case true -> 1", "bool", ["false"]),
        ("case (true, _) -> 1 case (_, true) -> 2", "(bool, bool)", ["(false, false)"]),
        ("case #a -> 1 case #b _ -> 2 case #c (true, _) -> 3", "t", ["#c (false, _)"]),
        ("case {x = 1, y = _} -> 1", "{x: i32, y: bool}", None),
        ("case 1 -> 1 case 2 -> 2", "i32", ["_"]),
    ],
)
def test_what_is_left_out(cases: str, of: str, missing: list[str] | None) -> None:
    found = left_out(cases, of)
    assert found == missing if missing is not None else found


@pytest.mark.parametrize(
    ("cases", "of"),
    [
        ("case #a -> 1 case #b _ -> 2 case #c (_, _) -> 3", "t"),
        ("case (true, x) -> 1 case (false, (y)) -> 2", "(bool, i32)"),
        ("case x -> 1", "i32"),
        ("case (true, _) -> 1 case (_, true) -> 2 case (false, false) -> 3",
         "(bool, bool)"),
    ],
)  # fmt: skip
def test_what_is_complete(cases: str, of: str) -> None:
    assert left_out(cases, of) == []


@pytest.mark.parametrize("count", [3, 40])
def test_many_columns(count: int) -> None:
    """A row that only examines its own column decides it for all rows behind it."""
    rows = [["_"] * i + ["true"] + ["_"] * (count - i - 1) for i in range(count)]
    cases = " ".join(f"case ({', '.join(row)}) -> 1" for row in rows)
    all_false = f"({', '.join(['false'] * count)})"
    of = f"({', '.join(['bool'] * count)})"
    assert left_out(cases, of) == [all_false]
    assert left_out(f"{cases} case {all_false} -> 2", of) == []
