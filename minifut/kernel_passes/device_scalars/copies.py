"""Copies in loops of the host as launches of a kernel, which may be in batches.

    for _ below k {                          for _ below k {
      copy n from xs[0] to ys[0]       →       launch copied(n, xs, 0, ys, 0)
      launch step(ys, zs)                      launch step(ys, zs)
      move (xs) = (zs)                         move (xs) = (zs)
    }                                        }

The driver's own command for a copy takes as long as a launch, but threads are woken for
it, and what is launched before and after it is not in one batch.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.node import replace
from minifut.ir.sizes import ONE, Quotient, Size
from minifut.ir.traverse import map_children
from minifut.ir.types import F16, I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_passes.device_scalars.choose import HostForOrWhile
from minifut.kernel_passes.device_scalars.moves import unused_name
from minifut.names import Name, NameSource

CHUNK = 1 << 13
"""elements that a work-item copies"""


def with_copying_kernels(program: KernelProgram, names: NameSource) -> KernelProgram:
    """The program without copies in loops."""
    copies = _Copies(names, {kernel.name for kernel in program.kernels})
    functions = tuple(
        replace(function, body=copies.change(function.body))
        for function in program.functions
    )
    kernels = (*program.kernels, *copies.kernels.values())
    return replace(program, functions=functions, kernels=kernels)


class _Copies:
    """Changes the copies in loops of host functions; has the kernels for it."""

    def __init__(self, names: NameSource, taken: set[str]) -> None:
        self.names = names
        self.taken = taken
        self.kernels: dict[ScalarType, kc.Kernel] = {}

    def change(self, node: Any, is_inside: bool = False) -> Any:
        """A statement or block of the host, which may be inside of a loop."""
        is_inside = is_inside or isinstance(node, HostForOrWhile)
        if isinstance(node, kc.CopyMemory) and is_inside:
            return self.launch(node)
        if not isinstance(node, kc.HostBlock | kc.HostIf | HostForOrWhile):
            return node
        return map_children(node, lambda inner: self.change(inner, is_inside))

    def launch(self, copy: kc.CopyMemory) -> kc.HostStatement:
        """The copy by a kernel, unless it is of halves, which kernels convert."""
        element = copy.target.element
        if element == F16 or element != copy.source.element:
            return copy
        if element not in self.kernels:
            name = unused_name(f"copied_{element}", self.taken)
            self.taken.add(name)
            self.kernels[element] = self.copying(name, element)
        groups = Size.of(Quotient(copy.count, Size.constant(CHUNK), True))
        places = copy.source, copy.source_offset, copy.target, copy.target_offset
        return kc.Launch(
            self.kernels[element].name,
            (groups,),
            (ONE,),
            (copy.count, *places),
            work=copy.count,
        )

    def copying(self, name: str, element: ScalarType) -> kc.Kernel:
        """The kernel, each of whose groups copies a chunk."""
        k = CodeBuilder(self.names, name)
        count, start, to = (
            Size.of(k.scalar_parameter(self.names.fresh(base), I64).name)
            for base in ("count", "start", "to")
        )
        source = kc.Memory(self.names.fresh("source"), element)
        target = kc.Memory(self.names.fresh("target"), element)
        k.use(source)
        k.use(target, written=True)
        first = k.declare("first", k.identity("get_global_id") * CHUNK)
        last = kc.Call("min", (first + CHUNK, k.size_value(count)), kc.LONG)
        with k.loop("i", k.declare("last", last), first, parallel=True) as i:
            value = k.load(source, start + Size.of(i.name))
            k.store(target, to + Size.of(i.name), value)
        kernel = k.finish(name, (1,))
        by_name: dict[Name | None, kc.Parameter] = {
            own_name(parameter): parameter for parameter in kernel.parameters
        }
        order = (count.as_name, source.name, start.as_name, target.name, to.as_name)
        return replace(kernel, parameters=tuple(by_name[each] for each in order))


def own_name(parameter: kc.Parameter) -> Name:
    """What a kernel calls a parameter."""
    if isinstance(parameter, kc.ScalarParameter):
        return parameter.name
    return parameter.memory.name
