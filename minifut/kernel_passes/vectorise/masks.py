"""Masks: divergent control flow, as rules.

Uniform branches and loops stay as they are. For divergent ones a *mask* holds the
active lanes: under it assignments select, and stores and checks are done for active
lanes only. A block is skipped if no lane is active.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import declared
from minifut.kernel_passes.context import MASKS, CodeContext, KernelOutcome
from minifut.kernel_passes.if_convert import converted
from minifut.kernel_passes.vectorise import divergent_loops
from minifut.kernel_passes.vectorise.context import NOTHING
from minifut.rewrite.rule import Declined, rule

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.statements import Vectoriser

SHORT = 12
"""statements of a block that are cheaper than a test and a jump"""


@rule(paper=MASKS)
def select_in_lanes(branch: kc.Statement, vectoriser: Vectoriser) -> KernelOutcome:
    """Execute both sides of a short divergent branch for all lanes, then select.

    before:
        lanes (bool c, float x, float y)
        if (c) {
            x = y + 1.0f;
        } else {
            x = x * y;
        }
    after:
        int4 chosen = c;
        float4 x_1 = y + ((float4)(1.0f));
        float4 x_2 = x * y;
        x = chosen ? x_1 : x_2;
    declines: a side divides
        lanes (bool c, int x, int y)
        if (c) {
            x = quot_i32(y, x);
        }
    """
    lanes = vectoriser.lanes
    if not isinstance(branch, kc.Branch) or not lanes.varies(branch.condition):
        return None
    sides = (branch.then, branch.otherwise or NOTHING)
    if not all(is_short(side, lanes.own) for side in sides):
        return Declined("a side is long, or accesses memory")
    context = CodeContext(vectoriser.k)
    made = converted(branch, context, nested=False, in_lanes=True)
    if not isinstance(made, tuple):
        return made
    lanes.varying |= declared(made)
    return tuple(vectoriser.block(made))


@rule(paper=MASKS)
def mask_branch(branch: kc.Statement, vectoriser: Vectoriser) -> KernelOutcome:
    """Execute both sides of a divergent branch, each for the lanes that take it.

    before:
        lanes (bool c, int x, int y)
        if (c) {
            x = quot_i32(y, x);
        } else {
            y = x;
        }
    after:
        int4 truth = c;
        int4 active = truth;
        {
                x = active ? quot_i32_4(y, x) : x;
        }
        int4 active_1 = truth ^ ((int4)((-1)));
        {
                y = active_1 ? x : y;
        }
    declines: a cast to booleans
        lanes (bool c, int x)
        if (c) {
            c = (bool)x;
        }
    """
    lanes = vectoriser.lanes
    if not isinstance(branch, kc.Branch) or not lanes.varies(branch.condition):
        return None
    outer = lanes.mask
    made: list[kc.Statement] = []
    truth = vectoriser.named(lanes.vectorise(branch.condition), "truth", made)
    _under(vectoriser, made, lanes.both(outer, truth), branch.then)
    if branch.otherwise is not None and branch.otherwise.statements:
        others = lanes.both(outer, lanes.complement(truth))
        _under(vectoriser, made, others, branch.otherwise)
    return tuple(made)


@rule(paper=MASKS)
def mask_loop(loop: kc.Statement, vectoriser: Vectoriser) -> KernelOutcome:
    """Iterate while some lane is active; inactive lanes keep their values.

    before:
        lanes (float x)
        while (x < 9.0f) {
            x = x * x + 2.0f;
        }
    after:
        int4 live = x < ((float4)(9.0f));
        while (any(live)) {
                x = live ? ((x * x) + ((float4)(2.0f))) : x;
                live = x < ((float4)(9.0f));
        }
    declines: rounds load one element after the other
        lanes (long x, float y)
        given (const float *xs)
        while (y < 9.0f) {
            y = y + xs[x];
            x = x + 1;
        }
    declines: rounds do nothing but to store at places of their own
        lanes (long x, long y)
        given (float *xs, long n)
        while (x < n) {
            xs[x] = 0.0f;
            x = x + y;
        }
    """
    lanes = vectoriser.lanes
    if not isinstance(loop, kc.While) or not lanes.varies(loop.condition):
        return None
    divergent_loops.refuse_streams(loop.body, (), lanes.varying)
    divergent_loops.refuse_probes(loop)
    divergent_loops.refuse_writes(loop.body)
    outer = lanes.mask
    made: list[kc.Statement] = []
    first = lanes.both(outer, lanes.vectorise(loop.condition))
    live = vectoriser.named(first, "live", made)
    lanes.mask = live
    inside = vectoriser.block(loop.body.statements)
    # Inactive lanes keep their variables, so their condition stays false.
    again = kc.Assign(live, lanes.both(outer, lanes.vectorise(loop.condition)))
    lanes.mask = outer
    some = kc.Call("any", (live,), kc.TRUTH)
    return (*made, kc.While(some, kc.Block((*inside, again))))


@rule(paper=MASKS)
def mask_counted_loop(loop: kc.Statement, vectoriser: Vectoriser) -> KernelOutcome:
    """Count until the last lane has done its rounds where their bounds differ; with a
    counter for each lane where their starts do.

    before:
        lanes (int x, int y, int z)
        for (int i = z; i < x; i++) {
            y = y + i;
        }
    after:
        int4 i = z;
        int4 live = i < x;
        while (any(live)) {
                y = live ? as_int4(as_uint4(y) + as_uint4(i)) : y;
                i = live ? (i + ((int4)(1))) : i;
                live = i < x;
        }
    declines: rounds load one element after the other
        lanes (long x, float y)
        given (const float *xs)
        for (long i = 0; i < x; i++) {
            y = y + xs[x + i];
        }
    """
    lanes = vectoriser.lanes
    if not isinstance(loop, kc.For):
        return None
    variable = loop.variable
    apart = variable.name in lanes.varying
    if not apart and not lanes.varies(loop.bound):
        return None
    divergent_loops.refuse_streams(loop.body, (variable.name,), lanes.varying)
    wide, start = variable, loop.start
    if apart:
        wide = kc.Variable(variable.name, lanes.wide(variable.type.scalar))
        start = lanes.broadcast(lanes.vectorise(loop.start))
    step = kc.Assign(variable, kc.Binary("+", variable, loop.step, variable.type))
    body = kc.Block((*loop.body.statements, step))
    condition = kc.Binary("<", variable, loop.bound, kc.TRUTH)
    masked: KernelOutcome = mask_loop(kc.While(condition, body), vectoriser)
    if not isinstance(masked, tuple):
        return masked
    return (kc.Declare(wide, start), *masked)


def _under(
    vectoriser: Vectoriser,
    made: list[kc.Statement],
    mask: kc.Expression,
    block: kc.Block,
) -> None:
    """A block for the lanes of a mask; skipped if there are none, unless executing it
    is cheaper than the test."""
    lanes, outer = vectoriser.lanes, vectoriser.lanes.mask
    active = vectoriser.named(mask, "active", made)
    lanes.mask = active
    inside = vectoriser.inner(block)
    lanes.mask = outer
    if is_short(block, lanes.own):
        made.append(inside)
    else:
        some = kc.Call("any", (active,), kc.TRUTH)
        made.append(kc.Branch(some, inside))


def is_short(block: kc.Block, own: Collection[kc.Memory] = ()) -> bool:
    """Whether a block is a few assignments; `own` are arrays of points."""
    return (
        len(block.statements) <= SHORT
        and all(
            isinstance(s, kc.Assign | kc.Declare)
            or (isinstance(s, kc.Store) and s.memory in own)
            for s in block.statements
        )
        and not any(
            isinstance(n, kc.Load) and n.memory not in own
            for s in block.statements
            for n in walk(s)
        )
    )
