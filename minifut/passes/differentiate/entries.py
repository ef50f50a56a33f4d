"""Entry points for derivatives of entry points, in the elaborated core.

    entry loss (w: [d]f32) (xs: [n][d]f32): f32
    →
    entry loss_vjp (w: [d]f32) (xs: [n][d]f32) (adjoint: f32): (f32, [d]f32)   wrt w

The new function holds a `Vjp` or `Jvp` of a call of the old one, so that it is compiled
like any other: the pass `differentiate` removes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from minifut.errors import UsageError
from minifut.ir.builder import Builder
from minifut.ir.core import Apply, Function, Lambda, Param, Program
from minifut.ir.derivatives import Jvp, Vjp
from minifut.ir.entries import Entry, EntryType
from minifut.ir.node import replace
from minifut.ir.scope import add_parameters
from minifut.ir.traverse import rename
from minifut.ir.types import Type, element_of
from minifut.names import NameSource

DerivativeMode = Literal["jvp", "vjp", "grad"]


def add_derivative(
    program: Program,
    names: NameSource,
    entry: Entry,
    name: str,
    mode: DerivativeMode,
    wrt: Sequence[int],
) -> Program:
    """The program with one more entry point, called `name`.

    `wrt` are the positions of the entry's parameters to differentiate in. "vjp" takes
    an adjoint for each result behind the parameters and gives the results, then the
    adjoints of those parameters; "grad" gives the adjoints alone; "jvp" takes a tangent
    for each of those parameters and gives the results, then their tangents. Raises
    `UsageError` for a parameter that cannot be differentiated, and for results whose
    sizes are known only when it runs.
    """
    for position in wrt:
        _check(entry, position)
    functions = {function.name: function for function in program.functions}
    made = _Derivative(functions[entry.function], entry, names, wrt)
    if mode == "jvp":
        function, derived = made.jvp(name)
    else:
        function, derived = made.vjp(name, values=mode == "vjp")
    return replace(
        program,
        entries=(*program.entries, derived),
        functions=(*program.functions, function),
    )


def _check(entry: Entry, position: int) -> None:
    if not 0 <= position < len(entry.parameters):
        raise UsageError(
            f'entry point "{entry.name}" has no parameter number {position}'
        )


class _Derivative:
    """The function of an entry point on parameters of its own."""

    def __init__(
        self, function: Function, entry: Entry, names: NameSource, wrt: Sequence[int]
    ) -> None:
        self.entry, self.names, self.wrt = entry, names, wrt
        self.original = function.name
        own = rename(function, names)
        self.parameters = tuple(Param(p.name, p.type) for p in own.parameters)
        self.results: tuple[Param, ...] = own.results
        if len(own.results) != sum(result.leaves for result in entry.results):
            raise UsageError(
                f'entry point "{entry.name}" cannot be differentiated: the sizes of '
                "its results depend on values"
            )
        self.chosen = [p for position in wrt for p in self.leaves(position)]

    def leaves(self, position: int) -> tuple[Param, ...]:
        """The core parameters of a parameter, which must be of floats."""
        types = self.entry.parameters
        start = self.entry.sizes + sum(t.leaves for t in types[:position])
        found = self.parameters[start : start + types[position].leaves]
        if not all(element_of(p.type).is_float for p in found):
            shown = types[position]
            raise UsageError(
                f'parameter "{shown.name}" of entry point "{self.entry.name}" cannot '
                f"be differentiated: {shown.text} is not made of floats"
            )
        return found

    def function(self, build: Builder) -> Lambda:
        """The call as a function of the chosen parameters."""
        inside = build.parameters([p.type for p in self.chosen])
        pairs = zip(self.chosen, inside, strict=True)
        mapping = {outer.name: inner.name for outer, inner in pairs}
        arguments = tuple(mapping.get(p.name, p.name) for p in self.parameters)
        body = build.nested()
        pattern = body.parameters([r.type for r in self.results], "result")
        names = body.bind(pattern, Apply(self.original, arguments))
        return Lambda(inside, body.finish(*names), tuple(r.type for r in self.results))

    def vjp(self, name: str, values: bool) -> tuple[Function, Entry]:
        one = len(self.entry.results) == 1
        seeds = [
            _named(result, "adjoint" if one else f"adjoint_{number}")
            for number, result in enumerate(self.entry.results)
        ]
        types = [result.type for result in self.results]
        given = [self.entry.parameters[position] for position in self.wrt]
        own = [p.type for p in self.chosen]
        return self.made(name, Vjp, types, seeds, given, own, values)

    def jvp(self, name: str) -> tuple[Function, Entry]:
        given = [self.entry.parameters[position] for position in self.wrt]
        seeds = [_named(parameter, f"{parameter.name}_tangent") for parameter in given]
        types = [parameter.type for parameter in self.chosen]
        results = list(self.entry.results)
        own = [result.type for result in self.results]
        return self.made(name, Jvp, types, seeds, results, own)

    def made(
        self,
        name: str,
        kind: type[Jvp] | type[Vjp],
        seed_types: Sequence[Type],
        seeds: Sequence[EntryType],
        derivatives: Sequence[EntryType],
        types: Sequence[Type],
        values: bool = True,
    ) -> tuple[Function, Entry]:
        """The function and its entry; without `values` it gives derivatives alone."""
        build = Builder(self.names, {})
        add_parameters(build.scope, self.parameters)
        given = build.parameters(seed_types, "seed")
        arguments = tuple(parameter.name for parameter in self.chosen)
        exp = kind(self.function(build), arguments, tuple(p.name for p in given))
        results = build.let_many(exp)[0 if values else len(self.results) :]
        outputs = self.results if values else ()
        own = self.names.fresh(name)
        pattern = tuple(
            Param(self.names.fresh("result"), type_)
            for type_ in (*[r.type for r in outputs], *types)
        )
        function = Function(
            own, (*self.parameters, *given), pattern, build.finish(*results)
        )
        entry = Entry(
            name,
            own,
            self.entry.sizes,
            tuple(_named(p, p.name) for p in (*self.entry.parameters, *seeds)),
            (
                *(self.entry.results if values else ()),
                *[_named(d, d.name) for d in derivatives],
            ),
        )
        return function, entry


def _named(type_: EntryType, name: str) -> EntryType:
    """The same type under a name; nothing is consumed."""
    return dataclasses.replace(type_, name=name, unique=False)
