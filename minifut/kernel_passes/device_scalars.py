"""Leave scalars on the device that only kernels need.

    launch sum(xs, total)                  launch sum(xs, total)
    let t: f32 = read total[0]
    drop (total)                     →
    let s: f32 = sqrt_f32(t)               launch scale(xs, total, ys)
    launch scale(xs, s, ys)                drop (total)

A read waits for all commands before it, and the cores are idle until the host has
enqueued the next ones. The kernel that takes the scalar loads it instead, and computes
what the host would have computed from it, so that the launches follow each other.

Conditions, for a scalar that is read at a constant index: no statement of the host
needs it (conditions, bounds, sizes, checks, results, what a loop hands on), nor what is
computed from it, but for arguments of launches; its memory is allocated in the same
block and has one name; and no command writes to it before the last of these launches.
Kernels do nothing after a failure, so that none uses a scalar that a failed kernel did
not write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from minifut.ir.core import Constant, ScalarOp
from minifut.ir.node import replace
from minifut.ir.traverse import children, map_children, own_names, walk
from minifut.ir.types import F16
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.names import Name, NameSource

LONGEST_CHAIN = 8
"""of definitions of a scalar, which each work-item computes anew"""

Definitions: TypeAlias = Mapping[Name, kc.HostAssign]


@dataclass(frozen=True, slots=True)
class DeviceScalars:
    """The definitions of the scalars of a block that stay on the device, in order, and
    the memories that end later by that: after the statement at which position."""

    definitions: Definitions
    ends: Mapping[Name, int]


def keep_scalars_on_device(program: KernelProgram, names: NameSource) -> KernelProgram:
    """The program whose kernels load the scalars that the host does not need."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    functions = []
    for function in program.functions:
        plans = _Planner(function, kernels).plans()
        body = _Emitter(plans, kernels).block(function.body) if plans else function.body
        functions.append(replace(function, body=body))
    if tuple(kernels.values()) == program.kernels:
        return program
    return replace(program, kernels=tuple(kernels.values()), functions=tuple(functions))


