"""Which values in a body depend on what it loads.

    long at = is[i];                  at depends on a load,
    float x = xs[i * m + at];         so this load has a data-dependent address

A search goes backwards from a value to what it is computed from, so that only the
expressions on the way are walked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.names import Name


class LoadedValues:
    """What the variables of a body are computed from. With `by_branches`, what is
    assigned in a branch depends on its condition."""

    def __init__(self, body: kc.Block, by_branches: bool = True) -> None:
        self.by_branches = by_branches
        self.sources: defaultdict[Name, list[kc.Expression]] = defaultdict(list)
        self.others: set[Name] = set()
        """variables that are known not to depend on loads"""
        self._enter(body.statements, ())

    def reach(self, exp: kc.Expression) -> bool:
        """Whether an expression depends on a load, or on a register of a tile."""
        seen: set[Name] = set()
        waiting = [exp]
        while waiting:
            for node in walk(waiting.pop()):
                match node:
                    case kc.Load() | kc.Register():
                        return True
                    case kc.Variable(name, _):
                        names: Iterable[Name] = (name,)
                    case kc.SizeValue(size):
                        names = size.names()
                    case _:
                        continue
                for each in names:
                    if each not in seen and each not in self.others:
                        seen.add(each)
                        waiting += self.sources.get(each, ())
        self.others |= seen
        return False

    def _enter(
        self,
        statements: Iterable[kc.Statement],
        conditions: tuple[kc.Expression, ...],
    ) -> None:
        for statement in statements:
            match statement:
                case kc.Declare(kc.Variable(name, _), init) if init is not None:
                    self.sources[name].append(init)
                case kc.Assign(kc.Variable(name, _), exp):
                    self.sources[name] += (exp, *conditions)
                case _ if blocks := kc.blocks_of(statement):
                    own = kc.expressions_of(statement)
                    if isinstance(statement, kc.For):
                        self.sources[statement.variable.name] += own
                    inside = (*conditions, *own) if self.by_branches else conditions
                    for block in blocks:
                        self._enter(block.statements, inside)
