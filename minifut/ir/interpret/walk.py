"""The walker: the value of each expression, in the order in which the program says it.

    let y: i32 = add_i32(x, 1i32)        values[y] = add(values[x], 1)
    let z: f32 = xs[y]                   values[z] = values[xs].item((values[y],))

A call of a function has one table of values by name; names are unique, so scopes need
no care. An update copies the array first, unless `ownership` finds that it is not
needed any more and at run time nothing else holds it (nor a view of it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from minifut.errors import InternalError
from minifut.ir import core, kernels
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Atom, Body, DimSlice, Lambda, Param
from minifut.ir.interpret import arrays
from minifut.ir.interpret.arithmetic import dtype_of, scalar_function
from minifut.ir.interpret.ownership import in_place_updates
from minifut.ir.interpret.steps import Steps
from minifut.ir.sizes import Size
from minifut.ir.types import ArrayType, Type
from minifut.names import Name


class Evaluation:
    """What all calls of a program share."""

    def __init__(
        self,
        program: core.Program,
        parameters: dict[str, int],
        device_kind: str,
        steps: Steps | None,
    ) -> None:
        self.functions = {f.name: f for f in program.functions}
        self.parameters = parameters
        self.device_kind = device_kind
        self.steps = steps
        self.in_place = in_place_updates(program)
        self.scalars: dict[int, Callable[..., Any]] = {}
        self.in_lanes: dict[int, bool] = {}
        self._own: dict[int, list[Name]] = {}
        self._program = program
        self._constants: dict[Name, Any] | None = None

    def call(self, name: Name, arguments: Sequence[Any]) -> list[Any]:
        """Call a function of the program; its results."""
        if self._constants is None:
            first = Frame(self, {})
            for statement in self._program.constants:
                self._constants = first.values
                first.statements((statement,))
        function = self.functions[name]
        frame = Frame(self, (self._constants or {}).copy())
        return frame.apply(function, arguments)

    def parameter(self, parameter: kernels.Parameter) -> int:
        """The value of a tuning parameter."""
        default = dict(parameter.defaults).get(self.device_kind, 0)
        return self.parameters.get(parameter.name, default)

    def own_results(self, body: Body) -> list[Name]:
        """The names among a body's results that its own statements bind."""
        own = self._own.get(id(body))
        if own is None:
            bound = {p.name for s in body.statements for p in s.pattern}
            results = {a for a in body.result if isinstance(a, Name)}
            own = self._own[id(body)] = list(bound & results)
        return own


