"""What thresholds are compared with, seen from outside.

    n * m >= run.parameters[0]        notes ("main.map_reduce.outer", n * m)

Python asks the right operand of a comparison first where its class is derived from the
left one's. So values that listen stand in for the plain ones while somebody watches,
and generated code does not know; when nobody does, nothing is different at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.opencl.runtime.describe import Parameter

Comparison = tuple[str, int]
"""a threshold's name, and the amount of parallelism that was compared with it"""


class WatchedThreshold(int):
    """A threshold that notes what is compared with it; otherwise a number."""

    name: str
    seen: list[Comparison]

    def __le__(self, other: Any) -> bool:
        self.seen.append((self.name, int(other)))
        return int(self) <= int(other)


def watched(
    table: Sequence[Parameter], values: Sequence[int], seen: list[Comparison]
) -> list[int]:
    """The values, of which the thresholds note their comparisons in `seen`."""
    found: list[int] = []
    for parameter, value in zip(table, values, strict=True):
        if parameter.kind == "threshold":
            value = WatchedThreshold(value)
            value.name, value.seen = parameter.name, seen
        found.append(value)
    return found
