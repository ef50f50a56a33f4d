"""Reads expressions, memories, types and sizes of printed kernel code.

    (i + 1i64)        xs[i] as f32x4        select(a, b, c)        acc@(r, 2)

The first token and the operator after it decide what an expression is. A name that was
not declared is an i64."""

from __future__ import annotations

import re
from typing import Any

from minifut.ir.node import replace
from minifut.ir.reader import Reader, name_of
from minifut.ir.scalars import Operator, parse_operator
from minifut.ir.sizes import Size
from minifut.ir.tokens import SCALAR
from minifut.ir.types import SCALARS, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.printer import Declared
from minifut.kernel_ir.types import natural_type
from minifut.names import Name

_TYPE = re.compile(rf"({SCALAR})(?:x(\d+))?")
SPACES = frozenset({"global", "local", "private"})


def read_type(text: str) -> kc.VectorType | None:
    """`f32x4`; None for another word."""
    found = _TYPE.fullmatch(text)
    return found and kc.VectorType(SCALARS[found[1]], int(found[2] or 1))


class ExpressionReader(Reader):
    """Reads what is in statements; `declared` is what was declared before."""

    def __init__(self, text: str) -> None:
        self.declared = Declared()
        super().__init__(text)

    def scalar(self) -> ScalarType:
        return self.vector_type().scalar

    def vector_type(self) -> kc.VectorType:
        type_ = read_type(self.token)
        if type_ is None:
            raise self.fault("a type")
        self.advance()
        return type_

    def memory(self) -> kc.Memory:
        """A memory that is declared, or one in full."""
        name = self.name()
        if self.take(":"):
            return self.memory_of(name)
        memory = self.declared.of(name)
        if not isinstance(memory, kc.Memory):
            raise self.fault(f"a memory instead of {name}")
        return memory

    def memory_of(self, name: Name) -> kc.Memory:
        if self.token not in SPACES:
            raise self.fault("global, local or private")
        space = self.advance()
        return kc.Memory(name, self.scalar(), space)

    # --- expressions ------------------------------------------------------------------

    def exp(self) -> kc.Expression:
        """An expression, by its first token and the sign behind it."""
        made = self.primary()
        if self.take("as"):
            return _typed(made, self.vector_type())
        return made

    def primary(self) -> kc.Expression:
        if self.kind == "number" or self.token in ("true", "false"):
            return self.literal()
        if self.take("("):
            return self.binary()
        if self.kind == "sign" and self.token == "!":
            return self.operands(kc.Call, "function", self.advance())
        word = self.of_kind("word", "an expression")
        if self.token == "(" or word == "vector":
            return self.call_like(word)
        name = name_of(word)
        if self.token == "[":
            memory = self.declared.of(name)
            if not isinstance(memory, kc.Memory):
                raise self.fault(f"no index, since {name} is no memory,")
            return self.element(memory)
        indices: tuple[Name | Size, ...] | None = None
        if self.take("@"):
            indices = self.list(self.copy_index)
        if self.take(":"):
            if self.token in SPACES:
                return self.element(self.memory_of(name))
            type_: Any = self.vector_type()
        else:
            type_ = self.declared.of(name)
            if isinstance(type_, kc.Memory):
                raise self.fault(f"'[', since {name} is a memory,")
        if indices is not None:
            return kc.Register(name, indices, type_)
        return kc.Variable(name, type_)

    def copy_index(self) -> Name | Size:
        """What numbers a copy of a register."""
        if self.kind == "int":
            return self.size()
        if self.token == "size" and self.follows("("):
            return self.size_in_parentheses()
        return self.name()

    def size_in_parentheses(self) -> Size:
        """`size(n + 1)`."""
        self.expect("size")
        (size,) = self.list(self.size)
        assert isinstance(size, Size)
        return size

    def binary(self) -> kc.Expression:
        left = self.exp()
        symbol = self.of_kind("sign", "an operator")
        right = self.exp()
        self.expect(")")
        return _natural(kc.Binary(symbol, left, right, left.type))

    def element(self, memory: kc.Memory) -> kc.Expression:
        self.expect("[")
        index = self.exp()
        mask = self.exp() if self.take("where") else None
        self.expect("]")
        return kc.Load(memory, index, kc.VectorType(memory.element), mask)

    def call_like(self, word: str) -> kc.Expression:
        """What begins with a word and parentheses."""
        if word == "size":
            return kc.SizeValue(self.list(self.size)[0])
        if word == "select":
            condition, then, otherwise = self.list(self.exp)
            return kc.Select(condition, then, otherwise, then.type)
        if word == "lane":
            self.expect("(")
            vector = self.exp()
            self.expect(",")
            lane = self.integer()
            self.expect(")")
            return kc.Component(vector, lane, kc.VectorType(vector.type.scalar))
        if word == "vector":
            type_ = self.vector_type()
            return kc.Vector(self.list(self.exp), type_)
        if (converted := read_type(word)) is not None:
            (operand,) = self.list(self.exp)
            return kc.Cast(operand, converted)
        operator = parse_operator(word)
        if operator is not None:
            return self.operands(kc.Operation, "operator", operator)
        return self.operands(kc.Call, "function", word)

    def operands(self, cls: type[Any], field: str, of: str | Operator) -> kc.Expression:
        operands = self.list(self.exp)
        return _natural(cls(**{field: of}, operands=operands, type=kc.LONG))

    def literal(self) -> kc.Literal:
        constant, lanes = self.lanes()
        return kc.Literal(constant.value, kc.VectorType(constant.type, lanes))


def _natural(exp: Any) -> kc.Expression:
    return _typed(exp, natural_type(exp) or exp.type)


def _typed(exp: Any, type_: kc.VectorType) -> kc.Expression:
    made: kc.Expression = replace(exp, type=type_)
    return made
