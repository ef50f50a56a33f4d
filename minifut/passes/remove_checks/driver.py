"""A walk through a program that collects facts and applies the rules.

Branches, loops, lambdas and kernels are scopes: in a branch its condition holds, in a
loop the index is below the bound, in a map an element of an iota is within its numbers.
A check that stays is known to hold from there on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.analysis.facts import Facts
from minifut.ir import core
from minifut.ir.core import Body, Function, Lambda, Program, Stm
from minifut.ir.kernels import KernelBody, SegHist, SegMap, SegRed, SegScan
from minifut.ir.node import replace, same_or
from minifut.ir.scope import Scope, scope_of
from minifut.ir.search import contains, nodes_of
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import map_children
from minifut.ir.types import I64
from minifut.names import NameSource
from minifut.passes.remove_checks.disjoint_scatters import join_disjoint_scatters
from minifut.passes.remove_checks.limits import limited_results
from minifut.passes.remove_checks.loop_invariants import (
    LoopInvariants,
    enter_iteration,
    loop_invariants,
)
from minifut.passes.remove_checks.rules import (
    SELECTING,
    FactContext,
    decide_branch,
    drop_clamp,
    drop_remainder,
    learn_element,
    learn_limit,
    remove_proved_check,
)
from minifut.passes.simplify.dead_code import remove_dead_code
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Derivation, Trace

RULES: dict[type, tuple[Rule, ...]] = {
    core.Assert: (remove_proved_check,),
    core.If: (decide_branch,),
    core.ScalarOp: (drop_remainder, drop_clamp),
    Scatter: (join_disjoint_scatters,),
}
NO_RULES: Mapping[type, tuple[Rule, ...]] = {}
_WITH_RULES = tuple(RULES)


def _may_have_rule(exp: Any) -> bool:
    """Whether a rule may apply to an expression of a class that has some."""
    return type(exp) is not core.ScalarOp or exp.operator.name in SELECTING


def remove_checks(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Drop checks, clamps and branches that the facts of their place decide."""
    if not any(map(_may_have_rule, nodes_of(_WITH_RULES, program))):
        return program
    walk = FactsWalk(names, scope_of(program), trace or Trace())
    constants = walk.statements(program.constants)
    functions = tuple(map(walk.function, program.functions))
    program = replace(program, constants=constants, functions=functions)
    if not walk.joined_scatters:
        return program
    # a scatter that was joined with a later one has no user
    return remove_dead_code(program, {function.name for function in functions})


class FactsWalk:
    """Walks bodies in order with the facts of each place, for the rules of this pass
    or, in a subclass, for others."""

    rules: Mapping[type, tuple[Rule, ...]] = RULES
    finds_invariants = True
    sought: tuple[type, ...] = ()
    """the classes of what the rules of a subclass apply to"""

    def __init__(self, names: NameSource, scope: Scope, trace: Trace) -> None:
        self.facts = Facts(scope)
        self.context = FactContext(names, scope, self.facts, Derivation(trace))
        self.joined_scatters = False
        self.looped: tuple[core.Loop, LoopInvariants] | None = None
        """the loop that was walked last"""
        self.limited: tuple[Any, list[bool]] = (None, [])
        """the SOAC that was walked last, and which of its results have indices of its
        width as elements"""

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
                self.enter(new)
                made.append(new)
        return same_or(made, statements)

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        exp = statement.exp
        rules = self.rules.get(type(exp))
        if rules is None or not _may_have_rule(exp):
            return (replace(statement, exp=self.inside(exp)),)
        for rule in rules:
            outcome = rule(statement, self.context)
            if isinstance(outcome, tuple):
                self.joined_scatters |= rule is join_disjoint_scatters
                return tuple(replace(new, exp=self.inside(new.exp)) for new in outcome)
        return (replace(statement, exp=self.inside(exp)),)

    def enter(self, statement: Stm) -> None:
        """Learn what holds after a statement."""
        self.facts.execute(statement)
        self.learn(statement)

    def learn(self, statement: Stm) -> None:
        """What is known of elements: of arrays that are made, or one that is read."""
        match statement:
            case Stm((bound,), core.Index(array, _)) if bound.type == I64:
                learn_limit(self.facts, bound.name, array)
            case Stm(pattern, core.Loop()) if (
                self.looped and statement.exp is self.looped[0]
            ):
                self.looped[1].assume_results(self.facts, pattern)
            case Stm(pattern, Screma() as exp) if exp is self.limited[0]:
                width = self.facts.form(exp.width)
                for bound, is_limited in zip(pattern, self.limited[1], strict=False):
                    if is_limited:
                        self.facts.limit_elements(bound.name, width)

    # --- scopes -----------------------------------------------------------------------

    def inside(self, exp: Any) -> Any:
        """An expression with its bodies walked, each in a scope of its own."""
        match exp:
            case core.If() if not self.may_change(exp):
                return exp
            case core.If(condition, then, otherwise):
                return replace(
                    exp,
                    then=self.branch(condition, True, then),
                    otherwise=self.branch(condition, False, otherwise),
                )
            case core.Loop():
                return self.loop(exp)
            case Screma() | Scatter() | Hist():
                return self.combinator(exp)
            case SegMap() | SegRed() | SegScan() | SegHist():
                return self.segmented(exp)
            case core.ScalarOp() | core.Index() | core.SizeExp():
                return exp
        return map_children(exp, self.node)

    def may_change(self, exp: Any) -> bool:
        """Whether something inside of an expression may change; else it is skipped."""
        return not self.sought or contains(exp, self.sought)

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

    def loop(self, exp: core.Loop) -> core.Loop:
        found = LoopInvariants(exp)
        if self.finds_invariants:
            found = loop_invariants(self.facts, exp, self.enter)
        made = exp
        if self.may_change(exp):
            with self.facts.inner():
                enter_iteration(self.facts, found)
                made = replace(exp, body=self.node(exp.body))
        self.looped = made, found
        return made

    def combinator(self, exp: Any) -> Any:
        """A SOAC: the lambda runs once per element, so its width is not zero."""
        width = self.facts.form(exp.width)
        with self.facts.inner():
            self.facts.run_at_least_once(width)
            outside = self.context.first_inside
            self.context.first_inside = len(self.facts.order)
            for parameter, array in zip(
                exp.function.parameters, exp.arrays, strict=True
            ):
                learn_element(self.facts, parameter.name, array, width)
            function = self.of_points(exp.function)
            limited = limited_results(
                self.facts, replace(exp, function=function), width
            )
            self.context.first_inside = outside
        rest = map_children(
            exp, lambda part: part if isinstance(part, Lambda) else self.node(part)
        )
        made = replace(rest, function=function)
        self.limited = made, limited
        return made

    def of_points(self, function: Lambda) -> Lambda:
        """The function of a SOAC, in the scope that it is in."""
        statements = self.statements(function.body.statements)
        return replace(function, body=replace(function.body, statements=statements))

    def segmented(self, exp: Any) -> Any:
        if not self.may_change(exp):
            return exp
        with self.facts.inner():
            for index, size in zip(exp.space.indices, exp.space.sizes, strict=True):
                self.facts.run_over(index, self.facts.form(size), "the kernel")
            body = self.node(exp.body)
        rest = map_children(
            exp, lambda part: part if isinstance(part, KernelBody) else self.node(part)
        )
        return replace(rest, body=body)
