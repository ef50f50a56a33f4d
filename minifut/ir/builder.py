"""`Builder`: the only way passes make statements.

    build = Builder(names, scope)
    i = build.add(a, b)                          # let i: i32 = add_i32(a, b)
    row = build.index(xs, i)                     # let row: [m]f32 = xs[i]
    with build.body() as inner:                  # statements of a branch
        inner.mul(i, i)
    build.let(If(c, inner.finish(y), other), "z")

Types come from the typing rules; a pattern is given only where sizes are unknown. A
scope is one dictionary shared by nested builders (names are unique). Statements carry
the builder's current location and attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TypeVar

from minifut.errors import Location
from minifut.ir import core, soacs
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.core import Atom, Body, Constant, Lambda, Param, Stm
from minifut.ir.scalars import convert, operator
from minifut.ir.scope import Scope, add_parameters, fresh_copy, scope_of, type_of_atom
from minifut.ir.sizes import Size, as_size
from minifut.ir.traverse import atom_size, rename
from minifut.ir.types import (
    BOOL,
    I64,
    AccType,
    ArrayType,
    ScalarType,
    Type,
    element_of,
    row_type,
    shape_of,
)
from minifut.ir.typing import type_of
from minifut.names import Name, NameSource

SizeLike = Size | Name | int
T = TypeVar("T")


def constant(number: int | float | bool, type_: ScalarType) -> Constant:
    """A constant of a type: the nearest value that the type has."""
    return Constant(type_.nearest(number), type_)


def i64(number: int) -> Constant:
    """A constant i64."""
    return Constant(number, I64)


TRUE = Constant(True, BOOL)
FALSE = Constant(False, BOOL)


class Builder:
    """Collects statements in order; see the module."""

    __slots__ = ("attributes", "location", "names", "scope", "statements")

    def __init__(
        self,
        names: NameSource,
        scope: Scope,
        location: Location | None = None,
        attributes: tuple[str, ...] = (),
    ) -> None:
        self.names = names
        self.scope = scope
        self.location = location
        self.attributes = attributes
        self.statements: list[Stm] = []

    # --- statements ---

    def let(self, exp: core.Exp, base: str = "x", type: Type | None = None) -> Name:
        """Bind the one result of an expression."""
        if type is None:
            (type,) = type_of(exp, self.scope)
        name = self.names.fresh(base)
        self.bind((Param(name, type),), exp)
        return name

    def let_many(self, exp: core.Exp, bases: Sequence[str] = ()) -> tuple[Name, ...]:
        """Bind all results of an expression whose types can be derived."""
        types = type_of(exp, self.scope)
        pattern = tuple(
            Param(self.names.fresh(bases[i] if i < len(bases) else "x"), type_)
            for i, type_ in enumerate(types)
        )
        return self.bind(pattern, exp)

    def bind(self, pattern: tuple[Param, ...], exp: core.Exp) -> tuple[Name, ...]:
        """A statement with a given pattern of fresh names."""
        self.append(Stm(pattern, exp, self.attributes, self.location))
        return tuple([parameter.name for parameter in pattern])

    def append(self, statement: Stm) -> None:
        """A statement as it is."""
        self.statements.append(statement)
        add_parameters(self.scope, statement.pattern)

    def extend(self, statements: Iterable[Stm]) -> None:
        """Several statements as they are."""
        for statement in statements:
            self.append(statement)

    def check(
        self,
        condition: Atom,
        message: tuple[str | Atom, ...],
        backtrace: tuple[str, ...] = (),
    ) -> None:
        """An `Assert`; the backtrace defaults to the current location."""
        if not backtrace and self.location is not None:
            backtrace = (str(self.location),)
        self.bind((), core.Assert(condition, message, backtrace))

    # --- nesting ---

    @contextmanager
    def body(self) -> Iterator[Builder]:
        """A builder for the statements of an inner body; see `finish`."""
        yield self.nested()

    def nested(self) -> Builder:
        """A builder for an inner body, with the same scope, names and location."""
        return Builder(self.names, self.scope, self.location, self.attributes)

    def finish(self, *result: Atom) -> Body:
        """The statements so far as a body with these results."""
        return Body(tuple(self.statements), result)

    def parameters(self, types: Iterable[Type], base: str = "x") -> tuple[Param, ...]:
        """Fresh parameters of these types, entered into the scope."""
        made = tuple(Param(self.names.fresh(base), type_) for type_ in types)
        add_parameters(self.scope, made)
        return made

    def function(
        self,
        types: Iterable[Type],
        make: Callable[..., Atom | Sequence[Atom]],
        base: str = "x",
    ) -> Lambda:
        """A lambda: `make(inner, *names)` emits into `inner` and gives the results."""
        parameters = self.parameters(types, base)
        inner = self.nested()
        made = make(inner, *[parameter.name for parameter in parameters])
        result = (made,) if isinstance(made, Name | Constant) else tuple(made)
        return Lambda(parameters, inner.finish(*result), self.types(result))

    # --- functions ---

    def copy(self, node: T) -> T:
        """A copy with fresh names, entered into the scope."""
        return fresh_copy(node, self.names, self.scope)

    def bound(self, function: Lambda, arguments: Sequence[Atom]) -> Body:
        """The body of a copy of the function; statements name its arguments."""
        function = self.copy(function)
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            self.bind((parameter,), core.Copy(argument))
        return function.body

    def apply(self, function: Lambda, arguments: Sequence[Atom]) -> tuple[Atom, ...]:
        """Emit the body of a copy of the function on these arguments; the results."""
        body = self.bound(function, arguments)
        self.extend(body.statements)
        return body.result

    def inline(
        self, body: Body, free: Mapping[Name, Atom] | None = None
    ) -> tuple[Atom, ...]:
        """Emit a copy of a body, with these atoms for free names; its results."""
        made = rename(body, self.names, free)
        self.scope.update(scope_of(made))
        self.extend(made.statements)
        return made.result

    # --- types ---

    def type(self, atom: Atom) -> Type:
        """The type of an atom."""
        return type_of_atom(atom, self.scope)

    def types(self, atoms: Iterable[Atom]) -> tuple[Type, ...]:
        """The types of atoms."""
        return tuple([type_of_atom(atom, self.scope) for atom in atoms])

    def scalar_type(self, atom: Atom) -> ScalarType:
        """The type of an atom that is a scalar."""
        type_ = self.type(atom)
        assert isinstance(type_, ScalarType), f"{atom}: {type_} is not a scalar"
        return type_

    def shape(self, array: Name) -> tuple[Size, ...]:
        """The shape of an array."""
        type_ = self.type(array)
        assert isinstance(type_, ArrayType), f"{array}: {type_} is not an array"
        return type_.shape

    # --- scalars ---

    def op(self, name: str, *operands: Atom, base: str | None = None) -> Name:
        """The scalar operator of that name at the type of the first operand."""
        table = operator(name, self.scalar_type(operands[0]))
        return self.let(core.ScalarOp(table, operands), base or name)

    def all_of(self, conditions: Iterable[Atom], base: str = "and") -> Atom:
        """Whether all of at least one condition hold."""
        return reduce(lambda a, b: self.op("and", a, b, base=base), conditions)

    def add(self, a: Atom, b: Atom) -> Name:
        return self.op("add", a, b)

    def sub(self, a: Atom, b: Atom) -> Name:
        return self.op("sub", a, b)

    def mul(self, a: Atom, b: Atom) -> Name:
        return self.op("mul", a, b)

    def convert(self, atom: Atom, target: ScalarType) -> Atom:
        """The atom as `target`; itself if it has that type."""
        source = self.scalar_type(atom)
        if source == target:
            return atom
        return self.let(core.ScalarOp(convert(source, target), (atom,)), "converted")

    def size_atom(self, size: SizeLike, base: str = "extent") -> Atom:
        """A size as an i64 atom: a constant, a name, or a new `SizeExp`."""
        size = as_size(size)
        number, name = size.as_constant, size.as_name
        if number is not None:
            return Constant(number, I64)
        return name if name is not None else self.let(core.SizeExp(size), base)

    # --- arrays ---

    def index(
        self, array: Name, *slice_: Atom | core.DimSlice, base: str | None = None
    ) -> Name:
        """`array[slice]`: an element, or an array if there are ranges or fewer indices
        than dimensions."""
        return self.let(core.Index(array, slice_), base or array.base)

    def update(self, array: Name, slice_: Sequence[Atom], value: Atom) -> Name:
        """`array with [slice] = value`."""
        return self.let(core.Update(array, tuple(slice_), value), array.base)

    def iota(
        self,
        length: SizeLike,
        start: Atom | None = None,
        stride: Atom | None = None,
        element: ScalarType = I64,
    ) -> Name:
        """start, start + stride, ...; 0, 1, ... unless said otherwise."""
        zero, one = constant(0, element), constant(1, element)
        exp = core.Iota(as_size(length), start or zero, stride or one, element)
        return self.let(exp, "iota")

    def replicate(self, shape: Sequence[SizeLike], value: Atom) -> Name:
        """An array with `value` everywhere."""
        sizes = tuple(as_size(size) for size in shape)
        return self.let(core.Replicate(sizes, value), "replicated")

    def zero(self, type_: Type) -> Atom:
        """The zero of a type, scalar or array."""
        element = constant(0, element_of(type_))
        if not isinstance(type_, ArrayType):
            return element
        return self.let(core.Replicate(type_.shape, element), "zeros")

    def reshape(self, array: Name, shape: Sequence[SizeLike]) -> Name:
        """The same elements under another shape; the array itself if it has it."""
        sizes = tuple(as_size(size) for size in shape)
        if self.shape(array) == sizes:
            return array
        return self.let(core.Reshape(sizes, array), array.base)

    def rearrange(self, array: Name, permutation: Sequence[int]) -> Name:
        """The dimensions permuted; the array itself for the identity."""
        if tuple(permutation) == tuple(range(len(permutation))):
            return array
        return self.let(core.Rearrange(tuple(permutation), array), array.base)

    def map(
        self,
        arrays: Sequence[Name],
        function: Lambda | Callable[..., Atom | Sequence[Atom]],
        bases: Sequence[str] = (),
        row: str = "x",
    ) -> tuple[Name, ...]:
        """A map over at least one array, and maybe accumulators, of a lambda, or of a
        function that emits what is made of rows (called `row`): see `function`."""
        types = self.types(arrays)
        width = next(shape_of(type_)[0] for type_ in types if shape_of(type_))
        if not isinstance(function, Lambda):
            function = self.function(map(row_type, types), function, row)
        return self.let_many(soacs.map_(width, tuple(arrays), function), bases)

    # --- accumulators ---

    def with_acc(
        self,
        inputs: Sequence[AccInput],
        make: Callable[..., Sequence[Atom]],
        bases: Sequence[str] = (),
    ) -> tuple[Name, ...]:
        """Lend arrays as accumulators: `make(inner, *accumulators)` emits into `inner`
        and gives them back first, then other results. The updated arrays, then those.
        """
        return self.let_many(self.lending(inputs, make), bases)

    def lending(
        self, inputs: Sequence[AccInput], make: Callable[..., Sequence[Atom]]
    ) -> WithAcc:
        """The same as an expression."""
        accumulators = [self.accumulator(item) for item in inputs]
        add_parameters(self.scope, accumulators)
        inner = self.nested()
        result = tuple(make(inner, *[parameter.name for parameter in accumulators]))
        body = inner.finish(*result)
        function = Lambda(tuple(accumulators), body, self.types(result))
        return WithAcc(tuple(inputs), function)

    def accumulator(self, item: AccInput) -> Param:
        """A fresh parameter for one input of a `WithAcc`."""
        name = self.names.fresh("acc")
        rank = len(item.shape)
        rows = (row_type(type_, rank) for type_ in self.types(item.arrays))
        elements = tuple(row for row in rows if not isinstance(row, AccType))
        return Param(name, AccType(name, item.shape, elements))

    def update_acc(
        self, accumulator: Name, indices: Sequence[Atom], values: Sequence[Atom]
    ) -> Name:
        """Update an accumulator at an index; the accumulator afterwards."""
        exp = UpdateAcc(accumulator, tuple(indices), tuple(values))
        return self.let(exp, accumulator.base)


__all__ = ["FALSE", "TRUE", "Builder", "atom_size", "constant", "i64"]
