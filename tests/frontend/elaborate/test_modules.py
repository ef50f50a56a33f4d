"""Modules: what types of their parameters stand for in each application."""

from __future__ import annotations

import pytest

from tests.frontend.elaborate.running import result as result_of

OPTION = """
module type monoid = { type t val op: t -> t -> t val of: i64 -> t val out: t -> i64 }
module number : monoid =
  { type t = i64 def op (x: i64) (y: i64) = x + y def of (x: i64) = x def out (x: i64) = x }
module option (A: monoid) : monoid = {
  type t = #some A.t | #none
  def op (x: t) (y: t) : t =
    match (x, y)
    case (#none, r) -> r
    case (r, #none) -> r
    case (#some a, #some b) -> #some (A.op a b)
  def of (x: i64) : t = if x % 3 == 0 then #none else #some (A.of x)
  def out (x: t) = match x case #none -> -7 case #some a -> A.out a
}
module pair (A: monoid) (B: monoid) : monoid = {
  type t = {a: A.t, b: B.t}
  def op (x: t) (y: t) : t = {a = A.op x.a y.a, b = B.op x.b y.b}
  def of (x: i64) : t = {a = A.of x, b = B.of (x + 1)}
  def out (x: t) = 100 * A.out x.a + B.out x.b
}
"""


@pytest.mark.parametrize(
    ("module", "result"),
    [
        ("option number", 12),
        ("option (option number)", 12),
        ("option (option (option number))", 12),
        ("pair number (pair number number)", 1200 + 1400 + 16),
        ("pair (pair number number) number", 100 * (100 * 12 + 14) + 14),
        ("pair (option number) (option (option number))", 1208),
    ],
)
def test_a_functor_applied_to_what_it_made(module: str, result: int) -> None:
    text = f"{OPTION}module m = {module}\nentry main (x: i64) (y: i64) = m.out (m.op (m.of x) (m.of y))"
    assert result_of(text, 7, 5) == result
