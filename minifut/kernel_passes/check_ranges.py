"""Test checks on positions once, before a loop over points.

    for (i = at; i < end; i++) {          if (no i in [max(at, w + n), end) or
        if (!(i - w < n)) fail;      →        in [at, min(end, w))) for (..) ys[i] = ..
        ys[i] = xs[i - w];                else for (..) as before
    }

The points at which a check fails are within a union of ranges, each between extremes of
values that are known before the loop (`position_conditions`), also under the branches
around the check. If none of these points is in the loop, it runs without its checks,
which the device's compiler makes vectors of; the other loop finds the failing point.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minifut.ir.node import replace
from minifut.ir.search import contains
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import has_loops
from minifut.kernel_passes.hoist_invariants import hoist_invariants
from minifut.kernel_passes.position_conditions import (
    PositionConditions,
    PositionRanges,
    intersection,
    union,
)
from minifut.kernel_passes.position_ranges import extreme, used
from minifut.kernel_passes.split_loop import is_independent
from minifut.rewrite.rule import Declined, rule

FEWEST = 16
"""points of a loop for which the tests are worthwhile"""
FailurePath = tuple[tuple[kc.Expression, bool], ...]


@rule(kc.For, paper="Gupta, Optimizing array bound checks using flow analysis (1993)")
def check_ranges_first(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Test before a loop that none of its points fails a check.

    before:
        given (const float *xs, float *ys, long n, long w, long at, long end)
        for (long i = at; i < end; i++) {
            float y = 0.0f;
            if (i >= w) {
                if (!(i + 1 < n)) {
                    minifut_fail0(failure, 0);
                    return;
                }
                y = xs[i + 1];
            }
            ys[i] = y;
        }
    after:
        if (max((long)(max(at, w)), (long)(max((long)(min(n, (long)(281474976710656L))),
        (long)((-281474976710656L))) + (-1L))) >= end) {
            PARALLEL
            for (long i = at; i < end; i++) {
                float y = 0.0f;
                if (i >= w) {
                    y = xs[i + 1L];
                }
                ys[i] = y;
            }
        } else {
            as before
        }
    declines: a check does not depend on the position alone
        like before, with
        i + 1 < n => xs[i] < 1.0f
    """
    if not loop.counts_by_ones:
        return None
    if not contains(loop.body, kc.Fail) or has_loops(loop.body):
        return None
    if loop.rounds is not None and loop.rounds < FEWEST:
        return Declined("it has few points")
    conditions = PositionConditions(loop, superset=True)
    failing = _failing(loop, conditions)
    if failing is None:
        return Declined("a check does not depend on the position alone")
    unchecked = used(_without_checks(loop.body).statements)
    alone = loop.points or assigned(unchecked) <= declared(unchecked)
    parallel = loop.parallel or (alone and is_independent(unchecked))
    fast = replace(loop, body=kc.Block(unchecked), parallel=parallel)
    empty = [_is_empty(loop, where) for where in failing]
    holds = kc.all_of([*conditions.assumptions, *empty])
    return (kc.Branch(holds, kc.Block((fast,)), kc.Block((loop,))),)


