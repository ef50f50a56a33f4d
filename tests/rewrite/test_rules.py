"""Every registered rule: its docstring is executed, and inverses undo each other."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from minifut import kernel_passes, lowering, passes
from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Body
from minifut.rewrite.rule import REGISTRY
from tests.rewrite.core_examples import Statements, outcome_of, read
from tests.rewrite.examples import Example, complaint, examples_of

for package in (passes, kernel_passes, lowering):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)

SHOWN_BY_DERIVATIVES = "minifut.passes.differentiate."
"""rules without examples: tests compare derivatives with finite differences"""
RULES = {
    n: r
    for n, r in REGISTRY.items()
    if r.module.startswith("minifut.") and not r.module.startswith(SHOWN_BY_DERIVATIVES)
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_docstring_of_a_rule_holds(name: str) -> None:
    rule = RULES[name]
    examples = examples_of(rule)
    assert any(e.after is not None for e in examples), "no before: and after:"
    assert any(e.after is None for e in examples), "no declines:"
    for example in examples:
        assert complaint(rule, example) is None, complaint(rule, example)


@pytest.mark.parametrize("name", sorted(n for n, r in RULES.items() if r.inverse))
def test_an_inverse_rule_undoes_the_rule(name: str) -> None:
    rule = RULES[name]
    assert rule.inverse is not None
    inverse = RULES[rule.inverse]
    for example in examples_of(rule):
        if example.after is None:
            continue
        statements = read(example)
        there = outcome_of(rule, statements)
        assert isinstance(there, tuple)
        back = outcome_of(inverse, Statements(statements.given, there))
        assert isinstance(back, tuple)
        results = statements.results
        assert alpha_equal(Body(back, results), Body(statements.before, results))


def test_an_example_of_kernel_code_that_does_not_hold_is_found() -> None:
    rule = RULES["mask_loop"]
    good, refusal, *_ = examples_of(rule)
    assert "instead of" in str(complaint(rule, Example(good.before, "x = x;")))
    assert "should decline" in str(complaint(rule, Example(good.before, None, "no")))
    assert "should fire" in str(complaint(rule, Example(refusal.before, "x = x;")))


def test_an_example_of_a_lowering_that_does_not_hold_is_found() -> None:
    rule = RULES["accumulate_in_array"]
    good, refusal = examples_of(rule)
    assert good.after is not None and refusal.reason
    assert "there is no" in str(complaint(rule, Example(good.before, "no such line")))
    assert "should decline" in str(complaint(rule, Example(good.before, None)))
    assert "should fire" in str(complaint(rule, Example(refusal.before, good.after)))
    out_of_order = "\n    ..\n".join(reversed(good.after.split("\n    ..\n")))
    assert out_of_order != good.after
    assert "there is no" in str(complaint(rule, Example(good.before, out_of_order)))
