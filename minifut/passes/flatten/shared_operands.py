"""Which operands the points of a reduction share.

Where the segments of a row share what they fold, or read next to one another, vectors
may have an element for each segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TypeGuard

from minifut.ir.builder import i64
from minifut.ir.core import Assert, Atom, DimSlice, If, Index, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import SegRed
from minifut.ir.search import nodes_of
from minifut.ir.soacs import operand_count
from minifut.ir.traverse import free_names
from minifut.ir.types import ArrayType
from minifut.names import Name


def shares_operands(kernel: SegRed, iotas: Set[Name] = frozenset()) -> bool:
    """Whether of the two dimensions around the reduction each numbers the elements of
    an operand that is the same along the other one, as in a product of matrices. What
    is the same for all elements that are reduced, as coordinates, is none."""
    if len(kernel.space.indices) < 3:
        return False
    row, column, reduced = kernel.space.indices[-3:]
    found: set[tuple[bool, bool]] = set()
    rows: dict[Name, tuple[bool, bool]] = {}
    numbers: dict[Atom | DimSlice, Atom] = {}
    for statement in kernel.body.statements:
        match statement.exp:
            case Index(array, (place,)) if array in iotas and isinstance(place, Name):
                numbers[statement.pattern[0].name] = numbers.get(place, place)
            case Index(array, slice_):
                places = [numbers.get(place, place) for place in slice_]
                of_row, of_column = rows.get(array, (False, False))
                shared = of_row or row in places, of_column or column in places
                rows[statement.pattern[0].name] = shared
                if reduced in places:
                    found.add(shared)
    return {(True, False), (False, True)} <= found


def shares_all(kernel: SegRed) -> bool:
    """Whether each element that is folded is the same for many segments, as those of
    images and of filters in convolutions."""
    *outer, reduced = kernel.space.indices
    return not any(
        isinstance(statement.exp, Index)
        and reduced in found
        and found.issuperset(outer)
        for statement, found in _with_indices(kernel)
    )


def shares_rows(kernel: SegRed, iotas: Set[Name] = frozenset()) -> bool:
    """Whether all that is read for an element is the same for all segments of a row, or
    for all elements of one, or next to what the segment before reads, as in windows, so
    that lanes may be segments."""
    body, (*outer, reduced) = kernel.body, kernel.space.indices
    if not outer or len(body.result) != operand_count(kernel.operators):
        return False
    positions = _Positions(kernel, iotas)
    for statement, found in _with_indices(kernel):
        exp, bound = statement.exp, statement.pattern
        both = {reduced, outer[-1]} <= found
        if isinstance(exp, Index):
            fits = not both or positions.is_window(exp, outer[-1])
        elif isinstance(exp, Assert):
            fits = reduced not in found
        else:
            scalar = not any(isinstance(p.type, ArrayType) for p in bound)
            fits = scalar and isinstance(exp, ScalarOp | SizeExp | If)
        if not fits:
            return False
        positions.add(statement, found)
    return True


def gathers_rows(kernel: SegRed) -> bool:
    """Whether segments are the elements of a row, and where the rows lie that are
    combined is loaded."""
    *outer, reduced = kernel.space.indices
    loaded: set[Name] = set()
    for statement, found in _with_indices(kernel):
        exp, bound = statement.exp, statement.pattern
        through = not loaded.isdisjoint(free_names(exp))
        if isinstance(exp, Index):
            if through and outer and exp.slice[-1] == outer[-1]:
                return True
            scalar = not any(isinstance(p.type, ArrayType) for p in bound)
            through |= scalar and reduced in found
        if through:
            loaded.update(parameter.name for parameter in bound)
    return False


class _Positions:
    """Which numbers of a point are sums or differences of indices and of what all
    points share."""

    def __init__(self, kernel: SegRed, iotas: Set[Name]) -> None:
        self._iotas = iotas
        self._sums: dict[Name, Set[Name]] = {i: {i} for i in kernel.space.indices}
        self._varying = set(kernel.space.indices)
        self._rows: dict[Name, tuple[Atom | DimSlice, ...]] = {}

    def add(self, statement: Stm, depends: Set[Name]) -> None:
        """A statement that depends on these indices."""
        parts: list[Atom] = []
        match statement.exp:
            case Index(array, (Name() as place,)) if array in self._iotas:
                parts = [place]
            case ScalarOp(operator, operands) if operator.name in ("add", "sub"):
                parts = [atom for atom in operands if atom in self._varying]
            case ScalarOp(operator, (left, right)) if (
                operator.name in ("min", "max") and right not in self._varying
            ):
                parts = [left]
            case ScalarOp(operator, (left, right)) if (
                operator.name in ("min", "max") and left not in self._varying
            ):
                parts = [right]
            case Index(_, (*before, DimSlice(start, _, stride))) if stride == i64(1):
                self._rows[statement.pattern[0].name] = (*before, start)
        whole = self._sum(parts)
        if whole is not None:
            self._sums[statement.pattern[0].name] = whole
        if depends:
            self._varying.update(parameter.name for parameter in statement.pattern)

    def is_window(self, access: Index, segment: Name) -> bool:
        """Whether neighbouring segments read neighbouring elements of a row."""
        *before, last = access.slice
        lasts = [last]
        if access.array in self._rows and not before:
            *before, start = self._rows[access.array]
            lasts = [start, last]
        moved = (segment in self._sums.get(i, {segment}) for i in before if self._is(i))
        whole = self._sum([entry for entry in lasts if self._is(entry)])
        return whole is not None and segment in whole and not any(moved)

    def _sum(self, parts: Sequence[Atom | DimSlice]) -> Set[Name] | None:
        """The indices that the sum of these varying numbers depends on, if each counts
        once."""
        found = [
            self._sums[p] for p in parts if isinstance(p, Name) and p in self._sums
        ]
        whole = set().union(*found)
        if not found or len(found) < len(parts):
            return None
        return whole if len(whole) == sum(map(len, found)) else None

    def _is(self, entry: Atom | DimSlice) -> TypeGuard[Name]:
        return isinstance(entry, Name) and entry in self._varying


def _with_indices(kernel: SegRed) -> Iterator[tuple[Stm, set[Name]]]:
    """The statements of a point, each with the indices that it depends on."""
    depends = {index: {index} for index in kernel.space.indices}
    for statement in nodes_of(Stm, kernel.body):
        names = free_names(statement.exp)
        found = set().union(*(depends.get(name, ()) for name in names))
        depends |= {parameter.name: found for parameter in statement.pattern}
        yield statement, found
