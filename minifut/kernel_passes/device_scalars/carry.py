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
computes from what it reads is stored by a kernel of one work-item, which computes it
from what it is computed from (`emit.py`):

    kernel main_store(value: f32, to: [f32])    { store to[0] = value }

A scalar is passed on so if by that all its uses stay on the device: it is tried, and
what the plan then leaves to the host is passed on as before.

    let r: f32 = read total[0]             launch store(r, i + 1 < 9 && r > 0.1, ..)
    let j: i64 = add_i64(i, 1)             let d: bool = read flag[0]
    let c: bool = ..               →       move (carried, c) = (j_memory, d)
    move (i, c) = (j, c)

Where all that the host needs of an iteration is whether the loop goes on, a kernel may
compute that too, with all scalars that change (`conditions`): then an iteration is
launches and one read, and may be left to the device (`left_loops.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from minifut.ir.core import Atom
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import ONE, ZERO
from minifut.ir.traverse import map_children, substitute
from minifut.ir.types import BOOL, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars import moves
from minifut.kernel_passes.device_scalars.choose import (
    Carried,
    Chooser,
    Condition,
    HostForOrWhile,
)
from minifut.kernel_passes.device_scalars.left_loops import has_launches_alone
from minifut.kernel_passes.device_scalars.plan import plans_of
from minifut.names import Name, NameSource


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
    conditions: bool = False,
) -> CarriedScalars:
    """The function with those scalars carried that then stay on the device; branches
    give the memories `joined`."""
    refused: set[Name] = set()
    while True:
        chooser = Chooser(joined, names, refused)
        carrier = _Carrier(function, chooser, kernels, names, conditions)
        body = carrier.block(function.body)
        if not carrier.carried and not carrier.left:
            return CarriedScalars(function, joined, ())
        changed = replace(function, body=body)
        carried_memories = frozenset(carrier.carried_memories)
        known = {**kernels, **{kernel.name: kernel for kernel in carrier.kernels}}
        plans = plans_of(changed, known, carried_memories).values()
        stays = {name for plan in plans for name in plan.definitions}
        failed = {c.scalar for c in carrier.carried if not c.own <= stays} | {
            condition.name
            for condition, inside in carrier.left
            if not has_launches_alone(inside, stays | {condition.read})
            or condition.definition.name not in stays
        }
        if not failed:
            return CarriedScalars(changed, carried_memories, tuple(carrier.kernels))
        refused |= failed


class _Carrier:
    """Changes the loops of a function by what is chosen for each."""

    def __init__(
        self,
        function: kc.HostFunction,
        chooser: Chooser,
        kernels: Mapping[str, kc.Kernel],
        names: NameSource,
        conditions: bool,
    ) -> None:
        self.function = function
        self.chooser = chooser
        self.known = kernels
        self.names = names
        self.conditions = conditions
        self.carried: list[Carried] = []
        self.carried_memories = set(chooser.joined)
        self.kernels: list[kc.Kernel] = []
        self.left: list[tuple[Condition, kc.HostBlock]] = []
        """of loops whose iterations may be left to the device, with their bodies"""

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
                between, choose = statements[at:], self.chooser
                condition = None
                if self.conditions:
                    condition = choose.condition_of(statement, between)
                is_left = condition is not None
                carried = choose.carried_by(statement, between, is_left)
                self.carried += carried
                if carried or condition:
                    statements[at - 1 : at] = self.start(start, carried)
                    inside = self.body(statement.body, carried, condition)
                    statement = self.inside(replace(statement, body=inside))
                    assert isinstance(statement, HostForOrWhile)
                    if condition:
                        self.left.append((condition, statement.body))
                    statements.append(statement)
                    statements += [
                        kc.HostAssign(c.scalar, _read(c.memory), c.memory.element)
                        for c in carried
                    ]
                    statements += _dropped(c.memory for c in carried)
                    continue
            statements.append(self.inside(statement))
        return kc.HostBlock(tuple(statements))

    def inside(self, statement: kc.HostStatement) -> kc.HostStatement:
        return map_children(
            statement, lambda n: self.block(n) if isinstance(n, kc.HostBlock) else n
        )

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
        return [*made, *_dropped(firsts.values())]

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

    def body(
        self,
        block: kc.HostBlock,
        carried: tuple[Carried, ...],
        condition: Condition | None,
    ) -> kc.HostBlock:
        """An iteration that reads what the one before left, and leaves its own."""
        move = moves.last_move(block)
        kept = {c.source.name for c in carried if c.source}
        if condition:
            kept.add(condition.memory.name)
        made: list[kc.HostStatement] = [
            kc.HostAssign(c.before, _read(c.memory), c.memory.element) for c in carried
        ]
        for statement in moves.without_drops(block.statements, kept):
            if statement is move:
                made += self.end(move, carried, condition)
            else:
                made.append(statement)
        inside = {c.scalar: c.before for c in carried}
        return substitute(kc.HostBlock(tuple(made)), inside)

    def end(
        self,
        move: kc.HostMove,
        carried: tuple[Carried, ...],
        condition: Condition | None,
    ) -> list[kc.HostStatement]:
        """What passes the new values on."""
        sources: dict[Name, kc.Memory] = {}
        stored: list[tuple[Name, kc.Memory]] = []
        for each in carried:
            source = each.source
            if source is None:
                assert each.definition is not None
                source = kc.Memory(self.names.like(each.scalar), each.memory.element)
                stored.append((each.definition.name, source))
            sources[each.scalar] = source
        if condition and condition.is_stored:
            stored.append((condition.definition.name, condition.memory))
        made: list[kc.HostStatement] = [kc.Allocate(to, ONE) for _, to in stored]
        if stored:
            taken = {*self.known, *(kernel.name for kernel in self.kernels)}
            name = moves.unused_name(f"{self.function.name.base}_store", taken)
            kernel = storing(name, [to.element for _, to in stored], self.names)
            self.kernels.append(kernel)
            made.append(launch_of(kernel, stored))
        moved = self.moved(move, carried, sources)
        ended = dict.fromkeys(sources[c.scalar] for c in carried if c.definition)
        if condition:
            made.append(kc.HostAssign(condition.read, _read(condition.memory), BOOL))
            moved = _with_source(moved, condition.name, condition.read)
            ended[condition.memory] = None
        return [*made, moved, *_dropped(ended)]


def _with_source(move: kc.HostMove, target: Name, source: Name) -> kc.HostMove:
    pairs = zip(move.targets, move.sources, strict=True)
    return kc.HostMove(
        move.targets, tuple(source if t == target else s for t, s in pairs)
    )


def _dropped(memories: Iterable[kc.Memory]) -> list[kc.HostStatement]:
    names = tuple(dict.fromkeys(memory.name for memory in memories))
    return [kc.Drop(names)] if names else []


def _read(memory: kc.Memory) -> kc.ReadElement:
    return kc.ReadElement(memory, ZERO)


def _start_of(loop: HostForOrWhile, before: list[kc.HostStatement]) -> int:
    """The place behind the statement that passes initial values; 0 if there is
    none."""
    move = moves.last_move(loop.body)
    for at in range(len(before), 0, -1):
        statement = before[at - 1]
        if move is None or isinstance(statement, HostForOrWhile):
            return 0
        if isinstance(statement, kc.HostMove):
            return at if statement.targets == move.targets else 0
    return 0


def storing(name: str, types: Sequence[ScalarType], names: NameSource) -> kc.Kernel:
    """The kernel, with a value and a memory of each type as parameters."""
    parameters: list[kc.Parameter] = []
    stores: list[kc.Statement] = []
    for type_ in types:
        value = kc.Variable(names.fresh("value"), kc.VectorType(type_))
        to = kc.Memory(names.fresh("to"), type_)
        parameters.append(kc.ScalarParameter(value.name, type_))
        parameters.append(kc.MemoryParameter(to, True))
        stores.append(kc.Store(to, kc.SizeValue(ZERO), value))
    return kc.Kernel(
        name, tuple(parameters), kc.Block(tuple(stores)), (1,), False, True
    )


def launch_of(kernel: kc.Kernel, stored: Sequence[tuple[Name, kc.Memory]]) -> kc.Launch:
    """The launch that stores these values there."""
    arguments = tuple(each for pair in stored for each in pair)
    return kc.Launch(kernel.name, (ONE,), (ONE,), arguments, work=ONE)
