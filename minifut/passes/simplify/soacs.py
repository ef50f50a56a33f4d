r"""Maps with trivial results or redundant inputs.

map (\x -> x) xs              →  xs
map (\x -> v) xs              →  replicate [n] v      v the same for all
map transpose xss             →  rearrange((0, 2, 1), xss)
map (\x -> (v, v)) xs         →  let ys = map (\x -> v) xs  in (ys, ys)
map (\x y -> .. x ..) xs ys   →  map (\x -> .. x ..) xs
map (\x y -> .. y ..) xs xs   →  map (\x -> .. x ..) xs
map (\x -> .. x ..) (replicate [n] v)   →  map (\ -> .. v ..)
"""

from __future__ import annotations

from collections.abc import Mapping

from minifut.ir.builder import Builder
from minifut.ir.core import (
    Atom,
    Constant,
    Copy,
    Exp,
    Lambda,
    Rearrange,
    Replicate,
    Reshape,
    Stm,
)
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import free_names, substitute, used_names
from minifut.names import Name
from minifut.passes.simplify.dead_code import has_effects
from minifut.rewrite.context import StatementContext, with_expression, with_values
from minifut.rewrite.rule import Declined, Outcome, rule

DROP_INPUTS_REFUSED = Declined("all inputs are needed")


@rule((Screma, Scatter, Hist))
def drop_inputs(statement: Stm, context: StatementContext) -> Outcome:
    r"""Remove inputs that are unused, duplicates, or replicated.

    before:
        given (n: i64, xs: [n]i32, ys: [n]i32)
        let zs: [n]i32 = map(n, (xs, ys), \(x: i32, y: i32) -> (i32) {add_i32(x, 1i32)})
    after:
        let zs: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
    declines: all inputs are needed
        given (n: i64, xs: [n]i32)
        let zs: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
    """
    exp = statement.exp
    assert isinstance(exp, Screma | Scatter | Hist)
    function = exp.function
    used = used_names(function.body)
    seen: dict[Name, Name] = {}
    instead: dict[Name, Atom] = {}
    kept = []
    for parameter, array in zip(function.parameters, exp.arrays, strict=True):
        source = context.definition(array)
        if parameter.name not in used:
            continue
        if array in seen:
            instead[parameter.name] = seen[array]
        elif isinstance(source, Replicate) and len(source.shape) == 1:
            instead[parameter.name] = source.value
        else:
            seen[array] = parameter.name
            kept.append((parameter, array))
    if len(kept) == len(exp.arrays):
        return DROP_INPUTS_REFUSED
    new = Lambda(
        tuple(parameter for parameter, _ in kept),
        substitute(function.body, instead),
        function.results,
    )
    return with_expression(
        statement, replace(exp, arrays=tuple(array for _, array in kept), function=new)
    )


SIMPLIFY_MAPPED_REFUSED = Declined("all results are computed")


@rule(Screma)
def simplify_mapped(statement: Stm, context: StatementContext) -> Outcome:
    r"""Replace mapped results that are an input, uniform or another result by views.

    before:
        given (n: i64, xs: [n]i32, k: i32)
        let (a: [n]i32, b: [n]i32, c: [n]i32) = map(n, (xs),
          \(x: i32) -> (i32, i32, i32) {
            let y: i32 = add_i32(x, 1i32)
            return x, k, y
          })
    after:
        let a: [n]i32 = xs
        let b: [n]i32 = replicate([n], k)
        let c: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
    before:
        given (n: i64, xs: [n]i32)
        let (a: [n]i32, b: [n]i32) = map(n, (xs), \(x: i32) -> (i32, i32) {
          let y: i32 = add_i32(x, 1i32)
          return y, y
        })
    after:
        let a: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        let b: [n]i32 = a
    declines: all results are computed
        given (n: i64, xs: [n]i32)
        let c: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
    """
    exp = statement.exp_of(Screma)
    pattern = statement.pattern
    function = exp.function
    inputs = dict(zip((p.name for p in function.parameters), exp.arrays, strict=True))
    bound = _bound(function)
    combined = _combined(exp)
    known: dict[int, Exp] = {}
    computed: dict[Atom, int] = {}
    again: dict[int, Exp] = {}
    for position, atom in enumerate(function.body.result[combined:], combined):
        if isinstance(atom, Name) and atom in inputs:
            known[position] = Copy(inputs[atom])
        elif isinstance(atom, Constant) or atom not in bound:
            known[position] = Replicate((exp.width,), atom)
        elif atom in computed:
            again[position] = Copy(pattern[computed[atom]].name)
        else:
            computed[atom] = position
    if not known and not again:
        return SIMPLIFY_MAPPED_REFUSED
    location, attributes = statement.location, statement.attributes
    statements = [
        Stm((pattern[position],), new, (), location) for position, new in known.items()
    ]
    if len(known) < len(pattern) or function.body.statements:
        if len(known) == len(pattern) and not has_effects(function):
            return with_values(
                statement, tuple(statements), tuple(p.name for p in pattern)
            )
        kept = [n for n in range(len(pattern)) if n not in known | again]
        if not kept:
            return SIMPLIFY_MAPPED_REFUSED
        rest = tuple(pattern[n] for n in kept)
        statements.append(Stm(rest, _only(exp, kept), attributes, location))
    statements += [Stm((pattern[n],), new, (), location) for n, new in again.items()]
    return tuple(statements)


