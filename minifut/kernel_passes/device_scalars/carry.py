"""Pass scalars from one iteration of a host loop to the next in memory of the device.

    move (s, xs) = (1.0, ys)               allocate first; write first[0] = 1.0
    for i below n {                        move (carried, xs) = (first, ys)
      launch scale(xs, s, zs)              for i below n {
      launch sum(zs, total)         →        let before: f32 = read carried[0]
      let t: f32 = read total[0]             launch scale(xs, before, zs)
      move (s, xs) = (t, zs)                 launch sum(zs, total)
    }                                        move (carried, xs) = (total, zs)
                                           }
                                           let s: f32 = read carried[0]

What is read within an iteration then stays on the device (`plan.py`), and a loop whose
bounds depend on no scalar of the device waits once, at its end. A scalar that the host
computes from what it reads is stored by a kernel of one work-item.

A scalar is passed on so if by that all its uses stay on the device: it is tried, and
what the plan then leaves to the host is passed on as before.
"""

from __future__ import annotations

from collections.abc import Mapping

from minifut.ir.core import Atom, ScalarOp
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import ONE, ZERO
from minifut.ir.traverse import map_children, substitute, walk
from minifut.ir.types import F16, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars.moves import (
    ScalarSources,
    definitions_in,
    last_move,
    names_in,
    unused_name,
    without_drops,
)
from minifut.kernel_passes.device_scalars.plan import operands_of, plans_of
from minifut.names import Name, NameSource

HostForOrWhile = kc.HostFor | kc.HostWhile


@immutable
class Carried:
    """A scalar of a loop, defined anew by a statement of the loop's body: the memory
    that carries it, its name within an iteration, and the memory that it is read from
    where no kernel has to store it."""

    scalar: Name
    definition: kc.HostAssign
    memory: kc.Memory
    before: Name
    source: kc.Memory | None


@immutable
class CarriedScalars:
    """A function whose loops carry scalars in memory, with the names of the memories
    that loops pass on and are written only once, and the kernels that store scalars."""

    function: kc.HostFunction
    carried_memories: frozenset[Name]
    kernels: tuple[kc.Kernel, ...]


def carry_scalars(
    function: kc.HostFunction,
    joined: frozenset[Name],
    kernels: Mapping[str, kc.Kernel],
    names: NameSource,
) -> CarriedScalars:
    """The function with those scalars carried that then stay on the device; branches
    give the memories `joined`."""
    refused: set[Name] = set()
    while True:
        carrier = _Carrier(function, joined, kernels, names, refused)
        body = carrier.block(function.body)
        if not carrier.carried:
            return CarriedScalars(function, joined, ())
        changed = replace(function, body=body)
        carried_memories = frozenset(carrier.carried_memories)
        known = {**kernels, **{kernel.name: kernel for kernel in carrier.kernels}}
        plans = plans_of(changed, known, carried_memories).values()
        stays = {name for plan in plans for name in plan.definitions}
        failed = {
            c.scalar
            for c in carrier.carried
            if not {c.before, c.definition.name} <= stays
        }
        if not failed:
            return CarriedScalars(changed, carried_memories, tuple(carrier.kernels))
        refused |= failed


