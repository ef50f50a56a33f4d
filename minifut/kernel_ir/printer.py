"""Kernel code as text that reads back (`kernel_ir.reader`).

    kernel main_map (
      buffer xs: global f32,
      buffer ys: global f32 written,
      scalar n: i64
    ) groups (1) fresh {
      let thread: i64 = i64(get_global_id(0i32))
      if (thread < n) {
        store ys[thread] = add_f32(xs[thread], 1.0f32)
      }
    }

How a node looks is the `printed` form of its class, see `ir.forms`. A variable is shown
with its type where it is declared, a memory with its space and element type; elsewhere
only if they are others than there, which the verifier refuses. Types that follow from
the parts of an expression (`kernel_ir.types`) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from minifut.ir import forms, kernels, printer, sizes
from minifut.ir.core import Constant, Function
from minifut.kernel_ir import expressions, host_statements, statements, synchronisation
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import EntryCode, KernelProgram
from minifut.kernel_ir.types import natural_type
from minifut.names import Name

SCOPES = (kc.Kernel, kc.DeviceFunction, kc.For)
"""nodes that declare variables for their bodies"""
OPEN = (kc.Unrolled, kc.StaticIf, kc.ParallelRegion)
"""nodes whose blocks are no scopes: what they declare is there behind them"""
CLASSES = forms.classes_in(expressions, host_statements, statements, synchronisation)
"""all nodes that have a form"""
LONGEST = 80
"""characters of a list in one line"""
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|!")


@cache
def reserved_words() -> frozenset[str]:
    """The words of all forms."""
    return forms.words(*CLASSES)


def show(node: object, renumber: bool = True) -> str:
    """The text of a program, a kernel, a function, statements or an expression."""
    return KernelPrinter(renumber).text(node)


class Declared:
    """What variables and memories are declared as, scope by scope."""

    def __init__(self) -> None:
        self.scopes: list[dict[Name, kc.VectorType | kc.Memory]] = [{}]

    def declare(self, name: Name, what: kc.VectorType | kc.Memory) -> None:
        self.scopes[-1][name] = what

    def of(self, name: Name) -> kc.VectorType | kc.Memory:
        """What was said of a name last; an i64 if nothing was."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return kc.LONG


