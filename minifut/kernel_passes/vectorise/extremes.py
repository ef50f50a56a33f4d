"""Extremes over all points of a map, which lanes collect apart.

    for (i ..) {                      ulong8 lane = (ulong8)(most);
        d = f(i);                →    for (i .. by 8) lane = max(lane, f(i ..));
        most = max(most, d);          most = max(most, max(lane.s0, max(lane.s1, ..)));
    }

Such are the largest indices of a chunk, which are tested after it. A point may be
repeated: the extreme is the same.
"""

from collections import Counter
from collections.abc import Sequence

from minifut.ir.node import immutable
from minifut.ir.search import nodes_of
from minifut.ir.traverse import rename_to
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import declared
from minifut.kernel_ir.builder import CodeBuilder

EXTREMES = ("min", "max")


@immutable
class PointExtreme:
    """`variable = function(variable, value)`, the only use of it."""

    variable: kc.Variable
    function: str


def find_extremes(body: Sequence[kc.Statement]) -> tuple[PointExtreme, ...]:
    """The variables from outside that collect the extreme of an integer."""
    uses = Counter(n.name for n in nodes_of(kc.Variable, *body))
    inside = declared(body)
    found = []
    for statement in body:
        if isinstance(statement, kc.Assign) and isinstance(statement.exp, kc.Call):
            place, exp = statement.target, statement.exp
            if (
                isinstance(place, kc.Variable)
                and exp.function in EXTREMES
                and isinstance(exp.operands[0], kc.Variable)
                and exp.operands[0].name == place.name
                and not place.type.scalar.is_float
                and place.name not in inside
                and uses[place.name] == 2
            ):
                found.append(PointExtreme(place, exp.function))
    return tuple(found)


class LaneExtremes:
    """The extremes of lanes, declared for a width, and the body that collects them."""

    def __init__(
        self, k: CodeBuilder, found: Sequence[PointExtreme], width: int
    ) -> None:
        self.k, self.found, self.width = k, found, width
        self.places = [
            k.declare(
                "lane",
                kc.Vector((e.variable,), kc.VectorType(e.variable.type.scalar, width)),
            )
            for e in found
        ]

    def collecting(self, body: Sequence[kc.Statement]) -> tuple[kc.Statement, ...]:
        """The body with the names of the lanes' extremes."""
        names = {
            e.variable.name: lane.name
            for e, lane in zip(self.found, self.places, strict=True)
        }
        return tuple(rename_to(statement, names) for statement in body)

    def combine(self) -> None:
        """The extremes of all lanes become the one."""
        for e, lane in zip(self.found, self.places, strict=True):
            type_ = e.variable.type
            for number in range(self.width):
                own = kc.Component(lane, number, type_)
                self.k.assign(e.variable, kc.Call(e.function, (e.variable, own), type_))
