"""Which names of a body of the host must have their values there.

    let s = redomap(n, (xs), reduce(+))    the host needs neither s nor t: the kernel of
    let t = sqrt(s)                        the map loads s, and computes t; it needs n
    let ys = map(n, (xs), \\x -> x / t)

The host decides by conditions and bounds, allocates by sizes, accesses elements by
indices, and passes on the results of bodies: it needs these, and what it computes them
from. A loop passes a scalar to its next iteration on the device, unless the host needs
it there. What the functions of SOACs take is for kernels to load, but for sizes, by
which their memory is allocated. The pass `device-scalars` decides the same of lowered
code later, where memories are known too.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.core import Body, If, Index, Lambda, Loop, ScalarOp, Stm
from minifut.ir.traverse import children, own_names, walk
from minifut.ir.types import F16, ScalarType
from minifut.names import Name

TAKE_VALUES = (Body, If, Index, ScalarOp)
"""in functions of SOACs, what allocates nothing by the scalars that it takes"""


def host_needs(node: Body | Loop) -> set[Name]:
    """The names that the host needs for a body or a loop, those of the bodies within
    it too."""
    needed: set[Name] = set()
    _add(node, needed)
    return needed


def needs_but_for_condition(loop: Loop) -> set[Name]:
    """The same of a loop that goes on as long as the device says."""
    needed: set[Name] = set()
    _add_iterations(loop, needed)
    return needed


def _add_loop(loop: Loop, needed: set[Name]) -> None:
    own_names(loop, needed)
    own_names(loop.form, needed)
    _add_iterations(loop, needed)


def _add_iterations(loop: Loop, needed: set[Name]) -> None:
    """What a loop passes on is needed where its parameter is."""
    carried = list(zip(loop.parameters, loop.body.result, strict=True))
    size = -1
    while size != len(needed):
        size = len(needed)
        for parameter, result in carried:
            stays = isinstance(parameter.type, ScalarType) and parameter.type != F16
            if isinstance(result, Name) and (not stays or parameter.name in needed):
                needed.add(result)
        for statement in reversed(loop.body.statements):
            _add(statement, needed)


def _add(node: Any, needed: set[Name]) -> None:
    match node:
        case Lambda():
            for inner in walk(node):
                if not isinstance(inner, TAKE_VALUES):
                    own_names(inner, needed)
            return
        case Loop():
            _add_loop(node, needed)
            return
        case Body(statements):
            own_names(node, needed)
            for statement in reversed(statements):
                _add(statement, needed)
            return
        case Stm(pattern, ScalarOp()) if needed.isdisjoint(p.name for p in pattern):
            # kernels do not load half floats
            if all(p.type != F16 for p in pattern):
                return
    own_names(node, needed)
    for child in children(node):
        _add(child, needed)
