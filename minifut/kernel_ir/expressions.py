"""KernelCode: types, memories and expressions of kernels.

The operators `+ - * // % << >> < <= > >= & |` of Python build expressions; `//` and `%`
are C's division, so only for operands that are not negative. There is no `==`: two
nodes are compared by identity, so `equals` and `differs` build comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TypeAlias

from minifut.ir.node import immutable, node
from minifut.ir.scalars import INFIX, Operator
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I32, I64, U64, ScalarType
from minifut.names import Name


@immutable
class VectorType:
    """A scalar in `lanes` lanes; one lane is the scalar itself."""

    scalar: ScalarType
    lanes: int = 1

    def __eq__(self, other: object) -> bool:
        # types of expressions are compared all the time
        return self is other or (
            type(other) is VectorType
            and self.lanes == other.lanes
            and self.scalar.name == other.scalar.name
        )

    def __str__(self) -> str:
        return f"{self.scalar}x{self.lanes}" if self.lanes > 1 else str(self.scalar)


LONG = VectorType(I64)
INT = VectorType(I32)
ULONG = VectorType(U64)
TRUTH = VectorType(BOOL)

FENCES = (Name("CLK_LOCAL_MEM_FENCE", 0), Name("CLK_GLOBAL_MEM_FENCE", 0))
"""constants of OpenCL C, of type int: which memory a fence orders"""


@immutable
class Memory:
    """A block of elements of one type; `space` is "global", "local" or "private".

    On the host the name is the variable that holds the buffer; a kernel that mentions a
    global memory of the host gets it as a parameter of the same name.
    """

    name: Name
    element: ScalarType
    space: str = "global"


class Expression:
    """The root of kernel expressions; gives them Python's arithmetic operators. Below
    one there are only expressions: a search for statements ends at it. `sources`: what
    its value depends on, kept by the first query (`vectorise.varying`); no field."""

    __slots__ = ("sources",)
    is_expression = True
    type: VectorType

    def __add__(self, other: Operand) -> Expression:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _arithmetic("*", other, self)

    def __floordiv__(self, other: Operand) -> Expression:
        return _arithmetic("/", self, other)

    def __mod__(self, other: Operand) -> Expression:
        return _arithmetic("%", self, other)

    def __rshift__(self, other: Operand) -> Expression:
        return _arithmetic(">>", self, other)

    def __lshift__(self, other: Operand) -> Expression:
        return _arithmetic("<<", self, other)

    def __and__(self, other: Operand) -> Expression:
        return _arithmetic("&", self, other)

    def __or__(self, other: Operand) -> Expression:
        return _arithmetic("|", self, other)

    def __lt__(self, other: Operand) -> Expression:
        return _comparison("<", self, other)

    def __le__(self, other: Operand) -> Expression:
        return _comparison("<=", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return _comparison(">", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return _comparison(">=", self, other)

    def equals(self, other: Operand) -> Expression:
        """`self == other` in the kernel."""
        return _comparison("==", self, other)

    def differs(self, other: Operand) -> Expression:
        """`self != other` in the kernel."""
        return _comparison("!=", self, other)


Operand: TypeAlias = "Expression | int"


@node
class Variable(Expression):
    """The value of a declared variable or scalar parameter."""

    printed = "{name}"
    name: Name
    type: VectorType


@node
class Register(Expression):
    """One of a family of variables, `acc_r2x0`: the indices are those of the `Unrolled`
    around it, or sizes over those. Its copies are declared one by one."""

    printed = "{family}@{indices}"
    family: Name
    indices: tuple[Name | Size, ...]
    type: VectorType


@node
class Literal(Expression):
    """A constant, the same in all lanes."""

    printed = "{value}"
    value: int | float | bool
    type: VectorType


@node
class Binary(Expression):
    """A plain infix operator of C: index arithmetic, comparisons, `&&`, `||`."""

    printed = "({left} {symbol} {right})"
    symbol: str
    left: Expression
    right: Expression
    type: VectorType


@node
class Operation(Expression):
    """A scalar operator of the program, with the meaning that `ir.scalars` gives it."""

    printed = "{operator}{operands}"
    operator: Operator
    operands: tuple[Expression, ...]
    type: VectorType


@node
class Call(Expression):
    """A built-in function of OpenCL C (`get_group_id`, `fma`, `shuffle`, ...)."""

    printed = "{function}{operands}"
    function: str
    operands: tuple[Expression, ...]
    type: VectorType


@node
class Cast(Expression):
    """C's conversion of the operand to the type, lane by lane."""

    printed = "{type}({operand})"
    operand: Expression
    type: VectorType


