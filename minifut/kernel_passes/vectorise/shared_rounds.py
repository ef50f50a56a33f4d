"""Loops whose bounds differ between the points of a block: rounds that all points have.

    for (i = first; i < first + 16; i++)
        for (j = lo; j < hi; j++) body        lo, hi: minima, maxima and sums of i and
                                              what all points share
    →
        if (lo and hi grow by one from each point to the next)
            for (t = 0; t < hi of the first - lo of the first; t++) body of j = lo + t
        else
            for (j = least lo; j < greatest lo; j++) if (lo <= j && j < hi) body
            for (; j < least hi; j++) body
            for (; j < greatest hi; j++) if (lo <= j && j < hi) body

Products of polynomials, correlations, sums over triangles and windows that are clamped
are such loops. In lanes the middle loop has no masks, and what it loads is contiguous
or the same for all lanes. Each point does the rounds that it did, in their order.

A loop that counts from zero and adds a start to its variable counts from there on:

    for (t = 0; t < hi - lo; t++) {j = lo + t; ..}    →    for (j = lo; j < hi; j++) ..

Source: Griebl, Feautrier, Lengauer, "Index set splitting" (2000), where the index sets
are those of a block of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.node import replace, same_or
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children, rename_to, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import constants, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.editor import loops_of
from minifut.kernel_passes.index_ranges import DEEPEST, as_size
from minifut.kernel_passes.position_conditions import is_near
from minifut.kernel_passes.position_ranges import QUOTIENTS, RESIDUES, extreme, used
from minifut.kernel_passes.vectorise import divergent_loops, narrowed_rounds, rows
from minifut.kernel_passes.vectorise.context import LoopContext
from minifut.kernel_passes.vectorise.extents import Extent, ExtentFinder, size_value
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

RoundsEnd = tuple[Extent, list[kc.Expression]]
"""of rounds: what it is, and what is not shared of that which it is the extreme of"""
ZERO, ONE = kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG)
MANY = 4
"""rounds that points share, for each of them: rounds of several vectors of which some
points have none are masked in each vector, which takes three times as long"""
LONGEST = 80
"""nodes of statements in a body that is written several times"""


@rule(kc.For, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def share_rounds(block: kc.For, context: LoopContext) -> KernelOutcome:
    """Give the rounds that all points of a block have a loop of their own.

    before:
        given (const float *xs, float *ys, long m, long t)
        for (long i = t; i < t + 4; i++) {
            float y = 0.0f;
            for (long j = 0; j < min_i64(i, m); j++) {
                y = y + xs[i - j];
            }
            ys[i] = y;
        }
    after:
        for (long i = t; i < (t + 4L); i++) {
            float y = 0.0f;
            long least = min(t, m);
            long done = min((long)(t + 3L), m);
            for (long j = 0L; j < least; j++) {
                y = y + xs[i - j];
            }
            for (long j_1 = max((long)(0L), least); j_1 < done; j_1++) {
                if (j_1 < i) {
                    y = y + xs[i - j_1];
                }
            }
            ys[i] = y;
        }
    declines: no loop has bounds that differ by known numbers
        like before, with
        float *ys, long m => const long *ms, float *ys
        min_i64(i, m) => ms[i]
    """
    if block.rounds is None:
        return None
    sharing = _Sharing(block, block.rounds, context.k)
    body = sharing.block(block.body.statements, False)
    if body is block.body.statements:
        return Declined("no loop has bounds that differ by known numbers")
    context.assumed += sharing.assumed
    return (replace(block, body=kc.Block(used(body))),)


def shares_most_rounds(block: kc.For, k: CodeBuilder) -> kc.Expression | None:
    """Whether the points of a block share so many more rounds than there are points
    that those which only some have hardly count; None if that is not known before."""
    assert block.rounds is not None
    sharing = _Sharing(block, block.rounds, k)
    body = block.body.statements
    with k.nested():
        sharing.block(body, False)
    if len(sharing.mostly) < sum(1 for _ in loops_of(body)):
        return None
    return kc.any_of(sharing.mostly)


class _Sharing:
    """Rewrites the loops in the body of a block."""

    def __init__(self, block: kc.For, points: int, k: CodeBuilder) -> None:
        body = block.body.statements
        self.k, self.points, self.index = k, points, block.variable
        self.first = block.start
        self.varying = find_varying(block.body, [block.variable.name])
        self.definitions = constants(body)
        self.inside = declared(body) | {block.variable.name}
        self.assumed: list[kc.Expression] = []
        self.mostly: list[kc.Expression] = []
        """of loops in parts, whether most rounds are those that all points have"""

    def block(
        self, statements: tuple[kc.Statement, ...], reassociates: bool
    ) -> tuple[kc.Statement, ...]:
        made: list[kc.Statement] = []
        for statement in statements:
            made += self.statement(statement, reassociates)
        return same_or(made, statements)

    def statement(
        self, statement: kc.Statement, reassociates: bool
    ) -> Sequence[kc.Statement]:
        reassociates |= isinstance(statement, kc.Reassociate)
        if isinstance(statement, kc.For) and not statement.points:
            ends = statement.start, statement.bound
            differs = any(varies(end, self.varying) for end in ends)
            fewer = narrowed_rounds.narrowed(statement, self.k)
            if fewer is None and differs:
                fewer = statement, []
            made = None if fewer is None else self.loop(*fewer, reassociates)
            if made is not None:
                return made
        if isinstance(statement, kc.Expression) or not kc.blocks_of(statement):
            return (statement,)

        def inside(node: Any) -> Any:
            if not isinstance(node, kc.Block):
                return node
            made = self.block(node.statements, reassociates)
            return node if made is node.statements else kc.Block(made)

        if isinstance(statement, kc.Block):
            return (inside(statement),)
        return (map_children(statement, inside),)

    # --- one loop ---------------------------------------------------------------------

    def loop(
        self, loop: kc.For, conditions: Sequence[kc.Expression], reassociates: bool
    ) -> Sequence[kc.Statement] | None:
        """A loop whose bounds differ, as several; None if it stays as it is, as where
        the `conditions` are not known to hold before."""
        size = sum(isinstance(node, kc.Statement) for node in walk(loop))
        if not loop.counts_by_ones or size > LONGEST:
            return None
        shared: list[kc.Expression] = []
        last = self.first + (self.points - 1)
        position = Extent(self.first, last, (self.first, last), 1, 1)
        index = self.index.name, position
        extents = ExtentFinder(index, self.definitions, self.varying, shared)
        counted = self.counted(loop)
        low, high = extents.of(counted.start), extents.of(counted.bound)
        if low is None or high is None or self.reads_streams(counted, reassociates):
            return None
        if not self.assume([*conditions, *map(is_near, shared)]):
            return None
        if low.is_shared and high.is_shared:
            return (replace(counted, start=low.low, bound=high.low),)
        starts = extents.differing(counted.start, "max")
        bounds = extents.differing(counted.bound, "min")
        return self.parts(counted, (low, starts), (high, bounds))

    def reads_streams(self, loop: kc.For, reassociates: bool) -> bool:
        """Whether points read streams of their own, at distances that are not known,
        though vectors may be made of the rounds of a point."""
        if rows.Rounds.of(loop, reassociates).waits:
            return False
        inside, name = loop.body.statements, loop.variable.name
        varying = find_varying(inside, self.varying - declared(inside) - {name})
        for load in divergent_loops.streams(loop.body, (name,)):
            index = as_size(load.index, self.definitions)
            if index is None or not self.is_affine(index, varying):
                return True
        return False

    def is_affine(self, size: Size, varying: frozenset[Name]) -> bool:
        """Whether a size is a multiple of the index and what points share."""
        factor, rest = size.divided(Size.of(self.index.name))
        return varying.isdisjoint(factor.names() | rest.names())

    def counted(self, loop: kc.For) -> kc.For:
        """The loop, from the start on that it adds to its variable."""
        sizes = [as_size(end, self.definitions) for end in (loop.start, loop.bound)]
        start, bound = sizes
        if start is None or bound is None:
            return loop
        name = loop.variable.name
        body: kc.Block = loop.body
        more = self.added(loop)
        if more is not None:
            body = self.with_size(body, name, Size.of(name) - more)
            start, bound = start + more, bound + more
        ends = size_value(start), size_value(bound)
        return replace(loop, start=ends[0], bound=ends[1], body=body)

    def added(self, loop: kc.For) -> Size | None:
        """What is added to the variable of a loop where memory is read, and differs
        between points by more or less than a known number."""
        name = loop.variable.name
        for node in walk(loop.body):
            if not isinstance(node, kc.Load):
                continue
            index = as_size(node.index, self.definitions)
            factors = {} if index is None else dict(index.terms)
            by = factors.pop((name,), 0)
            for monomial, coefficient in factors.items():
                if coefficient == by and len(monomial) == 1:
                    (atom,) = monomial
                    is_index = atom == self.index.name
                    if not is_index and self.differs(Size.of(atom)):
                        return Size.of(atom)
        return None

    def differs(self, size: Size) -> bool:
        """Whether a size differs between points, and is known before a loop."""
        return not size.names().isdisjoint(self.varying) and all(
            name in self.definitions
            or name not in self.inside
            or name == self.index.name
            for name in size.names()
        )

    def with_size(self, node: Any, name: Name, there: Size) -> Any:
        """The node with indices in which a size is in the place of a variable."""

        def change(child: Any) -> Any:
            return self.with_size(child, name, there)

        match node:
            case kc.Declare(_, None):
                return node
            case kc.Declare(_, init):
                return replace(node, init=change(init))
            case kc.Assign(_, exp):
                return replace(node, exp=change(exp))
            case kc.For():
                start, bound, body = map(change, (node.start, node.bound, node.body))
                return replace(node, start=start, bound=bound, body=body)
        if isinstance(node, kc.Expression) and node.type == kc.LONG:
            size = as_size(node, self.definitions)
            if size is not None:
                if name not in size.names():
                    return node
                return size_value(size.substitute({name: there}))
        return map_children(node, change)

    def assume(self, conditions: Sequence[kc.Expression]) -> bool:
        """Let these conditions hold; False if that is not known before the points. A
        position is small."""
        found: list[kc.Expression] = []
        position = is_near(self.index)
        for condition in conditions:
            if alpha_equal(condition, position):
                continue
            before = self.before(condition)
            if before is None:
                return False
            found.append(before)
        self.assumed += found
        return True

    def before(self, condition: kc.Expression) -> kc.Expression | None:
        """A condition as it is known before the points; None if it is not."""
        before: kc.Expression = self.expanded(condition)
        for node in walk(before):
            if isinstance(node, kc.Variable) and node.name in self.inside:
                return None
            if isinstance(node, kc.SizeValue) and node.size.names() & self.inside:
                return None
            if isinstance(node, kc.Load | kc.Register) or divides(node):
                return None
        return before

    def expanded(self, node: Any, depth: int = DEEPEST) -> Any:
        """An expression with the definitions of variables in their places."""
        if isinstance(node, kc.Variable) and node.name in self.inside and depth:
            made = self.definitions.get(node.name)
            return node if made is None else self.expanded(made, depth - 1)
        return map_children(node, lambda child: self.expanded(child, depth))

    def parts(
        self, loop: kc.For, lows: RoundsEnd, highs: RoundsEnd
    ) -> Sequence[kc.Statement]:
        """The rounds that all points have, and those before and after them; or those of
        points whose bounds grow together."""
        k = self.k
        (low, starts), (high, bounds) = lows, highs
        at = loop.variable
        tests = (
            [kc.Binary("<=", start, at, kc.TRUTH) for start in starts],
            [kc.Binary("<", at, bound, kc.TRUTH) for bound in bounds],
        )
        with k.nested() as made:
            apart = not low.is_shared and not high.is_shared
            aligned = apart and low.is_steady and high.is_steady
            least, most = (k.named(end, "least") for end in (low.low, high.low))
            begun = least if low.is_shared else k.named(low.high, "begun")
            done = most if high.is_shared else k.named(high.high, "done")
            many = high.low - low.high >= MANY * self.points
            if aligned:
                together = self.together(least, begun, most, done)
                many = kc.any_of(
                    [many, self.together(low.low, low.high, high.low, high.high)]
                )
                with k.branch(together):
                    k.emit(self.moving(loop, least, most))
                with k.otherwise():
                    self.emit_parts(loop, (least, begun), (most, done), tests)
            else:
                self.emit_parts(loop, (least, begun), (most, done), tests)
        known = self.before(many)
        if known is not None:
            self.mostly.append(known)
        return made

    def together(self, *ends: kc.Expression) -> kc.Expression:
        """Whether both bounds grow by one from each point to the next."""
        least, begun, most, done = ends
        grown = self.points - 1
        return kc.all_of([(begun - least).equals(grown), (done - most).equals(grown)])

    def moving(self, loop: kc.For, least: kc.Expression, most: kc.Expression) -> kc.For:
        """The rounds of points whose bounds grow together."""
        k = self.k
        count = k.variable("t", kc.LONG)
        with k.nested() as body:
            distance = self.index - self.first + least
            k.emit(kc.Declare(loop.variable, distance + count))
            k.statements += loop.body.statements
        moved = replace(
            loop,
            variable=count,
            start=ZERO,
            bound=most - least,
            body=kc.Block(tuple(body)),
        )
        return rename_to(moved, k.fresh_names((moved,)))

    def emit_parts(
        self,
        loop: kc.For,
        starts: tuple[kc.Expression, kc.Expression],
        bounds: tuple[kc.Expression, kc.Expression],
        tests: tuple[Sequence[kc.Expression], Sequence[kc.Expression]],
    ) -> None:
        """The rounds that all points have, which are not tested; those before, and
        those after, which the points that do any have begun."""
        k, (has_begun, goes_on) = self.k, tests
        (least, begun), (most, done) = starts, bounds

        def some(
            start: kc.Expression, bound: kc.Expression, tests: Sequence[kc.Expression]
        ) -> kc.For:
            body = kc.Block((kc.Branch(kc.all_of(tests), loop.body),))
            again = replace(loop, start=start, bound=bound, body=body)
            return rename_to(again, k.fresh_names((again,)))

        if least is not begun:
            end = extreme("min", [begun, done])
            k.emit(some(least, end, [*has_begun, *goes_on]))
        k.emit(replace(loop, start=begun, bound=most))
        if most is not done:
            k.emit(some(extreme("max", [begun, most]), done, goes_on))


def divides(node: object) -> bool:
    """Whether an expression may have no value."""
    if isinstance(node, kc.Operation):
        return node.operator.name in (*QUOTIENTS, *RESIDUES)
    return isinstance(node, kc.Binary) and node.symbol in ("/", "%")
