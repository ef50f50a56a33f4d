"""Maps whose points read an array at their own index only.

    let ys = segmap grid (i < n) {.. xs[i] .. zs[i + 1] .. return returns y}

Here `ys` may be written over `xs`, if nothing needs that afterwards (`in_place`): a
point has read its element before it writes it, and no other point reads it. Then
nothing is allocated, and a store finds in the cache the line that it would otherwise
fetch.
"""

from __future__ import annotations

from collections.abc import Mapping

from minifut.analysis.simple_points import is_simple
from minifut.ir.core import If, Index, Match, ScalarOp, Stm
from minifut.ir.kernels import GRID, Returns, SegMap
from minifut.ir.scalar_opencl import calls_library
from minifut.ir.search import nodes_of
from minifut.ir.traverse import free_names, names_in
from minifut.ir.types import ArrayType, Type
from minifut.names import Name


def over_inputs(statement: Stm, types: Mapping[Name, Type]) -> list[tuple[Name, Name]]:
    """Pairs of results of a map of the grid and inputs of the same type that each point
    reads at its own index only."""
    exp = statement.exp
    if not isinstance(exp, SegMap) or exp.level != GRID or exp.scan is not None:
        return []
    results = [
        bound
        for bound, result in zip(statement.pattern, exp.body.result, strict=True)
        if isinstance(result, Returns)
        and isinstance(bound.type, ArrayType)
        and bound.type.shape == exp.space.sizes
    ]
    inputs = _own_elements(exp) if results else []
    pairs = [(r.name, a) for r in results for a in inputs if types.get(a) == r.type]
    return pairs if pairs and is_simple(exp) and not _calls(exp) else []


def _own_elements(exp: SegMap) -> list[Name]:
    """The arrays of which a point reads nothing but the element of its index."""
    own: dict[Name, None] = {}
    others = {name for result in exp.body.result for name in free_names(result)}
    for statement in nodes_of(Stm, exp.body):
        read = statement.exp
        if isinstance(read, Index) and read.slice == exp.space.indices:
            own.setdefault(read.array)
        elif not isinstance(read, If | Match):  # of scalars: their statements are seen
            others |= names_in(statement)
    return [array for array in own if array not in others]


def _calls(exp: SegMap) -> bool:
    """Whether points call functions: they are done by vectors, of which the last one
    repeats points."""
    operations = nodes_of(ScalarOp, exp.body)
    return any(calls_library(operation.operator) for operation in operations)
