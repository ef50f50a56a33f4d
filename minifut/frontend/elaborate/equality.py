"""`==` on anything that holds no functions.

(a, b) == (c, d)    a == c and b == d
xs == ys            their sizes are equal and then all elements are
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import Location, error
from minifut.frontend.elaborate import values
from minifut.frontend.elaborate.values import Leaf, Value, constant
from minifut.ir import core
from minifut.ir.core import Body, Constant
from minifut.ir.types import BOOL, ArrayType, ScalarType, row_type

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def equal(work: Work, left: Value, right: Value, location: Location) -> Leaf:
    """Whether two values are equal."""
    pairs = list(zip(values.leaves(left), values.leaves(right), strict=True))
    if values.has_function(left):
        raise error(location, "functions cannot be compared", "no-equality")
    sizes = _sizes_equal(work, left, right)
    result = constant(True, BOOL)
    for one, other in pairs:
        result = _both(work, result, _equal_leaves(work, one, other, sizes))
    return _both(work, sizes, result)


def _both(work: Work, left: Leaf, right: Leaf) -> Leaf:
    for one, other in ((left, right), (right, left)):
        if isinstance(one.atom, Constant):
            return other if one.atom.value else one
    return work.op("and", left, right)


def _sizes_equal(work: Work, left: Value, right: Value) -> Leaf:
    result = constant(True, BOOL)
    pairs = zip(values.array_sizes(left), values.array_sizes(right), strict=True)
    for one, other in dict.fromkeys(pairs):
        if one != other:
            same = work.op("eq", work.size_leaf(one), work.size_leaf(other))
            result = _both(work, result, same)
    return result


def _equal_leaves(work: Work, one: Leaf, other: Leaf, guard: Leaf) -> Leaf:
    if isinstance(one.type, ScalarType):
        is_same = isinstance(one.atom, Constant) and one.atom == other.atom
        if is_same and not one.type.is_float:
            return constant(True, BOOL)
        return work.op("eq", one, other)
    if isinstance(guard.atom, Constant):
        return _equal_arrays(work, one, other)
    with work.nested() as build:
        inside = _equal_arrays(work, one, other)
        then = build.finish(inside.atom)
    otherwise = Body((), (Constant(False, BOOL),))
    return work.leaf(core.If(guard.atom, then, otherwise), "equal")


def _equal_arrays(work: Work, one: Leaf, other: Leaf) -> Leaf:
    """Compare elements in a map over all dimensions, and combine them."""
    from minifut.ir.builder import Builder
    from minifut.ir.core import Atom, Lambda
    from minifut.ir.soacs import Reduce, redomap
    from minifut.names import Name

    assert isinstance(one.type, ArrayType)
    shape = one.type.shape

    def rows(inner: Builder, a: Name, b: Name) -> Atom:
        if isinstance(inner.type(a), ScalarType):
            return inner.op("eq", a, b)
        return compare(inner, a, b)

    def compare(build: Builder, a: Name, b: Name) -> Name:
        b = build.reshape(b, build.shape(a))
        row = row_type(build.type(a))
        function = build.function((row, row), rows)
        operator: Lambda = build.function(
            (BOOL, BOOL), lambda inner, x, y: inner.op("and", x, y)
        )
        reduce = Reduce(operator, (Constant(True, BOOL),), True)
        (result,) = build.let_many(
            redomap(build.shape(a)[0], (a, b), (reduce,), function), ("equal",)
        )
        return result

    assert isinstance(one.atom, Name) and isinstance(other.atom, Name) and shape
    return Leaf(compare(work.build, one.atom, other.atom), BOOL)
