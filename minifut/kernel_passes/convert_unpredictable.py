"""If-conversion in scalar loops, of branches that the processor cannot predict.

    for (i ..) {                              for (i ..) {
        long d = xs[i] & 1;                       long d = xs[i] & 1;
        long at;                        →         bool chosen = d == 0;
        if (d == 0) at = a; else at = a + b;      long at = chosen ? a : a + b; }

A predictor learns conditions on positions, not those on loaded data, and each
misprediction costs as much as 20 to 60 cheap operations. LLVM speculates a few
instructions of one side only. Measured on PoCL, a radix sort of two bits a pass: the
scan with its scatter takes 0.5 of the time.

Conditions: the loop is innermost and scalar; the condition depends on what the loop
loads; both sides are short, cheap (a root is one instruction, and costs nothing beside
distances), and assign variables of the iteration alone: a
select of a variable that the loop carries would be part of the recurrence, which a
predicted branch is not. Nor does a side give constants alone: LLVM selects those
itself, or jumps to what a later test makes of them, as to the end for what is not
stored.
"""

from __future__ import annotations

from functools import cache

from minifut.ir.node import replace
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.search import classes_in, nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_passes.context import MASKS, CodeContext, KernelOutcome
from minifut.kernel_passes.editor import KernelEditor, rewrite_scalar_loops
from minifut.kernel_passes.if_convert import if_convert
from minifut.kernel_passes.vectorise.varying import find_loaded, varies
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

CHEAP_ENOUGH = (), ("sqrt",)
"""the operators of both sides that are dearer than an addition"""


def convert_in_scalar_loops(k: KernelEditor) -> None:
    """Select between short sides by conditions that cannot be predicted."""
    rewrite_scalar_loops(k, convert_data_dependent_branches)


@rule(kc.For, paper=MASKS)
def convert_data_dependent_branches(
    loop: kc.For, context: CodeContext
) -> KernelOutcome:
    """Select between two sides by a condition on what the loop loads.

    before:
        given (const int *xs, int *ys, long n, int a)
        for (long i = 0; i < n; i++) {
            int x = xs[i];
            int y = a;
            if (x < a) {
                y = x + a;
            }
            ys[i] = y;
        }
    after:
        for (long i = 0L; i < n; i++) {
            int x = xs[i];
            int y = a;
            bool chosen = x < a;
            int y_1 = (int)((uint)x + (uint)a);
            y = chosen ? y_1 : y;
            ys[i] = y;
        }
    declines: no branch with short sides is on loaded data
        like before, with
        x < a => i < a
    declines: no branch with short sides is on loaded data
        like before, with
        for (long i => int y = a; for (long i
        int x = xs[i]; int y = a; => int x = xs[i];
    declines: no branch with short sides is on loaded data
        given (const int *xs, int *ys, long n, long a)
        for (long i = 0; i < n; i++) {
            long at = 0;
            if (xs[i] < 3) {
                at = i + a;
            } else {
                at = 0;
            }
            if (at > 0 && at < n) {
                ys[at] = xs[i];
            }
        }
    before:
        given (const float *xs, float *ys, long n, float a)
        for (long i = 0; i < n; i++) {
            float x = xs[i];
            float y = 0.0f;
            if (x < a) {
                y = sqrt_f32(x);
            }
            ys[i] = y;
        }
    after:
        for (long i = 0L; i < n; i++) {
            float x = xs[i];
            float y = 0.0f;
            bool chosen = x < a;
            float y_1 = sqrt_f32(x);
            y = chosen ? y_1 : y;
            ys[i] = y;
        }
    """
    if kc.Branch not in classes_in(loop.body):
        return None
    body = loop.body.statements
    loaded = cache(lambda: find_loaded(loop.body))
    declared = [n.variable for n in nodes_of(kc.Declare, loop.body)]
    own = {v.name for v in declared if isinstance(v, kc.Variable)}
    converted = if_convert(
        context.k,
        body,
        lambda branch: _is_cheap(branch, own) and varies(branch.condition, loaded()),
    )
    made = replace(loop, body=replace(loop.body, statements=tuple(converted)))
    if made is loop:
        return Declined("no branch with short sides is on loaded data")
    return (made,)


def _is_cheap(branch: kc.Branch, own: set[Name]) -> bool:
    """Whether the sides have cheap operations only, and assign only variables of the
    iteration."""
    sides = (branch.then, branch.otherwise)
    if any(side is not None and _is_constant(side) for side in sides):
        return False
    dear = tuple(
        node.operator.name
        for node in nodes_of(kc.Operation, branch)
        if operator_cost(node.operator) is not OperatorCost.ADDITION
    )
    return dear in CHEAP_ENOUGH and assigned((branch,)) <= own


def _is_constant(side: kc.Block) -> bool:
    """Whether a side gives literals alone, as for an element that is not stored."""
    return all(
        isinstance(statement, kc.Assign) and isinstance(statement.exp, kc.Literal)
        for statement in side.statements
    )
