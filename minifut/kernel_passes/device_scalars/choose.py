"""Which scalars of a loop are passed on in memory, and whether its condition is there.

    let t: f32 = read total[0]         t is computed from what the device has, and u is
    let v: f32 = mul_f32(t, u)         what t was: both may be carried. v is a scalar of
    move (u, t, c) = (t, v, d)         the iteration; d, whether the loop goes on, too

`carry.py` tries what is chosen here, and refuses what the host needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minifut.ir.core import ScalarOp
from minifut.ir.node import immutable
from minifut.ir.search import nodes_of
from minifut.ir.types import BOOL, F16
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars import moves
from minifut.kernel_passes.device_scalars.plan import operands_of
from minifut.names import Name, NameSource

HostForOrWhile = kc.HostFor | kc.HostWhile


@immutable
class Carried:
    """A scalar of a loop: the memory that carries it, its name within an iteration, the
    statement of the loop's body that defines it anew, if it is not what another one
    was, and the memory that it is then read from where no kernel has to store it."""

    scalar: Name
    memory: kc.Memory
    before: Name
    definition: kc.HostAssign | None
    source: kc.Memory | None

    @property
    def own(self) -> set[Name]:
        """The scalars that are to stay on the device."""
        return {self.before} | ({self.definition.name} if self.definition else set())


@immutable
class Condition:
    """Whether a loop goes on: its name, what defines it anew in the loop's body, the
    memory that says so, its name where the host reads that, and whether a kernel has to
    store it there."""

    name: Name
    definition: kc.HostAssign
    memory: kc.Memory
    read: Name
    is_stored: bool


class Chooser:
    """Chooses for the loops of a function, of which branches give memories `joined`;
    but for the scalars that are refused."""

    def __init__(
        self, joined: frozenset[Name], names: NameSource, refused: set[Name]
    ) -> None:
        self.joined = joined
        self.names = names
        self.refused = refused

    def condition_of(
        self, loop: HostForOrWhile, between: Iterable[kc.HostStatement]
    ) -> Condition | None:
        """Whether a loop goes on, where that is computed from what the device has, and
        all scalars that change may be carried."""
        if not isinstance(loop, kc.HostWhile):
            return None
        wanted = _wanted(loop)
        definition = wanted.get(loop.condition)
        kept = self.refused | moves.names_in(between)
        if definition is None or not kept.isdisjoint(wanted):
            return None
        if definition.name not in _from_device(loop.body, self.joined, wanted):
            return None
        if any(each.type == F16 for each in wanted.values()):
            return None
        source = moves.ScalarSources(loop.body, self.joined).of(definition)
        memory = source or kc.Memory(self.names.like(loop.condition), BOOL)
        read = self.names.like(loop.condition)
        return Condition(loop.condition, definition, memory, read, source is None)

    def carried_by(
        self, loop: HostForOrWhile, between: Iterable[kc.HostStatement], is_left: bool
    ) -> tuple[Carried, ...]:
        """The scalars of a loop that are computed from what the device has; all that
        change if it `is_left` to the device."""
        wanted = _wanted(loop)
        kept = self.refused | moves.names_in(between)
        if isinstance(loop, kc.HostWhile):
            kept.add(loop.condition)
        from_device = _from_device(loop.body, self.joined, wanted)
        sources = moves.ScalarSources(loop.body, self.joined)
        carried = {
            scalar: self._carried(scalar, definition, sources.of(definition))
            for scalar, definition in wanted.items()
            if scalar not in kept
            and (is_left or definition.name in from_device)
            and definition.type != F16
        }
        move = moves.last_move(loop.body)
        assert move is not None
        pairs = list(zip(move.targets, move.sources, strict=True))
        size = -1
        while size != len(carried):
            size = len(carried)
            for target, source in pairs:
                known = carried.get(source) if isinstance(source, Name) else None
                if known and target not in carried and target not in kept:
                    carried[target] = self._carried(target, None, known.memory)
        return tuple(carried.values())

    def _carried(
        self, scalar: Name, definition: kc.HostAssign | None, source: kc.Memory | None
    ) -> Carried:
        known = definition or source
        assert known is not None
        type_ = known.type if isinstance(known, kc.HostAssign) else known.element
        memory = kc.Memory(self.names.like(scalar), type_)
        return Carried(scalar, memory, self.names.like(scalar), definition, source)


def _wanted(loop: HostForOrWhile) -> dict[Name, kc.HostAssign]:
    """The scalars that a loop passes on, with what defines them anew in its body."""
    move = moves.last_move(loop.body)
    assert move is not None
    definitions = moves.definitions_in(loop.body)
    return {
        target: definitions[source]
        for target, source in zip(move.targets, move.sources, strict=True)
        if isinstance(source, Name) and source in definitions
    }


def _from_device(
    body: kc.HostBlock, joined: frozenset[Name], wanted: Mapping[Name, kc.HostAssign]
) -> set[Name]:
    """The scalars of an iteration that are read from memory that the iteration makes,
    for which the host would wait, or computed from such: in this iteration or, by way
    of the scalars that the loop passes on, another one."""
    made = {n.memory.name for n in nodes_of(kc.Allocate, body)} | joined
    found: set[Name] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for statement in body.statements:
            match statement:
                case kc.HostAssign(name, kc.ReadElement(memory, _), _):
                    if memory.name in made:
                        found.add(name)
                case kc.HostAssign(name, ScalarOp(), _):
                    if operands_of(statement) & found:
                        found.add(name)
        found |= {s for s, definition in wanted.items() if definition.name in found}
    return found
