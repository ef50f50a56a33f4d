"""Which scalars of host functions kernels load from the memory where others leave them.

    let t: f32 = read total[0]             t, s: definitions that stay on the device
    drop (total)                     →     total: ends after the launch
    let s: f32 = sqrt_f32(t)
    launch scale(xs, s, ys)

Conditions, for a scalar that is read from memory: no statement of the host needs it
(conditions, bounds, sizes, checks, results, what a loop passes on), nor what is
computed from it or found by it, but for arguments of launches; its memory is allocated
in the same block and has one name until the block ends, or is passed on by a loop or
given by branches, after which nothing writes it (`carry.py`, `join.py`); and no command
writes to it before the last of these launches. What nothing needs is not read. Kernels
do nothing after a failure, so that none uses a scalar that a failed kernel did not
write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from minifut.ir import core, sizes, types
from minifut.ir.node import immutable, replace
from minifut.ir.search import nodes_of
from minifut.ir.traverse import children, own_names, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars.moves import last_move
from minifut.names import Name

LONGEST_CHAIN = 8
"""of definitions of a scalar, which each of several work-items computes anew"""

HostDefinitions: TypeAlias = Mapping[Name, kc.HostAssign]


@immutable
class DeviceScalars:
    """The definitions of the scalars of a block that stay on the device, in order, and
    the memories that end later by that: after the statement at which position."""

    definitions: HostDefinitions
    ends: Mapping[Name, int]


def plans_of(
    function: kc.HostFunction,
    kernels: Mapping[str, kc.Kernel],
    carried_memories: frozenset[Name] = frozenset(),
) -> dict[int, DeviceScalars]:
    """The plans of blocks in which scalars stay on the device, by their identities;
    memories that are passed on at the end of a block keep what they hold."""
    planner = _Planner(function, kernels, carried_memories)
    blocks = list(nodes_of(kc.HostBlock, function.body))
    plans = {id(block): planner.plan(block) for block in blocks}
    return {at: plan for at, plan in plans.items() if plan.definitions}


class _Planner:
    """Decides for each block of a host function."""

    def __init__(
        self,
        function: kc.HostFunction,
        kernels: Mapping[str, kc.Kernel],
        carried_memories: frozenset[Name],
    ) -> None:
        self.carried_memories = carried_memories
        nodes = list(walk(function.body))
        self.results = {r for r in function.results if isinstance(r, Name)}
        self.statements = [n for n in nodes if isinstance(n, kc.HostStatement)]
        self.kernels = kernels
        self.assigned = Counter(n.name for n in nodes if isinstance(n, kc.HostAssign))
        self.renamed = Counter[Name](self.results)
        """by how many statements; what results have a name outside"""
        self.for_several: set[Name] = set()
        """scalars that launches of several work-items take"""
        for node in nodes:
            if isinstance(node, kc.Launch) and node.grid != (sizes.ONE,):
                self.for_several |= {n for a in node.arguments if (n := name_of(a))}
            if isinstance(node, kc.HostMove | kc.HostCall):
                mentioned: set[Name] = set()
                own_names(node, mentioned)
                self.renamed.update(mentioned - carried_memories)

    def plan(self, block: kc.HostBlock) -> DeviceScalars:
        """Which scalars of a block need not reach the host."""
        statements = block.statements
        found = self.candidates(block)
        if not found:
            return DeviceScalars({}, {})
        needed = set(self.results)
        inside = {id(launch) for each in statements for launch in _launches(each)}
        for statement in self.statements:
            needed |= self.needs(statement, found, inside)
        while True:
            chosen: dict[Name, kc.HostAssign] = {}
            for name, definition in found.items():
                used = operands_of(definition) & found.keys()
                if name not in needed and used <= chosen.keys():
                    chosen[name] = definition
                else:
                    needed |= {name, *used}
            if needed & chosen.keys():
                continue
            plan = self.ends(statements, chosen)
            unsafe = found.keys() - plan.definitions.keys() - needed
            if not unsafe:
                return plan
            needed |= unsafe

    def candidates(self, block: kc.HostBlock) -> HostDefinitions:
        """Reads of memories of the block, and what is computed from them."""
        statements, move = block.statements, last_move(block)
        given = set(move.sources) if move is not None else set()
        own = {
            s.memory.name
            for s in statements
            if isinstance(s, kc.Allocate)
            and self.renamed[s.memory.name] <= (s.memory.name in given)
        } | self.carried_memories
        found: dict[Name, kc.HostAssign] = {}
        for statement in statements:
            match statement:
                case kc.HostAssign(name, _, type_) if (
                    type_ == types.F16 or self.assigned[name] > 1
                ):
                    continue
                case kc.HostAssign(name, kc.ReadElement() | core.ScalarOp() as exp, _):
                    used = operands_of(statement) & found.keys()
                    chain = {s for o in used for s in chain_of(o, found)}
                    if isinstance(exp, kc.ReadElement):
                        fits = exp.memory.name in own
                    else:
                        fits = bool(used)
                    is_short = len(chain) < LONGEST_CHAIN
                    if fits and (is_short or name not in self.for_several):
                        found[name] = statement
        return found

    def needs(
        self, statement: kc.HostStatement, found: HostDefinitions, inside: set[int]
    ) -> set[Name]:
        """What the host itself needs for a statement, blocks within it apart."""
        match statement:
            case kc.HostAssign(name, _, _) if name in found:
                return set()
            case kc.Launch() if id(statement) in inside:
                rest = [
                    argument
                    for parameter, argument in arguments_of(self.kernels, statement)
                    if not isinstance(parameter, kc.ScalarParameter)
                    or name_of(argument) is None
                ]
                statement = replace(statement, arguments=tuple(rest))
        names: set[Name] = set()
        waiting: list[Any] = [statement]
        while waiting:
            node = waiting.pop()
            own_names(node, names)
            waiting += [n for n in children(node) if not isinstance(n, kc.HostBlock)]
        return names

    def ends(
        self, statements: Sequence[kc.HostStatement], chosen: HostDefinitions
    ) -> DeviceScalars:
        """Those of the scalars that launches take, while their memory is as it was, and
        those that nothing takes."""
        last: dict[Name, int] = {}
        for at, statement in enumerate(statements):
            for launch in _launches(statement):
                for _, argument in arguments_of(self.kernels, launch):
                    if (name := name_of(argument)) in chosen and name is not None:
                        last |= dict.fromkeys(chain_of(name, chosen), at)
        kept: dict[Name, kc.HostAssign] = {}
        ends: dict[Name, int] = {}
        for at, statement in enumerate(statements):
            if not isinstance(statement, kc.HostAssign) or statement.name not in chosen:
                continue
            until = last.get(statement.name, at)
            if isinstance(statement.exp, kc.ReadElement):
                memory = statement.exp.memory.name
                between = statements[at + 1 : until + 1]
                if any(memory in self.written(s) for s in between):
                    continue
                if any(isinstance(s, kc.Drop) and memory in s.names for s in between):
                    ends[memory] = max(until, ends.get(memory, 0))
            kept[statement.name] = statement
        return DeviceScalars(kept, ends)

    def written(self, statement: kc.HostStatement) -> set[Name]:
        """The memories that a statement, or one within it, gives contents."""
        found: set[Name] = set()
        for node in walk(statement):
            match node:
                case kc.Launch():
                    for parameter, argument in arguments_of(self.kernels, node):
                        if isinstance(parameter, kc.MemoryParameter):
                            found |= {argument.name} if parameter.written else set()
                case kc.CopyMemory(memory) | kc.WriteElement(memory):
                    found.add(memory.name)
                case kc.WriteConstants(memory) | kc.Allocate(memory):
                    found.add(memory.name)
        return found


def arguments_of(
    kernels: Mapping[str, kc.Kernel], launch: kc.Launch
) -> Iterator[tuple[Any, Any]]:
    """The parameters of the kernel with what the launch passes."""
    return zip(kernels[launch.kernel].parameters, launch.arguments, strict=True)


def operands_of(definition: kc.HostAssign) -> set[Name]:
    """The variables that a scalar is computed from, or found by."""
    exp = definition.exp
    if isinstance(exp, kc.ReadElement):
        return set(exp.index.names())
    operands = getattr(exp, "operands", ())
    return {operand for operand in operands if isinstance(operand, Name)}


def chain_of(name: Name, found: HostDefinitions) -> tuple[Name, ...]:
    """A scalar after those that it is computed from, in the order of definitions."""
    wanted, waiting = {name}, [name]
    while waiting:
        before = operands_of(found[waiting.pop()]) & found.keys()
        waiting += before - wanted
        wanted |= before
    return tuple(each for each in found if each in wanted)


def name_of(argument: Any) -> Name | None:
    """The scalar that a launch passes as it is."""
    if isinstance(argument, kc.Memory):
        return None
    return argument if isinstance(argument, Name) else argument.as_name


def _launches(statement: kc.HostStatement) -> Iterator[kc.Launch]:
    return nodes_of(kc.Launch, statement)