class _Carrier:
    """Changes the loops of a function, but for the scalars that are refused."""

    def __init__(
        self,
        function: kc.HostFunction,
        joined: frozenset[Name],
        kernels: Mapping[str, kc.Kernel],
        names: NameSource,
        refused: set[Name],
    ) -> None:
        self.function = function
        self.known = kernels
        self.names = names
        self.refused = refused
        self.carried: list[Carried] = []
        self.joined = joined
        self.carried_memories = set(joined)
        self.kernels: list[kc.Kernel] = []

    def block(self, block: kc.HostBlock) -> kc.HostBlock:
        """The block, its loops changed."""
        statements: list[kc.HostStatement] = []
        for statement in block.statements:
            at = len(statements)
            if isinstance(statement, HostForOrWhile) and (
                at := _start_of(statement, statements)
            ):
                start = statements[at - 1]
                assert isinstance(start, kc.HostMove)
                carried = self.carried_by(statement, start, statements[at:])
                if carried:
                    statements[at - 1 : at] = self.start(start, carried)
                    statement = replace(
                        statement, body=self.body(statement.body, carried)
                    )
                    statements.append(self.inside(statement))
                    statements += [
                        kc.HostAssign(c.scalar, _read(c.memory), c.memory.element)
                        for c in carried
                    ]
                    statements.append(kc.Drop(tuple(c.memory.name for c in carried)))
                    continue
            statements.append(self.inside(statement))
        return kc.HostBlock(tuple(statements))

    def inside(self, statement: kc.HostStatement) -> kc.HostStatement:
        return map_children(
            statement, lambda n: self.block(n) if isinstance(n, kc.HostBlock) else n
        )

    # --- decisions ----------------------------------------------------------------

    def carried_by(
        self, loop: HostForOrWhile, start: kc.HostMove, between: list[kc.HostStatement]
    ) -> tuple[Carried, ...]:
        """The scalars of a loop that are computed from what the device has."""
        move = last_move(loop.body)
        assert move is not None
        definitions = definitions_in(loop.body)
        wanted = {
            target: definitions[source]
            for target, source in zip(move.targets, move.sources, strict=True)
            if isinstance(source, Name) and source in definitions
        }
        kept = self.refused | names_in(between)
        if isinstance(loop, kc.HostWhile):
            kept.add(loop.condition)
        from_device = _from_device(loop.body, self.joined, wanted)
        sources = ScalarSources(loop.body, self.joined)
        return tuple(
            self.decide(scalar, definition, sources.of(definition))
            for scalar, definition in wanted.items()
            if scalar not in kept
            and definition.name in from_device
            and definition.type != F16
        )

    def decide(
        self,
        scalar: Name,
        definition: kc.HostAssign,
        source: kc.Memory | None,
    ) -> Carried:
        memory = kc.Memory(self.names.like(scalar), definition.type)
        made = Carried(
            scalar,
            definition,
            memory,
            self.names.like(scalar),
            source,
        )
        self.carried.append(made)
        return made

    # --- emission -----------------------------------------------------------------

    def start(
        self, move: kc.HostMove, carried: tuple[Carried, ...]
    ) -> list[kc.HostStatement]:
        """What passes the initial values."""
        values = dict(zip(move.targets, move.sources, strict=True))
        made: list[kc.HostStatement] = []
        firsts: dict[Name, kc.Memory] = {}
        for each in carried:
            first = kc.Memory(self.names.like(each.scalar), each.memory.element)
            made.append(kc.Allocate(first, ONE))
            made.append(kc.WriteElement(first, ZERO, values[each.scalar]))
            firsts[each.scalar] = first
        made.append(self.moved(move, carried, firsts))
        made.append(kc.Drop(tuple(first.name for first in firsts.values())))
        return made

    def moved(
        self,
        move: kc.HostMove,
        carried: tuple[Carried, ...],
        sources: Mapping[Name, kc.Memory],
    ) -> kc.HostMove:
        """The move with memories in the place of these scalars."""
        memories = {each.scalar: each.memory.name for each in carried}
        pairs: list[tuple[Name, Atom]] = [
            (memories[target], sources[target].name)
            if target in memories
            else (target, source)
            for target, source in zip(move.targets, move.sources, strict=True)
        ]
        self.carried_memories.update(memories.values())
        self.carried_memories.update(memory.name for memory in sources.values())
        return kc.HostMove(tuple(t for t, _ in pairs), tuple(s for _, s in pairs))

    def body(self, block: kc.HostBlock, carried: tuple[Carried, ...]) -> kc.HostBlock:
        """An iteration that reads what the one before left, and leaves its own."""
        move = last_move(block)
        kept = {c.source.name for c in carried if c.source}
        made: list[kc.HostStatement] = [
            kc.HostAssign(c.before, _read(c.memory), c.memory.element) for c in carried
        ]
        for statement in without_drops(block.statements, kept):
            made += self.end(move, carried) if statement is move else [statement]
        inside = {c.scalar: c.before for c in carried}
        return substitute(kc.HostBlock(tuple(made)), inside)

    def end(
        self, move: kc.HostMove, carried: tuple[Carried, ...]
    ) -> list[kc.HostStatement]:
        """What passes the new values on."""
        made: list[kc.HostStatement] = []
        sources: dict[Name, kc.Memory] = {}
        for each in carried:
            if (source := each.source) is None:
                source = kc.Memory(self.names.like(each.scalar), each.memory.element)
                kernel = self.storing(each.memory.element)
                value = each.definition.name
                launch = kc.Launch(
                    kernel.name, (ONE,), (ONE,), (value, source), work=ONE
                )
                made += [kc.Allocate(source, ONE), launch]
            sources[each.scalar] = source
        made.append(self.moved(move, carried, sources))
        kept = dict.fromkeys(source.name for source in sources.values())
        made.append(kc.Drop(tuple(kept)))
        return made

    def storing(self, type_: ScalarType) -> kc.Kernel:
        """A kernel that stores a scalar."""
        taken = {*self.known, *(kernel.name for kernel in self.kernels)}
        name = unused_name(f"{self.function.name.base}_store", taken)
        value = kc.Variable(self.names.fresh("value"), kc.VectorType(type_))
        to = kc.Memory(self.names.fresh("to"), type_)
        store = kc.Store(to, kc.SizeValue(ZERO), value)
        parameters = (
            kc.ScalarParameter(value.name, type_),
            kc.MemoryParameter(to, True),
        )
        kernel = kc.Kernel(name, parameters, kc.Block((store,)), (1,), False, True)
        self.kernels.append(kernel)
        return kernel


def _read(memory: kc.Memory) -> kc.ReadElement:
    return kc.ReadElement(memory, ZERO)


def _start_of(loop: HostForOrWhile, before: list[kc.HostStatement]) -> int:
    """The place behind the statement that passes initial values; 0 if there is
    none."""
    move = last_move(loop.body)
    for at in range(len(before), 0, -1):
        statement = before[at - 1]
        if move is None or isinstance(statement, HostForOrWhile):
            return 0
        if isinstance(statement, kc.HostMove):
            return at if statement.targets == move.targets else 0
    return 0


def _from_device(
    body: kc.HostBlock, joined: frozenset[Name], wanted: Mapping[Name, kc.HostAssign]
) -> set[Name]:
    """The scalars of an iteration that are read from memory that the iteration makes,
    for which the host would wait, or computed from such: in this iteration or, by way
    of the scalars that the loop passes on, another one."""
    made = {n.memory.name for n in walk(body) if isinstance(n, kc.Allocate)} | joined
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