class KernelPrinter(printer.Printer):
    """Prints kernel code; what the core has too as the core does."""

    def __init__(self, renumber: bool = True) -> None:
        super().__init__(renumber)
        self.reserved = reserved_words() | printer.keywords()
        self.declared = Declared()

    # --- nodes ------------------------------------------------------------------------

    def text(self, node: Any) -> str:
        match node:
            case KernelProgram():
                return self.program_text(node)
            case tuple():
                return "\n".join(map(self.text, node))
            case kc.Kernel() | kc.DeviceFunction():
                return self.node(node)
        return self.value(node)

    def program_text(self, program: KernelProgram) -> str:
        """What the reader of programs reads, part after part."""
        parts = [f"schedule {program.schedule}"]
        parts += [self.entry_code(code) for code in program.entries]
        parts += [
            f"parameter get_parameter({self.value(p)})" for p in program.parameters
        ]
        parts += [self.node(failure) for failure in program.failures]
        parts += [f"place {printer.quoted(place)}" for place in program.places]
        parts += [f"on_host {printer.quoted(line)}" for line in program.on_host]
        parts += [f"one_thread {printer.quoted(line)}" for line in program.one_thread]
        parts += [self.node(each) for each in program.device_functions]
        parts += [self.node(kernel) for kernel in program.kernels]
        parts += [self.node(function) for function in program.functions]
        if program.constants is not None:
            names = self.value(program.constant_names)
            parts.append(f"constants {names} {self.node(program.constants)}")
        return "\n".join(parts) + "\n"

    def entry_code(self, code: EntryCode) -> str:
        """An entry point, and the head of its function, each in a line."""
        head: Function = code.function
        name, parameters = self.name(head.name), self.parameters(head.parameters)
        results = self.parameters(head.results)
        return f"{self.node(code.entry)}\nfun {name} {parameters} -> {results} {{}}"

    def node(self, node: Any) -> str:
        scoped = isinstance(node, SCOPES)
        if scoped:
            self.declared.scopes.append({})
        text = super().node(node)
        if scoped:
            self.declared.scopes.pop()
        if isinstance(node, kc.ScalarParameter):
            self.declared.declare(node.name, kc.VectorType(node.type))
        return text

    def field(self, node: Any, field: forms.Field, value: Any) -> str:
        if field.declared:
            return self.declaration(value)
        if isinstance(node, OPEN) and isinstance(value, kc.Block):
            return self.statements(value)
        return super().field(node, field, value)

    def declaration(self, value: kc.Variable | kc.Register | kc.Memory) -> str:
        """A name where it is declared."""
        match value:
            case kc.Memory(name, element, space):
                self.declared.declare(name, value)
                return f"{self.name(name)}: {space} {element}"
            case kc.Variable(name, type_):
                self.declared.declare(name, type_)
                return f"{self.name(name)}: {type_}"
            case kc.Register(family, _, type_):
                self.declared.declare(family, type_)
                return f"{self.node(value)}: {type_}"

    def block(self, block: kc.Block | kc.HostBlock) -> str:
        self.declared.scopes.append({})
        text = self.statements(block)
        self.declared.scopes.pop()
        return text

    def statements(self, block: kc.Block | kc.HostBlock) -> str:
        if not block.statements:
            return "{}"
        return printer.braces([self.value(s) for s in block.statements])

    # --- fields -----------------------------------------------------------------------

    def value(self, value: Any, in_union: bool = False) -> str:
        """What a field holds; in a union sizes and texts are marked as such."""
        match value:
            case kc.Expression():
                return self.exp(value)
            case kc.Block() | kc.HostBlock():
                return self.block(value)
            case kc.Memory(name):
                if self.declared.of(name) == value:
                    return self.name(name)
                return f"{self.name(name)}: {value.space} {value.element}"
            case kc.DeviceFunction():
                return value.name
            case sizes.Size() if in_union and value.as_constant is None:
                return f"size({self.size(value)})"
            case kc.VectorType():
                return str(value)
            case kernels.Parameter():
                return printer.show(value)
            case str() if is_word(value) and not in_union:
                return value
        return super().value(value, in_union)

    def list(self, texts: Sequence[str]) -> str:
        """In one line, or each in its own."""
        line = super().list(texts)
        if len(line) <= LONGEST or len(texts) == 1:
            return line
        inner = ",\n".join(texts).replace("\n", f"\n{printer.INDENT}")
        return f"(\n{printer.INDENT}{inner}\n)"

    def exp(self, exp: kc.Expression) -> str:
        """An expression, with its type unless that is known."""
        match exp:
            case kc.Variable(name, type_):
                text = self.name(name)
                return text if self.declared.of(name) == type_ else f"{text}: {type_}"
            case kc.Literal(value, type_):
                return literal_text(Constant(value, type_.scalar), type_)
            case kc.Binary(symbol, left, right):
                text = f"({self.exp(left)} {symbol} {self.exp(right)})"
            case kc.Register(family, _, type_):
                text = self.node(exp)
                return text if self.declared.of(family) == type_ else f"{text}: {type_}"
            case _:
                text = self.node(exp)
        natural = natural_type(exp)
        return text if natural in (None, exp.type) else f"{text} as {exp.type}"


def is_word(text: str) -> bool:
    """Whether a text is shown without quotes."""
    return WORD.fullmatch(text) is not None and text not in reserved_words()


def literal_text(constant: Constant, type_: kc.VectorType) -> str:
    """`1.0f32`, `true`; in several lanes `1.0f32x4`, `boolx4.true`, `f32x4.nan`."""
    text = printer.constant_text(constant)
    if type_.lanes == 1:
        return text
    if text in ("true", "false"):
        return f"{type_}.{text}"
    return text.replace(str(type_.scalar), str(type_))
