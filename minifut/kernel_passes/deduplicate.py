"""Keep one of kernels that differ only in names, and in which failures they report.

    launch main_transpose(n, xs)               launch main_transpose(n, xs)
    launch main_transpose_2(m, ys)       →     launch main_transpose(m, ys)

Versions of a program share most of their kernels, and copies and transpositions are the
same for all arrays of a rank; each distinct kernel is compiled once. What is called at
several places fails with another backtrace at each, so that its kernels differ in the
numbers of their failures. Launches then pass the first of these:

    launch main_fft(xs)                        launch main_fft(xs, 4)
    launch main_fft_2(ys)                →     launch main_fft(ys, 10)

    fail 4 (i); fail 5 (j)                     fail 0 + first (i); fail 1 + first (j)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from minifut.ir.fields import all_fields, is_node, per_class
from minifut.ir.node import replace
from minifut.ir.search import classes_in
from minifut.ir.sizes import Extreme, Quotient, Size, SizeFactor
from minifut.ir.traverse import map_children
from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.names import Name, NameSource


def deduplicate(program: KernelProgram, names: NameSource) -> KernelProgram:
    """The program with each distinct kernel once."""
    groups = _equal_kernels(program.kernels)
    """the numbers of the first failures of equal kernels, by the names of these"""
    if len(groups) == len(program.kernels):
        return program
    instead = {name: next(iter(group)) for group in groups for name in group}
    numbered = [group for group in groups if len(set(group.values())) > 1]
    given = {name: first for group in numbered for name, first in group.items()}

    def changed(node: Any) -> Any:
        if not isinstance(node, kc.Launch):
            return map_children(node, changed)
        arguments = node.arguments
        if node.kernel in given:
            arguments = (*arguments, Size.constant(given[node.kernel]))
        return replace(node, kernel=instead[node.kernel], arguments=arguments)

    return replace(
        program,
        kernels=tuple(
            _numbering(kernel, given[kernel.name], names)
            if kernel.name in given
            else kernel
            for kernel in program.kernels
            if instead[kernel.name] == kernel.name
        ),
        functions=tuple(map(changed, program.functions)),
        constants=program.constants and changed(program.constants),
    )


def _numbering(kernel: kc.Kernel, first: int, names: NameSource) -> kc.Kernel:
    """The kernel with its failures numbered from what launches pass."""
    base = kc.Variable(names.fresh("first"), kc.VectorType(I32))

    def changed(node: Any) -> Any:
        if isinstance(node, kc.Fail):
            return replace(node, number=node.number - first, base=base)
        if isinstance(node, kc.Block) and kc.Fail not in classes_in(node):
            return node
        return node if isinstance(node, kc.Expression) else map_children(node, changed)

    parameters = (*kernel.parameters, kc.ScalarParameter(base.name, I32))
    return replace(kernel, parameters=parameters, body=changed(kernel.body))


AT_ONCE = 64
"""parts of kernels that are compared in one step"""


def _equal_kernels(kernels: tuple[kc.Kernel, ...]) -> list[dict[str, int]]:
    """The kernels in groups of equal ones, by name, with the numbers of their first
    failures. They are read side by side, each as far as another one is the same."""
    texts = {kernel.name: _Contents(kernel) for kernel in kernels}
    found: list[dict[str, int]] = []
    waiting = [list(texts)]
    while waiting:
        group = waiting.pop()
        parts: dict[Hashable, list[str]] = {(): group}
        while len(group) > 1 and len(parts) == 1:
            parts = {}
            for name in group:
                read = tuple(islice(texts[name].parts, AT_ONCE))
                parts.setdefault(read, []).append(name)
            if () in parts:
                break
        if len(parts) > 1:
            waiting += parts.values()
        else:
            found.append({name: texts[name].first or 0 for name in group})
    return found


_COMPARED = (
    "parameters",
    "constants",
    "group_size",
    "can_fail",
    "fresh",
    "functions",
    "body",
)
"""what two kernels must share; first what declares names"""


class _Contents:
    """What kernels share that differ only in names and in the number of their first
    failure, part by part; and that number. Names are numbered where they occur first,
    which is where they are declared, with their types. Tuning parameters keep their
    names."""

    def __init__(self, kernel: kc.Kernel) -> None:
        self.numbers: dict[Name, int] = {}
        self.sizes: dict[Size, Hashable] = {}
        self.first: int | None = None
        self.parts = self.of(kernel)

    def of(self, kernel: kc.Kernel) -> Iterator[Hashable]:
        """All parts in order; first what is quickly seen to differ."""
        yield tuple(map(type, kernel.body.statements))
        waiting: list[Any] = [getattr(kernel, name) for name in reversed(_COMPARED)]
        while waiting:
            item = waiting.pop()
            yield _part(type(item))(self, item, waiting)

    def items(self, items: tuple[Any, ...], waiting: list[Any]) -> Hashable:
        waiting += reversed(items)
        return len(items)

    def name(self, name: Name, _: object = None) -> Hashable:
        return self.numbers.setdefault(name, len(self.numbers))

    def variable(self, variable: kc.Variable, _: object) -> Hashable:
        known = self.numbers.get(variable.name)
        return (variable.type, self.name(variable.name)) if known is None else known

    def memory(self, memory: kc.Memory, _: object) -> Hashable:
        known = self.numbers.get(memory.name)
        if known is None:
            return memory.element, memory.space, self.name(memory.name)
        return known

    def literal(self, literal: kc.Literal, _: object) -> Hashable:
        return literal.type, repr(literal.value)

    def local(self, parameter: kc.LocalParameter, waiting: list[Any]) -> Hashable:
        """The count is an argument of the launch, unless the memory spills."""
        waiting += [parameter.count] if parameter.spills else []
        return parameter.spills, self.memory(parameter.memory, waiting)

    def failure(self, failure: kc.Fail, waiting: list[Any]) -> Hashable:
        if self.first is None:
            self.first = 0 if failure.base else failure.number
        waiting += [failure.values, failure.base]
        return failure.number - self.first, failure.label

    def size(self, size: Size, _: object) -> Hashable:
        if size.as_name is not None:
            return self.name(size.as_name)
        return self.polynomial(size)

    def polynomial(self, size: Size) -> Hashable:
        """A size in numbers in place of names, whatever order its terms are in."""
        if (found := self.sizes.get(size)) is None:
            found = self.sizes[size] = frozenset(
                (frozenset(Counter(map(self.factor, factors)).items()), number)
                for factors, number in size.terms
            )
        return found

    def factor(self, factor: SizeFactor) -> Hashable:
        match factor:
            case Name():
                return self.numbers.get(factor, factor)
            case Quotient(dividend, divisor, up):
                return self.polynomial(dividend), self.polynomial(divisor), up
            case Extreme(operands, greatest):
                return frozenset(map(self.polynomial, operands)), greatest


KeyPart: TypeAlias = Callable[[_Contents, Any, list[Any]], Hashable]
"""of a kernel: what is compared of an item itself; what it consists of is to follow"""

_PARTS: dict[type, KeyPart] = {
    tuple: _Contents.items,
    Name: _Contents.name,
    Size: _Contents.size,
    kc.Variable: _Contents.variable,
    kc.Memory: _Contents.memory,
    kc.Literal: _Contents.literal,
    kc.LocalParameter: _Contents.local,
    kc.Fail: _Contents.failure,
    kc.DeviceFunction: lambda _, function, waiting: function,
}


@per_class
def _part(cls: type) -> KeyPart:
    """The part of an instance of a class; of nodes all fields follow."""
    if cls in _PARTS:
        return _PARTS[cls]
    if not is_node(cls):
        return lambda _, item, waiting: item
    fields = [f"node.{name}" for name in reversed(all_fields(cls))]
    text = f"lambda _, node, waiting: waiting.extend(({', '.join(fields)},)) or cls"
    made: KeyPart = eval(
        text if fields else "lambda _, node, waiting: cls", {"cls": cls}
    )
    return made
