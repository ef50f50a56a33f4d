"""A walk through a program that collects facts and applies the rules.

Branches, loops, lambdas and kernels are scopes: in a branch its condition holds, in a
loop the index is below the bound, in a map an element of an iota is within its numbers.
A check that stays is known to hold from there on.
"""

from __future__ import annotations

from typing import Any

from minifut.analysis.facts import Fact, Facts
from minifut.analysis.facts.forms import Form, combine, difference, number, of_atom
from minifut.ir import core
from minifut.ir.core import (
    Assert,
    Body,
    ForLoop,
    Function,
    If,
    Iota,
    Lambda,
    Loop,
    Program,
    ScalarOp,
    Stm,
)
from minifut.ir.kernels import KernelBody, SegHist, SegMap, SegRed, SegScan
from minifut.ir.node import replace, same_items
from minifut.ir.scope import Scope, scope_of
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import map_children
from minifut.names import Name, NameSource
from minifut.passes.remove_checks.rules import ASKED, RULES, FactContext
from minifut.rewrite.trace import Derivation, Trace


def remove_checks(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program without what the facts of its place make superfluous."""
    walk = FactsWalk(names, scope_of(program), trace or Trace())
    constants = walk.statements(program.constants)
    functions = tuple(map(walk.function, program.functions))
    same = same_items(functions, program.functions)
    return replace(
        program,
        constants=constants,
        functions=program.functions if same else functions,
    )


class FactsWalk:
    """Walks bodies in order with the facts of each place, for the rules of this pass
    or, in a subclass, for others."""

    def __init__(self, names: NameSource, scope: Scope, trace: Trace) -> None:
        self.facts = Facts(scope)
        self.context = FactContext(names, scope, self.facts, Derivation(trace))

    def function(self, function: Function) -> Function:
        with self.facts.inner():
            self.facts.natural_sizes(function.parameters, all_sizes=True)
            statements = self.statements(function.body.statements)
        return replace(function, body=replace(function.body, statements=statements))

    # --- statements -------------------------------------------------------------------

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        made: list[Stm] = []
        for statement in statements:
            for new in self.statement(statement):
                self.facts.define(new)
                if isinstance(new.exp, Assert):
                    self.facts.assume(new.exp.condition, True, "a check")
                made.append(new)
        if same_items(made, statements):
            return statements
        return tuple(made)

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        exp = statement.exp
        rules = RULES.get(type(exp))
        if rules is None or (type(exp) is ScalarOp and exp.operator.name not in ASKED):
            return (replace(statement, exp=self.inside(exp)),)
        for rule in rules:
            outcome = rule(statement, self.context)
            if isinstance(outcome, tuple):
                return tuple(replace(new, exp=self.inside(new.exp)) for new in outcome)
        return (replace(statement, exp=self.inside(exp)),)

    # --- scopes -----------------------------------------------------------------------

    def inside(self, exp: Any) -> Any:
        """An expression with its bodies walked, each in a scope of its own."""
        match exp:
            case If(condition, then, otherwise):
                return replace(
                    exp,
                    then=self.branch(condition, True, then),
                    otherwise=self.branch(condition, False, otherwise),
                )
            case Loop():
                return self.loop(exp)
            case Screma() | Scatter() | Hist():
                return self.combinator(exp)
            case SegMap() | SegRed() | SegScan() | SegHist():
                return self.segmented(exp)
            case core.ScalarOp() | core.Index() | core.SizeExp():
                return exp
        return map_children(exp, self.node)

    def node(self, node: Any) -> Any:
        """What is inside an expression of which nothing more is known."""
        if isinstance(node, (Body, KernelBody)):
            with self.facts.inner():
                return replace(node, statements=self.statements(node.statements))
        return map_children(node, self.node)

    def branch(self, condition: core.Atom, truth: bool, body: Body) -> Body:
        with self.facts.inner():
            self.facts.assume(condition, truth, "the branch")
            return replace(body, statements=self.statements(body.statements))

    def loop(self, exp: Loop) -> Loop:
        with self.facts.inner():
            self.facts.natural_sizes(exp.parameters)
            if isinstance(exp.form, ForLoop):
                bound = self.facts.form(exp.form.bound)
                self.facts.run_over(exp.form.index, bound, "the loop")
            else:
                self.facts.assume(exp.form.condition, True, "the loop")
            return replace(exp, body=self.node(exp.body))

    def combinator(self, exp: Any) -> Any:
        """A SOAC: the lambda runs once per element, so its width is not zero."""
        width = self.facts.form(exp.width)
        with self.facts.inner():
            self.facts.run_at_least_once(width, "the map")
            for parameter, array in zip(
                exp.function.parameters, exp.arrays, strict=True
            ):
                self.element(parameter.name, array, width)
            function = self.node(exp.function)
        rest = map_children(
            exp, lambda part: part if isinstance(part, Lambda) else self.node(part)
        )
        return replace(rest, function=function)

    def element(self, name: Name, array: Name, width: Form) -> None:
        """An element of an iota is within its numbers."""
        source = self.facts.definition(array)
        if not isinstance(source, Iota):
            return
        step = source.stride.value if isinstance(source.stride, core.Constant) else 0
        if step not in (1, -1):
            return
        x, start = of_atom(name), self.facts.form(source.start)
        if step == 1 and not start:
            self.facts.run_over(name, width, "the map")
            return
        end = combine(start, 1, combine(width, 1, number(1), -1), int(step))
        low, high = (start, end) if step == 1 else (end, start)
        least, most = (
            self.facts.range_of_form(low)[0],
            self.facts.range_of_form(high)[1],
        )
        if self.facts.within_type(name, least, most):
            self.facts.learn(Fact(difference(x, low), "the map"))
            self.facts.learn(Fact(difference(high, x), "the map"))

    def segmented(self, exp: Any) -> Any:
        with self.facts.inner():
            for index, size in zip(exp.space.indices, exp.space.sizes, strict=True):
                self.facts.run_over(index, self.facts.form(size), "the kernel")
            body = self.node(exp.body)
        rest = map_children(
            exp, lambda part: part if isinstance(part, KernelBody) else self.node(part)
        )
        return replace(rest, body=body)