@node
class Select(Expression):
    """`condition ? then : otherwise` for scalars."""

    printed = "select({condition}, {then}, {otherwise})"
    condition: Expression
    then: Expression
    otherwise: Expression
    type: VectorType


@node
class Load(Expression):
    """The element at `index` of the memory; for several lanes, consecutive ones, and 0
    without an access in those that are not in the mask. With a mask each lane may have
    an index of its own."""

    printed = "{memory}[{index}<? where {mask}>]"
    memory: Memory
    index: Expression
    type: VectorType
    mask: Expression | None = None


@node
class SizeValue(Expression):
    """A size over variables of the kernel (i64)."""

    printed = "size({size})"
    size: Size
    type: VectorType = LONG


@node
class Component(Expression):
    """One lane of a vector."""

    printed = "lane({vector}, {lane})"
    vector: Expression
    lane: int
    type: VectorType


@node
class Vector(Expression):
    """A vector built from the values of its lanes, or from one value for all."""

    printed = "vector {type}{components}"
    components: tuple[Expression, ...]
    type: VectorType


MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""comparisons with the operands exchanged"""
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def infix(exp: Expression) -> tuple[str, Expression, Expression] | None:
    """The sign and the operands of an operation on two, one of C or the same one of the
    core; the name of an operator without a sign. `a + b` and `add_i64(a, b)` are +."""
    match exp:
        case Binary(symbol, left, right):
            return symbol, left, right
        case Operation(operator, (left, right)):
            return INFIX.get(operator.name, operator.name), left, right
    return None


def zero(scalar: ScalarType) -> Literal:
    """0, 0.0 or false."""
    return Literal(scalar.nearest(0), VectorType(scalar))


def all_of(conditions: Iterable[Expression]) -> Expression:
    """Whether all conditions hold."""
    return _joined("&&", conditions, True)


def any_of(conditions: Iterable[Expression]) -> Expression:
    """Whether one of the conditions holds."""
    return _joined("||", conditions, False)


def _joined(symbol: str, conditions: Iterable[Expression], none: bool) -> Expression:
    first, *others = tuple(conditions) or (Literal(none, TRUTH),)
    return reduce(lambda a, b: Binary(symbol, a, b, TRUTH), others, first)


def as_expression(operand: Operand, type_: VectorType = LONG) -> Expression:
    """An int stands for a constant of the given type."""
    return operand if isinstance(operand, Expression) else Literal(operand, type_)


def _pair(left: Operand, right: Operand) -> tuple[Expression, Expression]:
    if not isinstance(left, Expression):
        assert isinstance(right, Expression)
        return Literal(left, right.type), right
    return left, as_expression(right, left.type)


def _arithmetic(symbol: str, left: Operand, right: Operand) -> Expression:
    a, b = _pair(left, right)
    known = [e.value if isinstance(e, Literal) else None for e in (a, b)]
    if (symbol in "+-" and known[1] == 0) or (symbol in "*/" and known[1] == 1):
        return a
    if (symbol == "+" and known[0] == 0) or (symbol == "*" and known[0] == 1):
        return b
    return Binary(symbol, a, b, a.type)


def _comparison(symbol: str, left: Operand, right: Operand) -> Expression:
    a, b = _pair(left, right)
    return Binary(symbol, a, b, VectorType(BOOL, a.type.lanes))
