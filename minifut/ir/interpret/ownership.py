"""Which updates see their array for the last time.

A backward walk with the set of names still needed. What a loop or a lambda uses from
outside is needed until its end, for it runs again. An update of an array that nothing
needs afterwards may be done in place if at run time nothing else holds the array
either.
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Body, Stm
from minifut.ir.kernels import KernelBody
from minifut.ir.traverse import children, free_names
from minifut.names import Name


def in_place_updates(program: core.Program) -> set[int]:
    """The identities of the `Update` expressions whose array is dead afterwards."""
    found: set[int] = set()
    constants = {p.name for s in program.constants for p in s.pattern}
    for function in program.functions:
        _body(function.body, set(constants), found)
    return found


def _body(body: Body | KernelBody, live: set[Name], found: set[int]) -> None:
    """`live`: what is needed after the body, besides its results."""
    live = live | _results(body)
    for statement in reversed(body.statements):
        _statement(statement, live, found)
        live |= free_names(statement.exp)


def _results(body: Body | KernelBody) -> set[Name]:
    if isinstance(body, Body):
        return {atom for atom in body.result if isinstance(atom, Name)}
    return {name for result in body.result for name in free_names(result)}


def _statement(statement: Stm, live: set[Name], found: set[int]) -> None:
    exp = statement.exp
    match exp:
        case core.Update(array=array, value=value):
            if array not in live and value != array:
                found.add(id(exp))
        case core.If() | core.Match():
            for branch in exp.branches:
                _body(branch, live, found)
        case core.Loop(body=body, parameters=parameters):
            own = {p.name for p in parameters}
            _body(body, live | (free_names(exp) - own), found)
        case _:
            again = live | free_names(exp)
            for inner in _bodies(exp):
                _body(inner, again, found)


def _bodies(exp: object) -> list[Body | KernelBody]:
    """The bodies of the lambdas and kernels of an expression."""
    bodies: list[Body | KernelBody] = []
    work = [exp]
    while work:
        item = work.pop()
        if isinstance(item, Body | KernelBody):
            bodies.append(item)
        else:
            work.extend(children(item))
    return bodies
