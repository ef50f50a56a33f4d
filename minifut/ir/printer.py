"""IR as text that reads back (`ir.parser`, `grammar/ir.lark`).

    let (k: i64, xs: [k]i32) = if c then {2i64, a} else {3i64, b}

`show` numbers names anew, by order of appearance and per base, so that the text of a
program does not depend on how many names were made on the way: golden files stay still.
With `renumber=False` names appear as they are, to be compared with messages. A body
without statements is `{results}`. Locations are not shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from minifut.ir import core
from minifut.ir.core import Atom, Body, Constant, Lambda, Param, Stm
from minifut.ir.kernels import KernelBody
from minifut.ir.rounding import digits
from minifut.ir.scalars import Operator
from minifut.ir.sizes import Size
from minifut.ir.types import SCALARS, AccType, ArrayType, ScalarType, Type
from minifut.names import Name

_WORDS = """
    let return if then else match case default loop for while do fun entry constants
    apply size iota replicate scratch rearrange reshape concat manifest with by assert
    trace opaque map redomap scanomap screma scan reduce commutative scatter rank count
    hist bins segmap segred segscan seghist operator returns writes tile regtile of
    grid group thread get_parameter at_least bounds guards true false
    ceil_div floor_div min max sizes unique attributes with_acc update_acc
"""
KEYWORDS = frozenset(_WORDS.split()) | frozenset(SCALARS)

_UNFIT = re.compile(r"[^A-Za-z0-9_']")
INDENT = "  "


def show(node: object, renumber: bool = True) -> str:
    """The text of a node, type, size, atom or a tuple of them."""
    return Printer(renumber).any(node)


class Printer:
    """Holds the texts of names met so far; the same printer names them the same."""

    def __init__(self, renumber: bool = True) -> None:
        self.renumber = renumber
        self.reserved = KEYWORDS
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

    def slice(self, slice_: Sequence[Atom | core.DimSlice]) -> str:
        parts = []
        for part in slice_:
            if isinstance(part, core.DimSlice):
                start, stride = self.atom(part.start), self.atom(part.stride)
                parts.append(f"{start} :+ {self.size(part.length)} by {stride}")
            else:
                parts.append(self.atom(part))
        return f"[{', '.join(parts)}]"

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

    def expression(self, exp: object) -> str:
        from minifut.ir.printed_forms import FORMS

        form = FORMS.get(type(exp))
        return form(self, exp) if form is not None else f"<{exp!r}>"

    def body(self, body: Body) -> str:
        if not body.statements:
            return f"{{{self.atoms(body.result)}}}"
        lines = [self.statement(statement) for statement in body.statements]
        lines.append(f"return {self.atoms(body.result)}".rstrip())
        return braces(lines)

    def kernel_body(self, body: KernelBody) -> str:
        lines = [self.statement(statement) for statement in body.statements]
        results = [self.expression(result) for result in body.result]
        lines.append(f"return {', '.join(results)}".rstrip())
        return braces(lines) if len(lines) > 1 else f"{{ {lines[0]} }}"

    def lambda_(self, function: Lambda) -> str:
        head = f"\\{self.parameters(function.parameters)}"
        results = self.types(function.results)
        return f"{head} -> {results} {self.body(function.body)}"

    def function(self, function: core.Function) -> str:
        head = f"fun {self.name(function.name)} {self.parameters(function.parameters)}"
        results = self.parameters(function.results)
        return f"{head} -> {results} {self.body(function.body)}"

    def program(self, program: core.Program) -> str:
        parts = []
        if program.constants:
            lines = [self.statement(statement) for statement in program.constants]
            parts.append(f"constants {braces(lines)}")
        functions = [self.function(function) for function in program.functions]
        entries = "\n".join(self.entry(entry) for entry in program.entries)
        return "\n\n".join(([entries] if entries else []) + parts + functions) + "\n"

    # --- entries ---

    def entry(self, entry: core.Entry) -> str:
        head = f"entry {quoted(entry.name)} = {self.name(entry.function)}"
        sides = [
            f"({', '.join(self.entry_type(type_) for type_ in types)})"
            for types in (entry.parameters, entry.results)
        ]
        text = f"{head} sizes {entry.sizes} {sides[0]} -> {sides[1]}"
        if entry.attributes:
            text += f" attributes {' '.join(map(quoted, entry.attributes))}"
        return text

    def entry_type(self, type_: core.EntryType) -> str:
        words = [quoted(type_.name), quoted(type_.text), quoted(type_.kind)]
        words.append(str(type_.leaves))
        if type_.unique:
            words.append("unique")
        if type_.slots:
            words.append(f"slots {' '.join(map(str, type_.slots))}")
        if type_.parts:
            inner = ", ".join(self.entry_type(part) for part in type_.parts)
            words.append(f"({inner})")
        return " ".join(words)

    # --- anything ---

    def any(self, node: Any) -> str:
        match node:
            case core.Program():
                return self.program(node)
            case core.Function():
                return self.function(node)
            case Stm():
                return self.statement(node)
            case Body():
                return self.body(node)
            case KernelBody():
                return self.kernel_body(node)
            case Lambda():
                return self.lambda_(node)
            case Param():
                return self.parameter(node)
            case core.Entry():
                return self.entry(node)
            case Size():
                return self.size(node)
            case ScalarType() | ArrayType() | AccType():
                return self.type(node)
            case Name() | Constant():
                return self.atom(node)
            case Operator() | str():
                return str(node)
            case tuple() | list():
                separator = "\n" if any(isinstance(n, Stm) for n in node) else ", "
                return separator.join(self.any(part) for part in node)
        return self.expression(node)


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
