"""Printed kernel code read back: the forms of nodes, followed from left to right.

`read_program(text)` gives a whole program, as `kernel_ir.printer` shows it.

What the core has too (entry points, scalar operations of the host) is read as there
(`ir.reader`). A name that was not declared is an i64.
"""

from __future__ import annotations

import re
from typing import Any

from minifut.ir import core, entries, forms, kernels, tokens, types
from minifut.ir.core import Constant
from minifut.ir.reader import Reader as CoreReader
from minifut.ir.reader import name_of
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.expression_reader import ExpressionReader
from minifut.kernel_ir.printer import OPEN, SCOPES, show
from minifut.kernel_ir.program import EntryCode, KernelProgram
from minifut.names import Name, NameSource

_TAG = re.compile(r"\w_([0-9]+)\b")


def read_program(text: str) -> KernelProgram:
    """A whole program; a `UsageError` says where the text is wrong."""
    return KernelReader(text).kernel_program()


def is_program(text: str) -> bool:
    """Whether a text is meant as a program of kernel code."""
    return tokens.Tokens(text).token == "schedule"


def names_after(program: KernelProgram) -> NameSource:
    """Fresh names that do not collide with any in the program, as it is printed."""
    tags = _TAG.findall(show(program, renumber=False))
    return NameSource(max(map(int, tags), default=0) + 1)


class KernelReader(ExpressionReader):
    """Reads nodes; `functions` are those that were read before."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.functions: dict[str, kc.DeviceFunction] = {}

    # --- programs ---------------------------------------------------------------------

    def kernel_program(self) -> KernelProgram:
        """The parts of a program, in any order."""
        parts: dict[str, list[Any]] = {}
        schedule, names = "cpu", ()
        while self.kind != "end":
            word = self.token
            if word == "schedule":
                self.advance()
                schedule = self.string()
            elif word == "entry":
                entry, head = self.node(entries.Entry), self.node(core.Function)
                parts.setdefault(word, []).append(EntryCode(entry, head))
            elif word in ("place", "on_host", "one_thread"):
                self.advance()
                parts.setdefault(word, []).append(self.string())
            elif word == "parameter":
                self.advance()
                self.expect("get_parameter")
                parts.setdefault(word, []).extend(
                    self.list(lambda: self.node(kernels.Parameter))
                )
            elif word == "constants":
                self.advance()
                names = self.value(tuple[Name, ...])
                parts[word] = [self.definition(kc.HostFunction)]
            else:
                hint = kc.Kernel | kc.DeviceFunction | kc.HostFunction | kc.Failure
                parts.setdefault(word, []).append(self.definition(hint))
        words = (
            *("kernel", "host", "entry", "failure", "parameter"),
            *("place", "on_host", "one_thread"),
        )
        found: dict[str, tuple[Any, ...]] = {w: tuple(parts.get(w, ())) for w in words}
        return KernelProgram(
            schedule,
            found["kernel"],
            found["host"],
            found["entry"],
            found["failure"],
            found["parameter"],
            parts.get("constants", [None])[0],
            names,
            found["place"],
            found["on_host"],
            found["one_thread"],
        )

    def definition(self, hint: Any) -> Any:
        """A function or a kernel."""
        made = self.value(hint)
        if isinstance(made, kc.DeviceFunction):
            self.functions[made.name] = made
        return made

    # --- nodes ------------------------------------------------------------------------

    def node(self, cls: type) -> Any:
        """What a form describes."""
        scoped = issubclass(cls, SCOPES)
        if scoped:
            self.declared.scopes.append({})
        made = super().node(cls)
        if scoped:
            self.declared.scopes.pop()
        if isinstance(made, kc.ScalarParameter):
            self.declared.declare(made.name, kc.VectorType(made.type))
        return made

    def field(self, cls: type, field: forms.Field) -> Any:
        if cls in OPEN and field.hint is kc.Block:
            return kc.Block(self.block_statements(kc.Statement))
        if field.declared and not (self.follows(":") or self.follows("@")):
            raise self.fault("a name with its type")
        value = super().field(cls, field)
        if field.declared:
            self.declare(value)
        return value

    def declare(self, value: kc.Variable | kc.Register | kc.Memory) -> None:
        match value:
            case kc.Memory(name):
                self.declared.declare(name, value)
            case kc.Variable(name, type_) | kc.Register(name, _, type_):
                self.declared.declare(name, type_)

    def block(self, hint: Any) -> tuple[Any, ...]:
        """Statements in braces, a scope of their own."""
        self.declared.scopes.append({})
        found = self.block_statements(hint)
        self.declared.scopes.pop()
        return found

    def block_statements(self, hint: Any) -> tuple[Any, ...]:
        """Statements in braces."""
        self.expect("{")
        found = []
        while not self.take("}"):
            found.append(self.value(hint))
        return tuple(found)

    # --- fields -----------------------------------------------------------------------

    def value(self, hint: Any) -> Any:
        if isinstance(hint, type) and issubclass(hint, kc.Expression):
            return self.exp()
        return super().value(hint)

    def union(self, hint: Any, options: tuple[Any, ...]) -> Any:
        """The member that the next token selects."""
        cls = forms.alternatives(hint).get(self.token)
        if cls is not None and self.kind != "string":
            return self.node(cls)
        match self.kind:
            case "string" if str in options:
                return self.string()
            case "int" if Size in options:
                return self.size()
            case "number" if Constant in options:
                return self.constant()
            case "sign" if self.token == "{":
                return self.value(kc.Block)
            case "sign" if self.token == "(" and kc.Expression not in options:
                tuples = [o for o in options if forms.item_of(o) is not None]
                return self.value(tuples[0])
            case "word":
                return self.named(hint, options)
        if kc.Assign in options:
            return self.node(kc.Assign)
        return self.exp()

    def named(self, hint: Any, options: tuple[Any, ...]) -> Any:
        """The member of a union that begins with a word without a meaning."""
        if Constant in options and self.token in ("true", "false"):
            return self.constant()
        if core.ScalarOp in options and self.follows("("):
            return self.node(core.ScalarOp)
        if Size in options and self.token == "size" and self.follows("("):
            return self.size_in_parentheses()
        if types.ScalarType in options:
            return self.scalar()
        if kc.Memory in options and not self.follows("["):
            memory = self.declared.of(name_of(self.token))
            if isinstance(memory, kc.Memory) or self.follows(":"):
                return self.memory()
        if kc.Assign in options:
            return self.node(kc.Assign)
        return self.name() if Name in options else self.exp()

    def function(self) -> kc.DeviceFunction:
        name = self.string()
        if name not in self.functions:
            raise self.fault(f"a function instead of {name}")
        return self.functions[name]


KernelReader.fields = {
    **CoreReader.fields,
    kc.VectorType: KernelReader.vector_type,
    kc.Memory: KernelReader.memory,
    kc.DeviceFunction: KernelReader.function,
    kc.Block: lambda reader: kc.Block(reader.block(kc.Statement)),
    kc.HostBlock: lambda reader: kc.HostBlock(reader.block(kc.HostStatement)),
}
