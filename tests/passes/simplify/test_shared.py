"""What has been computed is used again where it is in sight, and tried where it fits."""

from __future__ import annotations

import pytest

from minifut.ir.core import ScalarOp
from minifut.ir.node import replace
from minifut.ir.parser import names_after, parse
from minifut.ir.search import nodes_of
from minifut.passes.simplify import driver
from minifut.passes.simplify.driver import simplify
from minifut.rewrite.context import StatementContext

PROGRAM = """
entry "main" = main sizes 0 ("" "" "i64" 1, "" "" "bool" 1) -> ("" "" "i64" 1)
fun main (k: i64, c: bool) -> (r: i64) {
  let v: i64 = if c then {
    let a: i64 = mul_i64(k, k)
    let b: i64 = mul_i64(k, k)
    let d: i64 = add_i64(a, b)
    return d
  } else {
    let e: i64 = mul_i64(k, k)
    let f: i64 = sub_i64(e, 1i64)
    return f
  }
  return v
}
"""


def test_bodies_use_again_what_is_computed_in_them_and_around_them() -> None:
    program = parse(PROGRAM)
    made = simplify(program, names_after(program))
    operators = [each.operator.name for each in nodes_of(ScalarOp, made)]
    assert operators == ["mul", "add", "mul", "sub"]


@pytest.mark.parametrize("name", ["mul", "sub", "min"])
def test_operators_without_rules_of_their_own_try_those_of_all(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = parse(PROGRAM.replace("sub_i64", f"{name}_i64"))
    tried = []

    def note(rule: object) -> object:
        def function(statement: object, context: StatementContext) -> None:
            tried.append(rule)

        return replace(rule, function=function)

    for rules in driver.OPERATORS_BY_NAME.values():
        assert rules[: len(driver.OPERATORS)] == driver.OPERATORS
    monkeypatch.setattr(driver, "OPERATORS", tuple(map(note, driver.OPERATORS)))
    noted = {n: tuple(map(note, r)) for n, r in driver.OPERATORS_BY_NAME.items()}
    monkeypatch.setattr(driver, "OPERATORS_BY_NAME", noted)
    simplify(program, names_after(program))
    assert {rule.name for rule in tried} == {
        "fold_constants", "apply_identities", "recompose_quotient"
    }  # fmt: skip
