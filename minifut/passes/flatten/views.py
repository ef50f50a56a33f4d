r"""Views of a point's rows as views of whole arrays, which no kernel need compute.

    nest (i < n) { let xs = xss[i]  rearrange(p, xs) }   →   rearrange(0 1+p, xss)

The same for reshaping, slices that are the same for all points, and replicated values.
Conditions: the operand is the row of a known array at the nest's indices, and what
else the view needs is the same for all points.

Source: "Regular flattening", the rule for rearrange; the others follow it.
"""

from __future__ import annotations

from minifut.ir.builder import i64
from minifut.ir.core import DimSlice, Index, Rearrange, Replicate, Reshape
from minifut.ir.types import shape_of
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.destinations import whole_array
from minifut.passes.flatten.judgement import FUTHARK, SLIDES, Answer
from minifut.rewrite.rule import EMITTED, Declined, rule

COMPUTED = Declined("its operand is computed at each point")
VARIES = Declined("it differs between points")


@rule(Rearrange, label="rearrange", paper=SLIDES)
def distribute_rearrange(judgement: Judgement, context: NestContext) -> Answer:
    r"""Rearrange the whole array instead of its rows.

    before:
        like before of distribute_reshape, with
        [m * k]i32 => [k][m]i32
        reshape([m * k], xss) => rearrange((1, 0), xss)
    after:
        let rs: [n][k][m]i32 = rearrange((0, 2, 1), xsss)
    declines: computed at each point
        like before, with
        let xss: [m][k]i32 = xsss[i]
        => let x: i32 = xsss[i, 0i64, 0i64]
        => let xss: [m][k]i32 = replicate([m][k], x)
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Rearrange)
    whole = whole_array(context, nest, exp.array)
    if whole is None:
        return COMPUTED
    depth = nest.depth
    order = (*range(depth), *(depth + d for d in exp.permutation))
    context.emit(pattern, Rearrange(order, whole))
    return EMITTED


@rule(Reshape, paper=FUTHARK)
def distribute_reshape(judgement: Judgement, context: NestContext) -> Answer:
    r"""Reshape the whole array instead of its rows.

    before:
        given (n: i64, m: i64, k: i64, xsss: [n][m][k]i32)
        let rs: [n][m * k]i32 = segmap grid (i < n) -> ([m * k]i32) {
          let xss: [m][k]i32 = xsss[i]
          return returns reshape([m * k], xss)
        }
    after:
        let rs: [n][m * k]i32 = reshape([n][m * k], xsss)
    declines: computed at each point
        like before, with
        let xss: [m][k]i32 = xsss[i]
        => let x: i32 = xsss[i, 0i64, 0i64]
        => let xss: [m][k]i32 = replicate([m][k], x)
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Reshape)
    if any(nest.size_varies(size) for size in exp.shape):
        return VARIES
    whole = whole_array(context, nest, exp.array)
    if whole is None:
        return COMPUTED
    context.emit(pattern, Reshape(nest.sizes + exp.shape, whole))
    return EMITTED


@rule(Index, paper=FUTHARK)
def distribute_slice(judgement: Judgement, context: NestContext) -> Answer:
    r"""Slice the whole array instead of its rows.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let rs: [n][1]i32 = segmap grid (i < n) -> ([1]i32) {
          let xs: [m]i32 = xss[i]
          return returns xs[0i64 :+ 1 by 1i64]
        }
    after:
        let rs: [n][1]i32 = xss[0i64 :+ n by 1i64, 0i64 :+ 1 by 1i64]
    declines: it differs between points
        like before, with
        xs[0i64 => xs[i
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Index)
    if not exp.slice:
        return None
    if not shape_of(statement.pattern[0].type):
        return None
    if any(nest.varies(entry) for entry in exp.slice):
        return VARIES
    whole = whole_array(context, nest, exp.array)
    if whole is None:
        return COMPUTED
    full = tuple(DimSlice(i64(0), size, i64(1)) for size in nest.sizes)
    context.emit(pattern, Index(whole, (*full, *exp.slice)))
    return EMITTED


@rule(Replicate, paper=FUTHARK)
def distribute_replicate(judgement: Judgement, context: NestContext) -> Answer:
    r"""Replicate a replicated value over the nest, too.

    before:
        given (n: i64, m: i64, k: i32)
        let rs: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let r: [m]i32 = replicate([m], k)
          return returns r
        }
    after:
        let rs: [n][m]i32 = replicate([n][m], k)
    declines: it differs between points
        like before, with
        k: i32) => ks: [n]i32)
        let r => let k: i32 = ks[i] let r
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Replicate)
    if nest.varies(exp):
        return VARIES
    context.emit(pattern, Replicate(nest.sizes + exp.shape, exp.value))
    return EMITTED
