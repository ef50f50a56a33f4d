"""Memory that points read and write, each at an element of its own.

    for (i = 0; i < n; i++) xs[r + i] = sin(xs[r + i]);         xs at r + i
    for (i = 0; i < n; i++) xs[i] = xs[i + 1];                  points read what others
                                                                write: refused

A map that is done in place. Its points are independent if all accesses to the memory
are at one index, which has another value for each; but no point may be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minifut.ir.alpha import alpha_equal
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.vectorise.affine import affine, is_zero
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name


def memory_in_place(
    statements: Sequence[kc.Statement], index: kc.Variable, own: Collection[kc.Memory]
) -> frozenset[kc.Memory]:
    """The memory that points of a loop over `index` read and write, but for arrays in
    `own`. Raises `NotVectorisable` where a point may read what another one writes."""
    loaded: dict[kc.Memory, list[kc.Expression]] = {}
    stored: dict[kc.Memory, list[kc.Expression]] = {}
    for statement in statements:
        for node in walk(statement):
            if isinstance(node, kc.Load | kc.Store) and node.memory not in own:
                found = loaded if isinstance(node, kc.Load) else stored
                found.setdefault(node.memory, []).append(node.index)
    both = loaded.keys() & stored.keys()
    if both:
        bound = assigned(statements) | declared(statements)
        for memory in both:
            places = [*loaded[memory], *stored[memory]]
            if not _is_one_element(places, index, bound):
                raise NotVectorisable("points read what they write")
    return frozenset(both)


def _is_one_element(
    places: Sequence[kc.Expression], index: kc.Variable, bound: frozenset[Name]
) -> bool:
    """Whether all are the same, and another one for each value of the index."""
    first = places[0]
    if varies(first, bound) or not all(alpha_equal(first, place) for place in places):
        return False
    found = affine(first, {index.name: (index, 1)}, frozenset({index.name}))
    return found is not None and isinstance(found[1], int) and not is_zero(found[1])
