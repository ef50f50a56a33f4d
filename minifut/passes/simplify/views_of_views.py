"""Views of views: one permutation, one shape.

reshape s (reshape t a)  →  reshape s a    transpose (transpose a)   →  a
transpose (flatten (transpose a))          →  reshape s (rearrange p a)
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Copy, Rearrange, Replicate, Reshape, Stm
from minifut.ir.scope import array_type
from minifut.ir.sizes import dimension_groups
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule

REARRANGE_AGAIN_REFUSED = Declined("the array was not rearranged before")


@rule(core.Rearrange)
def rearrange_again(statement: Stm, context: StatementContext) -> Outcome:
    """The identity, and a permutation of a permutation.

    before:
        given (xss: [3][4]i32)
        let t: [4][3]i32 = rearrange((1, 0), xss)
        let u: [3][4]i32 = rearrange((1, 0), t)
    after:
        let t: [4][3]i32 = rearrange((1, 0), xss)
        let u: [3][4]i32 = rearrange((0, 1), xss)
    declines: the array was not rearranged before
        given (xss: [3][4]i32)
        let t: [4][3]i32 = rearrange((1, 0), xss)
    """
    exp = statement.exp_of(Rearrange)
    if exp.permutation == tuple(range(len(exp.permutation))):
        return with_expression(statement, Copy(exp.array))
    source = context.definition(exp.array)
    if not isinstance(source, Rearrange):
        return REARRANGE_AGAIN_REFUSED
    rest = tuple(range(len(exp.permutation), len(source.permutation)))
    whole = (*exp.permutation, *rest)
    return with_expression(
        statement, Rearrange(tuple(source.permutation[p] for p in whole), source.array)
    )


REARRANGE_MERGED_REFUSED = Declined("no dimensions of a rearranged array were merged")


@rule(core.Rearrange)
def rearrange_merged(statement: Stm, context: StatementContext) -> Outcome:
    """A permutation of dimensions that are several of a permutation each is one
    permutation of all, whose elements are copied once at most.

    before:
        given (xsss: [2][3][4]i32)
        let r: [3][2][4]i32 = rearrange((1, 0, 2), xsss)
        let m: [3][8]i32 = reshape([3][8], r)
        let t: [8][3]i32 = rearrange((1, 0), m)
    after:
        let r: [3][2][4]i32 = rearrange((1, 0, 2), xsss)
        let m: [3][8]i32 = reshape([3][8], r)
        let s: [2][4][3]i32 = rearrange((1, 2, 0), r)
        let t: [8][3]i32 = reshape([8][3], s)
    declines: no dimensions of a rearranged array were merged
        given (xss: [8][3]i32)
        let r: [3][8]i32 = rearrange((1, 0), xss)
        let m: [3][4][2]i32 = reshape([3][4][2], r)
        let t: [4][3][2]i32 = rearrange((1, 0, 2), m)
    """
    exp = statement.exp_of(Rearrange)
    merged = context.definition(exp.array)
    if not isinstance(merged, Reshape):
        return REARRANGE_MERGED_REFUSED
    if not isinstance(context.definition(merged.array), Rearrange):
        return REARRANGE_MERGED_REFUSED
    before = array_type(merged.array, context.scope).shape
    groups = list(dimension_groups(before, merged.shape))
    if any(new.stop - new.start != 1 for _, new in groups):
        return REARRANGE_MERGED_REFUSED
    rest = range(len(exp.permutation), len(groups))
    order = [groups[d][0] for d in (*exp.permutation, *rest)]
    build = context.builder(statement)
    dimensions = tuple(d for old in order for d in range(old.start, old.stop))
    rearranged = build.rearrange(merged.array, dimensions)
    shape = tuple(merged.shape[d] for d in (*exp.permutation, *rest))
    return with_expression(statement, Reshape(shape, rearranged), build)


RESHAPE_AGAIN_REFUSED = Declined("the array has another shape of its own")


@rule(core.Reshape)
def reshape_again(statement: Stm, context: StatementContext) -> Outcome:
    """A shape that is there already, a reshape of a reshape or of a repeated scalar.

    before:
        given (xs: [6]i32)
        let t: [2][3]i32 = reshape([2][3], xs)
        let u: [3][2]i32 = reshape([3][2], t)
    after:
        let t: [2][3]i32 = reshape([2][3], xs)
        let u: [3][2]i32 = reshape([3][2], xs)
    declines: the array has another shape of its own
        given (xs: [6]i32)
        let t: [2][3]i32 = reshape([2][3], xs)
    """
    exp = statement.exp_of(Reshape)
    shape = array_type(exp.array, context.scope).shape
    if shape == exp.shape:
        return with_expression(statement, Copy(exp.array))
    source = context.definition(exp.array)
    if isinstance(source, Reshape):
        return with_expression(statement, Reshape(exp.shape, source.array))
    if isinstance(source, Replicate) and len(source.shape) == len(shape):
        return with_expression(statement, Replicate(exp.shape, source.value))
    return RESHAPE_AGAIN_REFUSED
