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
    folds of rows that data select     0.4-0.8    along the row, from 2^12 points on
    a loop of maps                     0.1-0.3    every round would be several launches
    folds of what functions give       1.1-10     `exp` and its like go by vectors, but
      in rows of up to 15 elements     0.1-1.0    not in the fold of a thread, unless it
      of up to 32, with arrays         0.6-1.1    is a sum, product or extreme of floats
    choices by several comparisons,    0.3-0.9    each element is a jump that is
      in rows of up to 24 elements                mispredicted; of floats by one 1.0-1.6
    compositions in order, of 64 rows  0.1-0.6    lanes are rows; of 16 rows 1.0-2.0
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

from collections.abc import Sequence, Set

from minifut.analysis.operators import combines_by, component_operators
from minifut.ir import core
from minifut.ir.core import Exp, Lambda, Stm
from minifut.ir.kernels import NEVER, SegMap, SegRed, SegScan
from minifut.ir.scalars import COMPARISONS
from minifut.ir.search import contains, nodes_of
from minifut.ir.sizes import ONE, Size, maximum, minimum, product
from minifut.ir.soacs import Screma, operand_count
from minifut.ir.traverse import bound_names
from minifut.ir.types import I64, U64, ArrayType, element_of, shape_of
from minifut.names import Name
from minifut.passes.flatten.context import SEGMENTED
from minifut.passes.flatten.plain_folds import folds_calls, folds_scans, has_calls
from minifut.passes.flatten.shared_operands import sharing_of

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
CPU_SELECTED_ROWS = 1 << 12
CPU_SHARED_CALLS = 1 << 14
LONG_ROWS, LONG_ROWS_OF_CALLS = 8, 64
SHORT_FOLDED, SHORT_CHOSEN, SHORT_STORED, SHORT_GATHERED = 15, 24, 32, 64
MOST_PASSES = 3
CPU_LANES = 16
CPU_FOLD = 1 << 15
GPU_BUSY = 1 << 15
GROUP_BUSY = 128

INTRA_DEFAULTS = (NEVER, GROUP_BUSY)