class Frame:
    """The values of a call of a function by name."""

    def __init__(self, run: Evaluation, values: dict[Name, Any]) -> None:
        self.run = run
        self.values = values

    def atom(self, atom: Atom) -> Any:
        """The value of an atom."""
        return self.values[atom] if isinstance(atom, Name) else atom.value

    def atoms(self, atoms: Iterable[Atom]) -> list[Any]:
        """The values of several."""
        values = self.values
        return [values[a] if isinstance(a, Name) else a.value for a in atoms]

    def size(self, size: Size) -> int:
        """The number that a size is."""
        return size.evaluate(self.values)

    def shape(self, of: Sequence[Size] | Type) -> tuple[int, ...]:
        """Sizes, or the shape of values of a type; () of scalars."""
        if isinstance(of, Sequence):
            return tuple([size.evaluate(self.values) for size in of])
        return self.shape(of.shape) if isinstance(of, ArrayType) else ()

    def statements(self, statements: Iterable[core.Stm]) -> None:
        """Bind what the statements give."""
        for statement in statements:
            exp, pattern = statement.exp, statement.pattern
            if simple := SIMPLE.get(type(exp)):
                self.values[pattern[0].name] = simple(self, exp, pattern[0].type)
            else:
                rule = RULES.get(type(exp)) or second_order(exp)
                self.bind(pattern, rule(self, exp))

    def bind(self, pattern: Sequence[Param], values: Sequence[Any]) -> None:
        """Give parameters their values."""
        for parameter, value in zip(pattern, values, strict=True):
            self.values[parameter.name] = value

    def body(self, body: Body) -> list[Any]:
        """The results of a body. The names inside do not hold them any more."""
        self.statements(body.statements)
        results = self.atoms(body.result)
        for name in self.run.own_results(body):
            del self.values[name]
        return results

    def apply(
        self, function: Lambda | core.Function, arguments: Sequence[Any]
    ) -> list[Any]:
        """The results of a function for these arguments."""
        self.bind(function.parameters, arguments)
        return self.body(function.body)

    def function(self, function: Lambda) -> arrays.ArrayFunction:
        """A lambda as a function of its arguments."""
        return lambda *arguments: self.apply(function, arguments)

    def count(self, steps: int) -> None:
        """Take so many steps, if they are counted."""
        if self.run.steps is not None:
            self.run.steps.take(steps)

    def parts(self, parts: Iterable[Atom | DimSlice]) -> list[Any]:
        """The parts of an index; of a slice start, length and stride."""
        return [
            self.progression(part) if isinstance(part, DimSlice) else self.atom(part)
            for part in parts
        ]

    def progression(self, part: DimSlice | core.Iota) -> tuple[int, int, int]:
        """Start, length and stride."""
        return self.atom(part.start), self.size(part.length), self.atom(part.stride)

    def index(self, parts: Iterable[Atom | DimSlice]) -> tuple[Any, ...]:
        """A NumPy index."""
        return tuple([arrays.numpy_index(part) for part in self.parts(parts)])


# --- expressions with one value ---------------------------------------------------


def _atom(f: Frame, exp: core.Copy | core.Opaque, _: Type) -> Any:
    return f.atom(exp.atom)


def _scalar(f: Frame, exp: core.ScalarOp, _: Type) -> Any:
    function = f.run.scalars.get(id(exp))
    if function is None:
        function = f.run.scalars[id(exp)] = scalar_function(exp.operator)
    values, operands = f.values, exp.operands
    if len(operands) != 2:
        return function(*f.atoms(operands))
    x, y = operands  # without a call: most of what is evaluated
    return function(
        values[x] if isinstance(x, Name) else x.value,
        values[y] if isinstance(y, Name) else y.value,
    )


def _index(f: Frame, exp: core.Index, type_: Type) -> Any:
    array = f.values[exp.array]
    if not isinstance(type_, ArrayType):
        return array.item(*f.parts(exp.slice))
    lengths = [p.length for p in exp.slice if isinstance(p, DimSlice)]
    return arrays.whole(array[f.index(exp.slice)], f.shape(lengths))


def _update(f: Frame, exp: core.Update, _: Type) -> np.ndarray:
    array: np.ndarray = f.values[exp.array]
    value = f.atom(exp.value)
    last = id(exp) in f.run.in_place
    if last:
        del f.values[exp.array]
    if not last or getrefcount(array) != 2 or array.base is not None:
        array = array.copy()
    array[f.index(exp.slice)] = value
    return array


def _replicate(f: Frame, exp: core.Replicate, type_: Type) -> np.ndarray:
    return arrays.replicate(f.shape(exp.shape), f.atom(exp.value), dtype_of(type_))


def _literal(f: Frame, exp: core.ArrayLiteral, type_: Type) -> np.ndarray:
    rows = f.atoms(exp.rows)
    return arrays.stack(rows, len(rows), f.shape(exp.row), dtype_of(type_))


def _update_acc(f: Frame, exp: UpdateAcc, _: Type) -> arrays.AccValue:
    accumulator: arrays.AccValue = f.values[exp.accumulator]
    return accumulator.update(tuple(f.atoms(exp.indices)), f.atoms(exp.values))


def _at_least(f: Frame, exp: kernels.AtLeast, _: Type) -> bool:
    return f.size(exp.parallelism) >= f.run.parameter(exp.threshold)