LIFT_VIEWS_REFUSED = Declined("no result is a view of an input")


@rule(Screma)
def lift_mapped_views(statement: Stm, context: StatementContext) -> Outcome:
    r"""Replace results that are views of an input's rows by views of the input.

    before:
        given (n: i64, xsss: [n][2][3]i32)
        let flat: [n][6]i32 = map(n, (xsss), \(xss: [2][3]i32) -> ([6]i32) {
          let yss: [3][2]i32 = rearrange((1, 0), xss)
          let ys: [6]i32 = reshape([6], yss)
          return ys
        })
    after:
        let views: [n][3][2]i32 = rearrange((0, 2, 1), xsss)
        let rows: [n][6]i32 = reshape([n][6], views)
        let flat: [n][6]i32 = rows
    declines: no result is a view of an input
        given (n: i64, xs: [n]i32)
        let yss: [n][2]i32 = map(n, (xs), \(x: i32) -> ([2]i32) {
          let y: [2]i32 = replicate([2], x)
          return y
        })
    """
    exp = statement.exp_of(Screma)
    function = exp.function
    body = function.body
    makers = {s.pattern[0].name: s.exp for s in body.statements if len(s.pattern) == 1}
    if not any(type(made) in (Rearrange, Reshape) for made in makers.values()):
        return LIFT_VIEWS_REFUSED
    inputs = dict(zip((p.name for p in function.parameters), exp.arrays, strict=True))
    combined = _combined(exp)
    build = context.builder(statement)
    views: dict[int, Name] = {}
    for position, atom in enumerate(body.result[combined:], combined):
        chain = _chain_of_views(atom, makers, _bound(function))
        if chain and chain[0].array in inputs:
            array = inputs[chain[0].array]
            for view in chain:
                array = _of_rows(build, exp.width, array, view)
            views[position] = array
    if not views:
        return LIFT_VIEWS_REFUSED
    kept = [n for n in range(len(statement.pattern)) if n not in views]
    if not kept and has_effects(function):
        return LIFT_VIEWS_REFUSED
    if kept:
        rest = tuple(statement.pattern[n] for n in kept)
        build.append(replace(statement, pattern=rest, exp=_only(exp, kept)))
    for position, array in views.items():
        build.bind((statement.pattern[position],), Copy(array))
    return tuple(build.statements)


def _chain_of_views(
    atom: Atom, makers: Mapping[Name, Exp], bound: set[Name]
) -> tuple[Rearrange | Reshape, ...]:
    """The views between an array of the body and its result, the first one first."""
    made = makers.get(atom) if isinstance(atom, Name) else None
    if not isinstance(made, Rearrange | Reshape):
        return ()
    if not (free_names(made) - {made.array}).isdisjoint(bound):
        return ()
    return (*_chain_of_views(made.array, makers, bound), made)


def _of_rows(
    build: Builder, width: Size, array: Name, view: Rearrange | Reshape
) -> Name:
    """The view of each row of an array."""
    if isinstance(view, Reshape):
        return build.reshape(array, (width, *view.shape))
    return build.rearrange(array, (0, *(1 + d for d in view.permutation)))


def _bound(function: Lambda) -> set[Name]:
    """The names of parameters and of the body's statements."""
    bound = {p.name for p in function.parameters}
    for inner in function.body.statements:
        bound.update(p.name for p in inner.pattern)
    return bound


def _combined(exp: Screma) -> int:
    """How many results are of scans and reductions."""
    return sum(len(fold.neutral) for fold in exp.folds)


def _only(exp: Screma, kept: list[int]) -> Screma:
    function = exp.function
    results = tuple(function.body.result[n] for n in kept)
    types = tuple(function.results[n] for n in kept)
    body = replace(function.body, result=results)
    return replace(exp, function=replace(function, body=body, results=types))
