"""Drop loops that fill what the next loop overwrites.

    for (j = 0; j < n; j++) ys[i * n + j] = 0;
    for (j = 0; j < n; j++) {.. ys[i * n + j] = y;}      the second alone

Programs make an array by `replicate` and give values to its elements in a loop. Where
that loop has the same rounds, stores at the same index in each, and nothing reads the
memory in between or in it, nobody sees the first values.

Conditions: the store is in each round, no round leaves the loop, and no other name is
one of the same memory (a kernel that is `fresh`).
"""

from __future__ import annotations

from functools import partial

from minifut.ir.alpha import alpha_equal
from minifut.ir.traverse import rename_to, used_names, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import KernelEditor
from minifut.rewrite.rule import Declined, rule

LEAVING = (
    *(kc.Break, kc.Return, kc.Label, kc.UniformExit, kc.While),
    *(kc.CallFunction, kc.DeclarePointer, kc.AtomicUpdate),
)
"""what may leave rounds undone, or read any memory"""


def drop_fills(k: KernelEditor) -> None:
    """Drop loops that fill what the next loop overwrites."""
    if k.kernel.fresh:
        k.change_blocks(partial(rewritten, drop_fill, context=CodeContext(k)))


@rule(kc.Block)
def drop_fill(block: kc.Block, context: CodeContext) -> KernelOutcome:
    """Drop the loop at the beginning of a block that fills what a later one stores.

    before:
        given (const float *xs, float *ys, long n, long t)
        {
            for (long i = 0; i < n; i++) {
                ys[t + i] = 0.0f;
            }
            float sum = 0.0f;
            for (long j = 0; j < n; j++) {
                sum = sum + xs[j];
                ys[t + j] = sum;
            }
        }
    after:
        float sum = 0.0f;
        for (long j = 0L; j < n; j++) {
            sum = sum + xs[j];
            ys[t + j] = sum;
        }
    declines: what is filled is read before all of it is stored again
        like before, with
        sum + xs[j] => sum + ys[t + n - 1 - j]
    declines: what follows changes which elements are stored
        like before, with
        float sum = 0.0f; => t = t + n;
        sum = sum + xs[j];
        ys[t + j] = sum;
        => ys[t + j] = xs[j];
    declines: no loop stores the same elements
        like before, with
        long j = 0 => long j = 1
    """
    if not block.statements:
        return None
    fill, *others = block.statements
    memory = filled_by(fill)
    if not isinstance(fill, kc.For) or memory is None:
        return None
    for later in others:
        nodes = [*walk(later)]
        if any(isinstance(n, kc.Load) and n.memory == memory for n in nodes):
            return Declined("what is filled is read before all of it is stored again")
        if any(isinstance(node, LEAVING) for node in nodes):
            return Declined("what follows may leave rounds undone")
        if not assigned([later]).isdisjoint(used_names(fill)):
            return Declined("what follows changes which elements are stored")
        if isinstance(later, kc.For) and _stores_all(later, fill):
            return (*others,)
    return Declined("no loop stores the same elements")


def filled_by(loop: kc.Statement) -> kc.Memory | None:
    """The memory in which a loop does nothing but store what it does not load."""
    if isinstance(loop, kc.For) and len(loop.body.statements) == 1:
        (store,) = loop.body.statements
        loads = any(isinstance(node, kc.Load) for node in walk(store))
        return store.memory if isinstance(store, kc.Store) and not loads else None
    return None


def _stores_all(loop: kc.For, fill: kc.For) -> bool:
    """Whether each round of a loop stores the element that is filled in that round."""
    ends = (fill.start, fill.bound, fill.step)
    if not alpha_equal((loop.start, loop.bound, loop.step), ends):
        return False
    (filled,) = fill.body.statements
    assert isinstance(filled, kc.Store)
    renamed = {loop.variable.name: fill.variable.name}
    return any(
        store.memory == filled.memory
        and alpha_equal(rename_to(store.index, renamed), filled.index)
        for store in loop.body.statements
        if isinstance(store, kc.Store)
    )
