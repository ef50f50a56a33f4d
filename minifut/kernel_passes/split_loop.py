"""Split loops over points where a branch depends on their position.

    for (j = 0; j < m; j++)                  low = max(0, 1); high = min(m, m - 1)
        if (j >= 1 && j < m - 1 && u)   →    for (j = low; j < high; j++) A
            A                                for (the others) B
        else B

The condition is a conjunction of what is the same for all points (u) and of comparisons
that change once, where an index that grows with the loop passes a bound. So it holds in
one range of positions; the branch is in neither loop, and the one of the range is
vectorised. With A as the interior and B as the border of a stencil (`passes.split`)
this is index set splitting inside of one kernel: no position is computed by divisions,
and borders are written while the rows beside them are in the cache.

In blocks of a fixed number of points the branch is tested once for a block.

Source: Griebl, Feautrier, Lengauer, "Index set splitting" (2000).
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext
from minifut.kernel_passes.editor import KernelEditor, has_loops, loops_inside
from minifut.kernel_passes.position_ranges import (
    PositionIndices,
    PositionRange,
    all_of,
    clamped,
    emit_ranges,
    used,
)
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.rewrite.rule import Declined, rule

OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def split_loops_inside(k: KernelEditor) -> None:
    """Apply the rule to innermost loops over points that are within others."""

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        if not loop.points or has_loops(loop.body):
            return None
        outcome = split_loop(loop, CodeContext(k))
        return outcome if isinstance(outcome, tuple) else None

    def within(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        return (loops_inside(loop, change),) if loop.points else None

    k.change_loops(within)


@rule(paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_loop(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Give each side of a branch on the position a loop of its own.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float y;
            if (i >= 1 && i < n - 1) {
                y = xs[i - 1] + xs[i + 1];
            } else {
                float x = xs[i];
                y = x * 2.0f;
            }
            ys[i] = y;
        }
    after:
        long low = min((long)(max((long)(0L), (long)(1L))), n);
        long high = min((long)(max(low, (long)(n - 1L))), n);
        for (long side = 0L; side < 2L; side++) {
            for (long i = (side == 0L) ? 0L : high; i < ((side == 0L) ? low : n); i++) {
                float y;
                float x = xs[i];
                y = x * 2.0f;
                ys[i] = y;
            }
        }
        PARALLEL
        for (long i = low; i < high; i++) {
            float y;
            y = xs[i - 1L] + xs[i + 1L];
            ys[i] = y;
        }
    before:
        given (const float *xs, float *ys, long n)
        long row = n - 3;
        for (long i = 0; i < n; i++) {
            float y;
            if (row >= 1) {
                y = xs[i];
            } else {
                y = 0.0f;
            }
            ys[i] = y;
        }
    after:
        if (row >= 1L) {
            PARALLEL
            for (long i = 0L; i < n; i++) {
                float y;
                y = xs[i];
                ys[i] = y;
            }
        } else {
            for (long i = 0L; i < n; i++) {
                float y;
                y = 0.0f;
                ys[i] = y;
            }
        }
    declines: no branch depends on the position alone
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float y = xs[i];
            if (y < 0.0f) {
                y = 0.0f;
            }
            ys[i] = y;
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    found = _Finder(loop, context.k).branch()
    if found is None:
        return Declined("no branch depends on the position alone")
    at, where, inside, outside = found
    body = loop.body.statements
    within = used((*body[:at], *inside.statements, *body[at + 1 :]))
    beside = used((*body[:at], *outside.statements, *body[at + 1 :]))
    if any(isinstance(n, kc.Fail) for s in within for n in walk(s)):
        return Declined("what is done in the range can fail")
    inner = replace(
        loop,
        body=kc.Block(within),
        parallel=loop.parallel or _is_independent(within),
    )
    outer = replace(loop, body=kc.Block(beside))
    if _weight(beside) > _weight(within):  # there are few
        plain = loop.parallel and not (where.lows or where.highs)
        outer = replace(outer, parallel=plain, points=False, expensive=False)
    with context.k.nested() as made:
        if where.lows or where.highs:
            emit_ranges(context.k, where, inner, outer)
        else:
            whole, none = kc.Block((inner,)), kc.Block((outer,))
            context.k.emit(kc.Branch(all_of(where.uniform), whole, none))
    return tuple(made)


@rule(paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_block(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Test once for a block of points whether a branch on the position goes the same
    way for all of them: the block keeps its size, for which registers suffice.

    before:
        given (const float *xs, float *lane, long n, long at)
        for (long l = 0; l < 64; l++) {
            long i = at + l;
            float y;
            if (i >= 1 && i < n - 1) {
                y = xs[i - 1];
            } else {
                y = 0.0f;
            }
            float left = lane[l];
            lane[l] = left + y;
        }
    after:
        if ((1L <= at) && ((at + 64L) <= (n - 1L))) {
            for (long l = 0L; l < 64L; l++) {
                long i = at + l;
                float y;
                y = xs[i - 1L];
                float left = lane[l];
                lane[l] = left + y;
            }
        } else {
            for (long l = 0L; l < 64L; l++) {
                long i = at + l;
                float y;
                if ((i >= 1L) && (i < (n - 1L))) {
                    y = xs[i - 1L];
                } else {
                    y = 0.0f;
                }
                float left = lane[l];
                lane[l] = left + y;
            }
        }
    declines: no branch depends on the position alone
        given (const float *xs, float *lane, long n, long at)
        for (long l = 0; l < 64; l++) {
            long i = at + l;
            float y = xs[i];
            lane[l] = y;
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    body = loop.body.statements
    first = body[0] if body else None
    if not isinstance(loop.bound, kc.Literal) or not isinstance(first, kc.Declare):
        return None
    position, base, count = first.variable, _base(first, loop), int(loop.bound.value)
    if base is None or not isinstance(position, kc.Variable):
        return None
    points = replace(loop, variable=position, body=kc.Block(body[1:]))
    finder = _Finder(points, context.k)
    finder.indices.local.add(loop.variable.name)
    found = finder.branch()
    if found is None:
        return Declined("no branch depends on the position alone")
    at, where, inside, _ = found
    within = used((*body[: at + 1], *inside.statements, *body[at + 2 :]))
    whole = [
        *where.uniform,
        *(low <= base for low in where.lows),
        *(base + count <= high for high in where.highs),
    ]
    inner = kc.Block((replace(loop, body=kc.Block(within)),))
    return (kc.Branch(all_of(whole), inner, kc.Block((loop,))),)


def _base(declared: kc.Declare, block: kc.For) -> kc.Expression | None:
    """What is added to the variable of a block that counts from zero."""
    exp, start = declared.init, block.start
    if not isinstance(start, kc.Literal) or start.value != 0:
        return None
    if not isinstance(exp, kc.Binary) or exp.symbol != "+":
        return None
    return exp.left if exp.right == block.variable else None


class _Finder:
    """Searches the body of a loop for a branch on the position."""

    def __init__(self, loop: kc.For, k: CodeBuilder) -> None:
        self.loop = loop
        self.given = {*k.parameters, *k.constants}
        self.body = loop.body.statements
        self.varying = find_varying(self.body, [loop.variable.name])
        self.indices = PositionIndices(loop)

    def branch(self) -> tuple[int, PositionRange, kc.Block, kc.Block] | None:
        """The place of the branch, where its condition holds, and what is done there
        and elsewhere."""
        uniform: tuple[int, PositionRange, kc.Block, kc.Block] | None = None
        for at, statement in enumerate(self.body):
            if not isinstance(statement, kc.Branch):
                continue
            arms = (statement.then, statement.otherwise or kc.Block(()))
            for truth in (True, False):
                where = PositionRange()
                self.indices.looked_into = 0
                if not self.learn(statement.condition, truth, where):
                    continue
                then, otherwise = arms if truth else arms[::-1]
                if where.lows or where.highs:
                    return at, where, then, otherwise
                if uniform is None and self.is_of_row(where):
                    uniform = at, where, then, otherwise
        return uniform

    def is_of_row(self, where: PositionRange) -> bool:
        """Whether a uniform condition changes within the kernel: the device's compiler
        moves those of its parameters out of the loop itself."""
        return any(
            isinstance(node, kc.Variable) and node.name not in self.given
            for condition in where.uniform
            for node in walk(condition)
        )

    def learn(
        self, condition: kc.Expression, truth: bool, where: PositionRange
    ) -> bool:
        """Add where a condition has this truth value; False if that is no range."""
        match condition:
            case kc.Variable(name, _) if made := self.indices.definition(name):
                return self.learn(made, truth, where)
            case kc.Binary("&&" | "||" as symbol, left, right, _):
                conjunction = (symbol == "&&") == truth
                return conjunction and all(
                    self.learn(part, truth, where) for part in (left, right)
                )
            case kc.Operation(operator, operands, _) if operator.name in ("and", "or"):
                conjunction = (operator.name == "and") == truth
                return conjunction and all(
                    self.learn(part, truth, where) for part in operands
                )
            case kc.Operation(operator, (operand,), _) if operator.name == "not":
                return self.learn(operand, not truth, where)
        if not varies(condition, self.varying):
            uniform = self.indices.uniform(condition)
            if uniform is None:
                return False
            if not truth:
                uniform = kc.Call("!", (uniform,), kc.TRUTH)
            where.uniform.append(uniform)
            return True
        return self.compare(condition, truth, where)

    def compare(
        self, condition: kc.Expression, truth: bool, where: PositionRange
    ) -> bool:
        """Add a comparison of two indices, of which one grows with the loop."""
        match condition:
            case kc.Operation(operator, (left, right), _):
                name = operator.name
            case kc.Binary(symbol, left, right, _):
                names = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
                name = names.get(symbol, "")
            case _:
                return False
        if name not in OPPOSITE:
            return False
        name = name if truth else OPPOSITE[name]
        if name in ("gt", "ge"):
            left, right, name = right, left, {"gt": "lt", "ge": "le"}[name]
        shifts = [self.indices.offset(side) for side in (left, right)]
        if (shifts[0] is None) == (shifts[1] is None):
            return False
        grows = 0 if shifts[0] is not None else 1
        limit = self.indices.uniform((left, right)[1 - grows])
        shift = shifts[grows]
        if limit is None or shift is None:
            return False
        # i + shift < limit, or limit < i + shift
        more = (name == "le") == (grows == 0)
        apart = int(more) - shift
        change = clamped(limit) + apart if apart else limit
        (where.highs if grows == 0 else where.lows).append(change)
        return True


def _weight(statements: tuple[kc.Statement, ...]) -> int:
    """A measure of the size of code."""
    return sum(isinstance(n, kc.Statement) for s in statements for n in walk(s))


def _is_independent(statements: tuple[kc.Statement, ...]) -> bool:
    """Whether points do not depend on each other through memory: scalar code that reads
    no memory that it writes."""
    nodes = [node for statement in statements for node in walk(statement)]
    read = {n.memory for n in nodes if isinstance(n, kc.Load)}
    stores = [n for n in nodes if isinstance(n, kc.Store)]
    if any(s.memory in read or s.memory.space == "private" for s in stores):
        return False
    simple = (kc.Declare, kc.Assign, kc.Store, kc.Branch, kc.Block)
    return all(isinstance(n, simple) for n in nodes if isinstance(n, kc.Statement))