class _Planner:
    """Decides for each block of a host function."""

    def __init__(
        self, function: kc.HostFunction, kernels: Mapping[str, kc.Kernel]
    ) -> None:
        self.body = function.body
        nodes = list(walk(function.body))
        self.results = {r for r in function.results if isinstance(r, Name)}
        self.statements = [n for n in nodes if isinstance(n, kc.HostStatement)]
        self.kernels = kernels
        self.launches = Counter(n.kernel for n in nodes if isinstance(n, kc.Launch))
        self.assigned = Counter(n.name for n in nodes if isinstance(n, kc.HostAssign))
        self.renamed = set[Name](self.results)
        for node in nodes:
            if isinstance(node, kc.HostMove | kc.HostCall):
                own_names(node, self.renamed)

    def plans(self) -> dict[int, DeviceScalars]:
        """The plans of blocks, by their identities."""
        blocks = [n for n in walk(self.body) if isinstance(n, kc.HostBlock)]
        plans = {id(block): self.plan(block.statements) for block in blocks}
        return {at: plan for at, plan in plans.items() if plan.definitions}

    def plan(self, statements: Sequence[kc.HostStatement]) -> DeviceScalars:
        """Which scalars of a block need not reach the host."""
        found = self.candidates(statements)
        if not found:
            return DeviceScalars({}, {})
        needed = set(self.results)
        inside = {id(launch) for each in statements for launch in _launches(each)}
        for statement in self.statements:
            needed |= self.needs(statement, found, inside)
        while True:
            chosen: dict[Name, kc.HostAssign] = {}
            for name, definition in found.items():
                used = _operands(definition) & found.keys()
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

    def candidates(self, statements: Sequence[kc.HostStatement]) -> Definitions:
        """Reads of memories of the block, and what is computed from them."""
        own = {s.memory.name for s in statements if isinstance(s, kc.Allocate)}
        own -= self.renamed
        found: dict[Name, kc.HostAssign] = {}
        for statement in statements:
            match statement:
                case kc.HostAssign(name, _, type_) if (
                    type_ == F16 or self.assigned[name] > 1
                ):
                    continue
                case kc.HostAssign(name, kc.ReadElement(memory, index), _):
                    if index.as_constant is not None and memory.name in own:
                        found[name] = statement
                case kc.HostAssign(name, ScalarOp(), _):
                    used = _operands(statement) & found.keys()
                    chain = {s for o in used for s in _chain(o, found)}
                    if used and len(chain) < LONGEST_CHAIN:
                        found[name] = statement
        return found

    def needs(
        self, statement: kc.HostStatement, found: Definitions, inside: set[int]
    ) -> set[Name]:
        """What the host itself needs for a statement, blocks within it apart."""
        match statement:
            case kc.HostAssign(name, _, _) if name in found:
                return set()
            case kc.Launch(kernel) if (
                id(statement) in inside and self.launches[kernel] == 1
            ):
                rest = [
                    argument
                    for parameter, argument in _arguments(self.kernels, statement)
                    if not isinstance(parameter, kc.ScalarParameter)
                    or _name_of(argument) is None
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
        self, statements: Sequence[kc.HostStatement], chosen: Definitions
    ) -> DeviceScalars:
        """Those of the scalars that launches take, while their memory is as it was."""
        last: dict[Name, int] = {}
        for at, statement in enumerate(statements):
            for launch in _launches(statement):
                for _, argument in _arguments(self.kernels, launch):
                    if (name := _name_of(argument)) in chosen and name is not None:
                        last |= dict.fromkeys(_chain(name, chosen), at)
        kept: dict[Name, kc.HostAssign] = {}
        ends: dict[Name, int] = {}
        for at, statement in enumerate(statements):
            if not isinstance(statement, kc.HostAssign) or statement.name not in last:
                continue
            if isinstance(statement.exp, kc.ReadElement):
                memory, until = statement.exp.memory.name, last[statement.name]
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
                    for parameter, argument in _arguments(self.kernels, node):
                        if isinstance(parameter, kc.MemoryParameter):
                            found |= {argument.name} if parameter.written else set()
                case kc.CopyMemory(memory) | kc.WriteElement(memory):
                    found.add(memory.name)
                case kc.WriteConstants(memory) | kc.Allocate(memory):
                    found.add(memory.name)
        return found


