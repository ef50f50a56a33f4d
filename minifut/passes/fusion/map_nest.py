r"""Perfect nests of maps, as sizes, inputs and the innermost body.

map(n, (xss, ys), \xs y -> map(m, xs, \x -> f x y))
    sizes (n, m), inputs x: xss along (0, 1), y: ys along (0)
"""

from __future__ import annotations

from typing import Any, TypeAlias

from minifut.immutables import fixed
from minifut.ir.builder import Builder
from minifut.ir.core import Lambda, Param
from minifut.ir.sizes import Size
from minifut.ir.soacs import Screma, map_
from minifut.ir.traverse import free_names
from minifut.ir.types import row_type
from minifut.names import Name

NestInput: TypeAlias = tuple[Param, Name, tuple[int, ...]]
"""a parameter of the body, the array it comes from, the dimensions it varies along"""


@fixed
class MapNest:
    """`inputs` say which dimensions, in order, an array has in front."""

    sizes: tuple[Size, ...]
    inputs: tuple[NestInput, ...]
    body: Lambda


def nest_of(exp: Any, depth: int) -> MapNest | None:
    """The outer `depth` dimensions of maps, if they are perfectly nested and only the
    innermost body uses what varies."""
    sizes: list[Size] = []
    known: dict[Name, NestInput] = {}
    for level in range(depth):
        if not isinstance(exp, Screma) or not exp.is_map:
            return None
        if exp.width.names() & known.keys():
            return None
        sizes.append(exp.width)
        function = exp.function
        for parameter, array in zip(function.parameters, exp.arrays, strict=True):
            _, source, along = known.get(array, (None, array, ()))
            known[parameter.name] = (parameter, source, (*along, level))
        if level == depth - 1:
            used = free_names(function) | {p.name for p in function.parameters}
            inputs = tuple(i for name, i in known.items() if name in used)
            return MapNest(tuple(sizes), inputs, function)
        statements = function.body.statements
        if len(statements) != 1:
            return None
        names = tuple(p.name for p in statements[0].pattern)
        if function.body.result != names:
            return None
        exp = statements[0].exp
    return None


def build_nest(build: Builder, nest: MapNest, pattern: tuple[Param, ...]) -> None:
    """Emit the nest, its results bound to the pattern; the body keeps its names."""
    _level(build, nest, 0, {p.name: array for p, array, _ in nest.inputs}, pattern)


def _level(
    build: Builder,
    nest: MapNest,
    level: int,
    current: dict[Name, Name],
    pattern: tuple[Param, ...],
) -> None:
    """The maps from a level on; `current` is each input as the levels above left it."""
    arrays, parameters, inside = [], [], dict(current)
    for parameter, _, along in nest.inputs:
        if level not in along:
            continue
        array = current[parameter.name]
        arrays.append(array)
        if level != along[-1]:
            (parameter_here,) = build.parameters((row_type(build.type(array)),), "row")
            inside[parameter.name] = parameter_here.name
            parameters.append(parameter_here)
        else:
            parameters.append(parameter)
    types = tuple(row_type(bound.type) for bound in pattern)
    if level == len(nest.sizes) - 1:
        body = nest.body.body
    else:
        inner = build.nested()
        rows = build.parameters(types, "rows")
        _level(inner, nest, level + 1, inside, rows)
        body = inner.finish(*[row.name for row in rows])
    function = Lambda(tuple(parameters), body, types)
    build.bind(pattern, map_(nest.sizes[level], tuple(arrays), function))
