"""Strategies: where and how often rules are tried.

    rewrite(program, until_fixpoint(bottom_up(fuse, simplify)), names, trace)

`once` stops after the first success; `top_down` tries each statement, then what is
inside it (or inside its replacement), `outermost` only where no rule fired; `bottom_up`
the inside first; each statement is tried once per walk, rules in the order given, the
first that fires wins.
`until_fixpoint` repeats a strategy until it changes nothing; `sequence` chains. A
strategy returns the same object if no rule fired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, TypeAlias, TypeVar

from minifut.errors import InternalError
from minifut.ir.core import Body, Program, Stm
from minifut.ir.kernels import KernelBody, Level
from minifut.ir.node import mutable, replace, same_or
from minifut.ir.scope import Scope, scope_of
from minifut.ir.search import contains, count_of
from minifut.ir.traverse import map_children
from minifut.names import Name, NameSource
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Rule
from minifut.rewrite.trace import Trace

T = TypeVar("T")


@mutable
class Rewriting:
    """What a strategy carries through the program."""

    names: NameSource
    scope: Scope
    trace: Trace = field(default_factory=Trace)
    definitions: dict[Name, Stm] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    done: bool = False

    def try_rules(self, rules: tuple[Rule, ...], statement: Stm) -> tuple[Stm, ...]:
        """What replaces the statement: itself if no rule fires."""
        context = StatementContext(
            self.names, self.scope, self.definitions, self.levels
        )
        for rule in rules:
            outcome = rule(statement, context)
            if outcome is None:
                continue
            if isinstance(outcome, Declined):
                self.trace.decline(rule, statement, outcome.reason)
                continue
            placed = tuple(_placed(new, statement) for new in outcome)
            self.scope.update(scope_of(*placed))
            self.trace.fire(rule, statement, placed)
            return placed
        return (statement,)


def _placed(new: Stm, old: Stm) -> Stm:
    """A new statement is where the old one stood, unless it says where."""
    return new if new.location is not None else replace(new, location=old.location)


def first_of(rules: Iterable[Rule], node: Any, context: Any) -> Any:
    """The outcome of the first rule that does not decline; else the last `Declined`."""
    outcome: Any = None
    for rule in rules:
        outcome = rule(node, context)
        if not isinstance(outcome, Declined):
            break
    return outcome


Strategy: TypeAlias = Callable[[Any, Rewriting], Any]


def rewrite(
    node: T, strategy: Strategy, names: NameSource, trace: Trace | None = None,
    scope: Scope | None = None,
) -> T:  # fmt: skip
    """The program (or body) after the strategy. `scope` adds the types of names
    that are bound outside the node."""
    rewriting = Rewriting(names, (scope or {}) | scope_of(node), trace or Trace())
    made: T = strategy(node, rewriting)
    return made


def top_down(*rules: Rule) -> Strategy:
    """Each statement first, then what is inside."""
    return _walking(rules, before=True, stop=False)


def outermost(*rules: Rule) -> Strategy:
    """Each statement first, then what is inside those at which no rule fired."""
    return _walking(rules, before=True, stop=False, inside_new=False)


def bottom_up(*rules: Rule, closed: tuple[type, ...] = ()) -> Strategy:
    """What is inside first, then each statement; nothing inside of `closed` nodes."""
    return _walking(rules, before=False, stop=False, closed=closed)


def once(*rules: Rule) -> Strategy:
    """The first statement, from the top, at which a rule fires."""
    return _walking(rules, before=True, stop=True)


def sequence(*strategies: Strategy) -> Strategy:
    """One after the other."""

    def run(node: Any, rewriting: Rewriting) -> Any:
        for strategy in strategies:
            node = strategy(node, rewriting)
        return node

    return run


def until_fixpoint(strategy: Strategy, limit: int = 100) -> Strategy:
    """Again and again until nothing changes. More than `limit` rounds are a fault, and
    more than there were statements, of which a round may change a single one."""

    def run(node: Any, rewriting: Rewriting) -> Any:
        rounds = max(limit, count_of(Stm, node))
        for _ in range(rounds):
            after = strategy(node, rewriting)
            if after is node:
                return node
            node = after
        last = ", ".join(rewriting.trace.fired()[-5:])
        raise InternalError(
            "rewrite.strategy", f"no end after {rounds} rounds; the last rules: {last}"
        )

    return run


def _walking(
    rules: tuple[Rule, ...], before: bool, stop: bool, inside_new: bool = True,
    closed: tuple[type, ...] = (),
) -> Strategy:  # fmt: skip
    def run(node: Any, rewriting: Rewriting) -> Any:
        rewriting.definitions = {}
        rewriting.levels = ()
        rewriting.done = False
        walk_ = _Walk(rules, kinds, before, stop, inside_new, closed, rewriting)
        return walk_.node(node) if walk_.may_fire(node) else node

    kinds = _kinds(rules)
    return run


def _kinds(rules: tuple[Rule, ...]) -> tuple[type, ...] | None:
    """The classes of which something must be for one of the rules to fire; None where
    a rule does not say."""
    found: list[type] = []
    for rule in rules:
        if rule.of is None:
            return None
        found += rule.of if isinstance(rule.of, tuple) else (rule.of,)
    return tuple(dict.fromkeys(found))


@mutable
class _Walk:
    rules: tuple[Rule, ...]
    kinds: tuple[type, ...] | None
    before: bool
    stop: bool
    inside_new: bool
    closed: tuple[type, ...]
    state: Rewriting

    def may_fire(self, node: object) -> bool:
        """Whether something in a node is of the class of a rule."""
        return self.kinds is None or contains(node, self.kinds)

    def node(self, node: Any) -> Any:
        if self.state.done or isinstance(node, self.closed):
            return node
        match node:
            case Body() | KernelBody():
                return replace(node, statements=self.statements(node.statements))
            case Program():
                constants = self.statements(node.constants)
                functions = tuple(self.node(function) for function in node.functions)
                return replace(node, constants=constants, functions=functions)
        level = getattr(node, "level", None)
        if level is None:
            return map_children(node, self.node)
        outer = self.state.levels
        self.state.levels = (*outer, level)
        after = map_children(node, self.node)
        self.state.levels = outer
        return after

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        after: list[Stm] = []
        for statement in statements:
            for new in self.statement(statement):
                after.append(new)
                for parameter in new.pattern:
                    self.state.definitions[parameter.name] = new
        return same_or(after, statements)

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        if self.state.done:
            return (statement,)
        if not self.before:
            return self.attempt(self.inside(statement))
        after = self.attempt(statement)
        if after != (statement,) and not self.inside_new:
            return after
        return tuple(self.inside(new) for new in after)

    def attempt(self, statement: Stm) -> tuple[Stm, ...]:
        if self.kinds is not None and not isinstance(statement.exp, self.kinds):
            return (statement,)
        after = self.state.try_rules(self.rules, statement)
        fired = len(after) != 1 or after[0] is not statement
        if self.stop and fired:
            self.state.done = True
        return after

    def inside(self, statement: Stm) -> Stm:
        if self.state.done or not self.may_fire(statement.exp):
            return statement
        return replace(statement, exp=self.node(statement.exp))