class _Emitter:
    """Changes a host function, and the kernels that it launches, by the plans."""

    def __init__(
        self, plans: Mapping[int, DeviceScalars], kernels: dict[str, kc.Kernel]
    ) -> None:
        self.plans = plans
        self.kernels = kernels
        self.definitions: Definitions = {
            name: definition
            for plan in plans.values()
            for name, definition in plan.definitions.items()
        }

    def block(self, block: kc.HostBlock) -> kc.HostBlock:
        """The block with fewer reads."""
        ends = plan.ends if (plan := self.plans.get(id(block))) else {}
        statements: list[kc.HostStatement] = []
        for at, statement in enumerate(block.statements):
            if isinstance(statement, kc.Drop):
                rest = tuple(name for name in statement.names if name not in ends)
                statements += [kc.Drop(rest)] if rest else []
            elif isinstance(statement, kc.Launch):
                statements.append(self.launch(statement))
            elif not self.is_dropped(statement):
                statements.append(map_children(statement, self.inside))
            if ended := tuple(name for name, end in ends.items() if end == at):
                statements.append(kc.Drop(ended))
        return kc.HostBlock(tuple(statements))

    def is_dropped(self, statement: kc.HostStatement) -> bool:
        match statement:
            case kc.HostAssign(name, _, _):
                return name in self.definitions
        return False

    def inside(self, node: Any) -> Any:
        return self.block(node) if isinstance(node, kc.HostBlock) else node

    def launch(self, statement: kc.Launch) -> kc.Launch:
        """The launch, which hands over the memories of these scalars."""
        definitions = self.definitions
        passed: dict[Any, Any] = {}
        loaded: dict[Name, kc.Statement] = {}
        memories: dict[Name, kc.Memory] = {}
        others: dict[Name, kc.ScalarParameter] = {}
        for parameter, argument in _arguments(self.kernels, statement):
            name = _name_of(argument)
            if not isinstance(parameter, kc.ScalarParameter) or name not in definitions:
                passed[parameter] = argument
                continue
            assert name is not None
            for source in _chain(name, definitions):
                loaded[source] = _declared(definitions[source])
                exp = definitions[source].exp
                if isinstance(exp, kc.ReadElement):
                    memories[exp.memory.name] = exp.memory
                    continue
                assert isinstance(exp, ScalarOp)
                for operand, type_ in zip(
                    exp.operands, exp.operator.operands, strict=True
                ):
                    if isinstance(operand, Name) and operand not in definitions:
                        others[operand] = kc.ScalarParameter(operand, type_)
            if parameter.name != name:
                own = kc.Variable(parameter.name, kc.VectorType(parameter.type))
                loaded[own.name] = kc.Declare(own, _variable(definitions[name]))
        if not loaded:
            return statement
        known = {a.name for a in passed.values() if isinstance(a, kc.Memory)}
        for memory in memories.values():
            if memory.name not in known:
                passed[kc.MemoryParameter(memory, False)] = memory
        passed |= {p: p.name for p in others.values() if p not in passed}
        kernel = self.kernels[statement.kernel]
        body = kc.Block((*loaded.values(), *kernel.body.statements))
        kernel = replace(kernel, parameters=tuple(passed), body=body)
        self.kernels[kernel.name] = kernel
        return replace(statement, arguments=tuple(passed.values()))


def _arguments(
    kernels: Mapping[str, kc.Kernel], launch: kc.Launch
) -> Iterator[tuple[Any, Any]]:
    """The parameters of the kernel with what the launch hands over."""
    return zip(kernels[launch.kernel].parameters, launch.arguments, strict=True)


def _operands(definition: kc.HostAssign) -> set[Name]:
    operands = getattr(definition.exp, "operands", ())
    return {operand for operand in operands if isinstance(operand, Name)}


def _chain(name: Name, found: Definitions) -> tuple[Name, ...]:
    """A scalar after those that it is computed from, in the order of definitions."""
    wanted, waiting = {name}, [name]
    while waiting:
        before = _operands(found[waiting.pop()]) & found.keys()
        waiting += before - wanted
        wanted |= before
    return tuple(each for each in found if each in wanted)


def _name_of(argument: Any) -> Name | None:
    """The scalar that a launch hands over as it is."""
    if isinstance(argument, kc.Memory):
        return None
    return argument if isinstance(argument, Name) else argument.as_name


def _launches(statement: kc.HostStatement) -> Iterator[kc.Launch]:
    return (node for node in walk(statement) if isinstance(node, kc.Launch))


def _variable(definition: kc.HostAssign) -> kc.Variable:
    return kc.Variable(definition.name, kc.VectorType(definition.type))


def _declared(definition: kc.HostAssign) -> kc.Statement:
    """A scalar in a kernel."""
    variable, exp = _variable(definition), definition.exp
    if isinstance(exp, kc.ReadElement):
        load = kc.Load(exp.memory, kc.SizeValue(exp.index), variable.type)
        return kc.Declare(variable, load)
    assert isinstance(exp, ScalarOp)
    values = tuple(
        kc.Literal(operand.value, kc.VectorType(type_))
        if isinstance(operand, Constant)
        else kc.Variable(operand, kc.VectorType(type_))
        for operand, type_ in zip(exp.operands, exp.operator.operands, strict=True)
    )
    return kc.Declare(variable, kc.Operation(exp.operator, values, variable.type))
