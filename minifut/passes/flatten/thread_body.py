r"""What no other rule takes: the parallel dimensions found so far, and the rest
sequential inside each thread.

    before:  nest (i < n) { map (\x -> <anything>) xs }
    after:   segmap grid (i < n, j < m) { let x = xs[j]  <anything, sequential> }

A SOAC that is not a map runs whole inside the nest's threads, or, with no nest around
it, in one thread: `segmap grid (i < 1)`.
"""

from __future__ import annotations

from minifut.ir.builder import i64
from minifut.ir.core import Index, Param, Stm
from minifut.ir.kernels import GRID, SegMap
from minifut.ir.node import replace
from minifut.ir.sizes import ONE
from minifut.ir.soacs import Screma
from minifut.ir.types import array_of
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns


def run_map_in_threads(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Each point of the nest and the map is a thread that runs the map's body."""
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_map:
        return False
    if "sequential" in statement.attributes:
        return False
    index = site.fresh_index("i")
    whole = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(exp.function.body.statements)
    body = returns(whole.statements, exp.function.body.result)
    site.emit(pattern, SegMap(GRID, whole.space, body, exp.function.results))
    return True


def run_in_one_thread(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Each point of the nest is a thread that runs the whole SOAC."""
    build = site.build
    own = tuple(replace(p, name=build.names.like(p.name)) for p in statement.pattern)
    build.scope.update((p.name, p.type) for p in own)
    lone = not nest.depth
    if lone:
        nest = nest.inside(site.fresh_index("i"), ONE)
    inner = replace(statement, pattern=own)
    names = tuple(p.name for p in own)
    body = returns((*nest.statements, inner), names)
    types = tuple(p.type for p in own)
    kernel = SegMap(GRID, nest.space, body, types)
    if not lone:
        site.emit(pattern, kernel)
        return True
    boxed = tuple(
        Param(build.names.like(p.name), array_of(p.type, (ONE,))) for p in pattern
    )
    site.emit(boxed, kernel)
    for bound, box in zip(pattern, boxed, strict=True):
        site.emit((bound,), Index(box.name, (i64(0),)))
    return True
