"""Which points may be vectorised: they only compute scalars, and cannot fail. And which
ones take equally long."""

from __future__ import annotations

from minifut.ir import accumulators, core, kernels, traverse, types
from minifut.ir.search import contains, nodes_of

SERIALISING = (
    core.Assert,
    core.Apply,
    core.Loop,
    core.Replicate,
    core.Iota,
    core.Concat,
    core.Manifest,
    core.Update,
    kernels.SegMap,
    accumulators.UpdateAcc,
)


def is_simple(operation: kernels.SegMap | kernels.SegRed | kernels.SegScan) -> bool:
    """Whether points may be vectorised: they only compute scalars, each writes elements
    of its own, and none can fail."""
    body = operation.body
    if not all(isinstance(r, kernels.Returns) for r in body.result):
        return False
    return not contains(body, SERIALISING) and not makes_arrays(body)


def makes_arrays(body: kernels.KernelBody) -> bool:
    """Whether points make or copy arrays, other than views."""
    return any(
        not isinstance(statement.exp, core.Index | core.Rearrange | core.Reshape)
        and any(isinstance(p.type, types.ArrayType) for p in statement.pattern)
        for statement in nodes_of(core.Stm, body)
    )


def cost_the_same(operation: kernels.SegMap) -> bool:
    """Whether all points run the same loops for as many rounds."""
    body = operation.body
    forms = [loop.form for loop in nodes_of(core.Loop, body)]
    inside = {*operation.space.indices, *traverse.bound_names(body)} if forms else set()
    return (
        all(
            isinstance(form, core.ForLoop)
            and inside.isdisjoint(traverse.free_names(form.bound))
            for form in forms
        )
        and not contains(body, core.Apply)
        and not any(contains(each, core.Loop) for each in nodes_of(core.If, body))
    )
