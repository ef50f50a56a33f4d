r"""What a scatter or histogram in a nest writes to, with the nest's dimensions.

    nest (i < n) { let d = ds[i]   scatter d .. }          writes to ds
    nest (i < n) { scatter d .. }, d from outside          writes to replicate [n] d
    nest (i < n) { let d = replicate k v  scatter d .. }   writes to replicate [n][k] v

Anything else computed per point declines.
"""

from __future__ import annotations

from minifut.ir.core import Index, Rearrange, Replicate
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.passes.flatten.context import NestContext
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import Declined

UNKNOWN_DESTINATION = Declined("what it writes to is computed at each point")


def with_segments(context: NestContext, nest: Nest, name: Name) -> Name | None:
    """A host array that holds `name` for each point of the nest; None if unknown."""
    build = context.build
    if not nest.depth:
        return name
    if name not in nest.bound:
        return build.replicate(nest.sizes, name)
    value = context.replicated(nest, name)
    shape = shape_of(build.scope[name])
    if value is not None and not any(nest.size_varies(size) for size in shape):
        return build.let(Replicate(nest.sizes + shape, value), name.base)
    return whole_array(context, nest, name)


def whole_array(context: NestContext, nest: Nest, name: Name) -> Name | None:
    """The host array whose row at all the nest's indices is `name`; a view of a host
    array if `name` is a view of its row."""
    indices = list(nest.indices)
    while name in nest.bound:
        exp = context.definition(nest, name)
        if isinstance(exp, Rearrange) and len(indices) == nest.depth:
            whole = whole_array(context, nest, exp.array)
            if whole is None:
                return None
            inner = (nest.depth + d for d in exp.permutation)
            order = (*range(nest.depth), *inner)
            return context.build.let(Rearrange(order, whole), name.base)
        if not isinstance(exp, Index) or not exp.slice:
            return None
        for index in reversed(exp.slice):
            if not indices or index != indices.pop():
                return None
        name = exp.array
    return name if not indices else None
