"""Indexing and views of views, iotas, replicates and literals.

(iota n)[i]              →  i              (replicate [n] v)[i]      →  v
a[i][j]                  →  a[i, j]        (transpose a)[i, j]       →  a[j, i]
(transpose a)[i]         →  a[:, i]        (reshape [n][m] a)[1, 2]  →  a[m + 2]
reshape s (reshape t a)  →  reshape s a    transpose (transpose a)   →  a
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Constant, Stm
from minifut.ir.scope import array_type
from minifut.ir.sizes import Size
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule

IndexOrSlice = Atom | core.DimSlice

READ_ON = (core.ArrayLiteral, core.Index, core.Iota, core.Replicate)
"""what makes vectors whose elements rules find elsewhere"""


def _plain(slice_: tuple[IndexOrSlice, ...]) -> tuple[Atom, ...] | None:
    """The slice as indices, if it keeps no range."""
    atoms = tuple(s for s in slice_ if not isinstance(s, core.DimSlice))
    return atoms if len(atoms) == len(slice_) else None


@rule(core.Index)
def index_of_iota(statement: Stm, context: StatementContext) -> Outcome:
    """Compute an element of an iota from its position.

    before:
        let is: [10]i64 = iota i64 (10, 2i64, 3i64)
        let x: i64 = is[4i64]
    after:
        let is: [10]i64 = iota i64 (10, 2i64, 3i64)
        let a: i64 = mul_i64(4i64, 3i64)
        let b: i64 = add_i64(2i64, a)
        let x: i64 = b
    declines: the array is no iota, or a range of it is kept
        let is: [10]i64 = iota i64 (10, 2i64, 3i64)
        let js: [2]i64 = is[4i64 :+ 2 by 1i64]
    """
    exp = statement.exp_of(core.Index)
    source = context.definition(exp.array)
    indices = _plain(exp.slice)
    if not isinstance(source, core.Iota) or indices is None or len(indices) != 1:
        return Declined("the array is no iota, or a range of it is kept")
    build = context.builder(statement)
    number = build.convert(indices[0], source.element)
    if source.stride != Constant(1, source.element):
        number = build.mul(number, source.stride)
    if source.start != Constant(0, source.element):
        number = build.add(source.start, number)
    return with_expression(statement, core.Copy(number), build)


INDEX_OF_REPLICATE_REFUSED = Declined("repeated dimensions are kept")


@rule(core.Index)
def index_of_replicate(statement: Stm, context: StatementContext) -> Outcome:
    """Replace an element of a replicated value by the value.

    before:
        given (v: i32)
        let rs: [4]i32 = replicate([4], v)
        let x: i32 = rs[2i64]
    after:
        let rs: [4]i32 = replicate([4], v)
        let x: i32 = v
    declines: repeated dimensions are kept
        given (v: i32)
        let rs: [4][3]i32 = replicate([4][3], v)
        let x: [3]i32 = rs[2i64]
    """
    exp = statement.exp_of(core.Index)
    source = context.definition(exp.array)
    if not isinstance(source, core.Replicate):
        return INDEX_OF_REPLICATE_REFUSED
    outer = len(source.shape)
    if len(exp.slice) < outer or _plain(exp.slice[:outer]) is None:
        return INDEX_OF_REPLICATE_REFUSED
    if len(exp.slice) == outer:
        return with_expression(statement, core.Copy(source.value))
    if isinstance(source.value, Constant):
        return INDEX_OF_REPLICATE_REFUSED
    return with_expression(statement, core.Index(source.value, exp.slice[outer:]))


INDEX_OF_LITERAL_REFUSED = Declined(
    "the array is no literal, or the position not known"
)


@rule(core.Index)
def index_of_literal(statement: Stm, context: StatementContext) -> Outcome:
    """Replace an element of a literal at a known position.

    before:
        given (a: i32, b: i32)
        let l: [2]i32 = [a, b]: i32
        let x: i32 = l[1i64]
    after:
        let l: [2]i32 = [a, b]: i32
        let x: i32 = b
    declines: the array is no literal, or the position not known
        given (a: i32, b: i32, i: i64)
        let l: [2]i32 = [a, b]: i32
        let x: i32 = l[i]
    """
    exp = statement.exp_of(core.Index)
    source = context.definition(exp.array)
    if not isinstance(source, core.ArrayLiteral) or not isinstance(
        exp.slice[0], Constant
    ):
        return INDEX_OF_LITERAL_REFUSED
    position = int(exp.slice[0].value)
    if not 0 <= position < len(source.rows):
        return INDEX_OF_LITERAL_REFUSED
    row = source.rows[position]
    if len(exp.slice) == 1:
        return with_expression(statement, core.Copy(row))
    if isinstance(row, Constant):
        return INDEX_OF_LITERAL_REFUSED
    return with_expression(statement, core.Index(row, exp.slice[1:]))


@rule(core.Index)
def index_of_slice(statement: Stm, context: StatementContext) -> Outcome:
    """Combine a slice of a slice into one slice.

    before:
        given (xss: [3][4]i32)
        let row: [4]i32 = xss[1i64]
        let x: i32 = row[2i64]
    after:
        let row: [4]i32 = xss[1i64]
        let x: i32 = xss[1i64, 2i64]
    declines: the array is no slice
        given (xs: [4]i32)
        let x: i32 = xs[1i64]
    """
    exp = statement.exp_of(core.Index)
    source = context.definition(exp.array)
    if not isinstance(source, core.Index):
        return Declined("the array is no slice")
    build = context.builder(statement)
    waiting = list(exp.slice)
    joined: list[IndexOrSlice] = []
    for inner in source.slice:
        if not isinstance(inner, core.DimSlice) or not waiting:
            joined.append(inner)
            continue
        joined.append(_within(build, inner, waiting.pop(0)))
    return with_expression(
        statement, core.Index(source.array, (*joined, *waiting)), build
    )


def _within(build: Builder, range_: core.DimSlice, place: IndexOrSlice) -> IndexOrSlice:
    """A place counted from the start of a range, in the array itself."""
    if isinstance(place, core.DimSlice):
        start = _scaled(build, range_, place.start)
        stride = _times(build, range_.stride, place.stride)
        return core.DimSlice(start, place.length, stride)
    return _scaled(build, range_, place)


def _scaled(build: Builder, range_: core.DimSlice, index: Atom) -> Atom:
    offset = _times(build, range_.stride, index)
    return offset if range_.start == i64(0) else build.add(range_.start, offset)


def _times(build: Builder, a: Atom, b: Atom) -> Atom:
    if a == i64(1):
        return b
    return a if b == i64(1) else build.mul(a, b)


INDEX_OF_REARRANGE_REFUSED = Declined("the dimensions that are kept change their order")


@rule(core.Index)
def index_of_rearrange(statement: Stm, context: StatementContext) -> Outcome:
    """A place in a permuted array is one in the array itself.

    before:
        given (xss: [3][4]i32)
        let t: [4][3]i32 = rearrange((1, 0), xss)
        let x: i32 = t[2i64, 1i64]
    after:
        let t: [4][3]i32 = rearrange((1, 0), xss)
        let x: i32 = xss[1i64, 2i64]
    declines: the dimensions that are kept change their order
        given (xss: [3][4][2]i32)
        let t: [2][4][3]i32 = rearrange((2, 1, 0), xss)
        let x: [4][3]i32 = t[1i64]
    """
    exp = statement.exp_of(core.Index)
    source = context.definition(exp.array)
    if not isinstance(source, core.Rearrange):
        return INDEX_OF_REARRANGE_REFUSED
    shape = array_type(source.array, context.scope).shape
    places: list[IndexOrSlice] = [core.DimSlice(i64(0), size, i64(1)) for size in shape]
    kept = list(source.permutation[len(exp.slice) :])
    for position, place in enumerate(exp.slice):
        dimension = source.permutation[position]
        places[dimension] = place
        if isinstance(place, core.DimSlice):
            kept.insert(
                sum(isinstance(p, core.DimSlice) for p in exp.slice[:position]),
                dimension,
            )
    if kept != sorted(kept):
        return INDEX_OF_REARRANGE_REFUSED
    while places and is_whole(places[-1], shape[len(places) - 1]):
        places.pop()
    if not places:
        return INDEX_OF_REARRANGE_REFUSED
    return with_expression(statement, core.Index(source.array, tuple(places)))


def is_whole(place: object, size: Size) -> bool:
    """Whether these are all elements of a dimension, in their order."""
    match place:
        case core.DimSlice(start, length, stride):
            return (start, length, stride) == (i64(0), size, i64(1))
    return False


INDEX_OF_RESHAPE_REFUSED = Declined("no vector that is read on, nor a known place")


@rule(core.Index)
def index_of_reshape(statement: Stm, context: StatementContext) -> Outcome:
    """A place in a reshaped vector whose elements may lie elsewhere, a place in any
    reshaped array whose numbers are known, or one in an array of other names of sizes.

    before:
        given (xs: [6]i32)
        let r: [6]i32 = xs[5i64 :+ 6 by -1i64]
        let t: [2][3]i32 = reshape([2][3], r)
        let x: i32 = t[1i64, 2i64]
    after:
        let r: [6]i32 = xs[5i64 :+ 6 by -1i64]
        let t: [2][3]i32 = reshape([2][3], r)
        let a: i64 = mul_i64(1i64, 3i64)
        let b: i64 = add_i64(a, 2i64)
        let x: i32 = r[b]
    before:
        given (xss: [2][3]i32)
        let t: [3][2]i32 = reshape([3][2], xss)
        let x: i32 = t[2i64, 0i64]
    after:
        let t: [3][2]i32 = reshape([3][2], xss)
        let x: i32 = xss[1i64, 1i64]

    Of other arrays the view is as good, and says which dimension each index is for.

    declines: no vector that is read on, nor a known place
        given (xs: [6]i32, i: i64, j: i64)
        let t: [2][3]i32 = reshape([2][3], xs)
        let x: i32 = t[i, j]
    """
    exp = statement.exp_of(core.Index)
    source = context.definition(exp.array)
    if not isinstance(source, core.Reshape):
        return INDEX_OF_RESHAPE_REFUSED
    before = array_type(source.array, context.scope).shape
    if before == source.shape:
        return with_expression(statement, core.Index(source.array, exp.slice))
    indices = _plain(exp.slice)
    if indices is None or len(indices) != len(source.shape):
        return INDEX_OF_RESHAPE_REFUSED
    if len(before) == len(source.shape) == 1:
        return with_expression(statement, core.Index(source.array, exp.slice))
    if len(before) != 1 or not isinstance(context.definition(source.array), READ_ON):
        known = _known_place(indices, source.shape, before)
        if known is None:
            return INDEX_OF_RESHAPE_REFUSED
        return with_expression(statement, core.Index(source.array, known))
    build = context.builder(statement)
    flat: Atom = indices[0]
    for index, size in zip(indices[1:], source.shape[1:], strict=True):
        flat = build.add(build.mul(flat, build.size_atom(size)), index)
    return with_expression(statement, core.Index(source.array, (flat,)), build)


def _known_place(
    indices: tuple[Atom, ...], shape: tuple[Size, ...], before: tuple[Size, ...]
) -> tuple[Atom, ...] | None:
    """Where an element was before its array got a shape, if numbers say that."""
    sizes = [size.as_constant for size in (*shape[1:], *before[1:])]
    if None in sizes or not all(isinstance(index, Constant) for index in indices):
        return None
    flat = 0
    for index, size in zip(indices, (1, *sizes[: len(shape) - 1]), strict=True):
        assert isinstance(index, Constant) and size is not None
        flat = flat * size + int(index.value)
    place: list[Atom] = []
    for size in reversed(sizes[len(shape) - 1 :]):
        if not size:
            return None
        flat, rest = divmod(flat, size)
        place.append(i64(rest))
    return (i64(flat), *reversed(place))


@rule(core.Rearrange)
def rearrange_again(statement: Stm, context: StatementContext) -> Outcome:
    """The identity, and a permutation of a permutation.

    before:
        given (xss: [3][4]i32)
        let t: [4][3]i32 = rearrange((1, 0), xss)
        let u: [3][4]i32 = rearrange((1, 0), t)
    after:
        let t: [4][3]i32 = rearrange((1, 0), xss)
        let u: [3][4]i32 = rearrange((0, 1), xss)
    declines: the array was not rearranged before
        given (xss: [3][4]i32)
        let t: [4][3]i32 = rearrange((1, 0), xss)
    """
    exp = statement.exp_of(core.Rearrange)
    if exp.permutation == tuple(range(len(exp.permutation))):
        return with_expression(statement, core.Copy(exp.array))
    source = context.definition(exp.array)
    if not isinstance(source, core.Rearrange):
        return Declined("the array was not rearranged before")
    rest = tuple(range(len(exp.permutation), len(source.permutation)))
    whole = (*exp.permutation, *rest)
    return with_expression(
        statement,
        core.Rearrange(tuple(source.permutation[p] for p in whole), source.array),
    )


@rule(core.Reshape)
def reshape_again(statement: Stm, context: StatementContext) -> Outcome:
    """A shape that is there already, a reshape of a reshape or of a repeated scalar.

    before:
        given (xs: [6]i32)
        let t: [2][3]i32 = reshape([2][3], xs)
        let u: [3][2]i32 = reshape([3][2], t)
    after:
        let t: [2][3]i32 = reshape([2][3], xs)
        let u: [3][2]i32 = reshape([3][2], xs)
    declines: the array has another shape of its own
        given (xs: [6]i32)
        let t: [2][3]i32 = reshape([2][3], xs)
    """
    exp = statement.exp_of(core.Reshape)
    shape = array_type(exp.array, context.scope).shape
    if shape == exp.shape:
        return with_expression(statement, core.Copy(exp.array))
    source = context.definition(exp.array)
    if isinstance(source, core.Reshape):
        return with_expression(statement, core.Reshape(exp.shape, source.array))
    if isinstance(source, core.Replicate) and len(source.shape) == len(shape):
        return with_expression(statement, core.Replicate(exp.shape, source.value))
    return Declined("the array has another shape of its own")
