"""Indexing, slices, updates, literals and ranges.

xs[i, a:b]    assert i and a:b in bounds, then  xs[i, a:+(b - a)*1]  for each leaf
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.errors import Location
from minifut.frontend.elaborate import checks, values
from minifut.frontend.elaborate.branches import coerce
from minifut.frontend.elaborate.values import (
    ArrayValue,
    Leaf,
    Value,
    constant,
    scalar,
    size_of,
)
from minifut.frontend.elaborate.work import Work
from minifut.ir import core
from minifut.ir.core import Atom, Constant, DimSlice
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.types import I64, ArrayType, Type, row_type
from minifut.names import Name


class Slice:
    """`start:stop:step` with its parts evaluated."""

    __slots__ = ("start", "step", "stop")

    def __init__(
        self, start: Leaf | None, stop: Leaf | None, step: Leaf | None
    ) -> None:
        self.start, self.stop, self.step = start, stop, step

    def text(self) -> list[str | Atom]:
        """As a message shows it."""
        shown: list[str | Atom] = []
        if self.start is not None:
            shown.append(self.start.atom)
        shown.append(":")
        if self.stop is not None:
            shown.append(self.stop.atom)
        if self.step is not None:
            shown += [":", self.step.atom]
        return shown


IndexPart = Leaf | Slice


def as_index(work: Work, leaf: Leaf) -> Leaf:
    """An index of any integer type as i64."""
    return work.convert(leaf, I64)


def element_at(work: Work, array: Value, index: Leaf) -> Value:
    """`array[index]`, known to be in bounds."""
    assert isinstance(array, ArrayValue)
    return pick(work, array.element, (index.atom,))


def pick(work: Work, element: Value, slice_: tuple[Atom | DimSlice, ...]) -> Value:
    """Each leaf sliced in its outer dimensions."""
    if not slice_:  # `x[]`, also of what is no array
        return element

    def change(leaf: Leaf) -> Leaf:
        return work.leaf(core.Index(leaf.name, slice_), leaf.name.base)

    return values.map_leaves(element, change)


def index(
    work: Work, array: Value, parts: Sequence[IndexPart], location: Location
) -> Value:
    """`array[parts]` with its checks."""
    slice_, lengths = resolve(work, array, parts, location)
    element = array
    for _ in parts:
        assert isinstance(element, ArrayValue)
        element = element.element
    result = pick(work, element, slice_)
    for length in reversed(lengths):
        result = ArrayValue(length, result)
    return result


def resolve(
    work: Work, array: Value, parts: Sequence[IndexPart], location: Location
) -> tuple[tuple[Atom | DimSlice, ...], list[Size]]:
    """The core's slice, checked, and the sizes of the dimensions that are kept."""
    shape: list[Size] = []
    inner = array
    while isinstance(inner, ArrayValue):
        shape.append(inner.size)
        inner = inner.element
    slice_: list[Atom | DimSlice] = []
    lengths: list[Size] = []
    conditions: list[Leaf] = []
    for part, size in zip(parts, shape, strict=False):
        if isinstance(part, Leaf):
            if not work.mode.unsafe:
                conditions += checks.below_conditions(work, part, size)
            slice_.append(part.atom)
        else:
            dimension, wanted = _resolve_slice(work, part, size)
            conditions += wanted
            slice_.append(dimension)
            lengths.append(dimension.length)
    if conditions and not work.mode.unsafe:
        text: list[str | Atom] = ["Index ["]
        for place, part in enumerate(parts):
            text += [", "] if place else []
            text += [part.atom] if isinstance(part, Leaf) else part.text()
        text += ["] out of bounds for array of shape "]
        text += checks.shape_text(work, tuple(shape[: max(len(parts), 1)]))
        condition = checks.all_of(work, conditions)
        checks.check(work, condition, (*text, "."), location)
    return tuple(slice_), lengths


