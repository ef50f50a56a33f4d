"""Memory that points read and write, each at an element of its own.

    for (i = 0; i < n; i++) xs[r + i] = sin(xs[r + i]);         xs at r + i
    for (i = 0; i < n; i++) xs[i] = xs[i + 1];                  points read what others
                                                                write: refused

A map that is done in place. Its points are independent if all accesses to the memory
are at one index, which has another value for each; but no point may be repeated.

    for (i = first; i < last; i++)                      rows of ys, where threads have
        for (j = 1; j < n; j++)                         other points: `distributed`
            ys[i * n + j] = ys[i * n + j - 1] * xs[j];

    for (i = 0; i < n; i++)                             columns of ys: all indices leave
        for (k = 0; k < j; k++)                         the remainder i by n
            ys[j * n + i] += ys[k * n + i];

Threads run at the same time, so that a point of one reads nothing that others write:
where it reads what it wrote in a fresh kernel, that is a row of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from minifut.ir.alpha import alpha_equal
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ZERO, Size
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.index_ranges import IndexRanges, as_size
from minifut.kernel_passes.vectorise.affine import Affine, affine, is_zero
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name

NUMBER = "get_global_id"


def memory_in_place(
    statements: Sequence[kc.Statement],
    index: kc.Variable,
    own: Collection[kc.Memory],
    distributed: bool = False,
    ranges: Callable[[], IndexRanges] | None = None,
) -> frozenset[kc.Memory]:
    """The memory that points of a loop over `index` read and write in place, but for
    arrays in `own` and, where points are `distributed` over threads, rows. Raises
    `NotVectorisable` where a point may read what another one writes, as far as `ranges`
    of indices say."""
    loaded: dict[kc.Memory, list[kc.Expression]] = {}
    stored: dict[kc.Memory, list[kc.Expression]] = {}
    for node in nodes_of(kc.Load | kc.Store, *statements):
        if node.memory not in own:
            found = loaded if isinstance(node, kc.Load) else stored
            found.setdefault(node.memory, []).append(node.index)
    both = loaded.keys() & stored.keys()
    if both:
        bound = assigned(statements) | declared(statements)
        varying = find_varying(statements, [index.name, *(m.name for m in both)])
        for memory in [*both]:
            places = [*loaded[memory], *stored[memory]]
            if _is_one_element(places, index, bound):
                continue
            if ranges is not None and _are_columns(places, index, ranges()):
                continue
            row = distributed and _is_row(places, index, varying)
            if not row and not _are_apart(loaded[memory], stored[memory], ranges):
                raise NotVectorisable("points read what they write")
            both -= {memory}
    return frozenset(both)


def _are_columns(
    places: Sequence[kc.Expression], index: kc.Variable, ranges: IndexRanges
) -> bool:
    """Whether each is in the column of a matrix whose number the index is, which counts
    up to the length of its rows."""
    ends = ranges.counters.get(index.name)
    if ends is None or (ends[0].as_constant or 0) < 0 or ends[0].names():
        return False
    width = ends[1] + 1
    for place in places:
        size = as_size(place, ranges.definitions)
        if size is None:
            return False
        rows, rest = (size - Size.of(index.name)).divided(width)
        if rest != ZERO or index.name in rows.names():
            return False
    return True


def _are_apart(
    loaded: Sequence[kc.Expression],
    stored: Sequence[kc.Expression],
    ranges: Callable[[], IndexRanges] | None,
) -> bool:
    """Whether no point loads an element that one stores."""
    if ranges is None:
        return False
    known = ranges()
    return all(known.are_apart(here, there) for here in loaded for there in stored)


def is_distributed(k: CodeBuilder, loop: kc.For) -> bool:
    """Whether the threads of a fresh kernel have other points of a loop each, as its
    start says."""
    found: set[Name] = set()
    for statement in (*k.prologue, *k.statements):
        match statement:
            case kc.Declare(kc.Variable(name), kc.Expression() as init) if any(
                isinstance(n, kc.Call) and n.function == NUMBER for n in walk(init)
            ) or varies(init, found):
                found.add(name)
    return varies(loop.start, found)


def _is_row(
    places: Sequence[kc.Expression], index: kc.Variable, varying: frozenset[Name]
) -> bool:
    """Whether all are at the same distance from point to point."""
    known: dict[Name, Affine] = {index.name: (index, 1)}
    found = [affine(place, known, varying) for place in places]
    steps = [None if pair is None else kc.as_expression(pair[1]) for pair in found]
    first = steps[0]
    if first is None or (isinstance(first, kc.Literal) and first.value == 0):
        return False
    return all(step is not None and alpha_equal(step, first) for step in steps)


def _is_one_element(
    places: Sequence[kc.Expression], index: kc.Variable, bound: frozenset[Name]
) -> bool:
    """Whether all are the same, and another one for each value of the index."""
    first = places[0]
    if varies(first, bound) or not all(alpha_equal(first, place) for place in places):
        return False
    found = affine(first, {index.name: (index, 1)}, frozenset({index.name}))
    return found is not None and isinstance(found[1], int) and not is_zero(found[1])
