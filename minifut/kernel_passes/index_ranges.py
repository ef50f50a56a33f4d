"""The range of an index within a loop, as sizes.

    for (j = 0; j < n; j++)                        r * n .. r * n + n - 1 are read
        xs[(r + 1) * n + j] = f(xs[r * n + j])     r * n + n .. are written

Two accesses are of different elements if one range ends before the other begins, by a
number that is known. Definitions are seen through; counters of loops inside grow from
their start to their bound, if they are in the index as they are or times a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minifut.ir.node import mutable
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, constants, declared
from minifut.names import Name

NOTHING: Mapping[Name, kc.Expression] = {}
DEEPEST = 12
"""definitions within definitions that are seen through"""


def as_size(
    exp: kc.Expression,
    definitions: Mapping[Name, kc.Expression] = NOTHING,
    depth: int = DEEPEST,
) -> Size | None:
    """An index as a size, if it is a sum of products."""
    if exp.type != kc.LONG or depth == 0:
        return None
    match exp:
        case kc.SizeValue(size, _):
            there: dict[Name, Size] = {}
            for name in size.names():
                if name in definitions:
                    known = as_size(definitions[name], definitions, depth - 1)
                    there[name] = Size.of(name) if known is None else known
            return size.substitute(there) if there else size
        case kc.Literal(value, _):
            return Size.constant(int(value))
        case kc.Variable(name, _):
            init = definitions.get(name)
            found = None if init is None else as_size(init, definitions, depth - 1)
            return Size.of(name) if found is None else found
        case kc.Cast(operand, _):
            return as_size(operand, definitions, depth)
    symbol, *operands = kc.infix(exp) or ("",)
    if symbol not in ("+", "-", "*"):
        return None
    a, b = (as_size(operand, definitions, depth) for operand in operands)
    if a is None or b is None:
        return None
    return a + b if symbol == "+" else a - b if symbol == "-" else a * b


@mutable
class IndexRanges:
    """What indices within a loop may be. `counters` have a first and a last value; of
    other variables that are `inside` the loop nothing is known."""

    definitions: Mapping[Name, kc.Expression]
    counters: Mapping[Name, tuple[Size, Size]]
    inside: frozenset[Name]

    @staticmethod
    def within(loop: kc.For, around: Sequence[kc.Statement]) -> IndexRanges:
        """Of a loop, with the statements of its kernel."""
        definitions = constants(around)
        counters: dict[Name, tuple[Size, Size]] = {}
        for inner in nodes_of(kc.For, loop):
            first = as_size(inner.start, definitions)
            bound = as_size(inner.bound, definitions)
            if first is not None and bound is not None and inner.counts_by_ones:
                counters[inner.variable.name] = (first, bound - 1)
        body = loop.body.statements
        inside = declared(body) | assigned(body) | {loop.variable.name}
        return IndexRanges(definitions, counters, inside)

    def of(self, index: kc.Expression) -> tuple[Size, Size] | None:
        """The least and the greatest value of an index."""
        size = as_size(index, self.definitions)
        if size is None:
            return None
        low, high = self._end(size, False), self._end(size, True)
        return None if low is None or high is None else (low, high)

    def _end(self, size: Size, greatest: bool) -> Size | None:
        """The value at one end, without counters."""
        while counting := [name for name in size.names() if name in self.counters]:
            (name, *_) = counting
            grows = factor_of(size, name)
            end = self.counters[name][grows is not None and (grows > 0) == greatest]
            if grows is None or name in end.names():
                return None
            size = size.substitute({name: end})
        return size if self.inside.isdisjoint(size.names()) else None

    def are_apart(self, one: kc.Expression, other: kc.Expression) -> bool:
        """Whether two indices are never the same."""
        a, b = self.of(one), self.of(other)
        return a is not None and b is not None and (_below(a, b) or _below(b, a))


def _below(one: tuple[Size, Size], other: tuple[Size, Size]) -> bool:
    distance = (other[0] - one[1]).as_constant
    return distance is not None and distance > 0


def factor_of(size: Size, name: Name) -> int | None:
    """The number by which a counter is multiplied in a sum, if that is all there is."""
    factor, rest = size.divided(Size.of(name))
    return None if name in rest.names() else factor.as_constant
