"""Kernels whose local arrays are in global memory, for groups that need more of it.

    launch rows(out, 8 * n)               launch rows(out, 8 * n)
    launch rows(out, parts)          →    launch rows_scratch(out, parts)

    kernel rows_scratch (global out, global parts) {
      ts = parts + n * worker             which were local in rows
      ..                                  the body of rows
    }

A launch may pass a global memory for a local array: each group, which is one work-item,
has a part of it then. Lowering and the other passes know only the one kernel; this
pass, the last one, makes the other.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from minifut.ir.node import mutable, replace
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_passes.device_scalars.moves import unused_name
from minifut.names import NameSource


def spill(program: KernelProgram, names: NameSource) -> KernelProgram:
    """The program with kernels for launches that pass global memory for local
    arrays."""
    known = {kernel.name: kernel for kernel in program.kernels}
    spiller = _Spiller(names, {f.name for f in program.device_functions} | set(known))
    made: dict[str, kc.Kernel] = {}
    unchanged: set[str] = set()

    def changed(node: Any) -> Any:
        if not isinstance(node, kc.Launch):
            return map_children(node, changed)
        kernel = known[node.kernel]
        if not _passes_global_memory(kernel, node):
            unchanged.add(kernel.name)
            return node
        if kernel.name not in made:
            made[kernel.name] = spiller.kernel(kernel)
        return replace(node, kernel=made[kernel.name].name)

    functions = tuple(map(changed, program.functions))
    constants = program.constants and changed(program.constants)
    if not made:
        return program
    kernels: list[kc.Kernel] = []
    for kernel in program.kernels:
        if kernel.name not in made or kernel.name in unchanged:
            kernels.append(kernel)
        if kernel.name in made:
            kernels.append(made[kernel.name])
    return replace(
        program, kernels=tuple(kernels), functions=functions, constants=constants
    )


def _passes_global_memory(kernel: kc.Kernel, launch: kc.Launch) -> bool:
    """Whether some array of a group is in global memory."""
    pairs = zip(kernel.parameters, launch.arguments, strict=True)
    return any(
        isinstance(parameter, kc.LocalParameter) and isinstance(argument, kc.Memory)
        for parameter, argument in pairs
    )


@mutable
class _Spiller:
    """`taken`: the names of kernels and functions; `functions` with local memory, and
    the same ones with global memory in its place."""

    names: NameSource
    taken: set[str]
    functions: dict[kc.DeviceFunction, kc.DeviceFunction] = field(default_factory=dict)

    def kernel(self, kernel: kc.Kernel) -> kc.Kernel:
        """The kernel with a part of global memory for each local array."""
        identity = kc.Call("get_global_id", (kc.Literal(0, kc.INT),), kc.LONG)
        worker = kc.Variable(self.names.fresh("worker"), kc.LONG)
        parameters: list[kc.Parameter] = []
        head: list[kc.Statement] = [kc.Declare(worker, kc.Cast(identity, kc.LONG))]
        for parameter in kernel.parameters:
            if not isinstance(parameter, kc.LocalParameter):
                parameters.append(parameter)
                continue
            part = _in_global(parameter.memory)
            whole = replace(part, name=self.names.like(part.name))
            parameters.append(kc.MemoryParameter(whole, True))
            start = kc.SizeValue(parameter.count * Size.of(worker.name))
            head.append(kc.DeclarePointer(part, whole, start))
        functions = tuple(map(self.function, kernel.functions))
        return replace(
            kernel,
            name=self.fresh(kernel.name),
            parameters=tuple(parameters),
            body=kc.Block((*head, *self.code(kernel.body).statements)),
            functions=functions,
        )

    def fresh(self, base: str) -> str:
        name = unused_name(f"{base}_scratch", self.taken)
        self.taken.add(name)
        return name

    def function(self, function: kc.DeviceFunction) -> kc.DeviceFunction:
        """A function, of which those that it calls have been changed."""
        found = self.functions.get(function)
        if found is None:
            found = replace(
                function,
                parameters=tuple(map(self.code, function.parameters)),
                body=self.code(function.body),
                callees=tuple(self.functions[each] for each in function.callees),
            )
            if found is not function:
                found = replace(found, name=self.fresh(function.name))
            self.functions[function] = found
        return found

    def code(self, node: Any) -> Any:
        """Code with global memory in the place of local memory."""
        if isinstance(node, kc.CallFunction):
            arguments = tuple(
                _in_global(each) if isinstance(each, kc.Memory) else self.code(each)
                for each in node.arguments
            )
            called = self.functions[node.function]
            return replace(node, function=called, arguments=arguments)
        node = map_children(node, self.code)
        match node:
            case kc.Load(memory) | kc.Store(memory) | kc.MemoryParameter(memory):
                return replace(node, memory=_in_global(memory))
            case kc.AtomicUpdate(memory=memory):
                return replace(node, memory=_in_global(memory))
        return node


def _in_global(memory: kc.Memory) -> kc.Memory:
    return memory if memory.space != "local" else replace(memory, space="global")
