"""IR as text that reads back (`ir.parser`).

    let (k: i64, xs: [k]i32) = if c then {2i64, a} else {3i64, b}

`show` numbers names anew, by order of appearance and per base, so that the text of a
program does not depend on how many names were made on the way: golden files stay still.
With `renumber=False` names appear as they are, to be compared with messages. A body
without statements is `{results}`. Locations are not shown. How a node looks is the
`printed` form of its class, see `ir.forms`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, assert_never

from minifut.ir import accumulators, core, derivatives, entries, forms, kernels, soacs
from minifut.ir.core import Atom, Body, Constant, Param, Stm
from minifut.ir.kernels import KernelBody, Level
from minifut.ir.rounding import digits
from minifut.ir.scalars import Operator
from minifut.ir.sizes import Size
from minifut.ir.types import SCALARS, AccType, ArrayType, ScalarType, Type
from minifut.names import Name

CLASSES = forms.classes_in(core, entries, soacs, kernels, accumulators, derivatives)
"""all nodes of the core and its dialects that have a form"""
_WORDS = """
    let return true false constants unique grid group thread ceil_div floor_div min max
"""
_UNFIT = re.compile(r"[^A-Za-z0-9_']")
INDENT = "  "


@cache
def keywords() -> frozenset[str]:
    """What variables are not called; `acc` begins types and inputs, where none can
    stand."""
    return forms.words(*CLASSES) - {"acc"} | {*_WORDS.split(), *SCALARS}


def show(node: object, renumber: bool = True) -> str:
    """The text of a node, type, size, atom or a tuple of them."""
    return Printer(renumber).any(node)


class Printer:
    """Holds the texts of names printed so far; the same printer names them the same."""

    def __init__(self, renumber: bool = True) -> None:
        self.renumber = renumber
        self.reserved = keywords()
        self._texts: dict[Name, str] = {}
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    # --- names, sizes, types, atoms ---

    def name(self, name: Name) -> str:
        text = self._texts.get(name)
        if text is None:
            text = self._new_text(name)
            self._texts[name] = text
            self._taken.add(text)
        return text

    def _new_text(self, name: Name) -> str:
        base = _UNFIT.sub("_", name.base) or "x"
        if not (base[0].isalpha() or base[0] == "_"):
            base = f"x{base}"
        if not self.renumber:
            text = f"{base}_{name.tag}" if name.tag or base in self.reserved else base
            if text not in self._taken:
                return text
        number = self._next.get(base, 1 if base in self.reserved or base == "_" else 0)
        while True:
            text = f"{base}_{number}" if number else base
            number += 1
            if text not in self._taken:
                self._next[base] = number
                return text

    def names(self, names: Iterable[Name]) -> str:
        return f"({', '.join(self.name(name) for name in names)})"

    def size(self, size: Size) -> str:
        """Renamed before it is printed: the order of terms goes by the shown names."""
        if size.as_constant is None:
            ordered = sorted(size.names(), key=lambda name: (name.tag, name.base))
            size = size.substitute({n: Size.of(Name(self.name(n), 0)) for n in ordered})
        return str(size)

    def sizes(self, sizes: Iterable[Size]) -> str:
        """A shape: `[n][m]`, or `[]` without dimensions."""
        return "".join(f"[{self.size(size)}]" for size in sizes) or "[]"

    def type(self, type_: Type) -> str:
        if isinstance(type_, ArrayType):
            return self.sizes(type_.shape) + type_.element.name
        if isinstance(type_, AccType):
            shape, elements = self.sizes(type_.shape), self.types(type_.elements)
            return f"acc {self.name(type_.root)} {shape} {elements}"
        return type_.name

    def types(self, types: Iterable[Type]) -> str:
        return f"({', '.join(self.type(type_) for type_ in types)})"

    def atom(self, atom: Atom) -> str:
        return constant_text(atom) if isinstance(atom, Constant) else self.name(atom)

    def atoms(self, atoms: Iterable[Atom]) -> str:
        return ", ".join([self.atom(atom) for atom in atoms])

    # --- nodes ---

    def expression(self, exp: object) -> str:
        return self.node(exp) if hasattr(exp, "printed") else f"<{exp!r}>"

    def node(self, node: Any) -> str:
        """The form of a node, filled in."""
        cls: Any = type(node)
        parts = forms.form_of(cls)
        text = self.parts(node, parts)
        if forms.BREAK not in text:
            return text
        each = (p.names[0] for p in parts if isinstance(p, forms.Each))
        if "\n" in text and any(getattr(node, name) for name in each):
            line = f"\n{INDENT}"
            return text.replace("\n", line).replace(forms.BREAK, line)
        return text.replace(forms.BREAK, " ")

    def part(self, node: Any, part: forms.FormPart) -> str:
        match part:
            case forms.Word(text):
                return text
            case forms.Head(name):
                return str(getattr(node, name))
            case forms.Flag(name):
                return f" {name}" if getattr(node, name) else ""
            case forms.Optional(parts, defaults):
                if all(getattr(node, name) == defaults[name] for name in defaults):
                    return ""
                return self.parts(node, parts)
            case forms.Each(parts, names, commas):
                columns = zip(*(getattr(node, name) for name in names), strict=True)
                rows = [
                    SimpleNamespace(**dict(zip(names, row, strict=True)))
                    for row in columns
                ]
                texts = [self.parts(row, parts) for row in rows]
                return (", " if commas else "").join(texts)
            case forms.Field():
                value = getattr(node, part.name)
                if part.component is not None:
                    value = value[part.component]
                return self.field(node, part, value)
        assert_never(part)

    def parts(self, node: Any, parts: Iterable[forms.FormPart]) -> str:
        return "".join([self.part(node, part) for part in parts])

    def field(self, node: Any, field: forms.Field, value: Any) -> str:
        """What a field holds, in the form that its annotation requires."""
        if forms.item_of(field.hint) is Size:
            return self.sizes(value)
        return self.value(value, forms.is_mixed(field.hint))

    def value(self, value: Any, in_union: bool = False) -> str:
        """A field by its class alone."""
        match value:
            case None:
                return "_"
            case Name() | Constant():
                return self.atom(value)
            case Size():
                return self.size(value)
            case ArrayType() | AccType():
                return self.type(value)
            case ScalarType() | Operator() | Level() | int():
                return str(value)
            case str():
                return quoted(value)
            case tuple():
                return self.list([self.value(each, in_union) for each in value])
            case Param():
                return self.parameter(value)
            case Body() | KernelBody():
                return self.body(value)
            case Stm():
                return self.statement(value)
        return self.expression(value)

    def list(self, texts: Sequence[str]) -> str:
        """In parentheses, with commas."""
        return f"({', '.join(texts)})"

    # --- statements, bodies, functions ---

    def parameter(self, parameter: Param) -> str:
        mark = "*" if parameter.unique else ""
        return f"{self.name(parameter.name)}: {mark}{self.type(parameter.type)}"

    def parameters(self, parameters: Iterable[Param]) -> str:
        return f"({', '.join([self.parameter(p) for p in parameters])})"

    def statement(self, statement: Stm) -> str:
        attributes = "".join(f"#[{attribute}] " for attribute in statement.attributes)
        if len(statement.pattern) == 1:
            pattern = self.parameter(statement.pattern[0])
        else:
            pattern = self.parameters(statement.pattern)
        return f"{attributes}let {pattern} = {self.expression(statement.exp)}"

    def body(self, body: Body | KernelBody) -> str:
        lines = [self.statement(statement) for statement in body.statements]
        results = ", ".join([self.value(result) for result in body.result])
        if lines:
            return braces([*lines, f"return {results}".rstrip()])
        return f"{{{results}}}" if isinstance(body, Body) else f"{{ return {results} }}"

    def program(self, program: core.Program) -> str:
        parts = []
        if program.constants:
            lines = [self.statement(statement) for statement in program.constants]
            parts.append(f"constants {braces(lines)}")
        functions = [self.node(function) for function in program.functions]
        entries = "\n".join(self.node(entry) for entry in program.entries)
        return "\n\n".join(([entries] if entries else []) + parts + functions) + "\n"

    def any(self, node: Any) -> str:
        match node:
            case core.Program():
                return self.program(node)
            case str():
                return node
            case tuple() | list():
                separator = "\n" if any(isinstance(n, Stm) for n in node) else ", "
                return separator.join(self.any(part) for part in node)
        return self.value(node)


def braces(lines: Iterable[str]) -> str:
    """Lines in braces, indented."""
    inner = "\n".join(lines).replace("\n", f"\n{INDENT}")
    return f"{{\n{INDENT}{inner}\n}}"


def quoted(text: str) -> str:
    """A text in double quotes, with escapes as in JSON."""
    return json.dumps(text, ensure_ascii=False)


def constant_text(constant: Constant) -> str:
    """`5i32`, `-1.5f32`, `true`, `f32.nan`, `-f64.inf`."""
    number, type_ = constant.value, constant.type
    if type_.kind == "bool":
        return "true" if number else "false"
    if not type_.is_float:
        return f"{int(number)}{type_}"
    if math.isnan(number):
        return f"{type_}.nan"
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}{type_}.inf"
    return f"{digits(float(number), type_.bits)}{type_}"
