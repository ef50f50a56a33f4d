r"""Incremental flattening: a map with parallelism inside becomes two versions.

    before:  nest (i < n) { map (\x -> e) over j < m }
    after:   let outer = n * m >= main.map_reduce.outer
             if outer then segmap grid (i < n, j < m) { e, sequential }
                      else e flattened in the nest (i < n, j < m)

Only where the second exploits more than the first, and within the bounds that
`version_names` states. A map directly inside a map is no choice: two dimensions are
always better than one. The user's attributes decide as in Futhark: `sequential` leaves
the whole map to one thread, `sequential_inner` is the first version alone,
`flattening(only_inner)` and `flattening(no_outer)` the second alone.

Defaults: a GPU wants tens of thousands of points. A CPU is busy with a few for each
core, and array expansion costs it memory traffic; but where the second version is just
one segmented operation, that one shares itself out well in any shape, so it is taken.
With a loop moved to the host each round is at least one launch, so on a CPU that is
left to be asked for.

Source: "Regular flattening", incremental flattening.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minifut.ir.core import If, Loop, Param, Stm
from minifut.ir.kernels import AtLeast, SegMap
from minifut.ir.sizes import product
from minifut.ir.soacs import Screma
from minifut.ir.traverse import rename
from minifut.passes.flatten.distribute import distribute_map_over_let
from minifut.passes.flatten.map_nest import flatten_perfect_nest, split_perfect
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import SEGMENTED, Site
from minifut.passes.flatten.thread_body import run_map_in_threads
from minifut.passes.flatten.version_names import FULL, NEVER, shape_of_body

ALWAYS = 0
CPU_BUSY = 4
GPU_BUSY = 1 << 15

ONLY_OUTER = frozenset({"sequential_inner", "flattening(only_outer)"})
ONLY_INNER = frozenset(
    {
        f"{word}({which})"
        for word in ("flattening", "incremental_flattening")
        for which in ("only_inner", "no_outer")
    }
    | {"sequential_outer"}
)


def flatten_incrementally(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Offer a map's outer parallelism alone, and all of it."""
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_map:
        return False
    attributes = frozenset(statement.attributes)
    if "sequential" in attributes:
        return False
    if attributes & ONLY_OUTER:
        return run_map_in_threads(site, nest, statement, pattern)
    parts = split_perfect(exp.function)
    if parts is not None and isinstance(parts[1].exp, Screma) and parts[1].exp.is_map:
        if flatten_perfect_nest(site, nest, statement, pattern):
            return True
        parts = None
    inner = site.inner(shape_of_body(exp.function.body.statements))
    perfect = parts is not None and flatten_perfect_nest(
        inner, nest, statement, pattern
    )
    if not perfect and not distribute_map_over_let(inner, nest, statement, pattern):
        return run_map_in_threads(site, nest, statement, pattern)
    gains = _gains(inner.build.statements, nest.depth + 1)
    only_inner = bool(attributes & ONLY_INNER) or site.versions.kind == FULL
    if gains and not only_inner and site.versions.may_choose(site.path):
        _choose(site, nest, statement, pattern, inner, perfect)
    elif perfect or (gains and only_inner):
        site.build.extend(inner.build.statements)
    else:
        run_map_in_threads(site, nest, statement, pattern)
    return True


def _choose(
    site: Site,
    nest: Nest,
    statement: Stm,
    pattern: tuple[Param, ...],
    inner: Site,
    perfect: bool,
) -> None:
    """Emit the conditional of both versions; `inner` has the second."""
    exp = statement.exp
    assert isinstance(exp, Screma)
    names = site.build.names
    results = [parameter.name for parameter in pattern]
    first = site.inner()
    run_map_in_threads(first, nest, statement, pattern)
    then = rename(first.build.finish(*results), names)
    otherwise = rename(inner.build.finish(*results), names)
    cpu = NEVER if perfect else CPU_BUSY
    if any(isinstance(s.exp, Loop) for s in _on_host(inner.build.statements)):
        cpu = ALWAYS
    guards = "one thread for each point of the outer maps, their bodies sequential"
    threshold = site.versions.threshold(inner.path, cpu, GPU_BUSY, guards)
    points = product((*nest.sizes, exp.width))
    condition = site.build.let(AtLeast(points, threshold), "outer")
    site.emit(pattern, If(condition, then, otherwise))


def _gains(statements: Iterable[Stm], depth: int) -> bool:
    """Whether a kernel shares out more than the points of the outer maps."""
    return any(
        not isinstance(s.exp, SegMap) or len(s.exp.space.sizes) > depth
        for s in _on_host(statements)
        if isinstance(s.exp, SEGMENTED)
    )


def _on_host(statements: Iterable[Stm]) -> Iterator[Stm]:
    """The statements and those of loops and branches in them."""
    for statement in statements:
        yield statement
        match statement.exp:
            case Loop(_, _, _, body):
                yield from _on_host(body.statements)
            case If(_, then, otherwise):
                yield from _on_host(then.statements)
                yield from _on_host(otherwise.statements)
