r"""Array expansion: a value of each point of a nest, as an array over the nest.

    nest (i < n) { let xs = xss[i]  .. xs .. }          xs   stands for xss
    nest (i < n) { .. 0 .. }                            0    for replicate([n], 0)
    nest (i < n) { let ys = rearrange(p, xs) .. ys .. } ys   for a view of xss
    nest (i < n) { let x = xs[i] * 2 .. x .. }          x    is computed by a kernel

Source: "Regular flattening", map-loop interchange (replicated initial values) and G6.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, Copy, Index, Param, Replicate, Stm
from minifut.ir.kernels import SegMap
from minifut.ir.types import AccType, ArrayType, element_of, shape_of
from minifut.passes.flatten import views
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.destinations import whole_array
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import Rule

VIEWS: tuple[Rule, ...] = (
    views.distribute_rearrange,
    views.distribute_reshape,
    views.distribute_slice,
    views.distribute_replicate,
)


def expand(context: NestContext, nest: Nest, atom: Atom, pattern: Param) -> None:
    """Bind `pattern` to the array of what `atom` is at each point of the nest."""
    if isinstance(pattern.type, AccType):
        context.emit((pattern,), Copy(atom))
        return
    if isinstance(atom, Constant) or atom not in nest.bound:
        context.emit((pattern,), Replicate(nest.sizes, atom))
        return
    whole = whole_array(context, nest, atom)
    if whole is not None and context.build.scope[whole] == pattern.type:
        context.emit((pattern,), Copy(whole))
        return
    exp = context.definition(nest, atom)
    if exp is not None:
        made = Stm((Param(atom, context.build.type(atom)),), exp)
        view = Judgement(nest, made, (pattern,))
        if any(rule.fires(view, context) for rule in VIEWS):
            return
    copy_elements(context, nest, atom, pattern)


def copy_elements(context: NestContext, nest: Nest, atom: Atom, pattern: Param) -> None:
    """A kernel in which each point of the nest, and each element of an array, is one
    point that returns it. The array must be regular."""
    build = context.build
    type_ = build.type(atom)
    if isinstance(type_, ArrayType):
        assert not isinstance(atom, Constant)
        indices = []
        for size in shape_of(type_):
            index = context.fresh_index("j")
            nest = nest.inside(index, size)
            indices.append(index)
        element = Param(build.names.like(atom), element_of(type_))
        nest = nest.then([Stm((element,), Index(atom, tuple(indices)))])
        atom, type_ = element.name, element.type
    kernel = SegMap(
        context.level, nest.space, returns(nest.statements, (atom,)), (type_,)
    )
    context.emit((pattern,), kernel)
