"""Reads printed nodes by their forms (`ir.forms`), from left to right.

What comes next follows from the annotation of the field that is read. Where that is a
union, the next token decides, or the one behind it: `add_i32(`, `xs[`, `xs with`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from types import NoneType
from typing import Any, ClassVar, get_args

from minifut.ir import core, forms, kernels, tokens
from minifut.ir.core import Atom, Constant, Param, Stm
from minifut.ir.entries import Entry
from minifut.ir.expressions import Exp
from minifut.ir.scalars import Operator, parse_operator
from minifut.ir.sizes import Size, ceil_div, maximum, minimum
from minifut.ir.types import (
    BOOL,
    SCALARS,
    AccType,
    DataType,
    ScalarType,
    Type,
    array_of,
)
from minifut.names import Name, NameSource

_TAGGED = re.compile(r"(.+)_([1-9][0-9]*)")
_NUMBER = re.compile(rf"(-?)(.*?)({tokens.SCALAR})(?:x(\d+))?(?:\.(\w+))?")
_SPECIAL = {"inf": math.inf, "nan": math.nan, "true": True, "false": False}
_SIZES: dict[str, tuple[Callable[..., Size], float]] = {
    "ceil_div": (ceil_div, 2),
    "floor_div": (lambda a, b: a // b, 2),
    "min": (minimum, math.inf),
    "max": (maximum, math.inf),
}
"""with the most operands; the least are two"""
LEVELS = {
    level.kind: level
    for level in (kernels.GRID, kernels.GROUP, kernels.THREAD, kernels.REGISTER)
}


@cache
def name_of(text: str) -> Name:
    """The name printed as `text`."""
    tagged = _TAGGED.fullmatch(text)
    return Name(tagged[1], int(tagged[2])) if tagged else Name(text, 0)


class Reader(tokens.Tokens):
    """Reads what annotations require."""

    fields: ClassVar[dict[Any, Callable[[Any], Any]]]
    result_types: Sequence[Type] = ()
    """those that the results of the next body have"""

    def whole(self, hint: Any) -> Any:
        """All of the text."""
        try:
            made: Any = self.value(hint)
        except (ValueError, KeyError) as problem:
            raise self.fault(f"no value ({problem})") from problem
        if self.kind != "end":
            raise self.fault("the end")
        return made

    # --- nodes ------------------------------------------------------------------------

    def node(self, cls: type) -> Any:
        """What a form describes."""
        fields: dict[str, Any] = {}
        for part in forms.form_of(cls):
            self.part(cls, part, fields)
        return cls(**fields)

    def part(self, cls: type, part: forms.FormPart, fields: dict[str, Any]) -> None:
        match part:
            case forms.Word(text):
                if not text.isspace():
                    self.expect(text)
            case forms.Head(name, words):
                if self.token not in words:
                    raise self.fault(name)
                self.advance()
            case forms.Flag(name):
                fields[name] = self.take(name)
            case forms.Optional(parts, defaults):
                if self.begins(parts):
                    for inner in parts:
                        self.part(cls, inner, fields)
                else:
                    fields.update(defaults)
            case forms.Each():
                self.each(cls, part, fields)
            case forms.Field(name):
                made = self.field(cls, part)
                if part.component is not None:
                    made = (*fields.get(name, ()), made)
                fields[name] = made

    def each(self, cls: type, part: forms.Each, fields: dict[str, Any]) -> None:
        rows: list[dict[str, Any]] = []
        while self.token not in (")", "]") if part.commas else self.begins(part.parts):
            if rows and part.commas:
                self.expect(",")
            rows.append({})
            for inner in part.parts:
                self.part(cls, inner, rows[-1])
        fields.update({name: tuple(row[name] for row in rows) for name in part.names})

    def begins(self, parts: tuple[forms.FormPart, ...]) -> bool:
        """Whether the next token is one with which parts begin."""
        return self.kind != "string" and self.token in forms.beginnings(parts)

    def field(self, cls: type, field: forms.Field) -> Any:
        """A field of a class."""
        return self.value(field.hint)

    # --- fields -----------------------------------------------------------------------

    def value(self, hint: Any) -> Any:
        """What an annotation requires."""
        if hint in self.fields:
            return self.fields[hint](self)
        item = forms.item_of(hint)
        if item is not None:
            return self.list(lambda: self.value(item))
        options = forms.options_of(hint)
        if NoneType in get_args(hint) and self.take("_"):
            return None
        if len(options) > 1:
            return self.union(hint, options)
        if options[0] is not hint:
            return self.value(options[0])
        if not isinstance(hint, type):  # a tuple of a fixed length
            inner = iter(get_args(hint))
            return self.list(lambda: self.value(next(inner)))
        return self.node(hint)

    def union(self, hint: Any, options: tuple[Any, ...]) -> Any:
        """The member that the next tokens select."""
        cls = None
        if self.kind != "string":
            cls = forms.alternatives(hint).get(self.token)
        elif str in options:
            return self.string()
        followed = forms.followed(hint)
        if cls is None:
            follows = (f for f in followed if f is not None and self.follows(f))
            cls = followed.get(next(follows, None))
        if cls is not None:
            return self.node(cls)
        return self.atom()

    def list(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        """In parentheses, with commas."""
        self.expect("(")
        found: list[Any] = []
        while not self.take(")"):
            if found:
                self.expect(",")
            found.append(read())
        if found and isinstance(found[0], get_args(Type)):
            self.result_types = found
        return tuple(found)

    # --- words, names and constants ---

    def string(self) -> str:
        """A text in quotes, or a word that needs none."""
        if self.kind == "string":
            return str(json.loads(self.advance()))
        return self.of_kind("word", "a word or a text in quotes")

    def integer(self) -> int:
        sign = -1 if self.take("-") else 1
        return sign * int(self.of_kind("int", "a number"))

    def name(self) -> Name:
        return name_of(self.of_kind("word", "a name"))

    def atom(self) -> Atom:
        if self.kind == "number" or self.token in ("true", "false"):
            return self.constant()
        return name_of(self.of_kind("word", "a name or a constant"))

    def constant(self) -> Constant:
        return self.lanes()[0]

    def lanes(self) -> tuple[Constant, int]:
        """A constant in some lanes: `1.0f32x4`, `-f64.inf`, `true`."""
        if self.token in ("true", "false"):
            return Constant(self.advance() == "true", BOOL), 1
        found = _NUMBER.fullmatch(self.of_kind("number", "a constant"))
        assert found is not None
        sign, digits, scalar, lanes, special = found.groups()
        type_ = SCALARS[scalar]
        value: int | float | bool
        if special is not None:
            value = _SPECIAL[special]
        else:
            value = float(digits) if type_.is_float else int(digits)
        made = Constant(type_.nearest(-value if sign else value), type_)
        return made, int(lanes or 1)

    def operator(self) -> Operator:
        operator = parse_operator(self.token)
        if operator is None:
            raise self.fault(f"an operator ({self.token} is none)")
        self.advance()
        return operator

    def function_value(self) -> core.Lambda:
        """`\\(a: i32, b: i32) -> (i32) {..}`, or the operator that it applies."""
        if self.token.startswith("\\"):
            made: core.Lambda = self.node(core.Lambda)
            return made
        operator = self.operator()
        left, right = map(self.names.fresh, "ab")
        parameters = tuple(map(Param, (left, right), operator.operands))
        applied = self.bound(core.ScalarOp(operator, (left, right)))
        body = core.Body((applied,), (applied.pattern[0].name,))
        return core.Lambda(parameters, body, (operator.result,))

    def bound(self, exp: core.Exp, wanted: Sequence[Type] = ()) -> Stm:
        """A statement that binds an expression: an operator, or one of the first of the
        types that are wanted."""
        if isinstance(exp, core.ScalarOp):
            wanted = (exp.operator.result,)
        if not wanted:
            raise self.fault("a result whose type is known")
        return Stm((Param(self.names.fresh("c"), wanted[0]),), exp)

    @cached_property
    def names(self) -> NameSource:
        """Names that do not occur in the text."""
        return NameSource(
            1 + max(map(int, re.findall(r"_(\d+)", self.text)), default=0)
        )

    def level(self) -> kernels.Level:
        if self.token not in LEVELS:
            raise self.fault(" or ".join(LEVELS))
        return LEVELS[self.advance()]

    # --- sizes and types ---

    def size(self) -> Size:
        """A sum of products."""
        total = -self.product() if self.take("-") else self.product()
        while self.token in ("+", "-") and self.kind == "sign":
            sign = self.advance()
            term = self.product()
            total = total + term if sign == "+" else total - term
        return total

    def product(self) -> Size:
        found = self.factor()
        while self.take("*"):
            found = found * self.factor()
        return found

    def factor(self) -> Size:
        if self.kind == "int":
            return Size.constant(int(self.advance()))
        if self.take("("):
            inner = self.size()
            self.expect(")")
            return inner
        if self.token in _SIZES and self.follows("("):
            make, most = _SIZES[self.advance()]
            operands = self.list(self.size)
            if not 2 <= len(operands) <= most:
                raise self.fault("two operands of a size")
            return make(*operands)
        return Size.of(self.name())

    def shape(self) -> tuple[Size, ...]:
        """`[n][m]`, or `[]` without dimensions."""
        found: list[Size] = []
        while self.take("["):
            if not found and self.take("]"):
                break
            found.append(self.size())
            self.expect("]")
        return tuple(found)

    def scalar(self) -> ScalarType:
        if self.token not in SCALARS:
            raise self.fault("a type")
        return SCALARS[self.advance()]

    def type(self) -> Type:
        if self.take("acc"):
            elements = tuple[DataType, ...]
            wanted = self.result_types
            made = AccType(self.name(), self.shape(), self.value(elements))
            self.result_types = wanted
            return made
        shape = self.shape()
        return array_of(self.scalar(), shape)

    # --- statements -------------------------------------------------------------------

    def parameter(self) -> Param:
        name = self.name()
        self.expect(":")
        unique = self.take("*")
        return Param(name, self.type(), unique)

    def statement(self) -> Stm:
        attributes = []
        while self.token == "#":
            attributes.append(self.cut(self.text.index("]", self.begin) + 1)[2:-1])
        self.expect("let")
        several = self.token == "("
        pattern = self.list(self.parameter) if several else (self.parameter(),)
        self.result_types = [parameter.type for parameter in pattern]
        self.expect("=")
        return Stm(pattern, self.value(Exp), tuple(attributes))

    def statements(self) -> tuple[Stm, ...]:
        """All that follow each other."""
        found: list[Stm] = []
        while self.token in ("let", "#"):
            found.append(self.statement())
        return tuple(found)

    def body(self, result: Any = Atom) -> tuple[tuple[Stm, ...], tuple[Any, ...]]:
        """Statements in braces, and the results behind them. One may be an expression,
        as in `{add_i32(x, 1i32)}`, of the type that such a result is said to have."""
        self.expect("{")
        types = self.result_types
        statements = self.statements()
        if not self.take("return") and statements:
            raise self.fault("'return'")
        results: list[Any] = []
        while not self.take("}"):
            if results:
                self.expect(",")
            if result is not Atom and not self.take("returns"):
                results.append(self.value(result))
                continue
            if self.follows(",") or self.follows("}"):
                value = self.atom()
            else:
                self.result_types = types[len(results) :]
                bound = self.bound(self.value(Exp), types[len(results) :])
                statements = (*statements, bound)
                value = bound.pattern[0].name
            results.append(value if result is Atom else kernels.Returns(value))
        self.result_types = types
        return statements, tuple(results)

    def program(self) -> core.Program:
        entries: list[Entry] = []
        functions: list[core.Function] = []
        while self.token == "entry":
            entries.append(self.node(Entry))
        constants: tuple[Stm, ...] = ()
        if self.take("constants"):
            self.expect("{")
            constants = self.statements()
            self.expect("}")
        while self.token == "fun":
            functions.append(self.node(core.Function))
        return core.Program(tuple(entries), constants, tuple(functions))


Reader.fields = {
    int: Reader.integer,
    str: Reader.string,
    Name: Reader.name,
    Atom: Reader.atom,
    Constant: Reader.constant,
    Operator: Reader.operator,
    core.Lambda: Reader.function_value,
    kernels.Level: Reader.level,
    Size: Reader.size,
    tuple[Size, ...]: Reader.shape,
    ScalarType: Reader.scalar,
    Type: Reader.type,
    DataType: Reader.type,
    Param: Reader.parameter,
    tuple[Stm, ...]: Reader.statements,
    core.Body: lambda reader: core.Body(*reader.body()),
    kernels.KernelBody: lambda reader: kernels.KernelBody(
        *reader.body(kernels.KernelResult)
    ),
    core.Program: Reader.program,
}
