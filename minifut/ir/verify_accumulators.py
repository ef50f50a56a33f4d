"""Accumulators are linear: each name is used exactly once.

    let b = update_acc(a, (i), (v))      `a` is gone, `b` stands for the accumulator
    if c then { update_acc(b, ..) } else { b }     each branch uses `b`, once

An accumulator reaches the inside of a lambda as a parameter; only the branches of a
conditional and what runs within a `WithAcc` or a segmented operation may use one from
outside, and use it up. A loop takes accumulators as its parameters. So the chain of
updates can be followed, and none is lost or done twice.

Functions neither take nor give accumulators, and the operators of scans, reductions and
histograms do not either: where an update ends up must be known where it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.errors import InternalError
from minifut.ir import core, kernels, printer, soacs, traverse
from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Body, Lambda, Param, Stm
from minifut.ir.kernels import KernelBody
from minifut.names import Name

SEGMENTED = (kernels.SegMap, kernels.SegRed, kernels.SegScan)


class NotLinear(InternalError):
    """An accumulator that is used twice or not at all, at a `statement`."""

    def __init__(self, message: str, statement: Stm | None) -> None:
        context = "" if statement is None else printer.show(statement, renumber=False)
        super().__init__("ir.verify", message, context)
        self.statement = statement


def check_linear(program: core.Program, accumulators: frozenset[Name]) -> None:
    """Raise `NotLinear` unless each of the program's accumulators is used once."""
    if accumulators:
        _Linearity(accumulators).program(program)


class _Linearity:
    """`accumulators`: all names of that type; `at`: the statement examined."""

    def __init__(self, accumulators: frozenset[Name]) -> None:
        self.accumulators = accumulators
        self.at: Stm | None = None

    def program(self, program: core.Program) -> None:
        self.whole(Body(program.constants, ()), ())
        for function in program.functions:
            for parameter in (*function.parameters, *function.results):
                if parameter.name in self.accumulators:
                    raise self.fault(parameter.name, "belongs to a function")
            self.whole(function.body, ())

    def fault(self, name: Name, what: str) -> NotLinear:
        return NotLinear(f"accumulator {name} {what}", self.at)

    def whole(self, body: Body | KernelBody, parameters: Iterable[Name]) -> None:
        """A body that uses its parameters and no other accumulators."""
        owned = set(parameters)
        self.body(body, owned)

    def body(self, body: Body | KernelBody, owned: set[Name]) -> None:
        """Uses up all that is `owned` when it starts, and what it binds itself."""
        for statement in body.statements:
            self.at = statement
            self.expression(statement.exp, owned)
            owned |= self.bound(statement.pattern)
        if isinstance(body, Body):
            self.use(body.result, owned)
        else:
            for result in body.result:
                self.own_uses(result, owned)
        for name in owned:
            raise self.fault(name, "is never used")

    def bound(self, parameters: Iterable[Param]) -> set[Name]:
        return {p.name for p in parameters if p.name in self.accumulators}

    def use(self, atoms: Iterable[object], owned: set[Name]) -> None:
        for atom in atoms:
            if isinstance(atom, Name) and atom in self.accumulators:
                if atom not in owned:
                    raise self.fault(atom, "is used twice, or captured")
                owned.remove(atom)

    def own_uses(self, node: object, owned: set[Name]) -> None:
        """What this very node uses: a name in two places of it is used twice."""
        for value in _atoms(node):
            self.use((value,), owned)

    def expression(self, exp: Any, owned: set[Name]) -> None:
        match exp:
            case core.If() | core.Match():
                self.alternatives(exp.branches, owned)
            case core.Loop(parameters, initial, _, body):
                self.use(initial, owned)
                self.whole(body, self.bound(parameters))
            case WithAcc(inputs, function):
                for item in inputs:
                    if item.operator is not None:
                        self.lambda_(item.operator)
                self.once(function.body, self.bound(function.parameters), owned)
            case _ if isinstance(exp, SEGMENTED):
                for operator in getattr(exp, "operators", ()):
                    self.lambda_(operator.operator)
                self.once(exp.body, set(), owned)
            case _:
                self.own_uses(exp, owned)
                for child in traverse.children(exp):
                    self.below(child, owned)

    def below(self, child: object, owned: set[Name]) -> None:
        """A part of an expression: lambdas see their parameters only."""
        if isinstance(child, Lambda):
            self.lambda_(child)
            return
        self.own_uses(child, owned)
        for inner in traverse.children(child):
            self.below(inner, owned)

    def lambda_(self, function: Lambda) -> None:
        self.whole(function.body, self.bound(function.parameters))

    def once(
        self, body: Body | KernelBody, parameters: set[Name], owned: set[Name]
    ) -> None:
        """A body that may use up some accumulators from outside."""
        taken = owned & self.needed(body)
        owned -= taken
        self.body(body, taken | parameters)

    def alternatives(self, bodies: Iterable[Body], owned: set[Name]) -> None:
        """Bodies one of which runs: they use up the same accumulators."""
        bodies = tuple(bodies)
        taken = owned & set().union(*(self.needed(body) for body in bodies))
        owned -= taken
        for body in bodies:
            self.body(body, set(taken))

    def needed(self, body: Body | KernelBody) -> set[Name]:
        """The accumulators that are mentioned somewhere inside other than in types."""
        found: set[Name] = set()
        for node in traverse.walk(body):
            found.update(_atoms(node))
        return found & self.accumulators


def _atoms(node: object) -> list[Name]:
    """The names that this node uses as values, one entry for each place."""
    match node:
        case core.Body(_, result):
            return [atom for atom in result if isinstance(atom, Name)]
        case (
            Lambda() | Param() | kernels.SegMap() | kernels.SegRed() | kernels.SegScan()
        ):
            return []
        case soacs.Screma(_, arrays):
            return list(arrays)
        case core.Loop(_, initial):
            return [atom for atom in initial if isinstance(atom, Name)]
        case core.Apply(_, arguments):
            return [atom for atom in arguments if isinstance(atom, Name)]
    found: set[Name] = set()
    traverse.own_names(node, found)
    return list(found)