class LastVersion:
    """What decides whether the last version of a map or fold of this function, whose
    statements on the host are given, is better than the outer one; these arrays number
    their elements."""

    def __init__(
        self, function: Lambda, statements: Sequence[Stm], iotas: Set[Name]
    ) -> None:
        self.function = function
        self.made = [statement.exp for statement in statements]
        self.bound = {name for s in statements for name in bound_names(s)}
        self.folds = [exp for exp in self.made if isinstance(exp, SegRed)]
        self.scans = [exp for exp in self.made if isinstance(exp, SegScan)]
        self.shared = [sharing_of(fold, iotas) for fold in self.folds]

    # --- thresholds for a CPU ---------------------------------------------------------

    def of_map(self, one_operation: bool, columns: bool) -> int:
        """The default of a map, whose last version may be one segmented operation, and
        rows of points `columns` in memory."""
        if any(isinstance(exp, core.Loop) for exp in self.made):
            return ALWAYS
        if columns and self.scans:
            return CPU_COLUMNS
        segmented = [exp for exp in self.made if isinstance(exp, SEGMENTED)]
        if len(segmented) == 1 and is_elementwise(segmented[0]):
            return NEVER
        if one_operation:
            return self._of_one_operation()
        if self.scans:
            return self._of_scans()
        if self.composes and not folds_calls(self.function):
            return CPU_COLUMNS
        flattened = makes_arrays(self.function.body)
        calls = flattened and folds_calls(self.function, but_plain=True)
        return CPU_SHORT_ROWS if calls else CPU_BUSY

    def _of_one_operation(self) -> int:
        calls = folds_calls(self.function)
        if any(shared.products for shared in self.shared):
            return CPU_PRODUCTS
        if any(shared.rows for shared in self.shared):
            return CPU_SHARED_CALLS if calls else CPU_SHARED_ROWS
        depths = [len(fold.space.sizes) for fold in self.folds]
        inner = [
            shared
            for shared, depth in zip(self.shared, depths, strict=True)
            if depth == max(depths)
        ]
        nested = len(inner) < len(self.folds)
        if nested and all(shared.everything for shared in inner):
            return CPU_BUSY
        if any(shared.gathers_rows for shared in self.shared):
            return CPU_BUSY
        if self.selects_rows:
            return CPU_SELECTED_ROWS
        if calls or self.gathers or self.chooses:
            return CPU_LONG_ROWS
        if self.composes:
            return CPU_COLUMNS
        return CPU_BUSY if nested else NEVER

    def _of_scans(self) -> int:
        """Where the last version has scans of rows among other operations, and may fold
        what they give. Vectors apply an operator to each element once in the squares of
        threads, but log2(lanes) times in a segmented scan."""
        calls = has_calls(self.function)
        folded = bool(self.folds)
        operators = [o.operator for scan in self.scans for o in scan.operators]
        # added in each cycle, and so wide that vectors gain nothing
        if not calls and all(combines_by(o, ("add",), (I64, U64)) for o in operators):
            return CPU_BUSY
        if not calls and folds_scans(self.function):
            return CPU_COLUMNS
        scanned = [type_ for operator in operators for type_ in operator.results]
        nested = len({len(scan.space.sizes) for scan in self.scans}) > 1
        elements = [element_of(type_) for type_ in scanned]
        if nested or any(map(shape_of, scanned)) or any(e.is_integer for e in elements):
            return CPU_SHORT_ROWS
        if any(map(has_calls, operators)):
            return CPU_COLUMNS
        width = sum(element.bytes for element in elements)
        if width >= (FOLDED_SCANS if folded else WIDE_SCANS):
            return CPU_WIDE_SCANS
        return CPU_SCANS if folded or len(elements) > 1 else CPU_SHORT_ROWS

    def of_fold(self, depth: int) -> int:
        """The default of a reduction or scan, the last of so many dimensions. Where
        each of its points folds operands that it shares with others, as distances of
        all points to all centres of which the least are wanted, lanes are points."""
        if not self.scans and any(
            shared.products and len(fold.space.sizes) == depth + 1
            for fold, shared in zip(self.folds, self.shared, strict=True)
        ):
            return CPU_PRODUCTS
        operations = sum(isinstance(exp, SEGMENTED) for exp in self.made)
        return NEVER if operations <= 2 else CPU_FOLD

    # --- what thresholds compare ------------------------------------------------------

    def counted(self, points: Size, perfect: bool) -> Size:
        """The points of a map, as its threshold counts them."""
        if not perfect:
            points = self._tiled(self._folded(points))
        return self._in_vectors(self._in_short_rows(points))

    def _tiled(self, points: Size) -> Size:
        """None if products of `CPU_PRODUCTS` results, and of `CPU_TILED` steps if
        points have no arrays, are tiled in the last version, which a thread would do
        element by element. Where the results are folded by an operator that does not
        commute, as positions of extremes, lanes are points: the last version would
        fold with a branch for each."""
        arrays = makes_arrays(self.function.body)
        commutes = all(o.commutative for fold in self.folds for o in fold.operators)
        if not commutes and not arrays:
            return points
        least = 1 if arrays else CPU_TILED
        tiled = [
            minimum(ONE, product(fold.space.sizes[-3:-1]) // CPU_PRODUCTS)
            * minimum(ONE, fold.space.sizes[-1] // least)
            for fold, shared in zip(self.folds, self.shared, strict=True)
            if shared.products
        ]
        known = [size for size in tiled if size.names().isdisjoint(self.bound)]
        return points * (ONE - maximum(*known)) if known else points

    def _folded(self, points: Size) -> Size:
        """None if all that the last version does is to fold rows, and these are long:
        threads would need the rows transposed, and so pass over them three times. Not
        those that threads make by loops: these fold them at 1.0-0.2 of the time."""
        if any(shared.rows or shared.products for shared in self.shared):
            return points
        if self.selects_rows:
            return points
        for exp in self.made:
            if isinstance(exp, SegRed):
                *around, _ = exp.space.sizes
                if len(exp.body.result) > operand_count(exp.operators):
                    return points
            elif isinstance(exp, SegMap) and not makes_arrays(exp.body, core.Loop):
                around = list(exp.space.sizes)
            elif isinstance(exp, (*SEGMENTED, core.Loop)):
                return points
            else:
                continue
            if product(tuple(around)) != points:
                return points
        slow = self.gathers or folds_calls(self.function)
        if self.composes and not slow:
            return points
        plain = SHORT_CHOSEN + 1 if self.chooses else LONG_ROWS
        long = self._has_rows_of(LONG_ROWS_OF_CALLS if slow else plain)
        if long is None or len(self.folds) > MOST_PASSES:
            return points
        return points * (ONE - long)

    def _in_short_rows(self, points: Size) -> Size:
        """Very many if threads would fold calls, choices or gathers in short rows. Of
        up to 32 elements, where they store arrays, threads take 0.6-1.1 of the time, of
        up to 15 that they only fold 0.1-1.0, of up to 24 among which they choose
        0.3-0.9, and of up to 64 that they gather 0.4-1.1."""
        slow = self.gathers or self.chooses or folds_calls(self.function)
        if self.scans or not slow:
            return points
        folded = SHORT_CHOSEN if self.chooses else SHORT_FOLDED
        stored = SHORT_STORED if makes_arrays(self.function.body) else folded
        long = self._has_rows_of((SHORT_GATHERED if self.gathers else stored) + 1)
        if long is None:
            return points
        return points * (ONE + (ONE - long) * CPU_LONG_ROWS)

    def _in_vectors(self, points: Size) -> Size:
        """None if they fold what they share, so that they are lanes, and are in rows
        that fill no vector."""
        for fold, shared in zip(self.folds, self.shared, strict=True):
            *around, _ = fold.space.sizes
            in_rows = len(around) > 1 and product(tuple(around)) == points
            if in_rows and shared.rows and not shared.products:
                return points * minimum(ONE, around[-1] // CPU_LANES)
        return points

    @property
    def gathers(self) -> bool:
        """Whether a fold combines elements at loaded places."""
        return any(shared.gathers for shared in self.shared)

    @property
    def selects_rows(self) -> bool:
        """Whether all folds are of rows that loaded data select, by operators of which
        there are vectors along a row."""
        if self.gathers or self.chooses or folds_calls(self.function):
            return False
        return bool(self.shared) and all(each.selects_rows for each in self.shared)

    @property
    def chooses(self) -> bool:
        """Whether a fold chooses between operands, other than by one comparison of
        floats, which scalar code does without a jump."""
        return any(_jumps(o.operator) for fold in self.folds for o in fold.operators)

    @property
    def composes(self) -> bool:
        """Whether a fold combines numbers in order, as functions are composed."""
        return any(
            not o.commutative
            and component_operators(o.operator) is None
            and not contains(o.operator, core.If)
            and not any(map(shape_of, o.operator.results))
            for fold in self.folds
            for o in fold.operators
        )

    def _has_rows_of(self, least: int) -> Size | None:
        """1 if rows that are folded have so many elements, or else 0; None if there are
        no rows, or their lengths are known only there."""
        widths = [fold.space.sizes[-1] for fold in self.folds]
        if not widths or any(self.bound & width.names() for width in widths):
            return None
        return minimum(ONE, maximum(*widths) // least)


def _jumps(operator: Lambda) -> bool:
    if not contains(operator, core.If):
        return False
    made = nodes_of(core.ScalarOp, operator)
    compared = [op.operator.type for op in made if op.operator.name in COMPARISONS]
    return len(compared) != 1 or not compared[0].is_float


def makes_arrays(body: object, kind: type = Screma) -> bool:
    """Whether a point of a map has arrays of its own, made by such expressions, so that
    its body is not lifted to lanes."""
    return any(
        isinstance(node.exp, kind)
        and any(isinstance(bound.type, ArrayType) for bound in node.pattern)
        for node in nodes_of(Stm, body)
    )


def is_elementwise(operation: Exp) -> bool:
    """Whether a kernel is a map whose points compute elements, or literals of them, and
    no array that those of a row would compute once each, as flattened views are."""
    if not isinstance(operation, SegMap):
        return False
    statements = list(nodes_of(Stm, operation.body))
    rows = {p.name for s in statements for p in s.pattern if len(shape_of(p.type)) == 1}
    return all(
        isinstance(
            s.exp,
            core.ScalarOp | core.SizeExp | core.Index | core.If | core.ArrayLiteral,
        )
        or (isinstance(s.exp, core.Reshape) and s.exp.array in rows)
        for s in statements
    )
