"""Activity: which names depend on the variables that a function is differentiated in.

    \\(x, n) -> let a = x * x in let b = f64.i64 n in let c = floor a in a + b
    in x alone:  x, a and the sum are active; n, b and c are not

Only what is active gets a tangent or an adjoint. What depends on a variable in steps
only (a comparison, `floor`) is not active. In loops and operators, the least fixpoint.
(Griewank, Walther: Evaluating Derivatives, 2008, ch. 6.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minifut.ir import core, derivatives, soacs
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Atom, Body, Function, Lambda, Param, Stm
from minifut.ir.scalars import STEP, partials
from minifut.names import Name

Flags = tuple[bool, ...]

PASSIVE = "passive"
"""the attribute of statements whose results are not differentiated"""

LINEAR: dict[type, tuple[str, ...]] = {
    core.Copy: ("atom",),
    core.Trace: ("atom",),
    core.Opaque: ("atom",),
    core.Index: ("array",),
    core.Update: ("array", "value"),
    core.Replicate: ("value",),
    core.ArrayLiteral: ("rows",),
    core.Rearrange: ("array",),
    core.Reshape: ("array",),
    core.Concat: ("arrays",),
    core.Manifest: ("array",),
}
"""The fields in which an expression is linear. It does not depend on its other fields
other than in steps (an index)."""


class Calls:
    """Which results of a function are active, for the arguments that are."""

    def __init__(self, functions: Mapping[Name, Function]) -> None:
        self.functions = functions
        self.known: dict[tuple[Name, Flags], Flags] = {}

    def results(self, name: Name, arguments: Flags) -> Flags:
        """The least fixpoint if the function is recursive."""
        key = name, arguments
        if key not in self.known:
            function = self.functions[name]
            self.known[key] = (False,) * len(function.results)
            while True:
                activity = Activity(self)
                activity.mark(function.parameters, arguments)
                found = activity.body(function.body)
                if found == self.known[key]:
                    break
                self.known[key] = found
        return self.known[key]


class Activity:
    """The active names found so far, which grow statement by statement."""

    def __init__(self, calls: Calls, names: Iterable[Name] = ()) -> None:
        self.calls = calls
        self.names: set[Name] = set(names)

    def __contains__(self, atom: object) -> bool:
        return atom in self.names

    def mark(self, parameters: Iterable[Param], flags: Iterable[bool]) -> None:
        """Of these parameters or results, those that are flagged are active."""
        for parameter, flag in zip(parameters, flags, strict=True):
            if flag:
                self.names.add(parameter.name)

    def of(self, atoms: Iterable[Atom]) -> Flags:
        """Which of the atoms are active."""
        return tuple(atom in self.names for atom in atoms)

    def statement(self, statement: Stm) -> Flags:
        """Which results of the statement are active; they are noted."""
        if PASSIVE in statement.attributes:
            return (False,) * len(statement.pattern)
        flags = self._results(statement.exp, len(statement.pattern))
        self.mark(statement.pattern, flags)
        return flags

    def body(self, body: Body) -> Flags:
        """Which results of a body are active."""
        for statement in body.statements:
            self.statement(statement)
        return self.of(body.result)

    def function(self, function: Lambda, arguments: Iterable[bool]) -> Flags:
        """Which results of a lambda are active where these arguments are."""
        self.mark(function.parameters, arguments)
        return self.body(function.body)

    def operator(self, operator: Lambda, operands: Flags) -> Flags:
        """Which components of a fold are active: those of the operands and all that
        the operator computes with them."""
        while True:
            found = self.function(operator, operands * 2)
            wider = tuple(a or b for a, b in zip(found, operands, strict=True))
            if wider == operands:
                return operands
            operands = wider

    def _results(self, exp: Any, count: int) -> Flags:
        fields = LINEAR.get(type(exp))
        if fields is not None:
            return (any(atom in self.names for atom in values_of(exp, fields)),)
        rule = _RULES.get(type(exp))
        return rule(self, exp) if rule is not None else (False,) * count


def values_of(exp: Any, fields: Iterable[str]) -> list[Atom]:
    """The atoms in these fields."""
    found: list[Atom] = []
    for field in fields:
        held = getattr(exp, field)
        found.extend(held if isinstance(held, tuple) else (held,))
    return found


def _scalar_op(self: Activity, exp: core.ScalarOp) -> Flags:
    formulas = partials(exp.operator)
    if formulas is None:
        return (any(self.of(exp.operands)),)
    pairs = zip(exp.operands, formulas, strict=True)
    return (any(atom in self.names and formula != STEP for atom, formula in pairs),)


def _iota(self: Activity, exp: core.Iota) -> Flags:
    length = exp.length.as_name
    return (length in self.names or any(self.of((exp.start, exp.stride))),)


def _branches(self: Activity, exp: core.If | core.Match) -> Flags:
    found = [self.body(body) for body in exp.branches]
    return tuple(map(any, zip(*found, strict=True)))


def _loop(self: Activity, exp: core.Loop) -> Flags:
    flags = self.of(exp.initial)
    while True:
        self.mark(exp.parameters, flags)
        found = self.body(exp.body)
        wider = tuple(a or b for a, b in zip(flags, found, strict=True))
        if wider == flags:
            return flags
        flags = wider


def _apply(self: Activity, exp: core.Apply) -> Flags:
    return self.calls.results(exp.function, self.of(exp.arguments))


def _screma(self: Activity, exp: soacs.Screma) -> Flags:
    found = self.function(exp.function, self.of(exp.arrays))
    flags: Flags = ()
    for fold in exp.folds:
        count = len(fold.neutral)
        own = found[len(flags) : len(flags) + count]
        flags += self.operator(fold.operator, own)
    return flags + found[len(flags) :]


def _scatter(self: Activity, exp: soacs.Scatter) -> Flags:
    found = self.function(exp.function, self.of(exp.arrays))
    return tuple(
        destination.array in self.names or any(value for _, value in own)
        for destination, own in zip(exp.destinations, exp.writes(found), strict=True)
    )


def _hist(self: Activity, exp: soacs.Hist) -> Flags:
    found = self.function(exp.function, self.of(exp.arrays))
    flags: Flags = ()
    updates = soacs.bins_and_values(exp.operators, found)
    for operator, (_, own) in zip(exp.operators, updates, strict=True):
        given = self.of(operator.destinations)
        both = tuple(a or b for a, b in zip(own, given, strict=True))
        flags += self.operator(operator.operator, both)
    return flags


def _with_acc(self: Activity, exp: WithAcc) -> Flags:
    own = tuple(any(self.of(item.arrays)) for item in exp.inputs)
    while True:
        found = self.function(exp.function, own)
        wider = tuple(a or b for a, b in zip(own, found, strict=False))
        if wider == own:
            break
        own = wider
    arrays: Flags = ()
    for item, flag in zip(exp.inputs, own, strict=True):
        arrays += (flag,) * len(item.arrays)
    return arrays + found[len(own) :]


def _update_acc(self: Activity, exp: UpdateAcc) -> Flags:
    return (any(self.of((exp.accumulator, *exp.values))),)


def _custom(self: Activity, exp: derivatives.CustomVjp) -> Flags:
    return self.function(exp.function, self.of(exp.arguments))


_RULES: dict[type, Callable[[Activity, Any], Flags]] = {
    core.ScalarOp: _scalar_op,
    core.Iota: _iota,
    core.If: _branches,
    core.Match: _branches,
    core.Loop: _loop,
    core.Apply: _apply,
    soacs.Screma: _screma,
    soacs.Scatter: _scatter,
    soacs.Hist: _hist,
    WithAcc: _with_acc,
    UpdateAcc: _update_acc,
    derivatives.CustomVjp: _custom,
}
