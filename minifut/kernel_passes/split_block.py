"""Blocks of points: what depends on their positions is tested once for a block.

    for (l = 0; l < 64; l++) {            if (at + 64 <= n)
        i = at + l;                           for (l = 0; l < 64; l++) A
        if (i < n) A else B           →   else
    }                                         for (l = 0; l < 64; l++) as before

That are branches, comparisons that hold at one point or at all others, and indices that
wrap around (`split_wrapping`) or are clamped. Almost all blocks are those without
borders, and the points of these are straight-line code with neighbouring accesses.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from minifut.ir.node import replace
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes import position_ranges
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import change_loops
from minifut.kernel_passes.hoist_invariants import hoist_invariants
from minifut.kernel_passes.position_conditions import PositionConditions
from minifut.kernel_passes.position_splits import SplitFinder
from minifut.kernel_passes.split_wrapping import straight_range
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

MOST_BRANCHES = 3
"""that are decided for a block"""


@rule(kc.For, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_block(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Test once for a block of points whether what depends on the position is the same
    for all of them: the block keeps its size, for which registers suffice.

    before:
        given (const float *xs, float *lane, long n, long at)
        for (long l = 0; l < 64; l++) {
            long i = at + l;
            if (i >= 1 && i < n - 1) {
                lane[l] = lane[l] + xs[i - 1];
            }
        }
    after:
        if ((1L <= at) && ((at + 64L) <= (n - 1L))) {
            for (long l = 0L; l < 64L; l++) {
                long i = at + l;
                lane[l] = lane[l] + xs[i - 1L];
            }
        } else {
            as before
        }
    before:
        given (const int *xs, int *ys, long at, long count)
        for (long l = 0; l < count; l++) {
            long i = at + l;
            bool first = i == 0;
            int before = xs[mod_i64(i - 1, 5000)];
            if (first) {
                before = 7;
            }
            ys[l] = first ? 0 : xs[i] - before;
        }
    after:
        if (((((at + count) <= 0L) || (at >= 1L)) && (1L <= at)) && ((at + count) <=
        (max((long)(min((long)(5000L - 1L), (long)(281474976710656L))),
        (long)((-281474976710656L))) + 2L))) {
            for (long l = 0L; l < count; l++) {
                long i = at + l;
                bool first = false;
                int before = xs[i - 1L];
                ys[l] = first ? 0 : ((int)((uint)xs[i] - (uint)before));
            }
        } else {
            as before
        }
    before:
        given (const int *xs, int *ys, long at, long count, long n)
        for (long l = 0; l < count; l++) {
            long i = at + l;
            long j = max_i64(i - 1, 0);
            long k = min_i64(i + 2, n - 1);
            ys[l] = xs[j] + xs[k];
        }
    after:
        if ((1L <= at) && ((at + count) <= (max((long)(min((long)(n - 1L),
        (long)(281474976710656L))), (long)((-281474976710656L))) + (-1L)))) {
            for (long l = 0L; l < count; l++) {
                long i = at + l;
                long j = i - 1L;
                long k = i + 2L;
                ys[l] = (int)((uint)xs[j] + (uint)xs[k]);
            }
        } else {
            as before
        }
    declines: nothing depends on the position alone
        like before, with
        max_i64(i - 1, 0) => i
        min_i64(i + 2, n - 1) => i + 2
    """
    if not loop.counts_by_ones:
        return None
    body = loop.body.statements
    first = body[0] if body else None
    if not isinstance(first, kc.Declare):
        return None
    position, base = first.variable, _base(first, loop)
    if base is None or not isinstance(position, kc.Variable):
        return None
    points = replace(loop, variable=position, body=kc.Block(body[1:]))
    local = (loop.variable.name,)
    found = decided_in_block(points, base, loop.bound, context.k, local)
    if found is None:
        return Declined("nothing depends on the position alone")
    whole, within = found
    inner = kc.Block((replace(loop, body=kc.Block((first, *within))),))
    return (kc.Branch(whole, inner, kc.Block((loop,))),)


def decided_in_block(
    points: kc.For,
    base: kc.Expression,
    count: kc.Operand,
    k: CodeBuilder,
    local: Collection[Name] = (),
) -> tuple[kc.Expression, tuple[kc.Statement, ...]] | None:
    """Whether what depends on the position is the same for `count` points from `base`
    on, and what they do then; None if nothing depends on it alone. Names in `local` are
    not known before the points."""
    search = _BlockSearch(points, base, count, local)
    for _ in range(MOST_BRANCHES):
        if not search.decide_branch(k):
            break
    search.decide_comparisons()
    search.straighten()
    if not search.conditions:
        return None
    conditions = {str(condition): condition for condition in search.conditions}
    return kc.all_of([*conditions.values()]), position_ranges.used(
        search.points.body.statements
    )


