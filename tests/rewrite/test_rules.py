"""Every registered rule: its docstring is executed, and inverses undo each other."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import minifut.passes
from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Body
from minifut.rewrite.examples import complaint, examples_of, outcome_of
from minifut.rewrite.rule import REGISTRY, Rule

for module in pkgutil.walk_packages(minifut.passes.__path__, "minifut.passes."):
    importlib.import_module(module.name)

RULES = {
    name: rule
    for name, rule in REGISTRY.items()
    if isinstance(rule, Rule) and rule.function.__module__.startswith("minifut.")
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_docstring_of_a_rule_holds(name: str) -> None:
    rule = RULES[name]
    examples = examples_of(rule.documentation)
    assert any(e.after is not None for e in examples), "no before: and after:"
    assert any(e.after is None for e in examples), "no declines:"
    for example in examples:
        assert complaint(rule, example) is None, complaint(rule, example)


@pytest.mark.parametrize("name", sorted(n for n, r in RULES.items() if r.inverse))
def test_an_inverse_rule_undoes_the_rule(name: str) -> None:
    rule = RULES[name]
    assert rule.inverse is not None
    inverse = RULES[rule.inverse]
    for example in examples_of(rule.documentation):
        if example.after is None:
            continue
        there = outcome_of(rule, example)
        assert isinstance(there, tuple)
        back = outcome_of(inverse, type(example)(example.given, there))
        assert isinstance(back, tuple)
        results = tuple(p.name for p in example.before[-1].pattern)
        assert alpha_equal(Body(back, results), Body(example.before, results))
