"""The examples in the docstrings of rules of differentiation.

The rule must fire, the statements must be those that the docstring shows, and the
derivative must be the one that central differences have. The statements of an example are
differentiated where they are none that do so; a rule that gives statements in place of
the last one is shown by these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Body, Copy, Lambda, Param, Program, Stm
from minifut.ir.derivatives import Jvp, Vjp
from minifut.ir.interpret import run
from minifut.ir.parser import names_after
from minifut.ir.printer import show
from minifut.ir.scope import scope_of
from minifut.ir.traverse import rename
from minifut.ir.types import element_of
from minifut.names import Name
from minifut.passes.differentiate import tables
from minifut.passes.differentiate.activity import Activity
from minifut.passes.differentiate.context import Context
from minifut.passes.differentiate.removal import remove_derivatives
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Trace
from tests.rewrite.core_examples import (
    Statements,
    program_of,
    random_arguments,
    read_block,
    sizes_of,
)
from tests.rewrite.examples import blocks_of

CALLS = {"jvp_call", "vjp_call"}
"""their examples would need functions: see `test_constructs`"""

ALL: dict[str, Rule] = {
    rule.name: rule
    for table in (tables.FORWARD, tables.REVERSE)
    for rules in table.values()
    for rule in rules
}
REVERSE = [rule for rules in tables.REVERSE.values() for rule in rules]
STEP = 1e-6


def test_every_rule_names_its_source() -> None:
    assert not [name for name, rule in ALL.items() if not rule.paper]


@pytest.mark.parametrize("name", sorted(ALL.keys() - CALLS))
def test_the_docstring_of_a_rule_holds(name: str) -> None:
    texts = [text for _, text in blocks_of(ALL[name].documentation)]
    for before, after in zip(texts[::2], texts[1::2], strict=True):
        check_example(ALL[name], before, after)


def check_example(rule: Rule, before: str, after: str) -> None:
    given, statements, returned = read_block(before)
    example = Statements(given, statements, returned=returned)
    _, wanted, results = read_block(after)
    replaced = None
    if not isinstance(statements[-1].exp, (Jvp, Vjp)):
        replaced = rewritten(rule, example)
        if replaced is not None:
            assert alpha_equal(replaced, Body(wanted, example.results)), show(replaced)
        example = differentiated(example, rule)
    program = program_of(example, Body(example.before, example.results))
    trace = Trace()
    found = remove_derivatives(program, names_after(program), trace)
    assert rule.name in trace.fired()
    (function,) = found.functions
    if replaced is None:
        whole = Body(wanted, results or ())
        assert alpha_equal(function.body, whole), show(function.body)
    check_by_differences(example, found)


def is_differentiable(parameter: Param) -> bool:
    return element_of(parameter.type).is_float


def rewritten(rule: Rule, example: Statements) -> Body | None:
    """The example with what the rule differentiates in place of its last statement;
    None if it differentiates that itself, or another one."""
    *above, last = example.before
    if rule not in tables.REVERSE.get(type(last.exp), ()):
        return None
    program = program_of(example, Body(example.before, example.results))
    context = Context.of(program, names_after(program), None)
    active = [p.name for p in example.given if is_differentiable(p)]
    activity = Activity(context.calls, active)
    for statement in example.before:
        activity.statement(statement)
    made = rule.outcome(last, ReverseSweep(context, activity))
    return Body((*above, *made), example.results) if isinstance(made, tuple) else None


def differentiated(example: Statements, rule: Rule) -> Statements:
    """The derivative of all results of an example in all numbers that are given, by
    `jvp` from tangents xs_seed of these or by `vjp` from adjoints ys_seed of those."""
    names = names_after(*example.given, *example.before)
    scope = scope_of(*example.before)
    arguments = tuple(p for p in example.given if is_differentiable(p))
    types = tuple(scope[name] for name in example.results)
    body = Body(example.before, example.results)
    function = rename(Lambda(arguments, body, types), names)
    outer = tuple(Param(name, scope[name]) for name in example.results)
    given = tuple(p.name for p in arguments)
    reverse = rule in REVERSE
    made, seeded = (Vjp, outer) if reverse else (Jvp, arguments)
    seeds = tuple(
        Param(Name(f"{p.name.base}_seed", p.name.tag), p.type) for p in seeded
    )
    results = (*outer, *(arguments if reverse else outer))
    pattern = tuple(Param(names.like(p.name), p.type) for p in results)
    exp = made(function, given, tuple(p.name for p in seeds), ())
    returned = tuple(p.name for p in pattern)
    return Statements((*example.given, *seeds), (Stm(pattern, exp),), returned=returned)


def check_by_differences(example: Statements, found: Program) -> None:
    """The derivative in random directions, by central differences."""
    exp = example.before[-1].exp
    assert isinstance(exp, (Jvp, Vjp))
    if any(element_of(p.type).kind == "int" for p in exp.function.parameters):
        return
    names = [p.name for p in example.given[len(sizes_of(example.given)) :]]
    primal = applied(example, exp)
    count = len(exp.function.results)
    for seed in range(3):
        arguments = random_arguments(example, seed)
        values: dict[Any, Any] = dict(zip(names, arguments, strict=True))
        derivative = run(found, "main", arguments)[count:]
        random = np.random.default_rng(seed)
        vs = [random.normal(size=np.shape(values[a])) for a in exp.arguments]
        seeds = [values[atom] for atom in exp.seeds]
        if isinstance(exp, Jvp):
            vs = seeds

        def along(
            step: float, values: dict[Any, Any] = values, vs: list[Any] = vs
        ) -> list[Any]:
            moved = dict(values)
            for atom, v in zip(exp.arguments, vs, strict=True):
                moved[atom] = values[atom] + step * v
            return list(run(primal, "main", [moved[name] for name in names]))

        pairs = zip(along(STEP), along(-STEP), strict=True)
        tangents = [(up - down) / (2 * STEP) for up, down in pairs]
        if isinstance(exp, Jvp):
            for one, other in zip(derivative, tangents, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
        else:
            left = sum(np.sum(t * w) for t, w in zip(tangents, seeds, strict=True))
            right = sum(np.sum(v * a) for v, a in zip(vs, derivative, strict=True))
            assert abs(left - right) <= 1e-4 * max(1, abs(left)), (left, right)


def applied(example: Statements, exp: Jvp | Vjp) -> Program:
    """A program that just applies the function."""
    function = exp.function
    pairs = zip(function.parameters, exp.arguments, strict=True)
    bound = tuple(Stm((parameter,), Copy(argument)) for parameter, argument in pairs)
    statements = (*bound, *function.body.statements)
    names = tuple(atom for atom in function.body.result if isinstance(atom, Name))
    made = Statements(example.given, statements, returned=names)
    program = program_of(made, Body(statements, names))
    return remove_derivatives(program, names_after(program))
