r"""A branch inside a map nest that all points take: the nest moves into the branches.

    before:  nest (i < n) { if c then e1 else e2 }        c the same for all i
    after:   if c then nest (i < n) { e1 } else nest (i < n) { e2 }

Conditions: the results have the same shapes at all points, and a branch holds
parallelism that becomes kernels.

Source: "map over branch" of the Futhark compiler's interchange.
"""

from __future__ import annotations

from minifut.ir.core import Body, If, Param, Stm
from minifut.passes.flatten.distribute import distribute_body
from minifut.passes.flatten.exploitable import is_exploitable
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site


def interchange_map_with_branch(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Decide on the host, run the branch taken in the nest."""
    exp = statement.exp
    if not isinstance(exp, If) or not nest.depth:
        return False
    if not is_exploitable(nest, statement):
        return False

    def branch(body: Body) -> Body:
        inside = site.inner()
        results = tuple(
            site.expanded(nest, parameter.name, parameter.type)
            for parameter in statement.pattern
        )
        distribute_body(inside, nest, body, results)
        return inside.build.finish(*(result.name for result in results))

    site.emit(pattern, If(exp.condition, branch(exp.then), branch(exp.otherwise)))
    return True
