"""Branches on the position in the body of a loop over points, by which it can be split.

    if (i < m) A else B        A in [.., m), B elsewhere
    if (i < m) A; if (i >= 2) B    A and B in [2, m), the branches elsewhere

Of several branches one is chosen, but guards, which do nothing where their condition
does not hold, are taken together: their ranges are almost all points.
"""

from __future__ import annotations

from collections.abc import Mapping

from minifut.ir.node import immutable
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes import position_conditions
from minifut.kernel_passes.position_ranges import PositionRange


@immutable
class PositionSplit:
    """What statements of a loop's body, by their places, are in a range of positions
    and elsewhere."""

    where: PositionRange
    arms: Mapping[int, tuple[kc.Block, kc.Block]]

    def inside(self, loop: kc.For) -> tuple[kc.Statement, ...]:
        return self._body(loop, 0)

    def outside(self, loop: kc.For) -> tuple[kc.Statement, ...]:
        return self._body(loop, 1)

    def _body(self, loop: kc.For, side: int) -> tuple[kc.Statement, ...]:
        made: list[kc.Statement] = []
        for at, statement in enumerate(loop.body.statements):
            arms = self.arms.get(at)
            made += (statement,) if arms is None else arms[side].statements
        return tuple(made)


class SplitFinder:
    """Searches the body of a loop for a branch on the position."""

    def __init__(self, loop: kc.For, k: CodeBuilder) -> None:
        self.k = k
        self.body = loop.body.statements
        self.conditions = position_conditions.PositionConditions(loop)

    def branch(self) -> PositionSplit | None:
        """A branch, and where its condition holds: the heavier side in the range if
        either can be."""
        uniform: PositionSplit | None = None
        for at, statement in enumerate(self.body):
            if not isinstance(statement, kc.Branch):
                continue
            sides = (statement.then, statement.otherwise or kc.Block(()))
            found: list[PositionSplit] = []
            for truth in (True, False):
                where = self.range_of(statement, truth)
                if where is None:
                    continue
                arms = sides if truth else sides[::-1]
                split = PositionSplit(where, {at: arms})
                if where.lows or where.highs:
                    found.append(split)
                elif uniform is None and self.is_of_row(where):
                    uniform = split
            if found:
                return max(
                    found, key=lambda split: weight(split.arms[at][0].statements)
                )
        return uniform

    def guards(self) -> PositionSplit | None:
        """Several branches with nothing to do elsewhere, such as bounds of scatters,
        and where the conditions of all hold: there is one more loop, not one for each.
        """
        guards: dict[int, tuple[kc.Block, kc.Block]] = {}
        if sum(isinstance(s, kc.Branch) and not s.otherwise for s in self.body) < 2:
            return None
        ranges: list[position_conditions.PositionRanges] = []
        for at, statement in enumerate(self.body):
            if isinstance(statement, kc.Branch) and not statement.otherwise:
                where = self.range_of(statement, True)
                if where is None or where.single or not (where.lows or where.highs):
                    continue
                guards[at] = statement.then, kc.Block((statement,))
                ranges.append((where,))
        if len(guards) < 2:
            return None
        joint = position_conditions.intersection(ranges)
        return PositionSplit(joint[0], guards) if joint else None

    def range_of(self, branch: kc.Branch, truth: bool) -> PositionRange | None:
        """The one range where the condition of a branch has a truth value."""
        ranges = self.conditions.ranges(branch.condition, truth)
        return ranges[0] if ranges is not None and len(ranges) == 1 else None

    def is_of_row(self, where: PositionRange) -> bool:
        """Whether a uniform condition changes within the kernel: the device's compiler
        moves those of its parameters out of the loop itself."""
        given = self.k.parameters.keys() | self.k.constants.keys()
        return any(
            isinstance(node, kc.Variable) and node.name not in given
            for condition in where.uniform
            for node in walk(condition)
        )


def weight(statements: tuple[kc.Statement, ...]) -> int:
    """A measure of the size of code."""
    return sum(isinstance(n, kc.Statement) for s in statements for n in walk(s))