def _resolve_slice(work: Work, part: Slice, size: Size) -> tuple[DimSlice, list[Leaf]]:
    """One dimension's slice: start, length, stride, and what must hold."""
    one = constant(1, I64)
    step = part.step
    if step is None or step.atom == Constant(1, I64):
        start = size_of(part.start) if part.start is not None else ZERO
        stop = size_of(part.stop) if part.stop is not None else size
        length = stop - start
        conditions = []
        if not work.mode.unsafe:
            conditions = _plain_conditions(work, start, stop, size)
            work.assume_natural(length)
        return DimSlice(work.size_leaf(start).atom, length, one.atom), conditions
    if part.start is None and part.stop is None and step.atom == Constant(-1, I64):
        last = work.size_leaf(size - ONE, "last")
        return DimSlice(last.atom, size, step.atom), []
    return _strided(work, part, step, size)


def _plain_conditions(work: Work, start: Size, stop: Size, size: Size) -> list[Leaf]:
    """0 <= start <= stop <= size, without what is known."""
    conditions = []
    if not checks.never_negative(work, start):
        zero = constant(0, I64)
        conditions.append(work.op("le", zero, work.size_leaf(start)))
    if not checks.never_negative(work, stop - start):
        conditions.append(work.op("le", work.size_leaf(start), work.size_leaf(stop)))
    if not checks.never_negative(work, size - stop):
        conditions.append(work.op("le", work.size_leaf(stop), work.size_leaf(size)))
    return conditions


def _strided(
    work: Work, part: Slice, step: Leaf, size: Size
) -> tuple[DimSlice, list[Leaf]]:
    """Any step: the number of elements is (stop - start) / step, rounded up."""
    zero, one = constant(0, I64), constant(1, I64)
    bound = work.size_leaf(size)
    backwards = work.op("lt", step, zero)
    last = work.size_leaf(size - ONE, "last")
    start = part.start or _select(work, backwards, last, zero)
    stop = part.stop or _select(work, backwards, constant(-1, I64), bound)
    distance = work.op("sub", stop, start)
    sign = work.op("sgn", step)
    rounded = work.op("sub", work.op("add", distance, step), sign)
    count = work.op("quot", rounded, step)
    length = size_of(count)
    work.assume_natural(length)
    if work.mode.unsafe:
        return DimSlice(start.atom, length, step.atom), []
    empty = work.op("eq", count, zero)
    final = work.op("add", start, work.op("mul", work.op("sub", count, one), step))
    inside = [
        work.op("le", zero, start),
        work.op("lt", start, bound),
        work.op("le", zero, final),
        work.op("lt", final, bound),
    ]
    fits = checks.all_of(work, inside)
    direction = work.op("ge", work.op("mul", sign, distance), zero)
    conditions = [work.op("ne", step, zero), direction, work.op("or", empty, fits)]
    return DimSlice(start.atom, length, step.atom), conditions


def _select(work: Work, condition: Leaf, then: Leaf, otherwise: Leaf) -> Leaf:
    if isinstance(condition.atom, Constant):
        return then if condition.atom.value else otherwise
    exp = core.If(
        condition.atom, core.Body((), (then.atom,)), core.Body((), (otherwise.atom,))
    )
    return work.leaf(exp, "bound")


# --- updates -----------------------------------------------------------------------


def update(
    work: Work,
    array: Value,
    parts: Sequence[IndexPart],
    value: Value,
    location: Location,
) -> Value:
    """`array with [parts] = value`."""
    slice_, lengths = resolve(work, array, parts, location)
    inner = array
    for _ in parts:
        assert isinstance(inner, ArrayValue)
        inner = inner.element
    own = values.array_sizes(inner)
    _check_fits(work, lengths, value, location)
    fitting = coerce(work, value, [*lengths, *own])
    work.location = location
    new = []
    pairs = zip(values.leaves(array), values.leaves(fitting), strict=True)
    for old, leaf in pairs:
        new.append(work.leaf(core.Update(old.name, slice_, leaf.atom), old.name.base))
    return values.with_leaves(array, iter(new))


