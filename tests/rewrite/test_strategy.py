"""Rules, strategies, derivations and examples, on three small rules."""

from __future__ import annotations

import pytest

from minifut.errors import InternalError
from minifut.ir import core
from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Constant, Stm
from minifut.ir.node import replace
from minifut.ir.parser import names_after, parse
from minifut.ir.soacs import Screma
from minifut.names import Name
from minifut.rewrite.context import StatementContext
from minifut.rewrite.explain import explain
from minifut.rewrite.rule import REGISTRY, Declined, Outcome, Rule, rule
from minifut.rewrite.strategy import (
    bottom_up,
    once,
    outermost,
    rewrite,
    sequence,
    top_down,
    until_fixpoint,
)
from minifut.rewrite.trace import Trace
from tests.rewrite.examples import complaint, examples_of


def double_to_sum(statement: Stm, context: StatementContext) -> Outcome:
    """Write a product with two as a sum.

    before:
        given (a: i32)
        let y: i32 = mul_i32(a, 2i32)
    after:
        let y: i32 = add_i32(a, a)
    declines: not two
        given (a: i32)
        let y: i32 = mul_i32(a, 3i32)
    """
    match statement.exp:
        case core.ScalarOp(operator, (a, b)) if operator.name == "mul":
            if not (isinstance(b, Constant) and b.value == 2):
                return Declined("the factor is not two")
            build = context.builder(statement)
            build.bind(
                statement.pattern,
                core.ScalarOp(replace(operator, name="add"), (a, a)),
            )
            return tuple(build.statements)
    return None


def split_sum(statement: Stm, context: StatementContext) -> Outcome:
    """Turn x + x into 0 + x + x, once."""
    match statement.exp:
        case core.ScalarOp(operator, (Name() as a, b)) if operator.name == "add":
            if a != b:
                return None
            build = context.builder(statement)
            inner = build.op("add", Constant(0, operator.type), a)
            build.bind(statement.pattern, core.ScalarOp(operator, (inner, b)))
            return tuple(build.statements)
    return None


def swap(statement: Stm, context: StatementContext) -> Outcome:
    match statement.exp:
        case core.ScalarOp(operator, (a, b)) if operator.name == "mul":
            exp = core.ScalarOp(operator, (b, a))
            return (Stm(statement.pattern, exp),)
    return None


DOUBLE = Rule("double_to_sum", double_to_sum)
SPLIT = Rule("split_sum", split_sum)
SWAP = Rule("swap", swap)

TEXT = """{
  let x: i32 = mul_i32(a, 2i32)
  let ys: [n]i32 = map(n, (xs), \\(e: i32) -> (i32) {
    let z: i32 = mul_i32(e, 2i32)
    return z
  })
  let w: i32 = mul_i32(x, 7i32)
  return x, ys, w
}"""
GIVEN = {p.name: p.type for p in parse("(n: i64, a: i32, xs: [n]i32)", "parameters")}


def run(strategy: object, text: str = TEXT) -> tuple[core.Body, core.Body, Trace]:
    body = parse(text, "body")
    trace = Trace(declined=True)
    after = rewrite(body, strategy, names_after(body), trace, GIVEN)  # type: ignore[arg-type]
    return body, after, trace


@pytest.mark.parametrize("strategy", [top_down(DOUBLE), bottom_up(DOUBLE)])
def test_a_walk_reaches_every_statement(strategy: object) -> None:
    _, after, trace = run(strategy)
    wanted = TEXT.replace("mul_i32(a, 2i32)", "add_i32(a, a)")
    wanted = wanted.replace("mul_i32(e, 2i32)", "add_i32(e, e)")
    assert alpha_equal(after, parse(wanted, "body"))
    assert trace.fired() == ["double_to_sum"] * 2
    assert "-  w\n    no double_to_sum: the factor is not two" in explain(trace)


def test_once_stops_after_the_first_success() -> None:
    _, after, trace = run(once(DOUBLE))
    assert alpha_equal(
        after, parse(TEXT.replace("mul_i32(a, 2i32)", "add_i32(a, a)"), "body")
    )
    assert trace.fired() == ["double_to_sum"]


def keep_sequential(statement: Stm, context: StatementContext) -> Outcome:
    if not isinstance(statement.exp, Screma):
        return None
    return (replace(statement, attributes=("sequential",)),)


def test_outermost_leaves_what_is_inside_a_replacement() -> None:
    keep = Rule("keep_sequential", keep_sequential)
    _, after, trace = run(outermost(keep, DOUBLE))
    assert trace.fired() == ["double_to_sum", "keep_sequential"]
    wanted = TEXT.replace("mul_i32(a, 2i32)", "add_i32(a, a)")
    assert alpha_equal(
        after, parse(wanted.replace("let ys", "#[sequential] let ys"), "body")
    )
    _, _, inside = run(top_down(keep, DOUBLE))
    assert inside.fired() == ["double_to_sum", "keep_sequential", "double_to_sum"]


def test_nothing_fired_is_the_same_object() -> None:
    body, after, _ = run(until_fixpoint(top_down(SPLIT)))
    assert after is body


def test_a_sequence_and_a_fixpoint() -> None:
    _, after, trace = run(sequence(bottom_up(DOUBLE), until_fixpoint(top_down(SPLIT))))
    assert trace.fired() == ["double_to_sum"] * 2 + ["split_sum"] * 2
    assert len(after.statements) == 4


def test_a_strategy_without_end_is_a_fault() -> None:
    with pytest.raises(InternalError, match="no end after 7 rounds"):
        run(until_fixpoint(top_down(SWAP), limit=7))


def test_examples_hold_and_faults_are_reported() -> None:
    good, refusal = examples_of(DOUBLE)
    assert complaint(DOUBLE, good) is None
    assert complaint(DOUBLE, refusal) is None
    assert "should fire" in str(complaint(SPLIT, good))
    assert "instead of" in str(complaint(SWAP, good))
    assert "should decline" in str(complaint(SWAP, refusal))


def test_an_example_that_changes_the_meaning_is_found() -> None:
    def square(statement: Stm, context: StatementContext) -> Outcome:
        """Wrongly.

        before:
            given (n: i64, xs: [n]i32, a: i32)
            let y: i32 = mul_i32(a, 2i32)
        after:
            let y: i32 = mul_i32(a, 3i32)
        """
        return parse("let y: i32 = mul_i32(a, 3i32)", "statements")  # type: ignore[no-any-return]

    wrong = Rule("square", square)
    (example,) = examples_of(wrong)
    assert "changes the result" in str(complaint(wrong, example))


def test_the_registry_refuses_two_rules_of_one_name() -> None:
    def elsewhere(statement: Stm, context: StatementContext) -> Outcome:
        return None

    elsewhere.__module__ = "somewhere.else"
    elsewhere.__name__ = "double_to_sum"
    rule()(double_to_sum)
    try:
        with pytest.raises(InternalError, match="two rules"):
            rule()(elsewhere)
    finally:
        del REGISTRY["double_to_sum"]
