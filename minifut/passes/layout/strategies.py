"""What makes all accesses of a kernel coalesced: strategies and how they combine.

    for (parallel) i, j, k: xs[j, i] * muls[k] + bias[k, i, j]

    muls[k]        k runs fastest                     {in k}
                   or k does not                      {out k}
    bias[k, i, j]  k runs fastest, bias transposed     {in k, bias -> 0}   ...
    xs[j, i]       neither i nor j runs fastest       {out i, j}          ...
    together       {in k, out i j, bias -> 0}, {in j, out i k, xs -> 0}, ...

A strategy says which parallel variable is to run fastest, which must not, and which
dimension of an array is to be innermost in memory (counted from the outermost one). An
access is either invariant in the variable that runs fastest, or coalesced along it.
Strategies combine if they agree: at most one variable inside, it is not one of those
outside, which are not all, and each array has one dimension innermost.

Source: N. N. Jørgensen, "Optimising locality of reference in Futhark", section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir.node import immutable
from minifut.names import Name
from minifut.passes.layout.places import Access

MOST = 32
"""strategies of a kernel that are kept while its accesses are combined"""


@immutable
class LayoutStrategy:
    """Restrictions under which some accesses are efficient. `inside` runs fastest,
    `outside` must not, `innermost` gives arrays their innermost dimension."""

    inside: Name | None = None
    outside: frozenset[Name] = frozenset()
    innermost: frozenset[tuple[Name, int]] = frozenset()


def combine(
    one: LayoutStrategy, other: LayoutStrategy, space: Sequence[Name]
) -> LayoutStrategy | None:
    """What fulfils both; None if nothing does."""
    if one.inside and other.inside and one.inside != other.inside:
        return None
    inside = one.inside or other.inside
    outside = one.outside | other.outside
    if inside in outside or outside.issuperset(space):
        return None
    innermost = one.innermost | other.innermost
    if len({array for array, _ in innermost}) < len(innermost):
        return None
    return LayoutStrategy(inside, outside, innermost)


def strategies_of(access: Access, space: Sequence[Name]) -> list[LayoutStrategy]:
    """How one access can be efficient; none if it cannot at all."""
    variables = [name for name in space if access.varies_with(name)]
    found = []
    invariant = LayoutStrategy(None, frozenset(variables))
    if not invariant.outside.issuperset(space):
        found.append(invariant)
    for name in variables:
        for dimension in access.places_along(name):
            innermost = frozenset({(access.array, dimension)})
            found.append(LayoutStrategy(name, frozenset(), innermost))
    return found


def kernel_strategies(
    accesses: Iterable[Access], space: Sequence[Name]
) -> list[LayoutStrategy]:
    """The strategies that make all accesses efficient. An access that agrees with no
    strategy of those before it is left as it is, the least work last."""
    kept = [LayoutStrategy()]
    for access in sorted(accesses, key=lambda a: -a.elements * a.nbytes):
        own = strategies_of(access, space)
        both = {
            joined: None
            for strategy in kept
            for other in own
            if (joined := combine(strategy, other, space)) is not None
        }
        kept = list(both)[:MOST] or kept
    return kept
