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
    a scan of one value, then a map    1.1-2.4    threads transpose squares of the rows
      of two floats, from 2^12 points  0.7-1.2    to scan several at once, but pass over
      of 12 bytes, from 2^8 points on  0.3-1.1    memory fewer times; with fewer points
      then a fold of floats, of 2^12   0.6-0.9    1.0-5.3; of integers 1.0-2.1
      then a fold of doubles, of 2^8   0.5-0.9
      by operators with calls, of 2^6  0.2-0.3    one of 16 points 2.7
      all that becomes of it, of 2^6   0.3-0.6    one loop scans and folds floats
    sums of i64 as scans               0.5-1.0    a thread adds in each cycle, and does
                                                  several in one pass; not with calls
    a fold of reductions               0.3-1.0    threads need no array between them
      whose operands are shared        0.2-0.9    lanes are the points that are folded
    convolutions, of one image, too    0.003-0.05 all operands are shared, or windows
    sums of elements at loaded places  0.4-1.1    in rows of up to 64 elements
    folds of rows at loaded places     0.5-0.8    whole rows are read; 1.1 of 5,000 rows
    a loop of maps                     0.1-0.3    every round would be several launches
    folds of what functions give       1.1-10     `exp` and its like go by vectors, but
      in rows of up to 15 elements     0.1-1.0    not in the fold of a thread, unless it
      of up to 32, with arrays         0.6-1.1    is a sum, product or extreme of floats
      plain ones with arrays           0.3-1.0    and stores them: any length

A thread does a product inside its body without tiles, 3 to 11 times slower than the
last version from 16 x 16 results on, whatever the number of points (`tiled_points`),
but in 0.05-0.7 of the time if it has fewer than 16 steps, as distances in space; where
results are folded by an operator that does not commute, it takes 0.1-1.15 of it.

