"""The cheapest layouts for a whole function: dynamic programming over its statements.

    a, 512 MiB        kernel 1 needs a[.., i, ..] innermost, kernel 2 in a loop too
                      too: a is transposed once, before the loop, and both read that

A state has for each array that is still needed the orders in which it is available: its
own, and those of copies. A statement leads from each state to
others, at the cost of the bytes that it moves: a kernel by each of its offers, with
operands transposed or read in their own layout and results made in any order; a branch
by what its bodies do, whose results have one layout; a loop by orders for its
parameters, and by copies made before it. Of the paths to a state the cheapest is kept,
and of the states the `MOST` cheapest. A body is solved once for each state of what it
uses; in a function with very many transitions the search becomes greedy.

Branches count half, or as the default parameters decide between them; loops of unknown
length `ROUNDS` times. What a function takes and gives is row-major.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import field
from itertools import product as combinations
from typing import Any, TypeAlias

from minifut.ir import core, kernels
from minifut.ir.core import Body, Function, Stm
from minifut.ir.host_bodies import host_bodies
from minifut.ir.node import mutable
from minifut.ir.scope import Scope
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.passes.layout.choices import (
    BranchChoice,
    Decisions,
    Dimension,
    KernelChoice,
    KernelFacts,
    LayoutChoice,
    LoopChoice,
    Offer,
    decided_in,
)
from minifut.passes.layout.costs import Machine
from minifut.passes.layout.facts import FunctionFacts, LayoutState
from minifut.passes.layout.orders import kept_orders

FRESH = (core.Manifest, core.Replicate, core.Scratch)
MOST = 24
"""states kept after a statement"""
MOST_COMBINATIONS = 64
"""combinations of operands and results that are tried from a state, at one statement"""
MOST_TRANSITIONS = 10_000
"""transitions that are tried in a function before the search becomes greedy"""
ROUNDS = 8

Transition: TypeAlias = tuple[float, LayoutState, Decisions]
EndsOfBody: TypeAlias = dict[tuple[int | None, ...], tuple[float, Decisions]]
"""by the innermost dimensions of the results"""


def plan(function: Function, scope: Scope, machine: Machine) -> dict[int, LayoutChoice]:
    """Choices by the ids of statements; none if nothing is worth moving."""
    known = FunctionFacts(scope, machine)
    if not known.collect(function.body):
        return {}
    known.find_preferred(function.body)
    planner = _Planner(known)
    start: LayoutState = {}
    for parameter in function.parameters:
        known.enter(start, parameter.name)
    ends = planner.solve(function.body, start)
    results = function.body.result

    def total(item: tuple[tuple[int | None, ...], tuple[float, Decisions]]) -> float:
        order, (cost, _) = item
        return cost + known.conform(results, order, known.row_major(results))

    _, (_, decided) = min(ends.items(), key=total)
    return decided_in(decided)


@mutable
class _Planner:
    known: FunctionFacts
    solved: dict[Any, EndsOfBody] = field(default_factory=dict)
    transitions: dict[Any, list[Transition]] = field(default_factory=dict)
    tried: int = 0

    @property
    def is_greedy(self) -> bool:
        """Whether so many transitions have been tried that only the best is
        followed."""
        return self.tried > MOST_TRANSITIONS

    # --- bodies -----------------------------------------------------------------------

    def solve(self, body: Body, state: LayoutState) -> EndsOfBody:
        """The cheapest decisions in a body for each order of its results."""
        later = self.known.later[id(body)]
        state = {n: orders for n, orders in state.items() if n in later[0]}
        key = id(body), frozenset(state.items())
        if key not in self.solved:
            self.solved[key] = self.through(body, state, later)
        return self.solved[key]

    def through(
        self, body: Body, state: LayoutState, later: list[set[Name]]
    ) -> EndsOfBody:
        paths: list[Transition] = [(0.0, state, None)]
        for statement, needed in zip(body.statements, later[1:], strict=True):
            if type(statement.exp) is core.ScalarOp:
                continue  # it has no array
            best: dict[frozenset[tuple[Name, tuple[int, ...]]], Transition] = {}
            for cost, before, decided in paths:
                for more, after, item in self.step(statement, before):
                    self.tried += 1
                    kept = {n: orders for n, orders in after.items() if n in needed}
                    key = frozenset(kept.items())
                    total = cost + more
                    if key not in best or total < best[key][0]:
                        best[key] = (
                            total,
                            kept,
                            decided if not item else (decided, item),
                        )
            most = 1 if self.is_greedy else MOST
            paths = heapq.nsmallest(most, best.values(), key=lambda path: path[0])
        ends: EndsOfBody = {}
        for cost, after, decided in paths:
            order = tuple(
                after[a][0] if isinstance(a, Name) and a in after else None
                for a in body.result
            )
            if order not in ends or cost < ends[order][0]:
                ends[order] = cost, decided
        return ends

    def step(self, statement: Stm, state: LayoutState) -> Iterator[Transition]:
        """All transitions from a state; the last part is the decision."""
        exp = statement.exp
        if id(statement) in self.known.kernels:
            yield from self.kernel(statement, self.known.kernels[id(statement)], state)
        elif isinstance(exp, core.If | core.Match):
            yield from self.branches(statement, exp, state)
        elif isinstance(exp, core.Loop):
            yield from self.loop(statement, exp, state)
        elif isinstance(exp, FRESH) and self.known.rank(statement.pattern[0].name) > 1:
            yield from self.fresh(statement, state)
        else:
            yield self.plain(statement, state)

    def fresh(self, statement: Stm, state: LayoutState) -> Iterator[Transition]:
        """An array that is made in any order at the same cost."""
        name = statement.pattern[0].name
        own = self.known.rank(name) - 1
        if isinstance(statement.exp, core.Manifest):
            own = statement.exp.permutation[-1]
        for dimension in (own, *(d for d in range(self.known.rank(name)) if d != own)):
            results = ((name, dimension),) if dimension != own else ()
            choice = KernelChoice(None, (), results)
            item = id(statement), choice, ()
            yield 0.0, {**state, name: (dimension,)}, item

    def plain(self, statement: Stm, state: LayoutState) -> Transition:
        exp, cost = statement.exp, 0.0
        after = self.known.with_results(statement, state)
        name = statement.pattern[0].name if statement.pattern else None
        match exp:
            case core.Copy(source) | core.Opaque(source) if source in state:
                assert name is not None
                after[name] = state[source]
            case core.Rearrange(permutation, array) if array in state and name:
                after[name] = tuple(permutation.index(d) for d in state[array])
            case core.Index(array, slice_) if array in state and name in after:
                after[name] = kept_orders(slice_, state[array]) or after[name]
            case core.Update(array, _, _) if array in state and name:
                after[name] = state[array][:1]
            case core.Apply(_, arguments):
                found = tuple(state[a][0] if a in state else None for a in arguments)
                cost = self.known.conform(
                    arguments, found, self.known.row_major(arguments)
                )
            case _:
                # what is written row by row, or copied by groups
                arrays = tuple(a for a in self.known.arrays_of(statement) if a in state)
                found = tuple(state[a][0] for a in arrays)
                cost = self.known.conform(arrays, found, self.known.row_major(arrays))
        return cost, after, None

    # --- kernels ----------------------------------------------------------------------

    def kernel(
        self, statement: Stm, facts: KernelFacts, state: LayoutState
    ) -> Iterator[Transition]:
        """The transitions, which depend on the orders of what the kernel uses only."""
        used = self.known.arrays_of(statement)
        key = id(statement), self.is_greedy, tuple(map(state.get, used))
        if key not in self.transitions:
            changed = {*used, *(bound.name for bound in statement.pattern)}
            self.transitions[key] = [
                (cost, {n: o for n, o in after.items() if n in changed}, item)
                for cost, after, item in self.offered(statement, facts, state)
            ]
        for cost, after, item in self.transitions[key]:
            yield cost, {**state, **after}, item

    def offered(
        self, statement: Stm, facts: KernelFacts, state: LayoutState
    ) -> Iterator[Transition]:
        """All that the offers of a kernel allow in a state."""
        for offer in facts.offers:
            reads = [
                list(self.reads(facts, offer, array, state)) for array in facts.reads
            ]
            results = [
                list(self.results(facts, offer, array)) for array in facts.writes
            ]
            if self.is_greedy:
                cheapest = tuple(min(o, key=lambda w: w[0]) for o in reads + results)
                yield self.chosen(statement, facts, offer, cheapest, state)
                continue
            for number, combination in enumerate(combinations(*reads, *results)):
                if number == MOST_COMBINATIONS:
                    break
                yield self.chosen(statement, facts, offer, combination, state)

    def reads(
        self, facts: KernelFacts, offer: Offer, array: Name, state: LayoutState
    ) -> Iterator[tuple[float, Name, int | None]]:
        """Read an operand in its own order, from a copy, or from a copy made for it."""
        orders = state.get(array, (self.known.rank(array) - 1,))
        own = facts.cost(array, offer, orders[0])
        wanted = offer.wanted.get(array)
        if wanted is None or wanted == orders[0]:
            yield own, array, None
            return
        there = facts.cost(array, offer, wanted)
        if wanted in orders:
            yield min((there, array, wanted), (own, array, None), key=lambda w: w[0])
            return
        yield own, array, None
        if there < own:
            yield there + self.known.transposition_cost(array), array, wanted

    def results(
        self, facts: KernelFacts, offer: Offer, array: Name
    ) -> Iterator[tuple[float, Name, int | None]]:
        shape = shape_of(self.known.scope[array])
        last = len(shape) - 1
        for dimension, size in reversed(list(enumerate(shape))):
            # one of a single element is as near in any order
            if dimension == last or size.as_constant != 1:
                yield facts.cost(array, offer, dimension), array, dimension

    def chosen(
        self,
        statement: Stm,
        facts: KernelFacts,
        offer: Offer,
        combination: tuple[tuple[float, Name, int | None], ...],
        state: LayoutState,
    ) -> Transition:
        after = self.known.with_results(statement, state)
        exp = statement.exp
        if isinstance(exp, kernels.SegMap):
            for bound, result in zip(statement.pattern, exp.body.result, strict=True):
                if isinstance(result, kernels.WriteReturns) and result.array in state:
                    after[bound.name] = state[result.array][:1]
        reads: list[Dimension] = []
        results: list[Dimension] = []
        cost = 0.0
        for own, array, innermost in combination:
            cost += own
            if innermost is None:
                continue
            if array in facts.writes:
                after[array] = (innermost,)
                if innermost != self.known.rank(array) - 1:
                    results.append((array, innermost))
                continue
            reads.append((array, innermost))
            if array in after and innermost not in after[array]:
                after[array] = (*after[array], innermost)
        other = offer.fastest != facts.offers[0].fastest
        choice = KernelChoice(
            offer.fastest if other else None, tuple(reads), tuple(results)
        )
        return cost, after, (id(statement), choice, ())

    # --- control ----------------------------------------------------------------------

    def branches(
        self, statement: Stm, exp: core.If | core.Match, state: LayoutState
    ) -> Iterator[Transition]:
        bodies, shares = host_bodies(exp), self.known.shares(exp)
        ends = [self.solve(body, state) for body in bodies]
        names = tuple(bound.name for bound in statement.pattern)
        for order in dict.fromkeys(order for end in ends for order in end):
            cost, inner = 0.0, []
            for body, end, share in zip(bodies, ends, shares, strict=True):
                least = min(
                    (
                        own + self.known.conform(body.result, found, order),
                        number,
                        decided,
                    )
                    for number, (found, (own, decided)) in enumerate(end.items())
                )
                cost += least[0] * share
                inner.append(least[2])
            after = dict(state)
            for name, innermost in zip(names, order, strict=True):
                if innermost is not None:
                    self.known.enter(after, name, innermost)
            yield cost, after, (id(statement), BranchChoice(order), tuple(inner))

    def loop(
        self, statement: Stm, exp: core.Loop, state: LayoutState
    ) -> Iterator[Transition]:
        rounds = float(ROUNDS)
        if isinstance(exp.form, core.ForLoop) and isinstance(
            exp.form.bound, core.Constant
        ):
            rounds = max(1.0, float(exp.form.bound.value))
        names = tuple(p.name for p in exp.parameters)
        starts = tuple(
            state[a][0] if isinstance(a, Name) and a in state else row
            for a, row in zip(exp.initial, self.known.row_major(names), strict=True)
        )
        for order in self.orders(names, starts):
            for copies in self.copies_before(exp.body, state, names):
                inside = dict(state)
                for array, one in copies:
                    inside[array] = (*inside[array], one)
                after = dict(inside)
                for name, bound, innermost in zip(
                    names, statement.pattern, order, strict=True
                ):
                    if innermost is not None:
                        self.known.enter(inside, name, innermost)
                        self.known.enter(after, bound.name, innermost)
                own, _, decided = min(
                    (
                        own + self.known.conform(exp.body.result, found, order),
                        number,
                        decided,
                    )
                    for number, (found, (own, decided)) in enumerate(
                        self.solve(exp.body, inside).items()
                    )
                )
                cost = rounds * own + self.known.conform(exp.initial, starts, order)
                cost += sum(self.known.transposition_cost(array) for array, _ in copies)
                choice = LoopChoice(copies, order)
                yield cost, after, (id(statement), choice, (decided,))

    def orders(
        self, names: tuple[Name, ...], starts: tuple[int | None, ...]
    ) -> list[tuple[int | None, ...]]:
        """Orders for the parameters of a loop: how they start, then all others."""
        every = [
            range(self.known.rank(n)) if self.known.rank(n) > 1 else (None,)
            for n in names
        ]
        number = 1
        for each in every:
            number *= len(each)
        if self.is_greedy:
            return [starts]
        if number > MOST_COMBINATIONS // 4:
            return list(dict.fromkeys((starts, self.known.row_major(names))))
        return list(dict.fromkeys((starts, *combinations(*every))))

    def copies_before(
        self, body: Body, state: LayoutState, parameters: tuple[Name, ...]
    ) -> list[tuple[Dimension, ...]]:
        """Copies to make before a loop: none, each wanted one, or all."""
        if self.is_greedy:
            return [()]
        wanted = sorted(
            (
                (array, innermost)
                for array, innermost in self.known.wanted[id(body)]
                if array in state
                and array not in parameters
                and innermost not in state[array]
            ),
            key=str,
        )
        found: list[tuple[Dimension, ...]] = [(), *((one,) for one in wanted[:4])]
        if len(wanted) > 1:
            found.append(tuple(wanted))
        return found
