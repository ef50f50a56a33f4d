"""What a sweep leaves as it is, is passed over until a name in it changes its meaning."""

from __future__ import annotations

from typing import Any

import pytest

from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Program, ScalarOp, Stm
from minifut.ir.marks import LIVE, SIMPLE, WITHOUT_INVARIANTS, has_mark
from minifut.ir.node import replace
from minifut.ir.parser import names_after, parse
from minifut.ir.printer import show
from minifut.ir.traverse import is_leaf, map_children, walk
from minifut.passes.simplify import driver
from minifut.passes.simplify.driver import simplify

PROGRAM = """
entry "main" = main sizes 1 ("" "" "array" 1, "" "" "array" 1) -> ("" "" "array" 1)
fun main (n: i64, k: i64, xs: [n]i64) -> (r: i64, rs: [n]i64) {
  let a: i64 = add_i64(k, n)
  let b: i64 = mul_i64(a, k)
  let ys: [n]i64 = map(n, (xs), \\(x: i64) -> (i64) {
    let c: i64 = mul_i64(x, b)
    let z: i64 = loop (s: i64 = c) for i: i64 < k do {
      let d: i64 = add_i64(s, b)
      let w: i64 = xs[k]
      let e: i64 = add_i64(d, w)
      return e
    }
    return z
  })
  return a, ys
}
"""
"""in which everything inside of the map depends on `a` by way of `b`"""


def with_sum(program: Program, operands: str) -> Program:
    """The program with another expression for `a`; all other nodes stay."""

    def changed(node: Any) -> Any:
        if isinstance(node, Stm) and node.pattern[0].name.base == "a":
            return replace(node, exp=parse(operands, "exp"))
        return map_children(node, changed)

    after: Program = changed(program)
    return after


def tried(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that simplification looks into."""
    found: list[str] = []
    simplified = driver._Sweep.simplified

    def noted(self: Any, statement: Stm, made: list[Stm]) -> None:
        found.append(statement.pattern[0].name.base)
        simplified(self, statement, made)

    monkeypatch.setattr(driver._Sweep, "simplified", noted)
    simplify(program, names_after(program))
    return found


def simple() -> Program:
    program = parse(PROGRAM, "program")
    return simplify(program, names_after(program))


def test_what_was_simplified_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    program = simple()
    statements = [node for node in walk(program) if isinstance(node, Stm)]
    nests = [statement for statement in statements if not is_leaf(statement.exp)]
    assert nests
    assert all(has_mark(s, SIMPLE) for s in statements)
    for mark in LIVE, WITHOUT_INVARIANTS:  # where it takes time to look
        assert [s for s in statements if has_mark(s, mark)] == nests
    assert tried(program, monkeypatch) == []


def test_a_copy_with_changes_has_no_mark() -> None:
    statement = next(n for n in walk(simple()) if isinstance(n, Stm))
    other = replace(statement, exp=replace(statement.exp, operands=()))
    assert isinstance(statement.exp, ScalarOp) and not has_mark(other, SIMPLE)


@pytest.mark.parametrize(
    "operands", ["sub_i64(k, k)", "add_i64(0i64, 1i64)", "add_i64(n, 0i64)", "xs[k]"]
)
def test_all_that_depends_on_what_changed_is_tried_again(operands: str) -> None:
    """Also by other names, and in inner bodies: as if all nodes were new."""
    changed = with_sum(simple(), operands)
    fresh = parse(show(changed), "program")
    names = names_after(changed)
    assert alpha_equal(simplify(changed, names), simplify(fresh, names))


def test_only_what_depends_on_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(PROGRAM.replace("mul_i64(a, k)", "mul_i64(k, k)"), "program")
    program = simplify(program, names_after(program))
    found = tried(with_sum(program, "sub_i64(n, k)"), monkeypatch)
    assert set(found) == {"a", "ys"}, "`ys` has both names: it might compute the same"


def test_what_an_earlier_statement_computes_now_is_not_computed_again() -> None:
    changed = with_sum(simple(), "xs[k]")
    assert show(changed).count("xs[k]") == 2
    after = simplify(changed, names_after(changed))
    assert show(after).count("xs[k]") == 1