So a CPU is busy with a few points for each core, except that scans are flattened up to
2^6 to 2^17 points, and folds of calls up to 2^17. Where the last version is just one
segmented operation, or two for a fold, it is always taken, but for products and folds
of shared rows; with rows of up to 16 elements these take 2 to 7 times as long there,
with functions, too. Groups were at 0.9-1.1 of the outer version where they fit in a
cache, and far slower with short rows: on a CPU they are left to be requested. Other
folds run in chunks of many thousand points on a CPU, too: fewer heavy points than that
are better mapped first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from minifut.ir.core import (
    ArrayLiteral,
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
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ONE, Size, maximum, minimum, product
from minifut.ir.soacs import Screma, operand_count
from minifut.ir.traverse import bound_names
from minifut.ir.types import I64, U64, ArrayType, element_of, shape_of
from minifut.names import Name
from minifut.passes.flatten.context import SEGMENTED
from minifut.passes.flatten.plain_folds import folds_calls, folds_scans, has_calls
from minifut.passes.flatten.shared_operands import (
    gathers_elements,
    gathers_rows,
    shares_all,
    shares_operands,
    shares_rows,
)

ALWAYS = 0
CPU_BUSY = 4
CPU_PRODUCTS = 1 << 8
CPU_TILED = 16
CPU_SHORT_ROWS = 1 << 17
CPU_LONG_ROWS = 1 << 32
CPU_WIDE_SCANS, CPU_SCANS = 1 << 8, 1 << 12
WIDE_SCANS, FOLDED_SCANS = 12, 8
"""bytes that are scanned for an element, and may be folded then"""
CPU_COLUMNS = 1 << 6
CPU_SHARED_ROWS = 1 << 8
CPU_SHARED_CALLS = 1 << 14
LONG_ROWS, LONG_ROWS_OF_CALLS = 8, 64
SHORT_FOLDED, SHORT_STORED, SHORT_GATHERED = 15, 32, 64
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
        if len(inner) < len(folds) and all(shares_all(fold, iotas) for fold in inner):
            return CPU_BUSY, GPU_BUSY
        if any(map(gathers_rows, folds)):
            return CPU_BUSY, GPU_BUSY
        if folds_calls(function) or gathers_in(folds, iotas):
            return CPU_LONG_ROWS, GPU_BUSY
        return CPU_BUSY if len(inner) < len(folds) else NEVER, GPU_BUSY
    scans = [exp for exp in made if isinstance(exp, SegScan)]
    if scans and not has_calls(function) and all(map(sums_integers, scans)):
        return CPU_BUSY, GPU_BUSY
    if scans:
        if not has_calls(function) and folds_scans(function):
            return CPU_COLUMNS, GPU_BUSY
        folded = any(isinstance(exp, SegRed) for exp in made)
        return scan_default(scans, folded), GPU_BUSY
    flattened = makes_arrays(function.body) and folds_calls(function, but_plain=True)
    return CPU_SHORT_ROWS if flattened else CPU_BUSY, GPU_BUSY


def scan_default(scans: Sequence[SegScan], folded: bool) -> int:
    """For a CPU, where the last version has these scans of rows among other operations,
    and may fold what they give. Vectors apply an operator to each element once in the
    squares of threads, but log2(lanes) times in a segmented scan."""
    operators = [operator for scan in scans for operator in scan.operators]
    scanned = [type_ for o in operators for type_ in o.operator.results]
    nested = len({len(scan.space.sizes) for scan in scans}) > 1
    elements = [element_of(type_) for type_ in scanned]
    if nested or any(map(shape_of, scanned)) or any(e.is_integer for e in elements):
        return CPU_SHORT_ROWS
    if any(has_calls(o.operator) for o in operators):
        return CPU_COLUMNS
    width = sum(element.bytes for element in elements)
    if width >= (FOLDED_SCANS if folded else WIDE_SCANS):
        return CPU_WIDE_SCANS
    return CPU_SCANS if folded or len(elements) > 1 else CPU_SHORT_ROWS


def tiled_points(
    points: Size, function: Lambda, last: Sequence[Stm], iotas: Set[Name]
) -> Size:
    """The points of a map whose last version has these statements, as its threshold
    counts them: none if products of `CPU_PRODUCTS` results, and of `CPU_TILED` steps if
    points have no arrays, are tiled there, which a thread would do element by element.
    Where the results are folded by an operator that does not commute, as positions of
    extremes, lanes are points: the last version would fold with a branch for each.
    """
    folds = reductions_of(last)
    commutes = all(o.commutative for fold in folds for o in fold.operators)
    if not commutes and not makes_arrays(function.body):
        return points
    bound = {name for statement in last for name in bound_names(statement)}
    least = 1 if makes_arrays(function.body) else CPU_TILED
    tiled = [
        minimum(ONE, product(fold.space.sizes[-3:-1]) // CPU_PRODUCTS)
        * minimum(ONE, fold.space.sizes[-1] // least)
        for fold in folds
        if shares_operands(fold, iotas)
    ]
    known = [size for size in tiled if size.names().isdisjoint(bound)]
    return points * (ONE - maximum(*known)) if known else points


def folded_points(
    points: Size, function: Lambda, last: Sequence[Stm], iotas: Set[Name]
) -> Size:
    """The same, none if all that the last version does is to fold rows, and these are
    long: threads would need the rows transposed, and so pass over them three times. Not
    those that threads make by loops: these fold them at 1.0-0.2 of the time."""
    made = [s.exp for s in last if isinstance(s.exp, (*SEGMENTED, Loop))]
    folds = [exp for exp in made if isinstance(exp, SegRed)]
    for exp in made:
        if isinstance(exp, SegRed):
            *around, _ = exp.space.sizes
            mapped = len(exp.body.result) - operand_count(exp.operators)
            if mapped or shares_rows(exp, iotas) or shares_operands(exp, iotas):
                return points
        elif isinstance(exp, SegMap) and not makes_arrays(exp.body, Loop):
            around = list(exp.space.sizes)
        else:
            return points
        if product(tuple(around)) != points:
            return points
    slow = folds_calls(function) or gathers_in(folds, iotas)
    long = has_rows_of(LONG_ROWS_OF_CALLS if slow else LONG_ROWS, last)
    return points if long is None or len(folds) > MOST_PASSES else points * (ONE - long)


def points_of_short_rows(
    points: Size, function: Lambda, last: Sequence[Stm], iotas: Set[Name]
) -> Size:
    """The same, very many if threads would fold calls or gathers in short rows. Of up
    to 32 elements, where they store arrays, threads take 0.6-1.1 of the time, of up to
    15 that they only fold 0.1-1.0, and of up to 64 that they gather 0.4-1.1."""
    scans = any(isinstance(s.exp, SegScan) for s in last)
    gathers = gathers_in(reductions_of(last), iotas)
    if scans or not (gathers or folds_calls(function)):
        return points
    stored = SHORT_STORED if makes_arrays(function.body) else SHORT_FOLDED
    long = has_rows_of((SHORT_GATHERED if gathers else stored) + 1, last)
    if long is None:
        return points
    return points * (ONE + (ONE - long) * CPU_LONG_ROWS)


def reductions_of(last: Iterable[Stm]) -> list[SegRed]:
    """The segmented reductions of a version."""
    return [s.exp for s in last if isinstance(s.exp, SegRed)]


def gathers_in(folds: Iterable[SegRed], iotas: Set[Name]) -> bool:
    """Whether one of them combines elements at loaded places."""
    return any(gathers_elements(fold, iotas) for fold in folds)


def has_rows_of(least: int, last: Sequence[Stm]) -> Size | None:
    """1 if rows that are folded have so many elements, or else 0; None if there are no
    rows, or their lengths are known only there."""
    bound = {name for statement in last for name in bound_names(statement)}
    widths = [fold.space.sizes[-1] for fold in reductions_of(last)]
    if not widths or any(bound & width.names() for width in widths):
        return None
    return minimum(ONE, maximum(*widths) // least)


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
