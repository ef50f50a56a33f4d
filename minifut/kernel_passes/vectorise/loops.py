"""Loops over points, W points at once: maps, folds and scans, as rules.

`vectorise_map` is Lift's asVector with the split that goes before it. A fold has a
running value in each lane: where its operator commutes neighbouring points go to
neighbouring lanes, and memory is read in whole vectors; else each lane has a stretch of
its own, and lanes are combined in order at the end. A scan goes on in order: within a
vector by shuffles, from vector to vector by one operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.types import STREAMABLE
from minifut.kernel_passes.if_convert import speculate
from minifut.kernel_passes.vectorise.operators import Fold, LiftedCode
from minifut.kernel_passes.vectorise.rule import LIFT, LoopSite, Outcome, lane_rule
from minifut.kernel_passes.vectorise.statements import lift
from minifut.rewrite.rule import Declined

ONE = kc.Literal(1, kc.LONG)
MADE_BY_THE_DEVICE = (
    "of plain operators the compiler of the device makes vectors itself"
)
TOGETHER = 4
"""running vectors at once where a body is light: one would wait for its operator"""
DEALT = "the operator commutes, so that points may be dealt in turn"


@lane_rule("asVector", LIFT)
def vectorise_map(loop: kc.Statement, site: LoopSite) -> Outcome:
    """Do as many points at once as there are lanes; the last ones overlap with those
    before, which are done again to the same effect. Too few to fill the lanes are done
    one by one.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float x = xs[i];
            ys[i] = x < 0.0f ? 0.0f - x : x;
        }
    after:
        long rest = 0L;
        if (n >= 4L) {
            for (long block = 0L; block < n; block += 4L) {
                long first = min(block, (long)(n - 4L));
                float4 x = (*(__global const loose_float4 *)(xs + first));
                *(__global loose_float4 *)(ys + first) = (x < ((float4)(0.0f))) ?
                (((float4)(0.0f)) - x) : x;
            }
            rest = n;
        }
        for (long i = rest; i < n; i++) {
                float x = xs[i];
                ys[i] = (x < 0.0f) ? (0.0f - x) : x;
        }
    declines: points read what they write
        given (float *xs, long n)
        for (long i = 0; i < n; i++) {
            xs[i] = xs[i + 1];
        }
    """
    if not isinstance(loop, kc.For):
        return None
    k, start, stop = site.k, loop.start, loop.bound
    body = loop.body.statements
    rest = k.variable("rest", kc.LONG)

    def blocks(width: int) -> None:
        with k.branch(stop - start >= width):
            with k.loop("block", stop, start, width) as block:
                begin = kc.Call("min", (block, stop - width), kc.LONG)
                first = k.declare("first", begin)
                k.statements.extend(lift(k, body, loop.variable, (first, 1), width))
            k.assign(rest, stop)

    chosen = site.by_width(body, blocks)
    few = _left_single(loop.body)
    single = kc.For(loop.variable, rest, stop, ONE, few, loop.parallel)
    return (kc.Declare(rest, start), *chosen.statements, single)


def _left_single(node: Any) -> Any:
    """Code for a few points, in which nothing is worth lifting."""
    if isinstance(node, kc.For) and node.points:
        node = replace(node, points=False)
    return node if isinstance(node, kc.Expression) else map_children(node, _left_single)


@lane_rule("asVector", LIFT)
def interleave_fold(fold: Fold, site: LoopSite) -> Outcome:
    """Deal points to lanes in turn, each of which has a running value.

    before:
        given (const int *xs, long n)
        commuting fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i] * xs[i];
            right = left + right;
        }
    after:
        int4 left;
        int4 right;
        long whole = n - (n % 4L);
        int4 lane = ((int4)(0));
        for (long at = 0L; at < whole; at += 4L) {
                {
                        right = as_int4(as_uint4((*(__global const loose_int4 *)(xs +
                    at))) * as_uint4((*(__global const loose_int4 *)(xs + at))));
                }
                {
                        left = lane;
                        right = as_int4(as_uint4(left) + as_uint4(right));
                }
                lane = right;
        }
        right = lane;
        {
                left = MOVE_UP_1_4X32(((int4)(0)), right);
                right = as_int4(as_uint4(left) + as_uint4(right));
        }
        {
                left = MOVE_UP_2_4X32(((int4)(0)), right);
                right = as_int4(as_uint4(left) + as_uint4(right));
        }
        total = right.s3;
        start = whole;
    declines: the operator does not commute
        given (const int *xs, long n)
        fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = right;
        }
    """
    if not fold.commutes:
        return Declined("the operator does not commute")
    if fold.plain:
        return Declined(MADE_BY_THE_DEVICE)
    k, many = site.k, TOGETHER if fold.light else 1

    def make(lifted: LiftedCode) -> None:
        rest = (fold.last - fold.first) % (lifted.width * many)
        whole = k.declare("whole", fold.last - rest)
        lanes = [lifted.declare("lane", lifted.neutral) for _ in range(many)]
        with k.loop("at", whole, fold.first, many * lifted.width) as at:
            for number, mine in enumerate(lanes):
                lifted.visit(k.named(at + number * lifted.width, "own"))
                lifted.combine(mine)
                lifted.replace(mine, lifted.right)
        lifted.replace(lifted.right, lanes[-1])
        for mine in lanes[:-1]:
            lifted.combine(mine)
        lifted.prefix()
        lifted.replace(fold.running, lifted.last())
        k.assign(fold.start, whole)

    return folded(fold, site, make)


@lane_rule("asVector", LIFT)
def divide_fold(fold: Fold, site: LoopSite) -> Outcome:
    """Give each lane a stretch of its own, and combine lanes in order at the end.

    before:
        given (const int *xs, long n)
        fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = right == 0 ? left : right;
        }
    after:
        int4 left;
        int4 right;
        long part = n / 4L;
        int4 lane = ((int4)(0));
        for (long t = 0L; t < part; t++) {
                {
                        right = ((int4)(xs[t + (part * 0L)], xs[t + part], xs[t + (part
                    * 2L)], xs[t + (part * 3L)]));
                }
                {
                        left = lane;
                        right = (right == ((int4)(0))) ? left : right;
                }
                lane = right;
        }
        right = lane;
        {
                left = MOVE_UP_1_4X32(((int4)(0)), right);
                right = (right == ((int4)(0))) ? left : right;
        }
        {
                left = MOVE_UP_2_4X32(((int4)(0)), right);
                right = (right == ((int4)(0))) ? left : right;
        }
        total = right.s3;
        start = part * 4L;
    declines: points may be dealt in turn
        given (const int *xs, long n)
        commuting fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = left + right;
        }
    """
    if fold.commutes:
        return Declined(DEALT)
    if fold.light:
        return Declined("the body is light: parts side by side are enough")
    k = site.k

    def make(lifted: LiftedCode) -> None:
        part = k.declare("part", (fold.last - fold.first) // lifted.width)
        mine = lifted.declare("lane", lifted.neutral)
        with k.loop("t", part) as t:
            lifted.visit(k.named(fold.first + t, "own"), part)
            lifted.combine(mine)
            lifted.replace(mine, lifted.right)
        lifted.replace(lifted.right, mine)
        lifted.prefix()
        lifted.replace(fold.running, lifted.last())
        k.assign(fold.start, fold.first + part * lifted.width)

    return folded(fold, site, make)


def folded(fold: Fold, site: LoopSite, make: Callable[[LiftedCode], None]) -> Outcome:
    """What `make` emits with the code of the points in lanes."""
    code = fold.code()
    code = replace(
        code,
        body=tuple(speculate(site.k, code.body)),
        operator=tuple(speculate(site.k, code.operator)),
    )
    chosen = site.by_width(
        [*code.body, *code.operator],
        lambda width: make(LiftedCode(site.k, code, width)),
    )
    return chosen.statements


@lane_rule("asVector", LIFT)
def vectorise_scan(fold: Fold, site: LoopSite) -> Outcome:
    """Scan vector by vector, in order.

    before:
        given (const int *xs, int *ys, long n)
        fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = left + right;
            ys[i] = right;
        }
    after:
        int4 left;
        int4 right;
        int4 before = ((int4)(total));
        long whole = n - (n % 4L);
        for (long at = 0L; at < whole; at += 4L) {
                {
                        right = (*(__global const loose_int4 *)(xs + at));
                }
                {
                        left = MOVE_UP_1_4X32(((int4)(0)), right);
                        right = as_int4(as_uint4(left) + as_uint4(right));
                }
                {
                        left = MOVE_UP_2_4X32(((int4)(0)), right);
                        right = as_int4(as_uint4(left) + as_uint4(right));
                }
                {
                        left = before;
                        right = as_int4(as_uint4(left) + as_uint4(right));
                }
                *(__global loose_int4 *)(ys + at) = right;
                before = ((int4)(right.s3));
        }
        if (0L < whole) {
                total = right.s3;
        }
        start = whole;
    declines: nothing but the last result is needed
        given (const int *xs, long n)
        fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = left + right;
        }
    """
    if not fold.code().saved:
        return Declined("nothing but the last result is needed")
    k = site.k

    def make(lifted: LiftedCode) -> None:
        before = lifted.declare("before", lifted.spread(fold.running))
        large = k.declare("large", fold.is_large()) if fold.is_large else None
        rest = (fold.last - fold.first) % lifted.width
        whole = k.declare("whole", fold.last - rest)

        def stored(statement: kc.Statement) -> kc.Statement:
            if large is None:
                return statement
            return _around_caches(statement, large, lifted.width)

        with k.loop("at", whole, fold.first, lifted.width) as at:
            lifted.visit(at)
            lifted.prefix()
            lifted.combine(before)
            lifted.save(at, stored)
            lifted.replace(before, lifted.last_in_all())
        with k.branch(fold.first < whole):
            lifted.replace(fold.running, lifted.last())
        k.assign(fold.start, whole)

    return folded(fold, site, make)


@lane_rule("asVector", LIFT)
def vectorise_nest(loop: kc.Statement, site: LoopSite) -> Outcome:
    """Do the points of a register nest at once that fill one vector.

    before:
        given (const float *xs, float *ys, float a, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = a * xs[j];
        }
    after:
        *(__global loose_float4 *)(ys + t) = ((float4)(a)) * (*(__global const
            loose_float4 *)(xs + t));
    declines: there are not as many points as lanes
        given (const float *xs, float *ys, float a, long t)
        for (long j = t; j < t + 3; j++) {
            ys[j] = a * xs[j];
        }
    """
    if not isinstance(loop, kc.For):
        return None
    (width,) = site.choices
    if not _counts(loop, width):
        return Declined("there are not as many points as lanes")
    at = (loop.start, 1)
    body = loop.body.statements
    lifted = lift(site.k, body, loop.variable, at, width, numbers=site.numbers)
    site.widths.append(width)
    return tuple(lifted)


def _counts(loop: kc.For, rounds: int) -> bool:
    """Whether a loop is `for (j = start; j < start + rounds; j++)`."""
    match loop.bound:
        case kc.Binary("+", start, kc.Literal(number, _), _):
            return start is loop.start and number == rounds
    return False


def _around_caches(
    statement: kc.Statement, large: kc.Expression, width: int
) -> kc.Statement:
    """A store of a vector, around the caches if results are large and it is aligned."""
    match statement:
        case kc.Store(memory, index, exp, False):
            if memory.element in STREAMABLE and exp.type.lanes == width:
                aligned = (index & (width - 1)).equals(0)
                wanted = kc.Binary("&&", large, aligned, kc.TRUTH)
                around = kc.Store(memory, index, exp, True)
                return kc.Branch(wanted, kc.Block((around,)), kc.Block((statement,)))
    return statement