@rule(kc.For, paper="Gupta, Optimizing array bound checks using flow analysis (1993)")
def test_range_at_once(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Test that a condition holds at all points of a range in place of each point; of
    each point only if it may fail.

    before:
        given (const float *xs, long n, long w, long at, long end)
        int fine = 1;
        for (long i = at; i < end; i++) {
            bool early = i < w;
            bool below = (i + 1) < n;
            bool holds = early | below;
            fine = fine & (int)holds;
        }
    after:
        fine = fine & ((int)(max((long)(max(at, w)), (long)(max((long)(min(n,
        (long)(281474976710656L))), (long)((-281474976710656L))) + (-1L))) >= end));
    before:
        given (long n, long s, long at, long end)
        int fine = 1;
        for (long i = at; i < end; i++) {
            bool below = (ulong)(i ^ s) < (ulong)n;
            fine = fine & (int)below;
        }
    after:
        if ((!((((((s & (s - 1L)) == 0L) & (s > 0L)) & (s <= 281474976710656L)) &&
        (at >= min(end, (long)(0L)))) && (max(at, (long)(n & (0L - (s + s)))) >= end))))
        {
            as before
        }
    declines: the condition does not depend on the position alone
        like before, with
        long n, long s => const float *xs, long s
        (ulong)(i ^ s) < (ulong)n => xs[i] < 0.0f
    """
    if not loop.counts_by_ones:
        return None
    *definitions, last = loop.body.statements
    condition = tested_condition(last)
    if condition is None or not all(isinstance(s, kc.Declare) for s in definitions):
        return None
    conditions = PositionConditions(loop, superset=True)
    failing = conditions.ranges(condition, False)
    if failing is None:
        return Declined("the condition does not depend on the position alone")
    empty = [_is_empty(loop, where) for where in failing]
    holds = kc.all_of([*conditions.assumptions, *empty])
    if not conditions.exact:
        return (kc.Branch(kc.Call("!", (holds,), kc.TRUTH), kc.Block((loop,))),)
    assert isinstance(last, kc.Assign)
    both = kc.Binary("&", last.target, kc.Cast(holds, kc.INT), kc.INT)
    return (kc.Assign(last.target, both),)


def test_range(loop: kc.For, context: CodeContext) -> tuple[kc.Statement, ...] | None:
    """A loop that tests conditions of points, by tests of the range; None if the points
    are to be tested each."""
    *loads, test = rewritten(hoist_invariants, loop, context) or (loop,)
    made = rewritten(test_range_at_once, test, context)
    if made is None or not loads:
        return made
    return (kc.Branch(loop.start < loop.bound, kc.Block((*loads, *made))),)


def tested_condition(statement: kc.Statement) -> kc.Expression | None:
    """What a statement tests that collects the conditions of points in a variable."""
    match statement:
        case kc.Assign(
            kc.Variable(flag, kc.INT),
            kc.Binary("&", kc.Variable(same, _), kc.Cast(holds, _), _)
            | kc.Operation(_, (kc.Variable(same, _), kc.Cast(holds, _)), _),
        ) if flag == same and holds.type == kc.TRUTH:
            return holds
    return None


def _failing(loop: kc.For, conditions: PositionConditions) -> PositionRanges | None:
    """Where checks fail, or more; None if that is not known."""
    sets: list[PositionRanges] = []
    for path in _paths(loop.body, ()):
        if path is None:
            return None
        parts = [conditions.ranges(condition, truth) for condition, truth in path]
        known = [ranges for ranges in parts if ranges is not None]
        where = intersection(known) if known and parts[-1] is not None else None
        if where is None:
            return None
        sets.append(where)
    return union(sets)


def _paths(node: Any, path: FailurePath) -> Iterator[FailurePath | None]:
    """The conditions under which each check fails, its own last; None of a failure for
    which there are none."""
    match node:
        case kc.Fail():
            yield path or None
        case kc.Block(statements):
            for statement in statements:
                yield from _paths(statement, path)
        case kc.Branch(condition, then, otherwise):
            yield from _paths(then, (*path, (condition, True)))
            if otherwise is not None:
                yield from _paths(otherwise, (*path, (condition, False)))
        case _ if contains(node, kc.Fail):
            yield None


def _is_empty(loop: kc.For, where: Any) -> kc.Expression:
    """Whether none of the loop's points is in a range."""
    low = extreme("max", [loop.start, *where.lows])
    high = extreme("min", [loop.bound, *where.highs])
    empty: kc.Expression = low >= high
    if not where.uniform:
        return empty
    other = kc.Call("!", (kc.all_of(where.uniform),), kc.TRUTH)
    return kc.any_of((other, empty))


def _without_checks(node: Any) -> Any:
    """The same without branches that do nothing but fail."""
    if isinstance(node, kc.Expression):
        return node
    if isinstance(node, kc.Block):
        kept = (s for s in node.statements if not _is_check(s))
        return kc.Block(tuple(map(_without_checks, kept)))
    return map_children(node, _without_checks)


def _is_check(statement: kc.Statement) -> bool:
    match statement:
        case kc.Branch(_, kc.Block((kc.Fail(),)), None):
            return True
    return False
