"""Masks: what some lanes do and others do not, as rules.

A branch or loop that is the same for all lanes is left as it is. Else a *mask* tells in
which lanes it is done, and under it assignments select, and stores and checks are done
for the active lanes only. Where no lane is active, a block is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.rule import code_rule
from minifut.kernel_passes.vectorise.rule import MASKS, NotLifted, Outcome
from minifut.kernel_passes.vectorise.varying import changed_types

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.statements import Lifter

SHORT = 12
"""statements of a block that are cheaper than a test and a jump"""


@code_rule(paper=MASKS)
def mask_branch(branch: kc.Statement, lifter: Lifter) -> Outcome:
    """Do both sides of a branch, each for the lanes that take it.

    before:
        lanes (bool c, float x, float y)
        if (c) {
            x = y + 1.0f;
        } else {
            y = x;
        }
    after:
        int4 truth = c;
        int4 active = truth;
        {
                x = active ? (y + ((float4)(1.0f))) : x;
        }
        int4 active_1 = truth ^ ((int4)((-1)));
        {
                y = active_1 ? x : y;
        }
    declines: a cast of truth values
        lanes (bool c, int x)
        if (c) {
            x = (int)c;
        }
    """
    lanes = lifter.lanes
    if not isinstance(branch, kc.Branch) or not lanes.varies(branch.condition):
        return None
    outer = lanes.mask
    made: list[kc.Statement] = []
    truth = _named(lifter, made, lanes.lift(branch.condition), "truth")
    _under(lifter, made, lanes.both(outer, truth), branch.then)
    if branch.otherwise is not None and branch.otherwise.statements:
        others = lanes.both(outer, lanes.complement(truth))
        _under(lifter, made, others, branch.otherwise)
    return tuple(made)


@code_rule(paper=MASKS)
def mask_loop(loop: kc.Statement, lifter: Lifter) -> Outcome:
    """Go on while some lane does; the others keep what they have.

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
    declines: a loop of 64-bit integers ends at different times
        lanes (long x)
        while (x < 9) {
            x = x + 1;
        }
    """
    lanes = lifter.lanes
    if not isinstance(loop, kc.While) or not lanes.varies(loop.condition):
        return None
    if any(t.bits == 64 and t.is_integer for t in changed_types((loop.body,))):
        # Half as many lanes that wait for the slowest: 0.8 of the scalar speed.
        raise NotLifted("a loop of 64-bit integers ends at different times")
    outer = lanes.mask
    made: list[kc.Statement] = []
    first = lanes.both(outer, lanes.lift(loop.condition))
    live = _named(lifter, made, first, "live")
    lanes.mask = live
    inside = lifter.block(loop.body.statements)
    # Lanes that have left keep their variables, so their condition stays false.
    again = kc.Assign(live, lanes.both(outer, lanes.lift(loop.condition)))
    lanes.mask = outer
    some = kc.Call("any", (live,), kc.TRUTH)
    return (*made, kc.While(some, kc.Block((*inside, again))))


@code_rule(paper=MASKS)
def mask_counted_loop(loop: kc.Statement, lifter: Lifter) -> Outcome:
    """Let each lane count for itself where their bounds differ.

    before:
        lanes (int x, int y)
        for (int i = 0; i < x; i++) {
            y = y + i;
        }
    after:
        int4 i = ((int4)(0));
        int4 live = i < x;
        while (any(live)) {
                y = live ? as_int4(as_uint4(y) + as_uint4(i)) : y;
                i = live ? (i + ((int4)(1))) : i;
                live = i < x;
        }
    declines: a loop of 64-bit integers ends at different times
        lanes (long x, float y)
        for (long i = 0; i < x; i++) {
            y = y + 0.5f;
        }
    """
    lanes = lifter.lanes
    if not isinstance(loop, kc.For) or loop.variable.name not in lanes.varying:
        return None
    variable = loop.variable
    wide = kc.Variable(variable.name, lanes.wide(variable.type.scalar))
    start = lanes.spread(lanes.lift(loop.start))
    step = kc.Assign(variable, kc.Binary("+", variable, loop.step, variable.type))
    body = kc.Block((*loop.body.statements, step))
    condition = kc.Binary("<", variable, loop.bound, kc.TRUTH)
    masked: Outcome = mask_loop(kc.While(condition, body), lifter)
    if not isinstance(masked, tuple):
        return masked
    return (kc.Declare(wide, start), *masked)


def _named(
    lifter: Lifter, made: list[kc.Statement], mask: kc.Expression, base: str
) -> kc.Variable:
    """A mask in a variable."""
    variable = lifter.k.variable(base, mask.type)
    made.append(kc.Declare(variable, mask))
    return variable


def _under(
    lifter: Lifter, made: list[kc.Statement], mask: kc.Expression, block: kc.Block
) -> None:
    """A block for the lanes of a mask; skipped if there are none, unless doing it is
    cheaper than asking."""
    lanes, outer = lifter.lanes, lifter.lanes.mask
    active = _named(lifter, made, mask, "active")
    lanes.mask = active
    inside = lifter.inner(block)
    lanes.mask = outer
    if is_short(block):
        made.append(inside)
    else:
        some = kc.Call("any", (active,), kc.TRUTH)
        made.append(kc.Branch(some, inside))


def is_short(block: kc.Block) -> bool:
    """Whether a block is a few assignments."""
    return len(block.statements) <= SHORT and all(
        isinstance(s, kc.Assign | kc.Declare)
        and not any(isinstance(n, kc.Load) for n in walk(s))
        for s in block.statements
    )
