"""The default thresholds of versions, per kind of device.

A GPU needs tens of thousands of points. Bodies of maps run in groups from 128 points
on: the fewest, as a power of two, with which the groups that a compute unit runs fill
its threads on each family of devices; 16 groups of 32 are a third of those of sm_86.

For CPU devices they come from measurements (`benchmarks/thresholds.py` on PoCL, two
cores, 2^20 to 2^24 elements; time of the outer version over that of the last one):

    a reduction, of rows or columns    1.0-10     a segmented one shares itself out well
    a scan                             0.9-6.4    in any shape
    products: operands are shared      0.5-1.0    from 16 x 16 results on: lanes are
                                                  columns; with fewer columns 1.4-3.7
    folds of rows that points share,   0.5-1.0    from 256 points on: lanes are points;
      or windows                                  with functions 1.1-1.2; 1.0-10 where
                                                  the points of a row fill no vector
    a reduction, then a map            0.6-1.1    one pass less over memory
    reductions of rows, nothing else   1.2-8.1    rows of 16 elements on, with functions
                                                  of 128; of 4: 0.4-1.3, 0.1
    scans of columns                   0.25-0.9   from 64 columns on: lanes are columns;
                                                  with 16 columns 2.5-4.1
    scans and more, 4 to 2^16 points   2.0-4.5    a segmented scan is vectorised, one of
    scans and more, 2^20 points        0.6        a thread is not; short rows end that
    sums of i64 as scans               0.5-1.0    a thread adds in each cycle, and does
                                                  several in one pass; not with calls
    a fold of reductions               1.5-31     a segmented reduction, then a fold
      whose operands are shared        0.2-0.9    lanes are the points that are folded
    convolutions                       0.003-0.01 all operands are shared, and rows are
                                                  windows
    folds of rows at loaded places     0.5-0.8    whole rows are read; 1.1 of 5,000 rows
    a loop of maps                     0.1-0.3    every round would be several launches
    folds of what functions give       1.8-7.0    `exp` and its like go by vectors, but
                                                  not in the fold of a thread

A thread does a product inside its body without tiles, 3 to 11 times slower than the
last version from 16 x 16 results on, whatever the number of points (`tiled_points`);
where results are folded by an operator that does not commute, it takes 0.1-1.15 of it.

So a CPU is busy with a few points for each core, except that scans and folds of calls
are flattened up to 2^17 points. Where the last version is just one segmented operation,
or two for a fold, it is always taken, but for products and folds of shared rows; with
rows of up to 16 elements these take 2 to 7 times as long there, with functions, too.
Groups were at 0.9-1.1 of the
outer version where they fit in a cache, and far slower with short rows: on a CPU they
are left to be requested. Other folds run in chunks of many thousand points on a CPU,
too: fewer heavy points than that are better mapped first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TypeGuard

from minifut.ir.core import (
    ArrayLiteral,
    Assert,
    Atom,
    DimSlice,
    Exp,
    If,
    Index,
    Lambda,
    Loop,
    Reshape,
    ScalarOp,
    SizeExp,
    Stm,
)
from minifut.ir.kernels import NEVER, SegMap, SegRed, SegScan
from minifut.ir.scalar_opencl import calls_library
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ONE, Size, maximum, minimum, product
from minifut.ir.soacs import Screma, operand_count
from minifut.ir.traverse import bound_names, free_names
from minifut.ir.types import I64, U64, ArrayType, shape_of
from minifut.names import Name
from minifut.passes.flatten.context import SEGMENTED

ALWAYS = 0
CPU_BUSY = 4
CPU_PRODUCTS = 1 << 8
CPU_SHORT_ROWS = 1 << 17
CPU_COLUMNS = 1 << 6
CPU_SHARED_ROWS = 1 << 8
CPU_SHARED_CALLS = 1 << 14
LONG_ROWS, LONG_ROWS_OF_CALLS = 8, 64
MOST_PASSES = 3
CPU_LANES = 16
CPU_FOLD = 1 << 15
GPU_BUSY = 1 << 15
GROUP_BUSY = 128

INTRA_DEFAULTS = (NEVER, GROUP_BUSY)


def outer_defaults(
    function: Lambda,
    last: Iterable[Stm],
    one_operation: bool,
    iotas: Set[Name],
    columns: bool = False,
) -> tuple[int, int]:
    """For a CPU and a GPU, of a map of this function whose last version has these
    statements on the host, and may be one segmented operation; these arrays number
    their elements, and rows of points may be `columns` in memory."""
    made = [statement.exp for statement in last]
    if any(isinstance(exp, Loop) for exp in made):
        return ALWAYS, GPU_BUSY
    if columns and any(isinstance(exp, SegScan) for exp in made):
        return CPU_COLUMNS, GPU_BUSY
    segmented = [exp for exp in made if isinstance(exp, SEGMENTED)]
    if len(segmented) == 1 and is_elementwise(segmented[0]):
        return NEVER, GPU_BUSY
    if one_operation:
        folds = [exp for exp in made if isinstance(exp, SegRed)]
        if any(shares_operands(fold, iotas) for fold in folds):
            return CPU_PRODUCTS, GPU_BUSY
        if any(shares_rows(fold, iotas) for fold in folds):
            calls = folds_calls(function)
            return CPU_SHARED_CALLS if calls else CPU_SHARED_ROWS, GPU_BUSY
        deepest = max((len(fold.space.sizes) for fold in folds), default=0)
        inner = [fold for fold in folds if len(fold.space.sizes) == deepest]
        if len(inner) < len(folds) and all(map(shares_all, inner)):
            return CPU_BUSY, GPU_BUSY
        if any(map(gathers_rows, folds)):
            return CPU_BUSY, GPU_BUSY
        return NEVER, GPU_BUSY
    scans = [exp for exp in made if isinstance(exp, SegScan)]
    if scans:
        flattened = has_calls(function) or not all(map(sums_integers, scans))
    else:
        flattened = makes_arrays(function.body) and folds_calls(function)
    return CPU_SHORT_ROWS if flattened else CPU_BUSY, GPU_BUSY


def tiled_points(
    points: Size, function: Lambda, last: Sequence[Stm], iotas: Set[Name]
) -> Size:
    """The points of a map whose last version has these statements, as its threshold
    counts them: none if products of `CPU_PRODUCTS` results are tiled there, which a
    thread would do element by element. Where the results are folded by an operator that
    does not commute, as positions of extremes, lanes are points, if they have no
    arrays: the last version would fold with a branch for each result.
    """
    folds = [s.exp for s in last if isinstance(s.exp, SegRed)]
    commutes = all(o.commutative for fold in folds for o in fold.operators)
    if not commutes and not makes_arrays(function.body):
        return points
    bound = {name for statement in last for name in bound_names(statement)}
    results = [
        product(statement.exp.space.sizes[-3:-1])
        for statement in last
        if isinstance(statement.exp, SegRed) and shares_operands(statement.exp, iotas)
    ]
    known = [size for size in results if size.names().isdisjoint(bound)]
    if not known:
        return points
    is_tiled = minimum(ONE, maximum(*known) // CPU_PRODUCTS)
    return points * (ONE - is_tiled)


def folded_points(points: Size, function: Lambda, last: Sequence[Stm]) -> Size:
    """The same, none if all that the last version does is to fold rows, and these are
    long: threads would need the rows transposed, and so pass over them three times. Not
    those that threads make by loops: these fold them at 1.0-0.2 of the time."""
    made = [s.exp for s in last if isinstance(s.exp, (*SEGMENTED, Loop))]
    folds = [exp for exp in made if isinstance(exp, SegRed)]
    for exp in made:
        if isinstance(exp, SegRed):
            *around, _ = exp.space.sizes
            if len(exp.body.result) != operand_count(exp.operators) or shares_rows(exp):
                return points
        elif isinstance(exp, SegMap) and not makes_arrays(exp.body, Loop):
            around = list(exp.space.sizes)
        else:
            return points
        if product(tuple(around)) != points:
            return points
    bound = {name for statement in last for name in bound_names(statement)}
    widths = [fold.space.sizes[-1] for fold in folds]
    if not 0 < len(widths) <= MOST_PASSES or any(bound & w.names() for w in widths):
        return points
    long = LONG_ROWS_OF_CALLS if folds_calls(function) else LONG_ROWS
    return points * (ONE - minimum(ONE, maximum(*widths) // long))


def points_in_vectors(points: Size, last: Iterable[Stm], iotas: Set[Name]) -> Size:
    """The same, none if they fold what they share, so that they are lanes, and are in
    rows that fill no vector."""
    for exp in (statement.exp for statement in last):
        if isinstance(exp, SegRed) and shares_rows(exp, iotas):
            *around, _ = exp.space.sizes
            rows = len(around) > 1 and product(tuple(around)) == points
            if rows and not shares_operands(exp, iotas):
                return points * minimum(ONE, around[-1] // CPU_LANES)
    return points


def fold_defaults(last: Iterable[Stm], depth: int, iotas: Set[Name]) -> tuple[int, int]:
    """The same for a reduction or scan, the last of so many dimensions. Where each of
    its points folds operands that it shares with others, as distances of all points to
    all centres of which the least are wanted, lanes are points."""
    made = [statement.exp for statement in last]
    folds = [
        exp
        for exp in made
        if isinstance(exp, SegRed) and len(exp.space.sizes) == depth + 1
    ]
    scans = any(isinstance(exp, SegScan) for exp in made)
    if not scans and any(shares_operands(fold, iotas) for fold in folds):
        return CPU_PRODUCTS, GPU_BUSY
    operations = sum(isinstance(exp, SEGMENTED) for exp in made)
    return NEVER if operations <= 2 else CPU_FOLD, GPU_BUSY


def makes_arrays(body: object, kind: type = Screma) -> bool:
    """Whether a point of a map has arrays of its own, made by such expressions, so that
    its body is not lifted to lanes."""
    return any(
        isinstance(node.exp, kind)
        and any(isinstance(bound.type, ArrayType) for bound in node.pattern)
        for node in nodes_of(Stm, body)
    )


def sums_integers(kernel: SegScan) -> bool:
    """Whether all that is scanned are sums that a processor adds to in each cycle, and
    so wide that vectors gain nothing."""
    return all(
        isinstance(node.exp, ScalarOp)
        and node.exp.operator.name == "add"
        and node.exp.operator.result in (I64, U64)
        for operator in kernel.operators
        for node in nodes_of(Stm, operator.operator)
    )


def folds_calls(function: Lambda) -> bool:
    """Whether a point folds what functions give that are best done on vectors."""
    return any(
        has_calls(node.function)
        for node in nodes_of(Screma, function.body)
        if not node.is_map
    )


def has_calls(function: Lambda) -> bool:
    """Whether there is a call of a function that is best done on vectors."""
    return any(calls_library(exp.operator) for exp in nodes_of(ScalarOp, function))


def is_elementwise(operation: Exp) -> bool:
    """Whether a kernel is a map whose points compute elements, or literals of them, and
    no array that those of a row would compute once each, as flattened views are."""
    if not isinstance(operation, SegMap):
        return False
    statements = list(nodes_of(Stm, operation.body))
    rows = {p.name for s in statements for p in s.pattern if len(shape_of(p.type)) == 1}
    return all(
        isinstance(s.exp, ScalarOp | SizeExp | Index | If | ArrayLiteral)
        or (isinstance(s.exp, Reshape) and s.exp.array in rows)
        for s in statements
    )


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
        found = [
            self._sums[p] for p in parts if isinstance(p, Name) and p in self._sums
        ]
        if parts and len(found) == len(parts):
            whole = set().union(*found)
            if len(whole) == sum(map(len, found)):
                self._sums[statement.pattern[0].name] = whole
        if depends:
            self._varying.update(parameter.name for parameter in statement.pattern)

    def is_window(self, access: Index, segment: Name) -> bool:
        """Whether neighbouring segments read neighbouring elements of a row."""
        *before, last = access.slice
        moved = (segment in self._sums.get(i, {segment}) for i in before if self._is(i))
        return self._is(last) and segment in self._sums.get(last, ()) and not any(moved)

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