SIMPLE: dict[type, Callable[[Frame, Any, Type], Any]] = {
    core.Copy: _atom,
    core.Opaque: _atom,
    core.Trace: lambda f, e, _: arrays.trace(e.label, f.atom(e.atom)),
    core.ScalarOp: _scalar,
    core.SizeExp: lambda f, e, _: f.size(e.size),
    core.Index: _index,
    core.Update: _update,
    core.Iota: lambda f, e, t: arrays.iota(*f.progression(e), dtype_of(t)),
    core.Replicate: _replicate,
    core.Scratch: lambda f, e, t: arrays.replicate(f.shape(e.shape), 0, dtype_of(t)),
    core.ArrayLiteral: _literal,
    core.Rearrange: lambda f, e, _: f.values[e.array].transpose(e.permutation),
    core.Reshape: lambda f, e, _: f.values[e.array].reshape(f.shape(e.shape)),
    core.Concat: lambda f, e, _: np.concatenate(f.atoms(e.arrays), e.dimension),
    core.Manifest: lambda f, e, _: f.values[e.array].copy(),
    UpdateAcc: _update_acc,
    kernels.CollectiveCopy: lambda f, e, _: arrays.collective_copy(
        f.values[e.array], f.parts(e.slice)
    ),
    kernels.GetParameter: lambda f, e, _: f.run.parameter(e.parameter),
    kernels.AtLeast: _at_least,
}


# --- expressions with any number of values ----------------------------------------


def _assert(f: Frame, exp: core.Assert) -> list[Any]:
    if not f.atom(exp.condition):
        parts = [p if isinstance(p, str) else f.atom(p) for p in exp.message]
        arrays.fail(parts, exp.backtrace)
    return []


def _if(f: Frame, exp: core.If) -> list[Any]:
    return f.body(exp.then if f.atom(exp.condition) else exp.otherwise)


def _match(f: Frame, exp: core.Match) -> list[Any]:
    given = f.atoms(exp.scrutinees)
    for case in exp.cases:
        pairs = zip(case.values, given, strict=True)
        if all(wanted is None or wanted.value == value for wanted, value in pairs):
            return f.body(case.body)
    return f.body(exp.default)


def _loop(f: Frame, exp: core.Loop) -> list[Any]:
    # Nothing but the parameters may hold the values: see `_update`.
    f.bind(exp.parameters, f.atoms(exp.initial))
    match exp.form:
        case core.ForLoop(index, bound):
            rounds = f.atom(bound)
            f.count(rounds)
            for i in range(rounds):
                f.values[index] = i
                f.bind(exp.parameters, f.body(exp.body))
        case core.WhileLoop(condition):
            while f.values[condition]:
                f.count(1)
                f.bind(exp.parameters, f.body(exp.body))
    return [f.values.pop(parameter.name) for parameter in exp.parameters]


def _apply(f: Frame, exp: core.Apply) -> list[Any]:
    return f.run.call(exp.function, f.atoms(exp.arguments))


def _with_acc(f: Frame, exp: WithAcc) -> list[Any]:
    accumulators = [
        arrays.AccValue(
            f.atoms(item.arrays),
            len(item.shape),
            None if item.operator is None else f.function(item.operator),
        )
        for item in exp.inputs
    ]
    others = f.apply(exp.function, accumulators)[len(accumulators) :]
    return [
        array for accumulator in accumulators for array in accumulator.arrays
    ] + others


RULES: dict[type, Callable[[Frame, Any], list[Any]]] = {
    core.Assert: _assert,
    core.If: _if,
    core.Match: _match,
    core.Loop: _loop,
    core.Apply: _apply,
    WithAcc: _with_acc,
}


def second_order(exp: object) -> Callable[[Frame, Any], list[Any]]:
    """The rule for a SOAC or a segmented operation."""
    from minifut.ir.interpret import second_order

    rule = second_order.RULES.get(type(exp))
    if rule is None:
        raise InternalError("ir.interpret", f"no rule for {type(exp).__name__}")
    return rule
