"""Pass: a loop whose result becomes a slice of an array writes into that array.

    let s = scratch [m]                          let r = loop (b = a) for i < m do {
    let x = loop (c = s) for i < m do {     →      .. b[o + i] ..
      .. a[o + i] ..  c with [i] = v }             b with [o + i] = v }
    let r = a with [o :+ m] = x

So neither the intermediate array nor the copy is needed. The outermost update is first:
then the one that puts rows together inside of its loop finds the array to write to.

Conditions: nothing else uses the intermediate array, nor the updated one as it was; and
facts prove that an iteration reads nothing that another one writes (`regions`). What
else keeps updates from being in place is in `overwrite`.

Source: Munksgaard et al., "Memory optimizations in an array language" (SC'22).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace as with_fields
from typing import Any

from minifut.analysis.aliases import NONE
from minifut.analysis.in_place import called_functions, in_place_updates
from minifut.ir.core import Body, Function, Index, Loop, Program, Stm, Update
from minifut.ir.kernels import KernelBody
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import bound_types, free_names
from minifut.names import Name, NameSource
from minifut.passes.remove_checks.driver import NO_RULES, FactsWalk
from minifut.passes.short_circuit.overwrite import copy_view, write_over_last_use
from minifut.passes.short_circuit.rules import PlaceContext, update_within_loop
from minifut.passes.simplify.dead_code import with_functions
from minifut.rewrite.rule import Outcome
from minifut.rewrite.trace import Trace


def short_circuit(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Let loops write their results where updates would put them."""
    places = _Walk(names, scope_of(program), trace or Trace())
    called = called_functions(program)
    functions = tuple(places.in_place(f, called) for f in program.functions)
    # without the arrays that loops filled before they were found others to overwrite
    return with_functions(program, functions)


class _Walk(FactsWalk):
    """Bodies are rewritten before what is inside of their statements is examined."""

    rules = NO_RULES
    finds_invariants = False
    place: PlaceContext
    last_uses: Mapping[Name, frozenset[Name]]

    def in_place(self, function: Function, called: Collection[Name]) -> Function:
        """The function with more of its updates in place."""
        if not contains(function, Update):
            return function
        found = in_place_updates(function, called)
        self.last_uses = found.last_uses
        statements = nodes_of(Stm, function)
        bound = {p.name: s for s in statements for p in s.pattern}

        def views(names: frozenset[Name]) -> bool:
            return all(n in bound and isinstance(bound[n].exp, Index) for n in names)

        self.place = PlaceContext(
            self.context.names,
            self.context.scope,
            self.facts,
            bound,
            blocking=NONE.union(*filter(views, found.blocked)),
            derivation=self.context.derivation,
        )
        bodies = nodes_of((Body, KernelBody), function)
        if self.place.blocking or self.last_uses or any(map(_has_pair, bodies)):
            return self.function(function)
        return function

    def may_change(self, exp: Any) -> bool:
        names = bound_types([exp]).keys()
        own = names & self.place.blocking or names & self.last_uses.keys()
        return bool(own) or any(map(_has_pair, nodes_of((Body, KernelBody), exp)))

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        name = statement.pattern[0].name if statement.pattern else None
        outcome: Outcome = None
        if name in self.place.blocking:
            outcome = copy_view(statement, self.place)
        elif name is not None and name in self.last_uses:
            own = with_fields(self.place, overwritable=self.last_uses[name])
            outcome = write_over_last_use(statement, own)
        if not isinstance(outcome, tuple):
            return super().statement(statement)
        *before, last = outcome
        return (*before, *super().statement(last))

    def node(self, node: Any) -> Any:
        if isinstance(node, (Body, KernelBody)):
            node = self.placed(node)
        return super().node(node)

    def branch(self, condition: Any, truth: bool, body: Body) -> Body:
        return super().branch(condition, truth, self.placed(body))

    def placed(self, body: Any) -> Any:
        """The body without those of its updates that loops can do."""
        if not _has_pair(body):
            return body
        statements = list(body.statements)
        with self.facts.inner():
            for statement in statements:
                self.facts.execute(statement)
            at = 0
            while at < len(statements):
                producer = self.joined(statements, at, body.result)
                if producer is None:
                    at += 1
                else:
                    del statements[producer]
                    at -= 1
        if len(statements) == len(body.statements):
            return body
        return replace(body, statements=tuple(statements))

    def joined(self, statements: list[Stm], at: int, results: Any) -> int | None:
        """Do the update there in the loop that makes its value, which moves there;
        gives where the loop stood."""
        update, position = statements[at], _loop_of(statements, at)
        if position is None:
            return None
        producer = statements[position]
        bound = {p.name for p in producer.pattern}
        if any(free_names(s) & bound for s in statements[position + 1 : at]):
            return None
        others = (*statements[position + 1 : at], *statements[at + 1 :])
        definitions = {p.name: s for s in statements[:at] for p in s.pattern}
        needed = {name for s in others for name in free_names(s)}
        for result in results:
            needed |= {result} if isinstance(result, Name) else free_names(result)
        context = PlaceContext(
            self.context.names,
            self.context.scope,
            self.facts,
            definitions,
            frozenset(needed),
            derivation=self.context.derivation,
        )
        outcome = update_within_loop(update, context)
        if not isinstance(outcome, tuple):
            return None
        (statements[at],) = outcome
        self.facts.define(statements[at])
        return position


def _has_pair(body: Body | KernelBody) -> bool:
    """Whether there is an update of the result of a loop."""
    loops = [s for s in body.statements if isinstance(s.exp, Loop)]
    made = {bound.name for loop in loops for bound in loop.pattern}
    exps = [s.exp for s in body.statements] if made else []
    return any(isinstance(exp, Update) and exp.value in made for exp in exps)


def _loop_of(statements: Sequence[Stm], at: int) -> int | None:
    """The position of the loop whose result the update there writes, if both are
    there."""
    exp = statements[at].exp
    if not isinstance(exp, Update):
        return None
    for position, statement in enumerate(statements[:at]):
        names = [bound.name for bound in statement.pattern]
        if isinstance(statement.exp, Loop) and exp.value in names:
            return position
    return None