def _check_fits(
    work: Work, lengths: list[Size], value: Value, location: Location
) -> None:
    """A value that is written to a slice has the sizes of the slice."""
    given = values.array_sizes(value)[: len(lengths)]
    pairs = [(a, b) for a, b in zip(lengths, given, strict=True) if a != b]
    if not pairs:
        return
    same = [work.op("eq", work.size_leaf(a), work.size_leaf(b)) for a, b in pairs]
    slice_ = checks.shape_text(work, tuple(lengths))
    found = checks.shape_text(work, tuple(given))
    message = ("Value of shape ", *found, " does not fit slice of shape ", *slice_, ".")
    checks.check(work, checks.all_of(work, same), message, location)


# --- making arrays -----------------------------------------------------------------


def literal(work: Work, rows: list[Value]) -> Value:
    """`[a, b, c]`, at least one of them."""
    sizes = values.array_sizes(rows[0])
    fitting = [rows[0], *[coerce(work, row, sizes) for row in rows[1:]]]
    columns = zip(*(values.leaves(row) for row in fitting), strict=True)
    size = Size.constant(len(rows))
    new = [_column(work, column) for column in columns]
    return ArrayValue(size, values.with_leaves(rows[0], iter(new)))


LARGE_LITERAL = 256
"""constants in nested literals from which on they are one flat literal, reshaped"""


def _column(work: Work, column: tuple[Leaf, ...]) -> Leaf:
    """One leaf of a literal, whose rows are those of its elements.

    [[1, 2], [3, 4], ..]    reshape([n][2], [1, 2, 3, 4, ..])
    """
    rows = tuple(leaf.atom for leaf in column)
    type_ = column[0].type
    parts = [work.known.literals.get(row) for row in rows if isinstance(row, Name)]
    known = [part for part in parts if part is not None]
    if not isinstance(type_, ArrayType):
        made = work.leaf(core.ArrayLiteral(rows, type_), "literal")
        if all(isinstance(row, Constant) for row in rows):
            work.known.literals[made.name] = rows
        return made
    flat = tuple(atom for part in known for atom in part)
    if len(known) < len(rows) or len(flat) < LARGE_LITERAL:
        made = work.leaf(core.ArrayLiteral(rows, type_), "literal")
        if len(known) == len(rows):
            work.known.literals[made.name] = flat
        return made
    whole = work.leaf(core.ArrayLiteral(flat, type_.element), "literal")
    shape = (Size.constant(len(rows)), *type_.shape)
    made = work.leaf(core.Reshape(shape, whole.name), "literal")
    work.known.literals[made.name] = flat
    return made


def replicate(work: Work, size: Size, value: Value) -> Value:
    """`size` times the value."""
    return ArrayValue(
        size,
        values.map_leaves(
            value,
            lambda leaf: work.leaf(core.Replicate((size,), leaf.atom), "replicated"),
        ),
    )


def iota(work: Work, size: Size) -> ArrayValue:
    """0, 1, ..., size - 1."""
    exp = core.Iota(size, Constant(0, I64), Constant(1, I64), I64)
    leaf = work.leaf(exp, "iota")
    work.known.iotas[leaf.name] = size
    return ArrayValue(size, leaf)


def row_leaves(value: Value) -> list[Type]:
    """The types of the leaves of an array's elements."""
    assert isinstance(value, ArrayValue)
    return [row_type(leaf.type) for leaf in values.leaves(value.element)]


def rows_like(value: Value, names: Sequence[Name]) -> Value:
    """An element of an array, its leaves being these names."""
    assert isinstance(value, ArrayValue)
    new = [
        scalar(name, type_)
        for name, type_ in zip(names, row_leaves(value), strict=True)
    ]
    return values.with_leaves(value.element, iter(new))
