r"""Maps with trivial results or redundant inputs.

map (\x -> x) xs              →  xs
map (\x -> v) xs              →  replicate [n] v      v the same for all
map (\x -> reshape s x) xs    →  reshape [n]s xs
map (\x -> (v, v)) xs         →  let ys = map (\x -> v) xs  in (ys, ys)
map (\x y -> .. x ..) xs ys   →  map (\x -> .. x ..) xs
map (\x y -> .. y ..) xs xs   →  map (\x -> .. x ..) xs
map (\x -> .. x ..) (replicate [n] v)   →  map (\ -> .. v ..)
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Atom, Body, Constant, Exp, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Hist, Scatter, Screma, operand_count
from minifut.ir.traverse import free_names, substitute, used_names
from minifut.names import Name
from minifut.passes.simplify.dead_code import has_effects
from minifut.rewrite.context import StatementContext, with_expression, with_values
from minifut.rewrite.rule import Declined, Outcome, rule


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
        elif isinstance(source, core.Replicate) and len(source.shape) == 1:
            instead[parameter.name] = source.value
        else:
            seen[array] = parameter.name
            kept.append((parameter, array))
    if len(kept) == len(exp.arrays):
        return Declined("all inputs are needed")
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
    before:
        given (n: i64, m: i64, k: i64, xsss: [n][m][k]i32)
        let flat: [n][m * k]i32 = map(n, (xsss), \(xss: [m][k]i32) -> ([m * k]i32) {
          return reshape([m * k], xss)
        })
    after:
        let flat: [n][m * k]i32 = reshape([n][m * k], xsss)
    declines: all results are computed
        given (n: i64, xs: [n]i32)
        let c: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
    """
    exp = statement.exp_of(Screma)
    pattern = statement.pattern
    function = exp.function
    inputs = dict(zip((p.name for p in function.parameters), exp.arrays, strict=True))
    bound = {*inputs, *bound_by(function.body)}
    views = views_of_inputs(exp)
    combined = operand_count(exp.folds)
    known: dict[int, Exp] = {}
    computed: dict[Atom, int] = {}
    again: dict[int, Exp] = {}
    for position, atom in enumerate(function.body.result[combined:], combined):
        if isinstance(atom, Name) and atom in inputs:
            known[position] = core.Copy(inputs[atom])
        elif isinstance(atom, Constant) or atom not in bound:
            known[position] = core.Replicate((exp.width,), atom)
        elif atom in computed:
            again[position] = core.Copy(pattern[computed[atom]].name)
        elif atom in views:
            known[position] = views[atom]
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


def bound_by(body: Body) -> set[Name]:
    """What the statements of a body bind."""
    return {p.name for statement in body.statements for p in statement.pattern}


def views_of_inputs(exp: Screma) -> dict[Atom, core.Reshape]:
    """The inputs in other shapes, by the names of their rows in these, where all rows
    have the same shape."""
    names = [parameter.name for parameter in exp.function.parameters]
    inputs = dict(zip(names, exp.arrays, strict=True))
    bound = {*inputs, *bound_by(exp.function.body)}
    return {
        s.pattern[0].name: core.Reshape((exp.width, *s.exp.shape), inputs[s.exp.array])
        for s in exp.function.body.statements
        if isinstance(s.exp, core.Reshape)
        and s.exp.array in inputs
        and bound.isdisjoint(free_names(s.exp) - {s.exp.array})
    }


def _only(exp: Screma, kept: list[int]) -> Screma:
    function = exp.function
    results = tuple(function.body.result[n] for n in kept)
    types = tuple(function.results[n] for n in kept)
    body = replace(function.body, result=results)
    return replace(exp, function=replace(function, body=body, results=types))
