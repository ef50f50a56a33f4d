r"""A loop inside a map nest: the nest moves into the loop (map-loop interchange).

    before:  nest (i < n) { let ys = yss[i]  loop (ws = ys) for k < q do f k ws }
    after:   loop (wss = yss) for k < q do nest (i < n) { let ws = wss[i]  f k ws }

Loop parameters that start the same at all points are replicated. Conditions: all points
run the loop equally often, shapes of its parameters do not vary, and its body holds
parallelism that becomes kernels (else it is better off inside a thread).

Source: "Regular flattening", map-loop interchange.
"""

from __future__ import annotations

from minifut.ir.core import ForLoop, Index, Loop, Param, Stm
from minifut.passes.flatten.distribute import distribute_body
from minifut.passes.flatten.expansion import expand
from minifut.passes.flatten.exploitable import is_exploitable
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site


def interchange_map_with_loop(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Run the loop on the host, its body in the nest."""
    exp = statement.exp
    if not isinstance(exp, Loop) or not isinstance(exp.form, ForLoop):
        return False
    if not nest.depth or not is_exploitable(nest, statement):
        return False
    parameters, initial, rows = [], [], []
    for parameter, atom in zip(exp.parameters, exp.initial, strict=True):
        start = site.expanded(nest, parameter.name, parameter.type)
        expand(site, nest, atom, start)
        initial.append(start.name)
        carried = site.expanded(nest, parameter.name, parameter.type)
        parameters.append(carried)
        row = Param(parameter.name, parameter.type)
        rows.append(Stm((row,), Index(carried.name, nest.indices)))
    inside = site.inner()
    results = tuple(
        site.expanded(nest, parameter.name, parameter.type)
        for parameter in exp.parameters
    )
    distribute_body(inside, nest.then(rows), exp.body, results)
    body = inside.build.finish(*(result.name for result in results))
    site.emit(pattern, Loop(tuple(parameters), tuple(initial), exp.form, body))
    return True
