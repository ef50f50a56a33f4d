"""Which operands the points of a reduction share.

Where the segments of a row share what they fold, or read next to one another, vectors
may have an element for each segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from minifut.ir import core
from minifut.ir.builder import i64
from minifut.ir.core import Atom, Exp, Stm
from minifut.ir.kernels import SegRed
from minifut.ir.node import immutable, replace
from minifut.ir.search import nodes_of
from minifut.ir.soacs import operand_count
from minifut.ir.traverse import free_names
from minifut.ir.types import ArrayType, shape_of
from minifut.names import Name

_Sum = frozenset[Name] | None
"""the indices that a number is a sum of, besides what all points share; or none such"""
_NOTHING: frozenset[Name] = frozenset()


@immutable
class Sharing:
    """What the segments of a reduction share of the elements that they fold.

    `products`: of the two dimensions around it each numbers the elements of an operand
    that is the same along the other one, as in a product of matrices; what is the same
    for all elements that are reduced, as coordinates, is none. `everything`: each
    element is the same for many segments, as those of filters and, in windows, those of
    images in convolutions. `rows`: all that is read for an element is the same for all
    segments of a row, or for all elements of one, or next to what the segment before
    reads, as in windows, so that lanes may be segments."""

    products: bool
    everything: bool
    rows: bool
    gathers: tuple[core.Index, ...]
    """what is read where numbers say that are loaded for each element"""
    outer: tuple[Name, ...]
    selects_rows: bool
    """whether a segment folds a row that loaded data select"""

    @property
    def gathers_rows(self) -> bool:
        """Whether segments are the elements of a row, and where the rows lie that are
        combined is loaded."""
        ends = [access.slice[-1] for access in self.gathers]
        return bool(self.outer) and self.outer[-1] in ends


def sharing_of(kernel: SegRed, iotas: Set[Name]) -> Sharing:
    """What its segments share; these arrays number their elements."""
    *outer, reduced = kernel.space.indices
    positions = _Positions(kernel, iotas)
    everything = True
    rows = bool(outer) and len(kernel.body.result) == operand_count(kernel.operators)
    loaded: set[Name] = set()
    gathers: list[core.Index] = []
    selected = _SelectedRows(reduced, iotas)
    for statement, found in _with_indices(kernel):
        selected.add(statement, found)
        exp, bound = statement.exp, statement.pattern
        scalar = not any(isinstance(p.type, ArrayType) for p in bound)
        through = not loaded.isdisjoint(free_names(exp))
        if isinstance(exp, core.Index):
            own = found.issuperset((*outer, reduced))
            everything &= not own or positions.overlap(exp)
            if through:
                gathers.append(exp)
            through |= scalar and exp.array not in iotas and reduced in found
        if (
            isinstance(exp, core.Index | core.Reshape | core.Rearrange)
            and positions.view(statement) is not None
        ):
            pass
        elif isinstance(exp, core.Index):
            both = bool(outer) and {reduced, outer[-1]} <= found
            rows &= not both or positions.is_window(exp, outer[-1])
        elif isinstance(exp, core.Assert):
            rows &= reduced not in found
        else:
            rows &= scalar and isinstance(exp, core.ScalarOp | core.SizeExp | core.If)
        if through:
            loaded.update(parameter.name for parameter in bound)
        positions.add(statement, found)
    products = _is_product(kernel, iotas)
    selects = selected.folded
    return Sharing(products, everything, rows, tuple(gathers), tuple(outer), selects)


class _SelectedRows:
    """The rows of a segment that numbers select which are loaded for it, and whether
    elements of one are `folded`."""

    def __init__(self, reduced: Name, iotas: Set[Name]) -> None:
        self._reduced, self._iotas = reduced, iotas
        self._chosen: set[Name] = set()
        self.folded = False

    def add(self, statement: Stm, found: Set[Name]) -> None:
        exp = statement.exp
        bound = {parameter.name for parameter in statement.pattern}
        chosen = not self._chosen.isdisjoint(free_names(exp))
        if self._reduced in found:
            along = isinstance(exp, core.Index) and exp.slice[-1] == self._reduced
            self.folded |= chosen and along
        elif isinstance(exp, core.Index):
            scalar = not shape_of(statement.pattern[0].type)
            if chosen or (scalar and exp.array not in self._iotas):
                self._chosen |= bound
        elif chosen:
            self._chosen |= bound


def _is_product(kernel: SegRed, iotas: Set[Name]) -> bool:
    """See `Sharing.products`."""
    if len(kernel.space.indices) < 3:
        return False
    row, column, reduced = kernel.space.indices[-3:]
    found: set[tuple[bool, bool]] = set()
    rows: dict[Name, tuple[bool, bool]] = {}
    numbers: dict[Atom | core.DimSlice, Atom] = {}
    for statement in kernel.body.statements:
        match statement.exp:
            case core.Index(array, (place,)) if array in iotas and isinstance(
                place, Name
            ):
                numbers[statement.pattern[0].name] = numbers.get(place, place)
            case core.Index(array, slice_):
                places = [numbers.get(place, place) for place in slice_]
                of_row, of_column = rows.get(array, (False, False))
                shared = of_row or row in places, of_column or column in places
                rows[statement.pattern[0].name] = shared
                if reduced in places:
                    found.add(shared)
    return {(True, False), (False, True)} <= found


@immutable
class _View:
    """A part of an array: of each dimension the indices whose sum is where the part
    begins, if that is what it is, and the dimensions that it has, as one if `flat`."""

    starts: tuple[_Sum, ...]
    dimensions: tuple[int, ...]
    flat: bool = False


def _whole(rank: int) -> _View:
    """All of an array."""
    return _View((_NOTHING,) * rank, tuple(range(rank)))


class _Positions:
    """Which numbers of a point are sums or differences of indices and of what all
    points share."""

    def __init__(self, kernel: SegRed, iotas: Set[Name]) -> None:
        self._iotas = iotas
        self._sums: dict[Name, _Sum] = {i: frozenset({i}) for i in kernel.space.indices}
        self._views: dict[Name, _View | None] = {}

    def add(self, statement: Stm, depends: Set[Name]) -> None:
        """A statement that depends on these indices."""
        if any(isinstance(p.type, ArrayType) for p in statement.pattern):
            view = self.view(statement)
            self._views |= {p.name: view for p in statement.pattern}
        elif depends:
            found = self._sum_of(statement.exp)
            self._sums |= {p.name: found for p in statement.pattern}

    def view(self, statement: Stm) -> _View | None:
        """What an array of a point is a part of."""
        rank = len(shape_of(statement.pattern[0].type)) if statement.pattern else 0
        match statement.exp:
            case core.Index() as access if rank:
                return self._part(access, rank)
            case core.Reshape(_, array) if rank == 1 and (
                whole := self._views.get(array)
            ):
                return replace(whole, flat=True)
            case core.Rearrange(permutation, array):
                return self._rearranged(permutation, array)
        return None

    def _rearranged(self, permutation: tuple[int, ...], array: Name) -> _View | None:
        """A rearranged array of a point, as a part of one that is laid out like it."""
        of = self._views.get(array, _whole(len(permutation)))
        if of is None:
            return None
        starts = list(of.starts)
        for dimension, source in zip(of.dimensions, permutation, strict=True):
            starts[dimension] = of.starts[of.dimensions[source]]
        return replace(of, starts=tuple(starts))

    def is_window(self, access: core.Index, segment: Name) -> bool:
        """Whether neighbouring segments read neighbouring elements of a row."""
        *before, last = self._places(access)
        still = all(place is not None and segment not in place for place in before)
        return last is not None and segment in last and still

    def overlap(self, access: core.Index) -> bool:
        """Whether the same elements are read at several positions, as of windows."""
        places = self._places(access)
        return None not in places and any(p is not None and len(p) > 1 for p in places)

    def _places(self, access: core.Index) -> tuple[_Sum, ...]:
        """The position of an element in each dimension of the array that it is of."""
        view = self._part(access, 0)
        return (None,) if view is None else view.starts

    def _part(self, access: core.Index, rank: int) -> _View | None:
        slice_ = access.slice
        given = sum(isinstance(entry, core.DimSlice) for entry in slice_)
        of = self._views.get(access.array, _whole(len(slice_) + rank - given))
        if of is None:
            return None
        starts, remaining = list(of.starts), list(of.dimensions)
        for entry in slice_:
            dimensions = remaining if of.flat else remaining[:1]
            start = self._start(entry)
            for dimension in dimensions:
                starts[dimension] = _added(starts[dimension], start)
            remaining = remaining[len(dimensions) :]
            if isinstance(entry, core.DimSlice):
                remaining = [*remaining, *dimensions]
        return _View(tuple(starts), tuple(sorted(remaining)), of.flat)

    def _start(self, entry: Atom | core.DimSlice) -> _Sum:
        if isinstance(entry, core.DimSlice):
            return self._start(entry.start) if entry.stride == i64(1) else None
        return self._sums.get(entry, _NOTHING) if isinstance(entry, Name) else _NOTHING

    def _sum_of(self, exp: Exp) -> _Sum:
        match exp:
            case core.Index(array, (Name() as place,)) if array in self._iotas:
                return self._start(place)
            case core.ScalarOp(operator, operands) if operator.name in ("add", "sub"):
                return _added(*map(self._start, operands))
            case core.ScalarOp(operator, operands) if operator.name in ("min", "max"):
                left, right = map(self._start, operands)
                if _NOTHING in (left, right):
                    return left if right == _NOTHING else right
        return None


def _added(left: _Sum, right: _Sum) -> _Sum:
    """The sum of two, if no index counts twice."""
    if left is None or right is None or left & right:
        return None
    return left | right


def _with_indices(kernel: SegRed) -> Iterator[tuple[Stm, set[Name]]]:
    """The statements of a point, each with the indices that it depends on."""
    depends = {index: {index} for index in kernel.space.indices}
    for statement in nodes_of(Stm, kernel.body):
        names = free_names(statement.exp)
        found = set().union(*(depends.get(name, ()) for name in names))
        depends |= {parameter.name: found for parameter in statement.pattern}
        yield statement, found
