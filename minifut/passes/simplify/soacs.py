r"""Maps that do nothing for some result or take something for nothing.

map (\x -> x) xs              →  xs
map (\x -> v) xs              →  replicate [n] v      v the same for all
map (\x y -> .. x ..) xs ys   →  map (\x -> .. x ..) xs
map (\x y -> .. y ..) xs xs   →  map (\x -> .. x ..) xs
map (\x -> .. x ..) (replicate [n] v)   →  map (\ -> .. v ..)
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, Copy, Exp, Lambda, Replicate, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import substitute, used_names
from minifut.names import Name
from minifut.passes.simplify.site import Instead, Pattern, Site


def drop_inputs(
    site: Site, pattern: Pattern, exp: Screma | Scatter | Hist
) -> Exp | None:
    """Inputs that are not used, come twice, or are the same everywhere."""
    function = exp.function
    used = used_names(function.body)
    seen: dict[Name, Name] = {}
    instead: dict[Name, Atom] = {}
    kept = []
    for parameter, array in zip(function.parameters, exp.arrays, strict=True):
        source = site.definition(array)
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
        return None
    new = Lambda(
        tuple(parameter for parameter, _ in kept),
        substitute(function.body, instead),
        function.results,
    )
    return replace(exp, arrays=tuple(array for _, array in kept), function=new)


def simplify_mapped(site: Site, pattern: Pattern, exp: Screma) -> Instead | None:
    """Mapped results that are an input as it is, or the same everywhere."""
    function = exp.function
    inputs = dict(zip((p.name for p in function.parameters), exp.arrays, strict=True))
    bound = set(inputs)
    for statement in function.body.statements:
        bound.update(p.name for p in statement.pattern)
    combined = sum(len(s.neutral) for s in exp.scans)
    combined += sum(len(r.neutral) for r in exp.reduces)
    known: dict[int, Exp] = {}
    for position, atom in enumerate(function.body.result[combined:], combined):
        if isinstance(atom, Name) and atom in inputs:
            known[position] = Copy(inputs[atom])
        elif isinstance(atom, Constant) or atom not in bound:
            known[position] = Replicate((exp.width,), atom)
    if not known:
        return None
    location = site.build.location
    statements = [
        Stm((pattern[position],), new, (), location) for position, new in known.items()
    ]
    if len(known) < len(pattern) or function.body.statements:
        if len(known) == len(pattern) and not _has_check(function):
            return Instead(tuple(statements), tuple(p.name for p in pattern))
        kept = [n for n in range(len(pattern)) if n not in known]
        if not kept:
            return None
        left = Stm(tuple(pattern[n] for n in kept), _only(exp, kept), (), location)
        statements.append(left)
    return Instead(tuple(statements), tuple(p.name for p in pattern))


def _has_check(function: Lambda) -> bool:
    from minifut.passes.simplify.dead_code import has_effects

    return has_effects(function)


def _only(exp: Screma, kept: list[int]) -> Screma:
    function = exp.function
    results = tuple(function.body.result[n] for n in kept)
    types = tuple(function.results[n] for n in kept)
    body = replace(function.body, result=results)
    return replace(exp, function=replace(function, body=body, results=types))
