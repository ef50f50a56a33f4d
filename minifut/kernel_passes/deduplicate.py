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
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from minifut.ir.fields import all_fields, is_node, lister_of, per_class
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
    outlines = _outlines(program.kernels)
    counts = Counter(outlines)
    groups: dict[Hashable, dict[str, int]] = {}
    """the numbers of the first failures of equal kernels, by the names of these"""
    for kernel, outline in zip(program.kernels, outlines, strict=True):
        contents, first = (
            contents_of(kernel) if counts[outline] > 1 else (kernel.name, 0)
        )
        groups.setdefault(contents, {})[kernel.name] = first
    if len(groups) == len(program.kernels):
        return program
    instead = {name: next(iter(group)) for group in groups.values() for name in group}
    numbered = [g for g in groups.values() if len(set(g.values())) > 1]
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


def contents_of(kernel: kc.Kernel) -> tuple[Hashable, int]:
    """What kernels share that differ only in names and in the number of their first
    failure; and that number. Tuning parameters keep their names."""
    key = _Key()
    return tuple(key.of(getattr(kernel, name)) for name in _COMPARED), key.first or 0


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


class _Key:
    """Walks a kernel; names are numbered where they occur first, which is where they
    are declared, with their types."""

    def __init__(self) -> None:
        self.numbers: dict[Name, int] = {}
        self.sizes: dict[Size, Hashable] = {}
        self.first: int | None = None

    def of(self, item: Any) -> Hashable:
        return _part(type(item))(self, item)

    def items(self, items: tuple[Any, ...]) -> Hashable:
        return tuple(map(self.of, items))

    def name(self, name: Name) -> Hashable:
        return self.numbers.setdefault(name, len(self.numbers))

    def variable(self, variable: kc.Variable) -> Hashable:
        known = self.numbers.get(variable.name)
        return (variable.type, self.name(variable.name)) if known is None else known

    def memory(self, memory: kc.Memory) -> Hashable:
        known = self.numbers.get(memory.name)
        if known is None:
            return memory.element, memory.space, self.name(memory.name)
        return known

    def literal(self, literal: kc.Literal) -> Hashable:
        return literal.type, repr(literal.value)

    def local(self, parameter: kc.LocalParameter) -> Hashable:
        """The count is an argument of the launch, unless the memory spills."""
        memory = self.memory(parameter.memory)
        return (memory, self.of(parameter.count)) if parameter.spills else memory

    def failure(self, failure: kc.Fail) -> Hashable:
        if self.first is None:
            self.first = 0 if failure.base else failure.number
        number = failure.number - self.first
        return number, self.of(failure.base), self.of(failure.values), failure.label

    def size(self, size: Size) -> Hashable:
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


KeyPart: TypeAlias = Callable[[_Key, Any], Hashable]

_PARTS: dict[type, KeyPart] = {
    tuple: _Key.items,
    Name: _Key.name,
    Size: _Key.size,
    kc.Variable: _Key.variable,
    kc.Memory: _Key.memory,
    kc.Literal: _Key.literal,
    kc.LocalParameter: _Key.local,
    kc.Fail: _Key.failure,
    kc.DeviceFunction: lambda _, function: function,
}


@per_class
def _part(cls: type) -> KeyPart:
    """What an instance of a class adds to the key: nodes, all of their fields."""
    if cls in _PARTS:
        return _PARTS[cls]
    if not is_node(cls):
        return lambda _, item: item
    fields = [f"key.of(node.{name})" for name in all_fields(cls)]
    made: KeyPart = eval(f"lambda key, node: (cls, {', '.join(fields)})", {"cls": cls})
    return made


def _outlines(kernels: tuple[kc.Kernel, ...]) -> list[Hashable]:
    """What is quickly seen to differ: many kernels of a large program differ only in
    literals."""
    outlines = list(map(_outline, kernels))
    counts = Counter(outlines)
    return [
        (outline, _literals(kernel.body)) if counts[outline] > 1 else outline
        for kernel, outline in zip(kernels, outlines, strict=True)
    ]


def _literals(body: kc.Block) -> Hashable:
    """All literals in an order."""
    found: list[Hashable] = []
    waiting: list[Any] = [body]
    while waiting:
        node = waiting.pop()
        if type(node) is kc.Literal:
            found.append(repr(node.value))
        elif (children_of := lister_of(type(node))) is not None:
            waiting += children_of(node)
    return tuple(found)


def _outline(kernel: kc.Kernel) -> Hashable:
    return (
        tuple(map(type, kernel.parameters)),
        tuple(map(type, kernel.body.statements)),
        classes_in(kernel.body),
        tuple(constant.parameter for constant in kernel.constants),
        isinstance(kernel.group_size, Name) or kernel.group_size,
    )
