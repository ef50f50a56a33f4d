"""Printed kernel code read back: the forms of nodes, followed from left to right.

    read_program(text)             a whole program, as `kernel_ir.printer` shows it
    read_kernels(text)             functions and kernels
    read_statements(text)          statements of a kernel

Statements are told apart by their first words, expressions by their first sign; what
the core has too (entry points, scalar operations of the host) its own parser reads. A
name that was not declared is an i64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from minifut.ir import core
from minifut.ir.core import Constant
from minifut.ir.kernels import Parameter as Tunable
from minifut.ir.parsed_forms import name_of
from minifut.ir.parser import parse
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_ir import forms
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.expression_reader import ExpressionReader
from minifut.kernel_ir.printer import OPEN, SCOPES, show
from minifut.kernel_ir.program import EntryCode, KernelProgram
from minifut.kernel_ir.tokens import Tokens
from minifut.names import Name, NameSource

_TAG = re.compile(r"\w_([0-9]+)\b")


def read_program(text: str) -> KernelProgram:
    """A whole program; a `UsageError` says where the text is wrong."""
    return Reader(text).program()


def is_program(text: str) -> bool:
    """Whether a text is meant as a program of kernel code."""
    return Tokens(text).token == "schedule"


def names_after(program: KernelProgram) -> NameSource:
    """Fresh names that do not collide with any in the program, as it is printed."""
    tags = _TAG.findall(show(program, renumber=False))
    return NameSource(max(map(int, tags), default=0) + 1)


def read_kernels(text: str) -> tuple[kc.Kernel, ...]:
    """The kernels of a text, with the functions that stand before them."""
    reader = Reader(text)
    found: list[kc.Kernel] = []
    while reader.kind != "end":
        made = reader.definition(kc.Kernel | kc.DeviceFunction)
        if isinstance(made, kc.Kernel):
            found.append(made)
    return tuple(found)


def read_statements(text: str) -> tuple[kc.Statement, ...]:
    """Statements in order."""
    reader = Reader(text)
    found: list[kc.Statement] = []
    while reader.kind != "end":
        found.append(reader.value(kc.Statement))
    return tuple(found)


class Reader(ExpressionReader):
    """Reads nodes; `functions` are those that were read before."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.functions: dict[str, kc.DeviceFunction] = {}

    # --- programs ---------------------------------------------------------------------

    def program(self) -> KernelProgram:
        """The parts of a program, in any order."""
        parts: dict[str, list[Any]] = {}
        schedule, names = "cpu", ()
        while self.kind != "end":
            word = self.token
            if word == "schedule":
                self.advance()
                schedule = self.string()
            elif word == "entry":
                entry = parse(self.line(), "program").entries[0]
                head: core.Function = parse(self.line(), "function")
                parts.setdefault(word, []).append(EntryCode(entry, head))
            elif word in ("place", "on_host"):
                self.advance()
                parts.setdefault(word, []).append(self.string())
            elif word == "parameter":
                self.advance()
                parts.setdefault(word, []).append(self.value(Tunable))
            elif word == "constants":
                self.advance()
                names = self.value(tuple[Name, ...])
                parts[word] = [self.definition(kc.HostFunction)]
            else:
                hint = kc.Kernel | kc.DeviceFunction | kc.HostFunction | kc.Failure
                parts.setdefault(word, []).append(self.definition(hint))
        words = ("kernel", "host", "entry", "failure", "parameter", "place", "on_host")
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
        held: dict[str, Any] = {}
        for part in forms.form_of(cls):
            self.part(part, held, cls in OPEN)
        if scoped:
            self.declared.scopes.pop()
        if cls is kc.ScalarParameter:
            self.declared.declare(held["name"], kc.VectorType(held["type"]))
        return cls(**held)

    def part(self, part: forms.Part, held: dict[str, Any], is_open: bool) -> None:
        """Read a part; `is_open`: blocks are no scopes."""
        match part:
            case forms.Word(text):
                if not text.isspace():
                    self.expect(text)
            case forms.Flag(name):
                held[name] = self.take(name)
            case forms.Optional(parts, name, default):
                if self.token != forms.first_sign(parts):
                    held[name] = default
                    return
                for inner in parts:
                    self.part(inner, held, is_open)
            case forms.Field(name, hint, declared):
                if is_open and hint is kc.Block:
                    held[name] = kc.Block(self.statements(kc.Statement))
                    return
                if declared and not (self.follows(":") or self.follows("@")):
                    raise self.fault("a name with its type")
                held[name] = self.value(hint)
                if declared:
                    self.declare(held[name])

    def declare(self, held: kc.Variable | kc.Register | kc.Memory) -> None:
        match held:
            case kc.Memory(name):
                self.declared.declare(name, held)
            case kc.Variable(name, type_) | kc.Register(name, _, type_):
                self.declared.declare(name, type_)

    def block(self, hint: Any) -> tuple[Any, ...]:
        """Statements in braces, a scope of their own."""
        self.declared.scopes.append({})
        found = self.statements(hint)
        self.declared.scopes.pop()
        return found

    def statements(self, hint: Any) -> tuple[Any, ...]:
        """Statements in braces."""
        self.expect("{")
        found = []
        while not self.take("}"):
            found.append(self.value(hint))
        return tuple(found)

    # --- fields -----------------------------------------------------------------------

    def value(self, hint: Any) -> Any:
        """What an annotation asks for."""
        item = forms.item_of(hint)
        if item is not None:
            return self.list(lambda: self.value(item))
        options = forms.options_of(hint)
        if len(options) > 1:
            return self.union(hint, options)
        (one,) = options
        if one in _FIELDS:
            return _FIELDS[one](self)
        if isinstance(one, type) and issubclass(one, kc.Expression):
            return self.exp()
        if not isinstance(one, type):  # a tuple of a fixed length
            inner = iter(one.__args__)
            return self.list(lambda: self.value(next(inner)))
        return self.node(one)

    def union(self, hint: Any, options: tuple[Any, ...]) -> Any:
        """The member that the next token tells."""
        cls = forms.alternatives(hint).get(self.token)
        if cls is not None:
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
                return self.named(options)
        if kc.Assign in options:
            return self.node(kc.Assign)
        return self.exp()

    def named(self, options: tuple[Any, ...]) -> Any:
        """The member of a union that begins with a word without a meaning."""
        if Constant in options and self.token in ("true", "false"):
            return self.constant()
        if core.ScalarOp in options and self.follows("("):
            return parse(self.call(), "exp")
        if Size in options and self.token == "size" and self.follows("("):
            return self.size_in_parentheses()
        if ScalarType in options:
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

    def constant(self) -> Constant:
        literal = self.literal()
        return Constant(literal.value, literal.type.scalar)

    def tunable(self) -> Tunable:
        made: Tunable = parse(self.call(), "exp").parameter
        return made


_FIELDS: dict[Any, Callable[[Reader], Any]] = {
    int: Reader.number,
    str: Reader.string,
    Name: Reader.name,
    Size: Reader.size,
    ScalarType: Reader.scalar,
    kc.VectorType: Reader.vector_type,
    kc.Memory: Reader.memory,
    kc.DeviceFunction: Reader.function,
    kc.Block: lambda reader: kc.Block(reader.block(kc.Statement)),
    kc.HostBlock: lambda reader: kc.HostBlock(reader.block(kc.HostStatement)),
    Tunable: Reader.tunable,
}
