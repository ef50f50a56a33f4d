r"""Reductions and scans of arrays by an elementwise operator: move the map outside.

    before:  redomap(n, xss, {\xs ys -> map2 op xs ys, replicate m ne}, f)
    after:   nest (k < m) { redomap(n, xss, {op, ne}, \xs -> (f xs)[k]) }

so that a scalar reduction is left, which the other rules know. For a scan the result
has the dimensions swapped and is rearranged back. Conditions: the operator is just a
map over its parameters; the function's operand results are rows, views, or made by one
map at the end of its body, so that one element can be computed alone.

Source: "interchange reduce/scan with map" (irwim, iswim) of the Futhark compiler.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Body, Index, Lambda, Param, Rearrange, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.soacs import Reduce, Scan, Screma
from minifut.ir.types import ArrayType, array_of, row_type
from minifut.names import Name
from minifut.passes.flatten.cheap import all_cheap
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site


def interchange_operator(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Make a combination of arrays elementwise a nest around one of scalars."""
    exp = statement.exp
    if not isinstance(exp, Screma) or len(exp.scans) + len(exp.reduces) != 1:
        return False
    combine: Scan | Reduce = exp.scans[0] if exp.scans else exp.reduces[0]
    if len(exp.function.results) != len(combine.neutral):
        return False
    elementwise = _elementwise(combine.operator)
    if elementwise is None:
        return False
    operator, width = elementwise
    index = site.fresh_index("k")
    function = _element_of(site, exp.function, width, index)
    if nest.size_varies(width) or function is None:
        return False
    outer = nest.inside(index, width)
    outer, neutral = _neutral_elements(site, outer, index, combine.neutral)
    if isinstance(combine, Scan):
        inner = replace(exp, scans=(Scan(operator, neutral),), function=function)
    else:
        new = Reduce(operator, neutral, combine.commutative)
        inner = replace(exp, reduces=(new,), function=function)
    if isinstance(combine, Reduce):
        return _again(site, outer, statement, inner, pattern)
    return _scan_and_rearrange(site, outer, statement, inner, pattern)


def _elementwise(operator: Lambda) -> tuple[Lambda, Size] | None:
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
    site: Site, function: Lambda, width: Size, index: Name
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
    return _pick(site, function, made, statements, index)


def _pick(
    site: Site,
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
        name = site.build.names.like(atom)
        site.build.scope[name] = types[position]
        statements.append(Stm((Param(name, types[position]),), Index(atom, (index,))))
        results.append(name)
    return Lambda(function.parameters, Body(tuple(statements), tuple(results)), types)


def _neutral_elements(
    site: Site, nest: Nest, index: Name, neutral: tuple[Atom, ...]
) -> tuple[Nest, tuple[Atom, ...]]:
    """Element `index` of each neutral element."""
    found: list[Atom] = []
    for atom in neutral:
        assert isinstance(atom, Name)
        row = row_type(site.build.scope[atom])
        value = site.replicated(nest, atom)
        if value is None or isinstance(row, ArrayType):
            name = site.build.names.fresh("neutral")
            site.build.scope[name] = row
            nest = nest.then([Stm((Param(name, row),), Index(atom, (index,)))])
            value = name
        found.append(value)
    return nest, tuple(found)


def _again(
    site: Site, nest: Nest, statement: Stm, exp: Screma, pattern: tuple[Param, ...]
) -> bool:
    types = [t for reduce in exp.reduces for t in reduce.operator.results]
    own = tuple(
        Param(site.build.names.like(p.name), type_)
        for p, type_ in zip(statement.pattern, types, strict=True)
    )
    return site.again(site, nest, replace(statement, pattern=own, exp=exp), pattern)


def _scan_and_rearrange(
    site: Site, nest: Nest, statement: Stm, exp: Screma, pattern: tuple[Param, ...]
) -> bool:
    depth = nest.depth - 1
    order = (*range(depth), depth + 1, depth)
    types = [t for scan in exp.scans for t in scan.operator.results]
    build = site.build
    own, swapped = [], []
    for bound, type_ in zip(pattern, types, strict=True):
        row = array_of(type_, (exp.width,))
        own.append(Param(build.names.like(bound.name), row))
        whole = array_of(row, nest.sizes)
        swapped.append(Param(build.names.like(bound.name), whole))
    inner = replace(statement, pattern=tuple(own), exp=exp)
    site.again(site, nest, inner, tuple(swapped))
    for bound, other in zip(pattern, swapped, strict=True):
        rest = (
            len(other.type.shape) - len(order)
            if isinstance(other.type, ArrayType)
            else 0
        )
        full = (*order, *range(len(order), len(order) + rest))
        site.emit((bound,), Rearrange(full, other.name))
    return True
