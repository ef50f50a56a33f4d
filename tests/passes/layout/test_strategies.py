"""The strategies of the report: single accesses, combination, its example program."""

from __future__ import annotations

import pytest

from minifut.ir import core
from minifut.ir.kernels import SegMap
from minifut.ir.parser import parse
from minifut.ir.scope import scope_of
from minifut.names import Name
from minifut.passes.layout.accesses import accesses_of
from minifut.passes.layout.places import Access, Place
from minifut.passes.layout.strategies import (
    LayoutStrategy,
    combine,
    kernel_strategies,
    strategies_of,
)

FIRST, SECOND, THIRD = (Name(letter, 0) for letter in "ijk")
SPACE = (FIRST, SECOND, THIRD)


def access(array: str, *at: Name, elements: int = 1) -> Access:
    places = tuple(Place(frozenset({name})) for name in at)
    return Access(Name(array, 0), places, elements, 4)


def strategy(inside: Name | None, outside: str, **innermost: int) -> LayoutStrategy:
    names = frozenset(n for n in SPACE if n.base in outside)
    arrays = frozenset((Name(a, 0), d) for a, d in innermost.items())
    return LayoutStrategy(inside, names, arrays)


def test_an_access_is_invariant_or_coalesced_along_a_variable_of_it() -> None:
    assert strategies_of(access("a", THIRD, FIRST), SPACE) == [
        strategy(None, "ik"),
        strategy(FIRST, "", a=1),
        strategy(THIRD, "", a=0),
    ]


def test_an_access_that_varies_with_all_cannot_be_invariant() -> None:
    inside = [s.inside for s in strategies_of(access("a", THIRD, SECOND, FIRST), SPACE)]
    assert inside == [FIRST, SECOND, THIRD]


def test_what_agrees_combines() -> None:
    one, other = strategy(THIRD, ""), strategy(None, "ij", bias=0)
    assert combine(one, other, SPACE) == strategy(THIRD, "ij", bias=0)
    assert combine(other, one, SPACE) == strategy(THIRD, "ij", bias=0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (strategy(FIRST, ""), strategy(SECOND, "")),
        (strategy(FIRST, ""), strategy(None, "i")),
        (strategy(None, "ij"), strategy(None, "k")),
        (strategy(None, "", a=0), strategy(None, "", a=1)),
    ],
    ids=["two inside", "inside and outside", "all outside", "two orders"],
)
def test_what_disagrees_does_not_combine(
    one: LayoutStrategy, other: LayoutStrategy
) -> None:
    assert combine(one, other, SPACE) is None


def test_the_program_of_the_report() -> None:
    accesses = [
        access("xs", SECOND, FIRST, elements=3),
        access("muls", THIRD, elements=2),
        access("bias", THIRD, FIRST, SECOND, elements=1),
    ]
    assert set(kernel_strategies(accesses, SPACE)) == {
        strategy(THIRD, "ij", muls=0, bias=0),
        strategy(FIRST, "k", xs=1, bias=1),
        strategy(SECOND, "k", xs=0, bias=2),
    }


def test_a_choice_that_suits_the_first_access_alone_is_seen_through() -> None:
    """i suits only the first of the accesses, k all of them."""
    accesses = [
        access("a", SECOND, THIRD, FIRST),
        access("b", FIRST, SECOND, THIRD),
        access("c", SECOND, FIRST, THIRD),
    ]
    found = kernel_strategies(accesses, SPACE)
    assert strategy(THIRD, "", a=1, b=2, c=2) in found
    assert strategy(FIRST, "", a=2, b=0, c=1) in found


def test_an_access_at_odds_with_those_before_it_is_left_as_it_is() -> None:
    """The most bytes come first."""
    accesses = [
        access("a", FIRST, SECOND, elements=9),
        access("a", SECOND, FIRST, elements=5),
    ]
    assert set(kernel_strategies(accesses, (FIRST, SECOND))) == {
        strategy(FIRST, "", a=0),
        strategy(SECOND, "", a=1),
    }


KERNEL = """let y: [n][4]f32 = segmap grid (i < n) -> ([4]f32) {
  let row: [m]f32 = a[i]
  let from: i64 = add_i64(i, k)
  let s: f32 = loop (t: f32 = 0f32) for j: i64 < m do {
    let u: f32 = row[j]
    let v: f32 = b[j, from]
    let at: i64 = mul_i64(i, j)
    let w: f32 = b[at, j]
    let x: f32 = add_f32(u, v)
    let z: f32 = add_f32(w, x)
    return z
  }
  let r: [4]f32 = replicate([4], s)
  return returns r
}"""


def test_accesses_are_found_through_views_and_sums() -> None:
    given = parse("(n: i64, m: i64, k: i64, a: [n][m]f32, b: [m][n]f32)", "parameters")
    (statement,) = parse(KERNEL, "statements")
    found = accesses_of(statement, scope_of(*given, statement))
    kernel = statement.exp
    assert isinstance(kernel, SegMap)
    (i,) = kernel.space.indices
    (loop,) = [s.exp for s in kernel.body.statements if isinstance(s.exp, core.Loop)]
    assert isinstance(loop.form, core.ForLoop)
    j = loop.form.index
    a, b, strange, y = found
    assert (a.array.base, a.places_along(i), a.places_along(j)) == ("a", [0], [1])
    assert (b.array.base, b.places_along(i), b.places_along(j)) == ("b", [1], [0])
    assert strange.varies_with(i) and not strange.places_along(i)
    assert not strange.places_along(j)
    assert y.writes and y.places_along(i) == [0]
    assert a.loops == (j,) and a.elements == 1024 * 1024
    assert y.elements == 4 * 1024


REVERSED = """let y: [n]f32 = segmap grid (i < n) -> (f32) {
  let last: i64 = sub_i64(n, 1i64)
  let at: i64 = sub_i64(last, i)
  let from: i64 = sub_i64(i, at)
  let u: f32 = a[k, at]
  let v: f32 = a[from, k]
  let x: f32 = add_f32(u, v)
  return returns x
}"""


def test_neighbours_are_near_in_reverse_too_unless_the_index_grows_by_two() -> None:
    given = parse("(n: i64, k: i64, a: [n][n]f32)", "parameters")
    (statement,) = parse(REVERSED, "statements")
    reversed_, twice = accesses_of(statement, scope_of(*given, statement))
    assert isinstance(statement.exp, SegMap)
    (i,) = statement.exp.space.indices
    assert reversed_.places_along(i) == [1]
    assert twice.varies_with(i) and not twice.places_along(i)
