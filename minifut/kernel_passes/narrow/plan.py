"""Decide which variables of a kernel are of 32 bits.

Those that indices are computed from, and variables of loops, if bounds are known.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.node import immutable
from minifut.ir.traverse import children, walk
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.narrow.bounds import Bounds
from minifut.names import Name, NameSource

INDEXED = (kc.Load, kc.Store, kc.AtomicUpdate)


@immutable
class IndexPlan:
    """The bounds of a kernel, the variables that get a twin of 32 bits, and the scalar
    parameters of i64."""

    bounds: Bounds
    paired: frozenset[Name]
    parameters: frozenset[Name]

    def is_paired(self, exp: object) -> bool:
        """Whether that is a variable with a twin."""
        match exp:
            case kc.Variable(name, kc.LONG):
                return name in self.paired
        return False

    def is_narrow(self, exp: kc.Expression) -> bool:
        """Whether an expression has a bound, and its variables are narrow anyway."""
        if self.bounds.of(exp) is None:
            return False
        own = self.bounds.sources.keys() | self.bounds.loops.keys()
        return (names_in(exp) & own) <= self.paired


def plan_of(kernel: kc.Kernel, names: NameSource) -> IndexPlan:
    """The plan of a kernel."""
    bounds = Bounds(kernel, names)
    loops = {name for name in bounds.loops if _has_known_rounds(bounds, name)}
    own = frozenset(bounds.sources.keys() & bounds.known.keys()) | loops
    scalars = (p for p in kernel.parameters if isinstance(p, kc.ScalarParameter))
    parameters = frozenset(p.name for p in scalars if p.type == I64)
    return IndexPlan(bounds, own & _needed(kernel, bounds, loops), parameters)


def _needed(kernel: kc.Kernel, bounds: Bounds, loops: set[Name]) -> frozenset[Name]:
    """The variables that indices and loops are computed from."""
    waiting: list[Any] = []
    for node in walk(kernel.body):
        if isinstance(node, INDEXED):
            waiting.append(node.index)
        elif isinstance(node, kc.For) and node.variable.name in loops:
            waiting += [node.variable, node.start, node.bound, node.step]
    needed: set[Name] = set()
    while waiting:
        for name in names_in(waiting.pop()) - needed:
            needed.add(name)
            if name not in bounds.opaque:
                waiting += [source.exp for source in bounds.sources.get(name, ())]
    return frozenset(needed)


def _has_known_rounds(bounds: Bounds, name: Name) -> bool:
    """Whether all bounds of a loop are known."""
    loop, facts = bounds.loops[name]
    parts = [loop.variable, loop.start, loop.bound, loop.step]
    parts += [each for each in (loop.extent, loop.full) if each is not None]
    with bounds.assuming(facts):
        return all(bounds.of(each) is not None for each in parts)


def names_in(node: object, loads: bool = False) -> set[Name]:
    """The variables that are read in a node, those in the indices of loads only if
    `loads`."""
    found: set[Name] = set()
    waiting = [node]
    while waiting:
        node = waiting.pop()
        match node:
            case kc.Variable(name):
                found.add(name)
            case kc.SizeValue(size):
                found |= size.names()
            case kc.Declare(kc.Variable(), exp) | kc.Assign(kc.Variable(), exp):
                waiting += [] if exp is None else [exp]
            case kc.Load() if not loads:
                pass
            case _:
                waiting += children(node)
    return found
