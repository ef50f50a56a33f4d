"""The tree of decisions, read from printed programs."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from minifut.errors import UsageError
from minifut.ir.parser import parse_program
from minifut.parameters.decisions import (
    DecisionPoint,
    decisions_of,
    number_of_paths,
    occurrences,
    paths,
)
from minifut.parameters.tuning import NEVER

T, N = 0, NEVER


def at_least(name: str) -> str:
    return f'at_least(n, "{name}" "threshold" ("cpu" = 4, "gpu" = 32768))'


def decisions(body: str, more: str = "") -> tuple[DecisionPoint, ...]:
    """Of `main`, with a body that ends with a number."""
    text = f"""\
entry "main" = main sizes 0 ("n" "i64" "array" 1) -> ("" "i64" "array" 1)

fun main (n: i64) -> (result: i64) {{
{indent(dedent(body).strip(), "  ")}
}}
{more}"""
    return decisions_of(parse_program(text), "main")


def shape(found: tuple[DecisionPoint, ...]) -> list[object]:
    return [
        (c.parameter.name, {b.value: shape(b.decisions) for b in c.branches})
        for c in found
    ]


NESTED = f"""
let a: bool = {at_least("a")}
let x: i64 = if a then {{
  return 1i64
}} else {{
  let b: bool = {at_least("b")}
  let y: i64 = if b then {{ return 2i64 }} else {{ return 3i64 }}
  return y
}}
"""
THEN = f"""
let c: bool = {at_least("c")}
let z: i64 = if c then {{ return 4i64 }} else {{ return 5i64 }}
return z
"""


def test_choices_are_nested_in_branches() -> None:
    found = decisions(NESTED + "return x")
    assert shape(found) == [("a", {T: [], N: [("b", {T: [], N: []})]})]
    assert list(paths(found)) == [{"a": T}, {"a": N, "b": T}, {"a": N, "b": N}]
    seen = [(o.parameter.name, o.ancestors) for o in occurrences(found)]
    assert seen == [("b", {"a": N}), ("a", {})]


def test_choices_that_follow_each_other_are_independent() -> None:
    found = decisions(NESTED + THEN)
    assert [c.parameter.name for c in found] == ["a", "c"]
    assert len(list(paths(found))) == number_of_paths(found) == 6
    assert {tuple(p.items()) for p in paths(found)} >= {(("a", T), ("c", N))}


def test_one_parameter_in_two_places_is_one_decision() -> None:
    found = decisions(
        f"""
        let a: bool = {at_least("a")}
        let x: i64 = if a then {{ return 1i64 }} else {{ return 2i64 }}
        let b: bool = {at_least("a")}
        let y: i64 = if b then {{ return 3i64 }} else {{ return 4i64 }}
        return y
        """
    )
    assert list(paths(found)) == [{"a": T}, {"a": N}]


def test_a_condition_of_two_parameters() -> None:
    both = decisions(
        f"""
        let a: bool = {at_least("a")}
        let b: bool = {at_least("b")}
        let c: bool = and_bool(a, b)
        let x: i64 = if c then {{ return 1i64 }} else {{ return 2i64 }}
        return x
        """
    )
    assert shape(both) == [("a", {T: [("b", {T: [], N: []})], N: []})]


def test_a_condition_that_only_a_run_decides() -> None:
    inner = f"""
        let b: bool = {at_least("b")}
        let y: i64 = if b then {{ return 2i64 }} else {{ return 3i64 }}
        return y
    """
    alone = decisions(
        f"""
        let few: bool = lt_i64(n, 10i64)
        let x: i64 = if few then {{ {inner} }} else {{ return 1i64 }}
        return x
        """
    )
    assert shape(alone) == [("b", {T: [], N: []})]
    mixed = decisions(
        f"""
        let few: bool = lt_i64(n, 10i64)
        let a: bool = {at_least("a")}
        let c: bool = and_bool(few, a)
        let x: i64 = if c then {{ return 1i64 }} else {{ {inner} }}
        return x
        """
    )
    b = ("b", {T: [], N: []})
    assert shape(mixed) == [("a", {T: [b], N: [b]})]


def test_a_condition_that_is_the_result_of_a_conditional() -> None:
    found = decisions(
        f"""
        let few: bool = lt_i64(n, 10i64)
        let c: bool = if few then {{
          let a: bool = {at_least("a")}
          return a
        }} else {{ return false }}
        let x: i64 = if c then {{ return 1i64 }} else {{ return 2i64 }}
        return x
        """
    )
    assert [c.parameter.name for c in found] == ["a"]


def test_a_choice_has_a_branch_for_each_value() -> None:
    found = decisions(
        """
        let p: i64 = get_parameter("tiling" "choice" ("cpu" = 0, "gpu" = 1) bounds 0 2)
        let a: bool = eq_i64(p, 1i64)
        let x: i64 = if a then { return 1i64 } else { return 2i64 }
        return x
        """
    )
    assert list(paths(found)) == [{"tiling": 0}, {"tiling": 1}, {"tiling": 2}]


def test_numbers_that_shape_kernels_decide_nothing() -> None:
    found = decisions(
        """
        let p: i64 = get_parameter("tile" "tile_size" ("cpu" = 16, "gpu" = 16) bounds 1 64)
        let a: bool = lt_i64(p, n)
        let x: i64 = if a then { return 1i64 } else { return 2i64 }
        return x
        """
    )
    assert found == ()


def test_loops_and_functions_are_looked_into() -> None:
    other = f"""
fun other (n: i64) -> (result: i64) {{
  let b: bool = {at_least("b")}
  let y: i64 = if b then {{ return 2i64 }} else {{ return 3i64 }}
  return y
}}
"""
    found = decisions(
        """
        let x: i64 = loop (r: i64 = 0i64) for i: i64 < n do {
          let y: i64 = apply other(r)
          return y
        }
        return x
        """,
        other,
    )
    assert shape(found) == [("b", {T: [], N: []})]


def test_an_entry_point_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no entry point 'sum'"):
        decisions_of(parse_program(""), "sum")