class _StraightIndices(position_ranges.PositionIndices):
    """Also those that are clamped, where that changes nothing."""

    wrapping = position_ranges.PositionIndices.wrapping | {"min", "max"}

    def combined(
        self, name: str, left: kc.Expression, right: kc.Expression
    ) -> position_ranges.AffineIndex | None:
        if name not in ("min", "max"):
            return super().combined(name, left, right)
        for inner, other in ((left, right), (right, left)):
            found, limit = self.index(inner), self.before(other)
            if found is None or limit is None or found.factor == 0:
                continue
            if name == "min":
                self.limit(found, position_ranges.as_long(limit), False)
            elif isinstance(limit, kc.Literal):
                above = found.low - int(limit.value)
                self.first = max(self.first, -(above // found.factor))
            else:
                return None
            self.residues += 1
            return found
        return None


class _BlockSearch:
    """The points of a block, and under which conditions they do what they do."""

    def __init__(
        self,
        points: kc.For,
        base: kc.Expression,
        count: kc.Operand,
        local: Collection[Name],
    ) -> None:
        self.points = points
        self.base = base
        self.end = base + count
        self.local = local
        self.conditions: list[kc.Expression] = []

    def decide_branch(self, k: CodeBuilder) -> bool:
        """Take the side of a branch on the position that most blocks take; whether
        another branch may be decided as well, which is not so of two ranges."""
        finder = SplitFinder(self.points, k)
        finder.conditions.indices.local.update(self.local)
        found = finder.branch()
        if found is None:
            return False
        self.conditions += finder.conditions.assumptions
        if found.where.single:
            self.be_beside(found.where)
            self.put(found.outside(self.points))
            return True
        self.be_within(found.where)
        self.put(found.inside(self.points))
        return False

    def decide_comparisons(self) -> None:
        """Make constants of conditions that one position decides."""
        conditions = PositionConditions(self.points)
        conditions.indices.local.update(self.local)
        made: list[kc.Statement] = []
        for statement in self.points.body.statements:
            match statement:
                case kc.Declare(
                    kc.Variable(_, kc.TRUTH) as variable, kc.Expression() as exp
                ):
                    for truth in (True, False):
                        ranges = conditions.ranges(exp, truth)
                        if ranges and len(ranges) == 1 and ranges[0].single:
                            self.be_beside(ranges[0])
                            constant = kc.Literal(not truth, kc.TRUTH)
                            statement = kc.Declare(variable, constant)
            made.append(statement)
        self.conditions += conditions.assumptions
        self.put(tuple(made))

    def straighten(self) -> None:
        """Take indices that wrap around, or are clamped, as affine ones."""
        search = _StraightIndices(self.points)
        search.local.update(self.local)
        straight = search.straightened()
        if search.limits or search.first:
            self.be_within(straight_range(search))
            self.put(straight)

    def be_within(self, where: position_ranges.PositionRange) -> None:
        self.conditions += where.uniform
        self.conditions += (low <= self.base for low in where.lows)
        self.conditions += (self.end <= high for high in where.highs)

    def be_beside(self, where: position_ranges.PositionRange) -> None:
        before = [self.end <= low for low in where.lows]
        self.conditions.append(
            kc.any_of([*before, *(self.base >= high for high in where.highs)])
        )

    def put(self, body: tuple[kc.Statement, ...]) -> None:
        self.points = replace(self.points, body=kc.Block(body))


def split_block_by_loads(
    loop: kc.For, context: CodeContext
) -> tuple[kc.Statement, ...] | None:
    """The same of a block with points, also by what is loaded for all of them."""
    *loads, block = rewritten(hoist_invariants, loop, context) or (loop,)
    made = rewritten(split_block, block, context)
    return None if made is None else (*loads, *made)


def emit_split(k: CodeBuilder, points: Sequence[kc.Statement]) -> None:
    """Emit loops over the points of blocks, split so."""
    split = partial(split_block_by_loads, context=CodeContext(k))
    k.statements.extend(change_loops(tuple(points), split))


def _base(declared: kc.Declare, block: kc.For) -> kc.Expression | None:
    """What is added to the variable of a block that counts from zero."""
    exp, start = declared.init, block.start
    if not isinstance(start, kc.Literal) or start.value != 0:
        return None
    if not isinstance(exp, kc.Binary) or exp.symbol != "+":
        return None
    return exp.left if exp.right == block.variable else None
