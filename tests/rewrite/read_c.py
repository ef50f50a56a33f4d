"""A small part of OpenCL C back to KernelCode: the language of the examples of rules.

    for (long i = 0L; i < n; i++) {        For(i, 0, n, 1, (
        float x = xs[i];                       Declare(x, Load(xs, i)),
        ys[i] = x * x;                         Store(ys, i, mul_f32(x, x))))
    }

Scalars, loops (`PARALLEL` before them) and branches as the printer writes them; the
printer leaves out `STREAMING`.
Arithmetic on `long` is that of indices; on other types it is the program's, whose
operators may also be called by name (`div_i64(x, y)`). Numbers are of the type that
their place needs.
"""

from __future__ import annotations

import re

from minifut.ir.node import replace
from minifut.ir.scalar_opencl import C_NAMES
from minifut.ir.scalars import operator
from minifut.ir.sizes import Size, maximum, minimum
from minifut.ir.types import BOOL, F16, F32, SCALARS, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.names import NameSource

TYPES = {C_NAMES[t.name]: t for t in SCALARS.values() if t != F16} | {"half": F16}
LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*",),
)
"""infix signs, those that bind least first"""
NAMED = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_TOKEN = re.compile(r"\s*(\d+\.\d+f?|\d+|[A-Za-z_]\w*|\+\+|\+=|[|&=!<>]=|\|\||&&|.)")


def as_size(exp: kc.Expression) -> Size:
    """An index that is a sum of products."""
    match exp:
        case kc.SizeValue(size, _):
            return size
        case kc.Variable(name, _):
            return Size.of(name)
        case kc.Literal(number, _):
            return Size.constant(int(number))
        case kc.Binary("+" | "-" | "*" as sign, left, right, _):
            a, b = as_size(left), as_size(right)
            return a + b if sign == "+" else a - b if sign == "-" else a * b
    raise ValueError(f"no size: {exp}")


