r"""Fuse two SOACs over the same width that read the same array into one pass.

    before:  let a = redomap(n, xs, op, f)
             let b = map(n, xs, g)
    after:   let (a, b) = redomap(n, (xs, xs), op, \x y -> {f x, g y})

Neither may need the other's result. Scans join only with maps. What is joined stays
narrow: results live in registers while the array streams by, and pairwise joining of n
statements into one would take time quadratic in n.
"""

from __future__ import annotations

from minifut.ir.core import Body, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names

MOST_RESULTS = 16
"""of a joined SOAC"""


def fuse_neighbours(first: Stm, second: Stm) -> Stm | str:
    """One statement that binds what both bind, or why not."""
    a, b = first.exp, second.exp
    if not isinstance(a, Screma) or not isinstance(b, Screma):
        return "only maps, reductions and scans fuse horizontally"
    if len(first.pattern) + len(second.pattern) > MOST_RESULTS:
        return f"together they have more than {MOST_RESULTS} results"
    if a.width != b.width:
        return "the widths are not known to be equal"
    if not set(a.arrays) & set(b.arrays):
        return "they read no common array"
    if (a.scans and not b.is_map) or (b.scans and not a.is_map):
        return "a scan joins only with maps"
    if free_names(b) & {bound.name for bound in first.pattern}:
        return "the second needs a result of the first"
    scanned = [sum(len(s.neutral) for s in exp.scans) for exp in (a, b)]
    reduced = [sum(len(r.neutral) for r in exp.reduces) for exp in (a, b)]

    def joined(of_a: tuple, of_b: tuple) -> tuple:  # type: ignore[type-arg]
        """Scanned ones, then reduced ones, then mapped ones of both."""
        parts = []
        for start, stop in (
            ((0, 0), scanned),
            (scanned, [s + r for s, r in zip(scanned, reduced, strict=True)]),
            ([s + r for s, r in zip(scanned, reduced, strict=True)], (None, None)),
        ):
            parts += [*of_a[start[0] : stop[0]], *of_b[start[1] : stop[1]]]
        return tuple(parts)

    f, g = a.function, b.function
    function = Lambda(
        f.parameters + g.parameters,
        Body(
            f.body.statements + g.body.statements,
            joined(f.body.result, g.body.result),
        ),
        joined(f.results, g.results),
    )
    exp = Screma(
        a.width, a.arrays + b.arrays, a.scans + b.scans, a.reduces + b.reduces, function
    )
    return replace(second, pattern=joined(first.pattern, second.pattern), exp=exp)
