"""The layout candidates of a kernel, and the choices of a plan for each statement.

An `Offer` is an innermost variable of the kernel and, for arrays, an innermost
dimension. Under the GPU schedule the offers are the strategies of the kernel; on a CPU
they are, for each variable, the dimension of each array with the least cost, and the
same with rounds of loops instead of points in lanes, where these may be. Arrays
that an offer does not mention, or whose transposition would cost too much, are read in
their present order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from minifut.ir import kernels
from minifut.ir.core import Stm
from minifut.ir.node import immutable, mutable
from minifut.ir.scope import Scope
from minifut.names import Name
from minifut.passes.layout.accesses import KERNELS, accesses_of
from minifut.passes.layout.costs import Lanes, Machine, fastest_variables, ways_of
from minifut.passes.layout.places import Access
from minifut.passes.layout.strategies import kernel_strategies

Dimension: TypeAlias = tuple[Name, int]
"""an array with one of its dimensions"""

WORTH = 0.8
"""an offer is interesting if it moves at most this part of the bytes"""


@immutable
class KernelChoice:
    """`fastest` is the variable to run fastest if it is another than as written,
    `reads` are operands read in another order than their own; `results` those
    results that are not made row-major."""

    fastest: Name | None
    reads: tuple[Dimension, ...]
    results: tuple[Dimension, ...]


@immutable
class BranchChoice:
    """The innermost dimension of each result (None: a scalar or a single row)."""

    results: tuple[int | None, ...]


@immutable
class LoopChoice:
    """`before` are orders to which arrays are copied before the loop; `parameters` the
    innermost dimensions of the loop's parameters."""

    before: tuple[Dimension, ...]
    parameters: tuple[int | None, ...]


LayoutChoice: TypeAlias = KernelChoice | BranchChoice | LoopChoice

Decisions: TypeAlias = Any
"""None, or (the decisions before, a statement's id, its choice and those of its
bodies)"""


def decided_in(decided: Decisions) -> dict[int, LayoutChoice]:
    """The choices of a path, by the ids of statements."""
    found: dict[int, LayoutChoice] = {}
    waiting = [decided]
    while waiting:
        at = waiting.pop()
        if at is None:
            continue
        before, (key, choice, inner) = at
        if choice is not None:
            found[key] = choice
        waiting += [before, *inner]
    return found


@immutable
class Offer:
    """A variable, wanted innermost dimensions of operands and of results, and what is
    in lanes then."""

    fastest: Name
    wanted: Mapping[Name, int]
    lanes: Lanes


@mutable
class KernelFacts:
    """A kernel of the grid in the plan; `fixed` are operands that it updates,
    which must stay as they are."""

    machine: Machine
    reads: dict[Name, list[Access]] = field(default_factory=dict)
    writes: dict[Name, list[Access]] = field(default_factory=dict)
    offers: list[Offer] = field(default_factory=list)
    costs: dict[tuple[Name, Name, int, Lanes], float] = field(default_factory=dict)

    @staticmethod
    def of(statement: Stm, scope: Scope, machine: Machine) -> KernelFacts:
        kernel = statement.exp
        assert isinstance(kernel, KERNELS)
        fixed = _updated(kernel)
        ways = ways_of(kernel, machine)
        facts = KernelFacts(machine)
        accesses = [a for a in accesses_of(statement, scope) if a.array not in fixed]
        for access in accesses:
            group = facts.writes if access.writes else facts.reads
            group.setdefault(access.array, []).append(access)
        variables = fastest_variables(kernel, machine)
        facts.offers += [Offer(variables[0], {}, way) for way in ways]
        if machine.schedule == "gpu":
            facts.offers += _from_strategies(kernel, accesses, variables, ways[0])
        else:
            for way in ways:
                # the order of points matters little to rounds in lanes
                some = variables[:1] if way is Lanes.ROUNDS else variables
                facts.offers += [facts.best(variable, way) for variable in some]
        return facts

    @property
    def arrays(self) -> dict[Name, list[Access]]:
        return self.reads | self.writes

    def cost(self, array: Name, offer: Offer, innermost: int) -> float:
        """Bytes moved for the accesses to one array."""
        key = array, offer.fastest, innermost, offer.lanes
        if key not in self.costs:
            self.costs[key] = sum(
                self.machine.cost(access, offer.fastest, innermost, offer.lanes)
                for access in self.arrays[array]
            )
        return self.costs[key]

    def best(self, fastest: Name, lanes: Lanes) -> Offer:
        """The innermost dimension of each array with the least cost."""
        wanted: dict[Name, int] = {}
        offer = Offer(fastest, wanted, lanes)
        for array, accesses in self.arrays.items():
            last = len(accesses[0].places) - 1
            costs = [self.cost(array, offer, d) for d in range(last + 1)]
            if min(costs) < costs[last]:
                wanted[array] = costs.index(min(costs))
        return offer

    @property
    def interesting(self) -> bool:
        """Whether some offer moves clearly less than the kernel as it is written."""

        def total(offer: Offer) -> float:
            return sum(
                self.cost(
                    array, offer, offer.wanted.get(array, len(accesses[0].places) - 1)
                )
                for array, accesses in self.arrays.items()
            )

        first = self.offers[0].fastest
        as_written = [o for o in self.offers if o.fastest == first and not o.wanted]
        written = min(map(total, as_written))
        return any(total(other) <= written * WORTH for other in self.offers)


def _updated(kernel: object) -> set[Name]:
    """The arrays that a kernel updates."""
    match kernel:
        case kernels.SegMap(body=body):
            return {r.array for r in body.result if isinstance(r, kernels.WriteReturns)}
        case kernels.SegHist(operators=operators):
            return {array for op in operators for array in op.destinations}
    return set()


def _from_strategies(
    kernel: kernels.SegMap | kernels.SegRed | kernels.SegScan | kernels.SegHist,
    accesses: list[Access],
    variables: list[Name],
    lanes: Lanes,
) -> list[Offer]:
    """Each strategy with each variable that it allows, the one as written first."""
    found: list[Offer] = []
    for strategy in kernel_strategies(accesses, kernel.space.indices):
        for variable in variables:
            allowed = variable not in strategy.outside
            if allowed and strategy.inside in (None, variable):
                offer = Offer(variable, dict(strategy.innermost), lanes)
                if offer not in found:
                    found.append(offer)
    return sorted(found, key=lambda offer: variables.index(offer.fastest))
