"""The layout candidates of a kernel, and the choices of a plan for each statement.

An `Offer` is an innermost variable of the kernel and, for arrays, an innermost
dimension. Under the GPU schedule the offers are the strategies of the kernel; on a CPU
they are, for each variable, the dimension of each array with the least cost. Arrays
that an offer does not mention, or whose transposition would cost too much, are read in
their present order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from minifut.ir import kernels
from minifut.ir.core import Stm
from minifut.ir.node import immutable, mutable
from minifut.ir.scope import Scope
from minifut.names import Name
from minifut.passes.layout.accesses import KERNELS, Access, accesses_of
from minifut.passes.layout.costs import (
    Machine,
    cannot_fail,
    fastest_variables,
    is_vectorised,
)
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


@immutable
class Offer:
    """A variable and wanted innermost dimensions, of operands and of results."""

    fastest: Name
    wanted: Mapping[Name, int]


@mutable
class KernelFacts:
    """A kernel of the grid in the plan; `fixed` are operands that it updates,
    which must stay as they are."""

    machine: Machine
    reads: dict[Name, list[Access]] = field(default_factory=dict)
    writes: dict[Name, list[Access]] = field(default_factory=dict)
    vectorised: bool | None = False
    offers: list[Offer] = field(default_factory=list)
    costs: dict[tuple[Name, Name, int], float] = field(default_factory=dict)

    @staticmethod
    def of(statement: Stm, scope: Scope, machine: Machine) -> KernelFacts:
        kernel = statement.exp
        assert isinstance(kernel, KERNELS)
        fixed = _updated(kernel)
        lanes = is_vectorised(kernel) or (None if cannot_fail(kernel) else False)
        facts = KernelFacts(machine, vectorised=lanes)
        accesses = [a for a in accesses_of(statement, scope) if a.array not in fixed]
        for access in accesses:
            group = facts.writes if access.writes else facts.reads
            group.setdefault(access.array, []).append(access)
        variables = fastest_variables(kernel, machine)
        facts.offers.append(Offer(variables[0], {}))
        if machine.schedule == "gpu":
            facts.offers += _from_strategies(kernel, accesses, variables)
        else:
            facts.offers += [facts.best(variable) for variable in variables]
        return facts

    @property
    def arrays(self) -> dict[Name, list[Access]]:
        return self.reads | self.writes

    def cost(self, array: Name, fastest: Name, innermost: int) -> float:
        """Bytes moved for the accesses to one array."""
        key = array, fastest, innermost
        if key not in self.costs:
            self.costs[key] = sum(
                self.machine.cost(access, fastest, innermost, self.vectorised)
                for access in self.arrays[array]
            )
        return self.costs[key]

    def best(self, fastest: Name) -> Offer:
        """The innermost dimension of each array with the least cost."""
        wanted = {}
        for array, accesses in self.arrays.items():
            last = len(accesses[0].places) - 1
            costs = [self.cost(array, fastest, d) for d in range(last + 1)]
            if min(costs) < costs[last]:
                wanted[array] = costs.index(min(costs))
        return Offer(fastest, wanted)

    @property
    def interesting(self) -> bool:
        """Whether some offer moves clearly less than the kernel as it is written."""

        def total(offer: Offer) -> float:
            return sum(
                self.cost(
                    array,
                    offer.fastest,
                    offer.wanted.get(array, len(accesses[0].places) - 1),
                )
                for array, accesses in self.arrays.items()
            )

        written, *others = map(total, self.offers)
        return any(other <= written * WORTH for other in others)


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
) -> list[Offer]:
    """Each strategy with each variable that it allows, the one as written first."""
    found: list[Offer] = []
    for strategy in kernel_strategies(accesses, kernel.space.indices):
        for variable in variables:
            allowed = variable not in strategy.outside
            if allowed and strategy.inside in (None, variable):
                offer = Offer(variable, dict(strategy.innermost))
                if offer not in found:
                    found.append(offer)
    return sorted(found, key=lambda offer: variables.index(offer.fastest))
