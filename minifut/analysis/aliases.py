"""Alias analysis: the allocations that an array may be in, its roots.

    let a = replicate [n] 0        roots {a}
    let b = a[1:n]                 roots {a}: slices, rearranged and reshaped arrays
    let c = if p then a else d     roots {a} and those of d
    loop (x = a) ...               inside x has the root x

A parameter of a loop gets a root of its own, as if it started as a copy, unless the
body gives it something from outside the loop, or one array for two parameters: then it
may never be written. `links` says which parameters may change places, so that writing
to one means writing to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TypeAlias

from minifut.ir import accumulators, core, kernels, traverse
from minifut.ir.core import Atom, Body, Function, Param, Stm
from minifut.ir.node import mutable
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.types import ArrayType, Type
from minifut.names import Name

Roots: TypeAlias = frozenset[Name]
NONE: Roots = frozenset()


@mutable
class Aliases:
    """`roots` and `types` per array name; `home` per root: the function, loop or body
    (by identity) whose activation owns it, absent if it may not be written; `place` per
    loop: where it is; `links` per loop."""

    roots: dict[Name, Roots] = field(default_factory=dict)
    types: dict[Name, Type] = field(default_factory=dict)
    home: dict[Name, object] = field(default_factory=dict)
    place: dict[object, object] = field(default_factory=dict)
    links: dict[object, dict[Name, set[Name]]] = field(default_factory=dict)

    def of(self, atom: Atom) -> Roots:
        """The roots of an atom; a name from outside the function is its own root."""
        if not isinstance(atom, Name):
            return NONE
        return self.roots.get(atom) or frozenset({atom})

    def writable(self, roots: Roots, place: object) -> bool:
        """Whether all roots are owned by this activation."""
        return all(self.home.get(root) is place for root in roots)


def find_aliases(function: Function, owns_parameters: bool = True) -> Aliases:
    """The aliases of all arrays bound in a function; parameters marked unique are
    writable if it owns its parameters."""
    sweep = _Forward()
    for parameter in function.parameters:
        sweep.fresh(
            parameter, function if parameter.unique and owns_parameters else None
        )
    sweep.statements(function.body.statements, function)
    return sweep.found


class _Forward:
    def __init__(self) -> None:
        self.found = Aliases()

    def fresh(self, bound: Param, place: object | None) -> None:
        """A new allocation, owned by `place` (without owner if None)."""
        if isinstance(bound.type, ArrayType):
            self.found.types[bound.name] = bound.type
            self.found.roots[bound.name] = frozenset({bound.name})
            if place is not None:
                self.found.home[bound.name] = place

    def alias(self, bound: Param, atoms: Iterable[Atom]) -> None:
        """May be in the memory of any of these."""
        if isinstance(bound.type, ArrayType):
            self.found.types[bound.name] = bound.type
            roots = NONE.union(*[self.found.of(atom) for atom in atoms])
            self.found.roots[bound.name] = roots

    def statements(self, statements: tuple[Stm, ...], place: object) -> None:
        for statement in statements:
            if type(statement.exp) is not core.ScalarOp:  # which has no array
                self.statement(statement, place)

    def statement(self, statement: Stm, place: object) -> None:
        exp, pattern = statement.exp, statement.pattern
        match exp:
            case core.Copy(atom) | core.Trace(_, atom) | core.Opaque(atom):
                self.alias(pattern[0], (atom,))
            case (
                core.Index(array, _) | core.Rearrange(_, array) | core.Reshape(_, array)
            ):
                self.alias(pattern[0], (array,))
            case core.If() | core.Match():
                self.branches(pattern, exp.branches, place)
            case core.Loop():
                self.loop(pattern, exp, place)
            case core.Apply(_, arguments):
                for bound in pattern:
                    self.fresh(bound, place)
                    if isinstance(bound.type, ArrayType):
                        others = [self.found.of(atom) for atom in arguments]
                        own = self.found.roots[bound.name]
                        self.found.roots[bound.name] = own.union(*others)
            case core.Update(array, _, _):
                self.updated(pattern[0], array, place)
            case Scatter(_, _, destinations, _):
                for bound, destination in zip(pattern, destinations, strict=True):
                    self.updated(bound, destination.array, place)
                self.inner(exp)
            case accumulators.WithAcc(inputs, function):
                self.statements(function.body.statements, place)
                arrays = [array for item in inputs for array in item.arrays]
                for bound, array in zip(pattern, arrays, strict=False):
                    self.updated(bound, array, place)
                rest = reversed(pattern[len(arrays) :])
                given = reversed(function.body.result)
                for other, atom in zip(rest, given, strict=False):
                    self.alias(other, (atom,))
            case Hist() | kernels.SegHist():
                arrays = [a for op in exp.operators for a in op.destinations]
                for bound, array in zip(pattern, arrays, strict=False):
                    self.updated(bound, array, place)
                self.inner(exp)
            case kernels.SegMap():
                for bound, result in zip(pattern, exp.body.result, strict=True):
                    if isinstance(result, kernels.WriteReturns):
                        self.updated(bound, result.array, place)
                    else:
                        self.fresh(bound, place)
                self.inner(exp)
            case _:
                for bound in pattern:
                    self.fresh(bound, place)
                self.inner(exp)

    def updated(self, bound: Param, array: Name, place: object) -> None:
        """A new array, or the old one's memory: in either case writable only if both
        are. If the old one may not be written the update copies, so it is new."""
        roots = self.found.of(array)
        if self.found.writable(roots, place):
            if isinstance(bound.type, ArrayType):
                self.found.types[bound.name] = bound.type
                self.found.home[bound.name] = place
                self.found.roots[bound.name] = roots | {bound.name}
        else:
            self.fresh(bound, place)

    def branches(
        self, pattern: tuple[Param, ...], bodies: tuple[Body, ...], place: object
    ) -> None:
        for body in bodies:
            self.statements(body.statements, place)
        for position, bound in enumerate(pattern):
            self.alias(bound, [body.result[position] for body in bodies])

    def loop(self, pattern: tuple[Param, ...], exp: core.Loop, place: object) -> None:
        self.found.place[exp] = place
        for parameter in exp.parameters:
            self.fresh(parameter, exp)
        self.statements(exp.body.statements, exp)
        names = [p.name for p in exp.parameters if isinstance(p.type, ArrayType)]
        following = {
            p.name: self.found.of(atom)
            for p, atom in zip(exp.parameters, exp.body.result, strict=True)
            if isinstance(p.type, ArrayType)
        }
        self.disown(names, following, exp)
        links = {name: {name} for name in names}
        for name, roots in following.items():
            for other in roots & set(names):
                joined = links[name] | links[other]
                for member in joined:
                    links[member] = joined
        self.found.links[exp] = links
        starts = {
            p.name: self.found.of(atom)
            for p, atom in zip(exp.parameters, exp.initial, strict=True)
        }
        result_of = dict(zip([p.name for p in exp.parameters], pattern, strict=True))
        for bound in pattern:
            self.fresh(bound, place)
        for name in names:
            lives = set(self.found.roots[result_of[name].name])
            for member in links[name]:
                lives |= starts[member]
            for root in following[name] - set(names):
                if self.found.home.get(root) is not exp:
                    lives.add(root)
            for other in names:
                if following[name] & following[other]:
                    lives.add(result_of[other].name)
            self.found.roots[result_of[name].name] = frozenset(lives)

    def disown(
        self, names: list[Name], following: dict[Name, Roots], exp: core.Loop
    ) -> None:
        """Parameters that may come from outside, or share memory, are not writable."""
        home = self.found.home
        changed = True
        while changed:
            changed = False
            for name in names:
                if name not in home:
                    continue
                roots = following[name]
                shared = any(
                    roots & following[other] for other in names if other != name
                )
                if shared or not self.found.writable(roots, exp):
                    del home[name]
                    changed = True

    def inner(self, exp: object) -> None:
        """Lambdas and kernel bodies: parameters have no owner."""
        rows: tuple[Name, ...] = ()
        if isinstance(exp, (Screma, Scatter, Hist)):
            rows = exp.arrays
        for node in traverse.children(exp):
            if isinstance(node, Param):
                continue
            parameters = getattr(node, "parameters", ())
            whole = len(rows) == len(parameters)
            for position, parameter in enumerate(parameters):
                self.fresh(parameter, None)
                if whole:
                    self.alias(parameter, (rows[position],))
            if isinstance(node, (Body, kernels.KernelBody)):
                self.statements(node.statements, node)
            else:
                self.inner(node)
