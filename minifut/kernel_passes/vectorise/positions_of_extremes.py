"""Positions of extremes inside of points, over elements that lie side by side.

    for (i = 0; i < n; i++) {           for (i = 0; i < n; i++) most = max(most, xs[i]);
        x = xs[i];                      at = n;
        if (x > best) {          →      for (i = 0; i < n; i++)
            best = x; place = i;            at = min(at, xs[i] == most ? i : n);
        }                               if (at < n) { i = at; the body once }
    }

The first loop is a fold of rows in lanes (`row_folds`), and of the second the device's
compiler makes vectors. What is found is the element that the loop would have kept last,
so that the body gives what the loop gave, also where nothing exceeds what was there
before, or where zeros differ in sign. A loop that keeps what is beside a NaN stays for
rows that have one, which the second loop finds.

Which loops these are: `kept_extremes`.
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.scalars import operator
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import KernelOutcome, rewritten
from minifut.kernel_passes.vectorise import calls, kept_extremes, row_folds
from minifut.kernel_passes.vectorise.context import LIFT, LoopContext
from minifut.rewrite.rule import Declined, rule

FEWEST = 16
"""elements that are worth two loops"""


@rule(kc.For, label="asVector", paper=LIFT)
def find_extreme_then_place(loop: kc.For, context: LoopContext) -> KernelOutcome:
    """Find the extreme of a row first, then where it is.

    before:
        given (const float *xs, long n)
        float best = 0.0f;
        long place = 0;
        for (long i = 0; i < n; i++) {
            float x = xs[i];
            if (gt_f32(x, best)) {
                best = x;
                place = i;
            }
        }
    after:
        like after of fold_row_in_lanes, with
        s => most
        right = x * ((float4)(2.0f)); => right = x;
        if (n >= 4L) { => if (n >= 16L) { float most = best; if (n >= 4L) {
        as before }
        =>         for (long i = 0L; i < n; i++) {
        =>             float x = xs[i];
        =>             most = most < x || most != most ? x : most;
        =>         }
        =>     }
        =>     long at_2 = n;
        =>     for (long i = 0L; i < n; i++) {
        =>         float x = xs[i];
        =>         at_2 = min(at_2, (long)((x == most) ? i : n));
        =>     }
        =>     if (at_2 < n) {
        =>         long i = at_2;
        =>         float x = xs[i];
        =>         if (x > best) {
        =>             best = x;
        =>             place = i;
        =>         }
        =>     }
        => } else {
        =>     as before
        => }
    before:
        like before, with
        gt_f32(x, best) => not_bool(le_f32(x, best))
    after:
        like after, with
        if (x > best) => if (!(x <= best))
        long at_2 = n; => long at_2 = n; long nans = 0L;
        at_2 = min(at_2, (long)((x == most) ? i : n));
        => at_2 = min(at_2, (long)((x == most) ? i : n));
        => nans = nans | ((long)(x != x));
        if (at_2 < n) {
        => if (nans != 0L) {
        =>     as before
        => }
        => if ((at_2 < n) && (nans == 0L)) {
    declines: it keeps no extreme with its place
        like before, with
        le_f32 => ne_f32
    """
    if not loop.counts_by_ones:
        return None
    found = kept_extremes.kept_extreme(loop)
    if found is None or calls.calls_functions(loop):
        return Declined("it keeps no extreme with its place")
    k, index, stop = context.k, loop.variable, loop.bound
    with k.nested() as made:
        most = k.declare("most", found.best)
        name = "max" if found.greatest else "min"
        total = operator(name, most.type.scalar)
        collected = kc.Operation(total, (most, found.key), most.type)
        body = kc.Block((*found.element, kc.Assign(most, collected)))
        fold = rewritten(row_folds.fold_row_in_lanes, replace(loop, body=body), context)
        if fold is None:
            return Declined("elements are not folded in lanes")
        k.statements.extend(fold)
        none = stop if found.first else loop.start - 1
        at = k.declare("at", none)
        here = kc.Select(found.key.equals(most), index, none, index.type)
        nearest = kc.Call("min" if found.first else "max", (at, here), index.type)
        search = [*found.element, kc.Assign(at, nearest)]
        if found.keeps_nan:
            nans = k.declare("nans", kc.Literal(0, index.type))
            is_nan = kc.Cast(found.key.differs(found.key), index.type)
            search.append(kc.Assign(nans, kc.Binary("|", nans, is_nan, index.type)))
        k.emit(replace(loop, body=kc.Block(tuple(search)), scalar=False))
        is_there = at < stop if found.first else at >= loop.start
        if found.keeps_nan:
            with k.branch(nans.differs(0)):
                k.emit(loop)
            is_there = kc.all_of((is_there, nans.equals(0)))
        with k.branch(is_there):
            k.emit(kc.Declare(index, at))
            k.statements.extend(loop.body.statements)
    with k.nested() as chosen:
        with k.branch(stop - loop.start >= FEWEST):
            k.statements.extend(made)
        with k.otherwise():
            k.emit(loop)
    return tuple(chosen)
