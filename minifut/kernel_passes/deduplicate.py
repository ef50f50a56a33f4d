"""Keep one of kernels that differ only in names.

    launch main_transpose(n, xs)               launch main_transpose(n, xs)
    launch main_transpose_2(m, ys)       →     launch main_transpose(m, ys)

Versions of a program share most of their kernels, and copies and transpositions are the
same for all arrays of a rank; each distinct kernel is compiled once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from minifut.ir.fields import all_fields, is_node, lister_of, per_class
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.names import Name, NameSource


def deduplicate(program: KernelProgram, names: NameSource) -> KernelProgram:
    """The program with each distinct kernel once."""
    alike: dict[Hashable, list[kc.Kernel]] = {}
    instead: dict[str, str] = {}
    kept: list[kc.Kernel] = []
    outlines = [_outline(kernel) for kernel in program.kernels]
    counts = Counter(outlines)
    for kernel, outline in zip(program.kernels, outlines, strict=True):
        if counts[outline] == 1:
            kept.append(kernel)
            continue
        others = alike.setdefault((outline, _literals(kernel.body)), [])
        same = next((other for other in others if same_kernel(other, kernel)), None)
        if same is None:
            others.append(kernel)
            kept.append(kernel)
        else:
            instead[kernel.name] = same.name
    if not instead:
        return program

    def renamed(node: Any) -> Any:
        if isinstance(node, kc.Launch):
            return replace(node, kernel=instead.get(node.kernel, node.kernel))
        return map_children(node, renamed)

    functions = tuple(map(renamed, program.functions))
    constants = program.constants and renamed(program.constants)
    return replace(
        program, kernels=tuple(kept), functions=functions, constants=constants
    )


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


def same_kernel(left: kc.Kernel, right: kc.Kernel) -> bool:
    """Whether two kernels differ only in names. Tuning parameters keep theirs."""
    pairing = _Pairing()
    return all(
        pairing.same(getattr(left, name), getattr(right, name)) for name in _COMPARED
    )


class _Pairing:
    """Walks two kernels in step; names are paired where they occur first, which is
    where they are declared."""

    def __init__(self) -> None:
        self.forward: dict[Name, Name] = {}
        self.backward: dict[Name, Name] = {}

    def same(self, left: Any, right: Any) -> bool:
        cls = type(left)
        return cls is type(right) and _comparison(cls)(self, left, right)

    def tuples(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
        return len(left) == len(right) and all(map(self.same, left, right))

    def names(self, left: Name, right: Name) -> bool:
        paired = self.forward.setdefault(left, right) == right
        return paired and self.backward.setdefault(right, left) == left

    def variables(self, left: kc.Variable, right: kc.Variable) -> bool:
        types = left.type is right.type or left.type == right.type
        return types and self.names(left.name, right.name)

    def memories(self, left: kc.Memory, right: kc.Memory) -> bool:
        kinds = left.element == right.element and left.space == right.space
        return kinds and self.names(left.name, right.name)

    def literals(self, left: kc.Literal, right: kc.Literal) -> bool:
        return left.type == right.type and repr(left.value) == repr(right.value)

    def locals(self, left: kc.LocalParameter, right: kc.LocalParameter) -> bool:
        """The count is an argument of the launch."""
        return self.memories(left.memory, right.memory)

    def sizes(self, left: Size, right: Size) -> bool:
        if left.as_name is not None and right.as_name is not None:
            return self.names(left.as_name, right.as_name)
        names = left.names() & self.forward.keys()
        paired = {name: Size.of(self.forward[name]) for name in names}
        return left.substitute(paired) == right


Comparison: TypeAlias = Callable[[_Pairing, Any, Any], bool]

_COMPARE: dict[type, Comparison] = {
    tuple: _Pairing.tuples,
    Name: _Pairing.names,
    Size: _Pairing.sizes,
    kc.Variable: _Pairing.variables,
    kc.Memory: _Pairing.memories,
    kc.Literal: _Pairing.literals,
    kc.LocalParameter: _Pairing.locals,
    kc.DeviceFunction: lambda _, left, right: left is right,
}


@per_class
def _comparison(cls: type) -> Comparison:
    """What compares two instances of a class: of nodes, all fields."""
    if cls in _COMPARE:
        return _COMPARE[cls]
    if not is_node(cls):
        return lambda _, left, right: left is right or bool(left == right)
    tests = [f"pairing.same(left.{n}, right.{n})" for n in all_fields(cls)]
    text = f"lambda pairing, left, right: {' and '.join(tests) or True}"
    made: Comparison = eval(text)
    return made


def _literals(body: kc.Block) -> Hashable:
    """All literals in an order: many kernels of a large program differ in nothing else,
    and are not to be compared in pairs."""
    found: list[Hashable] = []
    waiting: list[Any] = [body]
    while waiting:
        node = waiting.pop()
        if type(node) is kc.Literal:
            found.append((node.type, repr(node.value)))
        elif (children_of := lister_of(type(node))) is not None:
            waiting += children_of(node)
    return tuple(found)


def _outline(kernel: kc.Kernel) -> Hashable:
    """What is quickly seen to differ."""
    return (
        tuple(map(type, kernel.parameters)),
        tuple(map(type, kernel.body.statements)),
        kc.classes_in(kernel.body),
        tuple(constant.parameter for constant in kernel.constants),
        isinstance(kernel.group_size, Name) or kernel.group_size,
    )
