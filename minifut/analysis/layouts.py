"""The order of the dimensions of host arrays in memory.

    let t = segmap grid (i < n, j < m) {..}     made columns first at once: only
    let y = manifest((1, 0), t)                 the manifest uses it, and it
    loop (acc = y) for .. do .. manifest((1, 0), ..)       keeps that order

An order lists the dimensions from the slowest to the fastest in memory; `(0, 1)` is
row-major. `made` are kernels' results (and other fresh arrays) that only one `Manifest`
of the same body uses: they are allocated in its order, and the manifest costs nothing.
`carried` are the results of branches and the parameters and results of loops that
are not row-major: a result if all branches agree, a parameter if it starts so and each
round leaves it so. Arrays that cross a call are row-major.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TypeAlias

from minifut.analysis.in_place import InPlace
from minifut.ir import core, kernels
from minifut.ir.core import Atom, Body, Function, Stm
from minifut.ir.node import mutable
from minifut.ir.traverse import free_names
from minifut.ir.types import ArrayType
from minifut.names import Name

Order: TypeAlias = tuple[int, ...]


def innermost(dimension: int, rank: int) -> Order:
    """Row-major order with one dimension moved to the end."""
    return (*[d for d in range(rank) if d != dimension], dimension)


FRESH = (core.Replicate, core.Iota, core.Scratch, core.Concat, kernels.SegRed,
         kernels.SegScan)  # fmt: skip
"""what makes all its results anew"""


@mutable
class Layouts:
    """What is not row-major, by name."""

    made: dict[Name, Order] = field(default_factory=dict)
    carried: dict[Name, Order] = field(default_factory=dict)


def find_layouts(function: Function, in_place: InPlace) -> Layouts:
    """The orders of one function's arrays."""
    sweep = _Sweep(in_place)
    sweep.body(function.body)
    found = Layouts(sweep.made)
    for name, order in sweep.carried.items():
        if order != tuple(range(len(order))):
            found.carried[name] = order
    return found


class _Sweep:
    """Forwards; `orders` are those of dense arrays that start where their memory does.
    A name that is not in it may have any order, or be row-major."""

    def __init__(self, in_place: InPlace) -> None:
        self.in_place = in_place
        self.made: dict[Name, Order] = {}
        self.orders: dict[Name, Order] = {}
        self.carried: dict[Name, Order] = {}

    def body(self, body: Body) -> tuple[Order | None, ...]:
        """The orders of the results."""
        self.made |= _made_to_order(body)
        for statement in body.statements:
            self.statement(statement)
        return tuple(self.of(atom) for atom in body.result)

    def of(self, atom: Atom) -> Order | None:
        return self.orders.get(atom) if isinstance(atom, Name) else None

    def statement(self, statement: Stm) -> None:
        bound, exp = statement.pattern, statement.exp
        order: Order | None = None
        for name, rank in _made_by(statement):
            self.orders[name] = self.made.get(name, tuple(range(rank)))
        match exp:
            case core.If() | core.Match():
                self.branches(statement, exp.branches)
            case core.Loop():
                self.loop(statement, exp)
            case core.Manifest(_, order):
                pass
            case core.Copy(atom) | core.Opaque(atom) | core.Trace(_, atom):
                order = self.of(atom)
            case core.Rearrange(permutation, array):
                source = self.of(array)
                if source is not None:
                    order = tuple(permutation.index(d) for d in source)
            case core.Update(array, _, _):
                if bound[0].name in self.in_place.updates:
                    order = self.of(array)
        if order is not None:
            self.orders[bound[0].name] = order

    def branches(self, statement: Stm, bodies: tuple[Body, ...]) -> None:
        each = [self.body(body) for body in bodies]
        for position, bound in enumerate(statement.pattern):
            first, *others = [results[position] for results in each]
            agree = all(other == first for other in others)
            self.bind_carried(bound, first if agree else None)

    def loop(self, statement: Stm, exp: core.Loop) -> None:
        """Parameters are taken to stay as they start, until a round says otherwise."""
        kept = {
            p: self.of(atom)
            for p, atom in enumerate(exp.initial)
            if self.of(atom) is not None
        }
        while True:
            for position, parameter in enumerate(exp.parameters):
                self.bind_carried(parameter, kept.get(position))
            after = self.body(exp.body)
            lost = [p for p, order in kept.items() if after[p] != order]
            if not lost:
                break
            for position in lost:
                del kept[position]
        for position, bound in enumerate(statement.pattern):
            self.bind_carried(bound, kept.get(position))

    def bind_carried(self, bound: core.Param, order: Order | None) -> None:
        """What crosses a branch or a loop is laid out so, or (None) row-major."""
        if isinstance(bound.type, ArrayType):
            order = order or tuple(range(bound.type.rank))
            self.orders[bound.name] = self.carried[bound.name] = order


def _made_to_order(body: Body) -> dict[Name, Order]:
    """Fresh arrays of a body that only a manifest of it uses."""
    exps = [statement.exp for statement in body.statements]
    manifests = [exp for exp in exps if isinstance(exp, core.Manifest)]
    if not manifests:
        return {}
    uses = Counter(name for s in body.statements for name in free_names(s))
    uses.update(atom for atom in body.result if isinstance(atom, Name))
    fresh = {name for s in body.statements for name, _ in _made_by(s)}
    return {
        exp.array: exp.permutation
        for exp in manifests
        if uses[exp.array] == 1 and exp.array in fresh
    }


def _made_by(statement: Stm) -> list[tuple[Name, int]]:
    """The arrays for which a statement takes new memory, with their ranks."""
    exp, bound = statement.exp, statement.pattern
    arrays = [isinstance(p.type, ArrayType) for p in bound]
    if isinstance(exp, kernels.SegMap) and exp.level == kernels.GRID:
        arrays = [isinstance(r, kernels.Returns) for r in exp.body.result]
    elif not isinstance(exp, FRESH):
        return []
    return [
        (p.name, p.type.rank)
        for p, array in zip(bound, arrays, strict=True)
        if array and isinstance(p.type, ArrayType)
    ]
