"""Comparisons of positions that hold for all points of a loop but the first or last.

if (3 * k + 2 < n) A            A  for k from 0 to below (n - 2 + 2) / 3
"""

from __future__ import annotations

from typing import Any

from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.position_ranges import PositionIndices, clamped

BOUNDING = ("<", "<=", ">", ">=")
TRUE = kc.Literal(True, kc.TRUTH)


class PositionEnds(PositionIndices):
    """Replaces comparisons of indices with what is the same for all points by true, and
    collects where they hold: from `first` on and within `limits`."""

    def holding(self, node: Any) -> Any:
        """The node with such comparisons replaced."""
        match node:
            case kc.Branch(condition, then, _) if self.holding(condition) == TRUE:
                return map_children(then, self.holding)
            case kc.Operation() | kc.Binary():
                sign, *pair = kc.infix(node) or ("",)
                if sign in BOUNDING and all(side.type == kc.LONG for side in pair):
                    left, right = pair
                    mirrored = kc.MIRRORED[sign]
                    if self.bounded(sign, left, right):
                        return TRUE
                    if self.bounded(mirrored, right, left):
                        return TRUE
        return map_children(node, self.holding)

    def bounded(self, sign: str, index: kc.Expression, bound: kc.Expression) -> bool:
        """Whether an index that grows is compared, and from where on or up to where the
        comparison holds."""
        self.looked_into = 0
        found, limit = self.index(index), self.uniform(bound)
        if found is None or found.factor == 0 or limit is None:
            return False
        if sign in ("<", "<="):
            most = clamped(limit) - 1 if sign == "<" else limit
            self.limit(found, most, False)
            return True
        if not isinstance(limit, kc.Literal):
            return False
        least = int(limit.value) + (sign == ">")
        self.first = max(self.first, -((found.low - least) // found.factor))
        return True
