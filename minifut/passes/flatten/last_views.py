r"""Maps whose rows are turned round after an inner map: the whole array is, instead.

    map (\xs -> transpose (map f xs)) xss    →    rearrange (0 2 1) (map (map f) xss)

What is left is a perfect nest (`map_nest`), whose points are all parallel; with the
view inside, a map of maps would be one of a body that makes an array in each thread.
Filters along the columns of many images are such maps. Conditions: the body is a
perfect nest of maps, then views of its results, whose shapes are the same for all.

Source: "Regular flattening", the rule for rearrange.
"""

from __future__ import annotations

from minifut.ir import scope, sizes, traverse
from minifut.ir.core import Body, Param, Rearrange, Reshape
from minifut.ir.node import replace
from minifut.ir.soacs import Screma
from minifut.ir.types import array_of, shape_of
from minifut.names import Name
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.judgement import SLIDES, Answer
from minifut.passes.flatten.map_nest import split_perfect
from minifut.rewrite.rule import EMITTED, Declined, rule


@rule(Screma, label="rearrange", paper=SLIDES)
def view_whole_results(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make the views at the end of a map's body of what the whole map gives.

    before:
        given (n: i64, m: i64, k: i64, xsss: [n][m][k]i32)
        let rs: [n][k][m]i32 = map(n, (xsss), \(xss: [m][k]i32) -> ([k][m]i32) {
          let yss: [m][k]i32 = map(m, (xss), \(xs: [k]i32) -> ([k]i32) {
            return map(k, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
          })
          return rearrange((1, 0), yss)
        })
    after:
        let all: [n][m][k]i32 = map(n, (xsss), \(xss: [m][k]i32) -> ([m][k]i32) {
          return map(m, (xss), \(xs: [k]i32) -> ([k]i32) {
            return map(k, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
          })
        })
        let rs: [n][k][m]i32 = rearrange((0, 2, 1), all)
    declines: is no perfect nest of maps
        like before, with
        rearrange((1, 0), yss) => rearrange((1, 0), xss)
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if not exp.is_map:
        return None
    views, inside = _without_views(exp.function.body)
    if not views:
        return None
    parts = split_perfect(inside)
    if parts is None or not isinstance(parts[1].exp, Screma) or not parts[1].exp.is_map:
        return Declined("what is before the views is no perfect nest of maps")
    made = {p.name: p.type for p in parts[1].pattern}
    rows = tuple(made[name] for name in inside.result if isinstance(name, Name))
    shapes = [
        *map(shape_of, rows),
        *(v.shape for v in views.values() if isinstance(v, Reshape)),
    ]
    own = {*traverse.bound_names(exp.function), *nest.bound}
    if any(not own.isdisjoint(size.names()) for shape in shapes for size in shape):
        return Declined("a shape differs between points")
    around = (*nest.sizes, exp.width)
    inner, whole = list(statement.pattern), list(pattern)
    seen: list[tuple[Param, Rearrange | Reshape]] = []
    for place, (row, atom) in enumerate(
        zip(rows, exp.function.body.result, strict=True)
    ):
        if not isinstance(atom, Name) or atom not in views:
            continue
        name = context.build.names.like(pattern[place].name)
        inner[place] = Param(name, array_of(row, (exp.width,)))
        whole[place] = Param(name, array_of(row, around))
        seen.append((pattern[place], _of_whole(views[atom], around, name)))
    scope.add_parameters(context.build.scope, whole)
    function = replace(exp.function, body=inside, results=rows)
    viewed = replace(
        statement, pattern=tuple(inner), exp=replace(exp, function=function)
    )
    context.again(Judgement(nest, viewed, tuple(whole)), context)
    for bound, view in seen:
        context.emit((bound,), view)
    return EMITTED


def _without_views(body: Body) -> tuple[dict[Name, Rearrange | Reshape], Body]:
    """The views at the end of a body that give results, and what is before them."""
    kept = list(body.statements)
    views: dict[Name, Rearrange | Reshape] = {}
    while kept and isinstance(view := kept[-1].exp, Rearrange | Reshape):
        views[kept.pop().pattern[0].name] = view
    result = tuple(
        views[atom].array if isinstance(atom, Name) and atom in views else atom
        for atom in body.result
    )
    if not views.keys() <= {*body.result}:
        return {}, body
    return views, Body(tuple(kept), result)


def _of_whole(
    view: Rearrange | Reshape, around: tuple[sizes.Size, ...], whole: Name
) -> Rearrange | Reshape:
    """The view of an array that has these dimensions around the one that is viewed."""
    if isinstance(view, Reshape):
        return Reshape((*around, *view.shape), whole)
    depth = len(around)
    order = (*range(depth), *(depth + d for d in view.permutation))
    return Rearrange(order, whole)
