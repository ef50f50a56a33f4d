r"""Reductions and scans of arrays by an elementwise operator: move the map outside.

    redomap(n, xss, {\xs ys -> map2 op xs ys, replicate m ne}, f)
    →  nest (k < m) { redomap(n, xss, {op, ne}, \xs -> (f xs)[k]) }

so that a scalar reduction is left, which the other rules know. For a scan the result
has the dimensions swapped and is rearranged back. Conditions: the operator is just a
map over its parameters; the function's operand results are rows, views, or made by one
map at the end of its body, so that one element can be computed alone. If there are no
elements, a kernel that only checks runs instead.

Source: "interchange reduce/scan with map" (irwim, iswim) of the Futhark compiler.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Body, Index, Lambda, Param, Rearrange, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.soacs import Reduce, Scan, Screma
from minifut.ir.types import ArrayType, array_of, row_type, shape_of
from minifut.names import Name
from minifut.passes.flatten.cheap import all_cheap, has_check, is_cheap
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.judgement import FUTHARK, Answer
from minifut.passes.flatten.map_nest import check_if_empty
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule

SEVERAL = Declined("it combines several things, or gives mapped results as well")


@rule(Screma, label="irwim", paper=FUTHARK)
def interchange_reduce_with_map(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a reduction of arrays elementwise a nest around one of scalars.

    before:
        like before of interchange_scan_with_map, with
        [n][m]i32 = scanomap(n => [m]i32 = redomap(n
        scan(\(a: => reduce(\(a:
    after:
        let ne: [m]i32 = replicate([m], 0i32)
        let sums: [m]i32 = segmap grid (k < m) -> (i32) {
          return returns redomap(n, (xss),
            reduce(add_i32, (0i32)), \(xs: [m]i32) -> (i32) {xs[k]})
        }
    declines: no map over its parameters
        like before, with
        let c: [m]i32 = map(m, (a, b), add_i32) return c => return b
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if not exp.reduces:
        return None
    inside = _elementwise_nest(context, nest, exp)
    if not isinstance(inside, tuple):
        return inside
    outer, operator, neutral, function = inside
    new = Reduce(operator, neutral, exp.reduces[0].commutative)
    own = tuple(
        Param(context.build.names.like(p.name), type_)
        for p, type_ in zip(statement.pattern, operator.results, strict=True)
    )
    inner = replace(exp, reduces=(new,), function=function)
    again = replace(statement, pattern=own, exp=inner)
    context.again(Judgement(outer, again, pattern), context)
    return EMITTED


@rule(Screma, label="iswim", paper=FUTHARK)
def interchange_scan_with_map(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a scan of arrays elementwise a nest around one of scalars, rearranged.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let ne: [m]i32 = replicate([m], 0i32)
        let sums: [n][m]i32 = scanomap(n, (xss),
          scan(\(a: [m]i32, b: [m]i32) -> ([m]i32) {
            let c: [m]i32 = map(m, (a, b), add_i32)
            return c
          }, (ne)), \(xs: [m]i32) -> ([m]i32) {xs})
    after:
        let ne: [m]i32 = replicate([m], 0i32)
        let columns: [m][n]i32 = segmap grid (k < m) -> ([n]i32) {
          return returns scanomap(n, (xss),
            scan(add_i32, (0i32)), \(xs: [m]i32) -> (i32) {xs[k]})
        }
        let sums: [n][m]i32 = rearrange((1, 0), columns)
    declines: no map over its parameters
        like before, with
        let c: [m]i32 = map(m, (a, b), add_i32) return c => return b
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if not exp.scans:
        return None
    inside = _elementwise_nest(context, nest, exp)
    if not isinstance(inside, tuple):
        return inside
    outer, operator, neutral, function = inside
    inner = replace(exp, scans=(Scan(operator, neutral),), function=function)
    own, swapped = [], []
    for bound, type_ in zip(pattern, operator.results, strict=True):
        row = array_of(type_, (exp.width,))
        own.append(Param(context.build.names.like(bound.name), row))
        swapped.append(context.expanded(outer, bound.name, row))
    again = replace(statement, pattern=tuple(own), exp=inner)
    context.again(Judgement(outer, again, tuple(swapped)), context)
    depth = nest.depth
    for bound, other in zip(pattern, swapped, strict=True):
        rest = range(depth + 2, len(shape_of(other.type)))
        order = (*range(depth), depth + 1, depth, *rest)
        context.emit((bound,), Rearrange(order, other.name))
    return EMITTED


def _elementwise_nest(
    context: NestContext, nest: Nest, exp: Screma
) -> tuple[Nest, Lambda, tuple[Atom, ...], Lambda] | Declined | None:
    """The nest with a dimension over the elements; operator, neutral elements and
    function of one element in it. None: the operator is one on scalars."""
    if len(exp.folds) != 1:
        return SEVERAL
    (combine,) = exp.folds
    if is_scalar_operator(combine.operator):
        return None
    if len(exp.function.results) != len(combine.neutral):
        return SEVERAL
    elementwise = elementwise_operator(combine.operator)
    if elementwise is None:
        return Declined("the operator is no map over its parameters")
    operator, width = elementwise
    if nest.size_varies(width):
        return Declined("the operands have different sizes at different points")
    index = context.fresh_index("k")
    function = _element_of(context, exp.function, width, index)
    if function is None:
        return Declined("one element of an operand cannot be computed alone")
    rows, point = nest.over(context.fresh_index("i"), exp)
    rows = rows.then(filter(is_cheap, point.statements))
    if has_check(rows.statements):
        check_if_empty(context, rows, width)
    outer = nest.inside(index, width)
    outer, neutral = _neutral_elements(context, outer, index, combine.neutral)
    return outer, operator, neutral, function


def is_scalar_operator(operator: Lambda) -> bool:
    """Whether all operands are scalars."""
    return not any(isinstance(t, ArrayType) for t in operator.results)


def elementwise_operator(operator: Lambda) -> tuple[Lambda, Size] | None:
    """The operator on elements and the width, if the operator is a map of it."""
    if len(operator.body.statements) != 1:
        return None
    (statement,) = operator.body.statements
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_map:
        return None
    names = tuple(p.name for p in operator.parameters)
    if set(exp.arrays) != set(names) or len(exp.arrays) != len(names):
        return None
    if operator.body.result != tuple(p.name for p in statement.pattern):
        return None
    order = [exp.arrays.index(name) for name in names]
    parameters = tuple(exp.function.parameters[position] for position in order)
    return replace(exp.function, parameters=parameters), exp.width


def _element_of(
    context: NestContext, function: Lambda, width: Size, index: Name
) -> Lambda | None:
    """The function that gives element `index` of each result only."""
    *before, last = function.body.statements or (None,)
    made: dict[Name, Atom] = {}
    statements: list[Stm] = []
    if last is not None and isinstance(last.exp, Screma):
        if not last.exp.is_map or last.exp.width != width:
            return None
        inner = last.exp.function
        statements = [*before]
        for parameter, array in zip(inner.parameters, last.exp.arrays, strict=True):
            statements.append(Stm((parameter,), Index(array, (index,))))
        statements.extend(inner.body.statements)
        names = (p.name for p in last.pattern)
        made = dict(zip(names, inner.body.result, strict=True))
    elif last is not None:
        statements = [*before, last]
    if not all_cheap(before) or (not made and not all_cheap(statements)):
        return None
    return _pick(context, function, made, statements, index)


def _pick(
    context: NestContext,
    function: Lambda,
    made: dict[Name, Atom],
    statements: list[Stm],
    index: Name,
) -> Lambda | None:
    results = []
    types = tuple(row_type(t) for t in function.results)
    for position, atom in enumerate(function.body.result):
        if atom in made:
            results.append(made[atom])
            continue
        if not isinstance(atom, Name):
            return None
        name = context.build.names.like(atom)
        context.build.scope[name] = types[position]
        statements.append(Stm((Param(name, types[position]),), Index(atom, (index,))))
        results.append(name)
    return Lambda(function.parameters, Body(tuple(statements), tuple(results)), types)


def _neutral_elements(
    context: NestContext, nest: Nest, index: Name, neutral: tuple[Atom, ...]
) -> tuple[Nest, tuple[Atom, ...]]:
    """Element `index` of each neutral element."""
    found: list[Atom] = []
    for atom in neutral:
        assert isinstance(atom, Name)
        row = row_type(context.build.scope[atom])
        value = context.replicated(nest, atom)
        if value is None or isinstance(row, ArrayType):
            name = context.build.names.fresh("neutral")
            context.build.scope[name] = row
            nest = nest.then([Stm((Param(name, row),), Index(atom, (index,)))])
            value = name
        found.append(value)
    return nest, tuple(found)
