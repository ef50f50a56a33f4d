"""Change a host function, and the kernels that it launches, by the plans of its blocks.

kernel scale(xs, s: f32, ys)           kernel scale(xs, total, ys)
  ...                            →       let t: f32 = total[0]
                                         let s: f32 = sqrt_f32(t)
                                         ...

A kernel that is launched elsewhere too stays as it is there: this launch gets a copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from minifut.ir.core import Constant, ScalarOp
from minifut.ir.node import replace
from minifut.ir.traverse import map_children, rename_to
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars.copies import own_name
from minifut.kernel_passes.device_scalars.moves import unused_name
from minifut.kernel_passes.device_scalars.plan import (
    DeviceScalars,
    HostDefinitions,
    arguments_of,
    chain_of,
    name_of,
)
from minifut.names import Name, NameSource


class Emitter:
    """Changes a host function, and the kernels that it launches, by the plans."""

    def __init__(
        self,
        plans: Mapping[int, DeviceScalars],
        kernels: dict[str, kc.Kernel],
        launches: Counter[str],
        names: NameSource,
    ) -> None:
        self.plans = plans
        self.kernels = kernels
        self.launches = launches
        self.names = names
        self.definitions: HostDefinitions = {
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
        """The launch, which passes the memories of these scalars."""
        definitions = self.definitions
        if all(
            name_of(argument) not in definitions for argument in statement.arguments
        ):
            return statement
        statement = self.unshared(statement)
        passed: dict[Any, Any] = {}
        loaded: dict[Name, kc.Statement] = {}
        memories: dict[Name, kc.Memory] = {}
        others: dict[Name, kc.ScalarParameter] = {}
        for parameter, argument in arguments_of(self.kernels, statement):
            name = name_of(argument)
            if not isinstance(parameter, kc.ScalarParameter) or name not in definitions:
                passed[parameter] = argument
                continue
            assert name is not None
            for source in chain_of(name, definitions):
                loaded[source] = _declared(definitions[source])
                exp = definitions[source].exp
                if isinstance(exp, kc.ReadElement):
                    memories[exp.memory.name] = exp.memory
                    indices = exp.index.names() - definitions.keys()
                    others |= {n: kc.ScalarParameter(n, I64) for n in indices}
                    continue
                assert isinstance(exp, ScalarOp)
                for operand, type_ in zip(
                    exp.operands, exp.operator.operands, strict=True
                ):
                    if isinstance(operand, Name) and operand not in definitions:
                        others[operand] = kc.ScalarParameter(operand, type_)
            if parameter.name != name:
                bound = kc.Variable(parameter.name, kc.VectorType(parameter.type))
                loaded[bound.name] = kc.Declare(bound, _variable(definitions[name]))
        known = {p.memory.name for p in passed if isinstance(p, kc.MemoryParameter)}
        for memory in memories.values():
            if memory.name not in known:
                passed[kc.MemoryParameter(memory, False)] = memory
        own = {p.name for p in passed if isinstance(p, kc.ScalarParameter)}
        passed |= {p: name for name, p in others.items() if name not in own}
        kernel = self.kernels[statement.kernel]
        body = kc.Block((*loaded.values(), *kernel.body.statements))
        kernel = replace(kernel, parameters=tuple(passed), body=body)
        self.kernels[kernel.name] = kernel
        return replace(statement, arguments=tuple(passed.values()))

    def unshared(self, launch: kc.Launch) -> kc.Launch:
        """The launch of a kernel that no other one launches. Its parameters that have
        not the names of what is passed, as those of a copy or of a kernel in the place
        of others, get new ones: names of the host are used in it."""
        kernel = self.kernels[launch.kernel]
        shared = self.launches[kernel.name] > 1
        renamed = {
            own: self.names.like(own)
            for parameter, argument in arguments_of(self.kernels, launch)
            if (own := own_name(parameter)) != _passed_name(argument) or shared
        }
        copy = rename_to(kernel, renamed)
        if shared:
            self.launches[kernel.name] -= 1
            copy = replace(copy, name=unused_name(kernel.name, self.kernels))
        self.kernels[copy.name] = copy
        return replace(launch, kernel=copy.name)


def _passed_name(argument: Any) -> Name | None:
    return argument.name if isinstance(argument, kc.Memory) else name_of(argument)


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