class Reader:
    """Reads statements; `variables` and `memories` are those known so far, by text."""

    def __init__(self, names: NameSource) -> None:
        self.names = names
        self.variables: dict[str, kc.Variable] = {}
        self.memories: dict[str, kc.Memory] = {}
        self.tokens: list[str] = []

    # --- tokens -----------------------------------------------------------------------

    def start(self, text: str) -> None:
        """What is read next."""
        self.tokens = [token for token in _TOKEN.findall(text) if token.strip()][::-1]

    @property
    def next(self) -> str:
        return self.tokens[-1] if self.tokens else ""

    def take(self, wanted: str | None = None) -> str:
        """The next token, which must be the wanted one if there is one."""
        found = self.tokens.pop() if self.tokens else ""
        if wanted is not None and found != wanted:
            raise ValueError(f"{wanted!r} expected, not {found!r}")
        return found

    def took(self, token: str) -> bool:
        """Whether this token was next; then it is taken."""
        if self.next != token:
            return False
        self.tokens.pop()
        return True

    # --- parameters -------------------------------------------------------------------

    def parameters(self) -> list[kc.Variable | kc.Memory]:
        """`(const float *xs, long n)`: memories of the device and scalars."""
        self.take("(")
        found: list[kc.Variable | kc.Memory] = []
        while not self.took(")"):
            self.took("const")
            word = self.take()
            truth = BOOL if word == "uchar" else TYPES[word]
            if self.took("*"):
                text = self.take()
                memory = kc.Memory(self.names.fresh(text), truth)
                self.memories[text] = memory
                found.append(memory)
            else:
                found.append(self.variable(TYPES[word], self.take()))
            self.took(",")
        return found

    def variable(self, type_: ScalarType, text: str) -> kc.Variable:
        """A new variable."""
        made = kc.Variable(self.names.fresh(text), kc.VectorType(type_))
        self.variables[text] = made
        return made

    # --- statements -------------------------------------------------------------------

    def statements(self) -> tuple[kc.Statement, ...]:
        """All up to a closing brace, or the end."""
        found = []
        while self.next not in ("", "}"):
            found.append(self.statement())
        return tuple(found)

    def block(self) -> kc.Block:
        self.take("{")
        inside = kc.Block(self.statements())
        self.take("}")
        return inside

    def statement(self) -> kc.Statement:
        word = self.next
        if self.took("PARALLEL"):
            return replace(self.loop(), parallel=True)
        if self.took("STREAMING"):
            return replace(self.loop(), streams=True)
        if self.took("NARROW"):
            return replace(self.loop(), narrow=True)
        if self.took("SCALAR"):
            return replace(self.loop(), scalar=True)
        if word == "for":
            return self.loop()
        if word == "{":
            return self.block()
        if word in ("while", "if"):
            self.take()
            self.take("(")
            condition = self.expression(BOOL)
            self.take(")")
            body = self.block()
            if word == "while":
                return kc.While(condition, body)
            otherwise = self.block() if self.took("else") else None
            return kc.Branch(condition, body, otherwise)
        if word in TYPES:
            type_ = TYPES[self.take()]
            text = self.take()
            if self.took("["):
                memory = kc.Memory(self.names.fresh(text), type_, "private")
                self.memories[text] = memory
                count = self.take()
                self.take("]")
                self.take(";")
                return kc.DeclareArray(memory, Size.constant(int(count)))
            init = self.expression(type_) if self.took("=") else None
            self.take(";")
            return kc.Declare(self.variable(type_, text), init)
        if word == "minifut_fail0":
            return self.failure()
        return self.assignment()

    def failure(self) -> kc.Fail:
        """A failure without values, and what leaves the kernel."""
        for token in ("minifut_fail0", "(", "failure", ","):
            self.take(token)
        number = int(self.take())
        for token in (")", ";", "return", ";"):
            self.take(token)
        return kc.Fail(number, ())

    def assignment(self) -> kc.Statement:
        text = self.take()
        made: kc.Statement
        if text in self.memories:
            memory = self.memories[text]
            index = self.index()
            self.take("=")
            made = kc.Store(memory, index, self.expression(memory.element))
        else:
            variable = self.variables[text]
            self.take("=")
            made = kc.Assign(variable, self.expression(variable.type.scalar))
        self.take(";")
        return made

    def loop(self) -> kc.For:
        self.take("for")
        self.take("(")
        type_ = TYPES[self.take()]
        text = self.take()
        self.take("=")
        start = self.expression(type_)
        self.take(";")
        variable = self.variable(type_, text)
        for token in (text, "<"):
            self.take(token)
        bound = self.expression(type_)
        if isinstance(bound, kc.Binary) and isinstance(start, kc.Variable):
            # `start + 4`: the very start
            left = bound.left
            if isinstance(left, kc.Variable) and left.name == start.name:
                bound = kc.Binary(bound.symbol, start, bound.right, bound.type)
        self.take(";")
        self.take(text)
        step = 1 if self.took("++") else self.step()
        self.take(")")
        each = kc.Literal(step, kc.VectorType(type_))
        return kc.For(variable, start, bound, each, self.block())

    def step(self) -> int:
        self.take("+=")
        return int(self.take())

    def index(self) -> kc.Expression:
        self.take("[")
        found = self.expression(kc.LONG.scalar)
        self.take("]")
        return found

    # --- expressions ------------------------------------------------------------------

    def expression(self, wanted: ScalarType) -> kc.Expression:
        """An expression; plain numbers in it are of the wanted type."""
        found = self.infix(0, wanted)
        if not self.took("?"):
            return found
        then = self.infix(0, wanted)
        self.take(":")
        return kc.Select(found, then, self.expression(wanted), then.type)

    def infix(self, level: int, wanted: ScalarType) -> kc.Expression:
        if level == len(LEVELS):
            return self.unary(wanted)
        left = self.infix(level + 1, wanted)
        while self.next in LEVELS[level]:
            sign = self.take()
            left = self.applied(sign, left, self.infix(level + 1, left.type.scalar))
        return left

    def applied(
        self, sign: str, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression:
        if sign in COMPARED or sign in ("&&", "||"):
            return kc.Binary(sign, left, right, kc.TRUTH)
        if left.type == kc.LONG:
            return kc.Binary(sign, left, right, kc.LONG)
        used = operator(NAMED[sign], left.type.scalar)
        return kc.Operation(used, (left, right), left.type)

    def unary(self, wanted: ScalarType) -> kc.Expression:
        if self.took("!"):
            return kc.Call("!", (self.unary(BOOL),), kc.TRUTH)
        if self.took("("):
            if self.next in TYPES:
                type_ = kc.VectorType(TYPES[self.take()])
                self.take(")")
                return kc.Cast(self.unary(type_.scalar), type_)
            found = self.expression(wanted)
            self.take(")")
            return found
        return self.primary(wanted)

    def primary(self, wanted: ScalarType) -> kc.Expression:
        text = self.take()
        if text in ("true", "false"):
            return kc.Literal(text == "true", kc.TRUTH)
        if text[0].isdigit():
            if "." in text:
                return kc.Literal(float(text.rstrip("f")), kc.VectorType(F32))
            return kc.Literal(int(text), kc.VectorType(wanted))
        if text in self.memories:
            memory = self.memories[text]
            return kc.Load(memory, self.index(), kc.VectorType(memory.element))
        if text in self.variables:
            return self.variables[text]
        if text in ("min", "max"):
            return self.extreme(text)
        return self.call(text)

    def extreme(self, text: str) -> kc.Expression:
        """The least or greatest of two indices, as a size."""
        self.take("(")
        sizes = [as_size(self.expression(kc.LONG.scalar))]
        self.take(",")
        sizes.append(as_size(self.expression(kc.LONG.scalar)))
        self.take(")")
        return kc.SizeValue(minimum(*sizes) if text == "min" else maximum(*sizes))

    def call(self, text: str) -> kc.Expression:
        """An operator by its name and type."""
        name, _, type_name = text.rpartition("_")
        type_ = SCALARS[type_name]
        used = operator(name, type_)
        self.take("(")
        operands = []
        while not self.took(")"):
            operands.append(self.expression(type_))
            self.took(",")
        return kc.Operation(used, tuple(operands), kc.VectorType(used.result))
