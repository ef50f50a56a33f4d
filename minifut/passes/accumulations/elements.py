r"""Updates of every element, once: a map (`update_every_element`).

    with_acc(.. map(n, (a, iota n, xs), \b i x -> update_acc(b, (i), (f x))))
    →  map(n, (as, xs), \old x -> op(old, f x))

The indices are the numbers of the levels, each of another level, and each level is as
wide as the arrays are there. Where the arrays are filled with the neutral element, the
map has the values alone.
"""

from __future__ import annotations

from minifut.ir import core, soacs
from minifut.ir.accumulators import AccInput, WithAcc
from minifut.ir.builder import Builder
from minifut.ir.node import replace
from minifut.ir.types import row_type
from minifut.names import Name
from minifut.passes.accumulations.nest import UpdateNest, nest_of
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

OTHER_INDICES = Declined("it does not update every element once")


@rule(WithAcc)
def update_every_element(statement: core.Stm, context: StatementContext) -> Outcome:
    r"""Combine every element with its value in a map.

    before:
        like before of gather_shifted_updates, with
        let j: i64 = add_i64(i, 2i64)
        let c: acc a [n] (i32) = update_acc(b, (j), (x))
        => let c: acc a [n] (i32) = update_acc(b, (i), (x))
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let zs: [n]i32 = map(n, (ys, is, xs), \(old: i32, i: i64, x: i32) -> (i32) {
          let p: i32 = old
          let q: i32 = x
          return add_i32(p, q)
        })
    declines: it does not update every element once
        like declines of gather_shifted_updates, with
        (ys), (0i32), add_i32 => (ys)
    """
    nest = nest_of(statement.exp_of(WithAcc))
    if nest is None or len(nest.levels) != len(nest.item.shape):
        return OTHER_INDICES
    order = [level_of(nest, atom, context) for atom in nest.indices]
    if sorted(order) != list(range(len(nest.levels))):
        return OTHER_INDICES
    if any(
        nest.levels[level].width != size
        for level, size in zip(order, nest.item.shape, strict=True)
    ):
        return OTHER_INDICES
    build = context.builder(statement)
    if all_neutral(nest.item, context):
        nest = replace(nest, item=replace(nest.item, operator=None))
    if order == sorted(order):
        build.bind(statement.pattern, _combined(build, nest, 0, nest.item.arrays))
        return tuple(build.statements)
    # dimension d of the arrays is dimension order[d] of the nest
    inwards = [order.index(level) for level in range(len(order))]
    arrays = tuple(_rearranged(build, array, inwards) for array in nest.item.arrays)
    made = build.let_many(_combined(build, nest, 0, arrays))
    for bound, array in zip(statement.pattern, made, strict=True):
        _rearranged(build, array, order, bound)
    return tuple(build.statements)


def _rearranged(
    build: Builder, array: Name, order: list[int], bound: core.Param | None = None
) -> Name:
    """The outer dimensions of an array in another order."""
    rank = len(build.shape(array))
    exp = core.Rearrange((*order, *range(len(order), rank)), array)
    return build.let(exp, array.base) if bound is None else build.bind((bound,), exp)[0]


def all_neutral(item: AccInput, context: StatementContext) -> bool:
    """Whether the arrays hold the neutral element of the operator only, so that a value
    which is combined with them is itself."""
    if item.operator is None:
        return False
    for array, neutral in zip(item.arrays, item.neutral, strict=True):
        found = context.definitions.get(array)
        match None if found is None else found.exp:
            case core.Replicate(shape, value) if (shape, value) == (
                item.shape,
                neutral,
            ):
                continue
        return False
    return True


def level_of(nest: UpdateNest, index: core.Atom, context: StatementContext) -> int:
    """The level whose number an index is; -1 if there is none."""
    for number, level in enumerate(nest.levels):
        for parameter, array in zip(level.parameters, level.arrays, strict=True):
            if parameter.name == index and array in context.definitions:
                match context.definitions[array].exp:
                    case core.Iota(_, core.Constant(0), core.Constant(1)):
                        return number
    return -1


def _combined(
    build: Builder, nest: UpdateNest, depth: int, arrays: tuple[Name, ...]
) -> soacs.Screma:
    """The maps over the elements of the arrays and what the levels have."""
    level = nest.levels[depth]
    types = [row_type(type_) for type_ in build.types(arrays)]
    old = build.parameters(types, "old")
    inner = build.nested()
    for parameter in level.parameters:
        inner.scope[parameter.name] = parameter.type
    inner.extend(level.statements)
    names = tuple(p.name for p in old)
    result = nest.values
    if depth + 1 < len(nest.levels):
        result = inner.let_many(_combined(inner, nest, depth + 1, names))
    elif nest.item.operator is not None:
        result = inner.apply(nest.item.operator, (*names, *nest.values))
    body = inner.finish(*result)
    function = core.Lambda((*old, *level.parameters), body, tuple(types))
    return soacs.map_(level.width, (*arrays, *level.arrays), function)
