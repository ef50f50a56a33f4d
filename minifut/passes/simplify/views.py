"""Arrays that are views or repeat themselves, where they are indexed or viewed again.

(iota n)[i]              →  i              (replicate [n] v)[i]      →  v
a[i][j]                  →  a[i, j]        (transpose a)[i, j]       →  a[j, i]
(transpose a)[i]         →  a[:, i]        (reshape [n][m] a)[i, j]  →  a[i * m + j]
reshape s (reshape t a)  →  reshape s a    transpose (transpose a)   →  a
"""

from __future__ import annotations

from minifut.ir.builder import i64
from minifut.ir.core import (
    ArrayLiteral,
    Atom,
    Constant,
    Copy,
    DimSlice,
    Exp,
    Index,
    Iota,
    Rearrange,
    Replicate,
    Reshape,
)
from minifut.ir.scope import array_type
from minifut.ir.sizes import Size
from minifut.passes.simplify.site import Pattern, Site

Place = Atom | DimSlice


def _plain(slice_: tuple[Place, ...]) -> tuple[Atom, ...] | None:
    """The slice as indices, if it keeps no range."""
    atoms = tuple(s for s in slice_ if not isinstance(s, DimSlice))
    return atoms if len(atoms) == len(slice_) else None


def index_of_iota(site: Site, pattern: Pattern, exp: Index) -> Exp | None:
    """A number of a sequence is computed from its position."""
    source = site.definition(exp.array)
    indices = _plain(exp.slice)
    if not isinstance(source, Iota) or indices is None or len(indices) != 1:
        return None
    build = site.build
    number = build.convert(indices[0], source.element)
    if source.stride != Constant(1, source.element):
        number = build.mul(number, source.stride)
    if source.start != Constant(0, source.element):
        number = build.add(source.start, number)
    return Copy(number)


def index_of_replicate(site: Site, pattern: Pattern, exp: Index) -> Exp | None:
    """An element of a repeated value is the value."""
    source = site.definition(exp.array)
    if not isinstance(source, Replicate):
        return None
    outer = len(source.shape)
    if len(exp.slice) < outer or _plain(exp.slice[:outer]) is None:
        return None
    if len(exp.slice) == outer:
        return Copy(source.value)
    if isinstance(source.value, Constant):
        return None
    return Index(source.value, exp.slice[outer:])


def index_of_literal(site: Site, pattern: Pattern, exp: Index) -> Exp | None:
    """A known element of a literal."""
    source = site.definition(exp.array)
    if not isinstance(source, ArrayLiteral) or not isinstance(exp.slice[0], Constant):
        return None
    position = int(exp.slice[0].value)
    if not 0 <= position < len(source.rows):
        return None
    row = source.rows[position]
    if len(exp.slice) == 1:
        return Copy(row)
    return None if isinstance(row, Constant) else Index(row, exp.slice[1:])


def index_of_slice(site: Site, pattern: Pattern, exp: Index) -> Exp | None:
    """A slice of a slice is one slice."""
    source = site.definition(exp.array)
    if not isinstance(source, Index):
        return None
    waiting = list(exp.slice)
    joined: list[Place] = []
    for inner in source.slice:
        if not isinstance(inner, DimSlice) or not waiting:
            joined.append(inner)
            continue
        joined.append(_within(site, inner, waiting.pop(0)))
    return Index(source.array, (*joined, *waiting))


def _within(site: Site, range_: DimSlice, place: Place) -> Place:
    """A place counted from the start of a range, in the array itself."""
    if isinstance(place, DimSlice):
        start = _scaled(site, range_, place.start)
        stride = _times(site, range_.stride, place.stride)
        return DimSlice(start, place.length, stride)
    return _scaled(site, range_, place)


def _scaled(site: Site, range_: DimSlice, index: Atom) -> Atom:
    offset = _times(site, range_.stride, index)
    return offset if range_.start == i64(0) else site.build.add(range_.start, offset)


def _times(site: Site, a: Atom, b: Atom) -> Atom:
    if a == i64(1):
        return b
    return a if b == i64(1) else site.build.mul(a, b)


def index_of_rearrange(site: Site, pattern: Pattern, exp: Index) -> Exp | None:
    """A place in a permuted array is one in the array itself, if what is kept keeps
    its order."""
    source = site.definition(exp.array)
    if not isinstance(source, Rearrange):
        return None
    shape = array_type(source.array, site.build.scope).shape
    places: list[Place] = [DimSlice(i64(0), size, i64(1)) for size in shape]
    kept = list(source.permutation[len(exp.slice) :])
    for position, place in enumerate(exp.slice):
        dimension = source.permutation[position]
        places[dimension] = place
        if isinstance(place, DimSlice):
            kept.insert(
                sum(isinstance(p, DimSlice) for p in exp.slice[:position]), dimension
            )
    if kept != sorted(kept):
        return None
    while places and _is_whole(places[-1], shape[len(places) - 1]):
        places.pop()
    return Index(source.array, tuple(places)) if places else None


def _is_whole(place: Place, size: Size) -> bool:
    return (
        isinstance(place, DimSlice)
        and place.start == i64(0)
        and place.stride == i64(1)
        and place.length == size
    )


def index_of_reshape(site: Site, pattern: Pattern, exp: Index) -> Exp | None:
    """A place in a reshaped vector, or in an array only renamed in its sizes."""
    source = site.definition(exp.array)
    if not isinstance(source, Reshape):
        return None
    build = site.build
    before = array_type(source.array, build.scope).shape
    if before == source.shape:
        return Index(source.array, exp.slice)
    indices = _plain(exp.slice)
    if indices is None or len(indices) != len(source.shape):
        return None
    if len(before) == len(source.shape) == 1:
        return Index(source.array, exp.slice)
    if len(before) != 1:
        return None
    flat: Atom = indices[0]
    for index, size in zip(indices[1:], source.shape[1:], strict=True):
        flat = build.add(build.mul(flat, build.size_atom(size)), index)
    return Index(source.array, (flat,))


def rearrange_again(site: Site, pattern: Pattern, exp: Rearrange) -> Exp | None:
    """The identity, and a permutation of a permutation."""
    if exp.permutation == tuple(range(len(exp.permutation))):
        return Copy(exp.array)
    source = site.definition(exp.array)
    if not isinstance(source, Rearrange):
        return None
    rest = tuple(range(len(exp.permutation), len(source.permutation)))
    whole = (*exp.permutation, *rest)
    return Rearrange(tuple(source.permutation[p] for p in whole), source.array)


def reshape_again(site: Site, pattern: Pattern, exp: Reshape) -> Exp | None:
    """A shape that is there already, a reshape of a reshape or of a repeated scalar."""
    if array_type(exp.array, site.build.scope).shape == exp.shape:
        return Copy(exp.array)
    source = site.definition(exp.array)
    if isinstance(source, Reshape):
        return Reshape(exp.shape, source.array)
    if isinstance(source, Replicate) and len(source.shape) == _rank(site, exp):
        return Replicate(exp.shape, source.value)
    return None


def _rank(site: Site, exp: Reshape) -> int:
    return array_type(exp.array, site.build.scope).rank
