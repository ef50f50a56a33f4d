"""KernelCode: a small statement language for kernels and for the host around them.

Kernel side: typed scalar variables (`VectorType` is a scalar type in 1, 2, 4, 8 or 16
lanes), loops, ifs, loads and stores, barriers, local and private arrays, atomics,
numbered failures. Host side: allocations, launches, copies, reads of one element, and
scalar statements. Memory is freed when the last variable that holds it goes: `Drop`.

Variables and memories are `Name`s; the printers find readable texts for them. The
operators `+ - * // % < <= > >= & |` of Python build expressions; `//` and `%` are C's
division, so only for operands that are not negative.
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir.core import Atom, ScalarOp, SizeExp
from minifut.ir.kernels import AtLeast, GetParameter
from minifut.ir.node import node, value
from minifut.ir.scalars import Operator
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I32, I64, ScalarType
from minifut.names import Name


@value
class VectorType:
    """A scalar in `lanes` lanes; one lane is the scalar itself."""

    scalar: ScalarType
    lanes: int = 1

    def __str__(self) -> str:
        return f"{self.scalar}x{self.lanes}" if self.lanes > 1 else str(self.scalar)


LONG = VectorType(I64)
INT = VectorType(I32)
TRUTH = VectorType(BOOL)


@value
class Memory:
    """A block of elements of one type; `space` is "global", "local" or "private".

    On the host the name is the variable that holds the buffer; a kernel that mentions a
    global memory of the host gets it as a parameter of the same name.
    """

    name: Name
    element: ScalarType
    space: str = "global"


# --- expressions in kernels -------------------------------------------------------


class Expression:
    """The root of kernel expressions; gives them Python's arithmetic operators."""

    __slots__ = ()
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

    name: Name
    type: VectorType


@node
class Literal(Expression):
    """A constant, the same in all lanes."""

    value: int | float | bool
    type: VectorType


@node
class Binary(Expression):
    """A plain infix operator of C: index arithmetic, comparisons, `&&`, `||`."""

    symbol: str
    left: Expression
    right: Expression
    type: VectorType


@node
class Operation(Expression):
    """A scalar operator of the program, with the meaning that `ir.scalars` gives it."""

    operator: Operator
    operands: tuple[Expression, ...]
    type: VectorType


@node
class Call(Expression):
    """A built-in function of OpenCL C (`get_group_id`, `fma`, `shuffle`, ...)."""

    function: str
    operands: tuple[Expression, ...]
    type: VectorType


@node
class Cast(Expression):
    """C's conversion of the operand to the type, lane by lane."""

    operand: Expression
    type: VectorType


@node
class Select(Expression):
    """`condition ? then : otherwise` for scalars."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: VectorType


@node
class Load(Expression):
    """The element at `index` of the memory; for several lanes, consecutive ones."""

    memory: Memory
    index: Expression
    type: VectorType


@node
class SizeValue(Expression):
    """A size over variables of the kernel (i64)."""

    size: Size
    type: VectorType = LONG


@node
class Component(Expression):
    """One lane of a vector."""

    vector: Expression
    lane: int
    type: VectorType


@node
class Vector(Expression):
    """A vector built from the values of its lanes, or from one value for all."""

    components: tuple[Expression, ...]
    type: VectorType


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


# --- statements in kernels ----------------------------------------------------------


@node
class Block:
    """Statements in order, in a scope of their own."""

    statements: tuple[Statement, ...]


@node
class Declare:
    """A new variable, with its first value if it has one."""

    variable: Variable
    init: Expression | None = None


@node
class Assign:
    """A new value for a variable (or for one lane of it)."""

    target: Variable | Component
    exp: Expression


@node
class Store:
    """Write to memory; several lanes go to consecutive elements."""

    memory: Memory
    index: Expression
    exp: Expression


@node
class DeclareArray:
    """A local or private array of `count` elements; a local one whose count is not
    constant becomes a parameter of the kernel."""

    memory: Memory
    count: Size


@node
class Evaluate:
    """An expression for its effect (`prefetch`, fences)."""

    exp: Expression


@node
class For:
    """`for (variable = start; variable < bound; variable += step)`.

    `parallel`: the rounds do not depend on each other through memory, which the
    compiler of the device may use to run several at once.
    """

    variable: Variable
    start: Expression
    bound: Expression
    step: Expression
    body: Block
    parallel: bool = False


@node
class While:
    """Runs the body as long as the condition holds."""

    condition: Expression
    body: Block


@node
class Break:
    """Leaves the innermost loop."""


@node
class Branch:
    """`if`, with or without `else`."""

    condition: Expression
    then: Block
    otherwise: Block | None = None


@node
class Reassociate:
    """Statements in which float arithmetic may be reassociated and contracted."""

    body: Block


@node
class Barrier:
    """All work-items of the group meet; `spaces` is "local", "global" or "both"."""

    spaces: str = "local"


@node
class AtomicUpdate:
    """`old = function(&memory[index], operands...)`, such as atomic_add, in one step.

    The type of the operands, an integer of 32 or 64 bits, is that of the memory.
    """

    function: str
    memory: Memory
    index: Expression
    operands: tuple[Expression, ...]
    old: Variable | None = None


@node
class Fail:
    """Record failure `number` with up to eight values, unless one is recorded already,
    and leave: return, or jump to `label` where barriers follow."""

    number: int
    values: tuple[Expression, ...]
    label: str | None = None


@node
class Label:
    """Where `Fail` jumps to: stands directly before a barrier."""

    name: str


@node
class Return:
    """The work-item ends here."""


@node
class Comment:
    """A line for the reader."""

    text: str


Statement: TypeAlias = (
    Block
    | Declare
    | Assign
    | Store
    | DeclareArray
    | Evaluate
    | For
    | While
    | Break
    | Branch
    | Reassociate
    | Barrier
    | AtomicUpdate
    | Fail
    | Label
    | Return
    | Comment
)


@node
class MemoryParameter:
    """A global buffer; `written` tells whether the kernel stores to it."""

    memory: Memory
    written: bool


@node
class LocalParameter:
    """Local memory whose number of elements the host computes."""

    memory: Memory
    count: Size


@node
class ScalarParameter:
    """A scalar of the host."""

    name: Name
    type: ScalarType


Parameter: TypeAlias = MemoryParameter | LocalParameter | ScalarParameter


@node
class Kernel:
    """One kernel. Group sizes are fixed per kernel; `fresh`: no written buffer can be
    the same as another parameter, so all may be `restrict`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    group_size: tuple[int, ...] | None
    can_fail: bool
    fresh: bool
    comment: str = ""


# --- the host -----------------------------------------------------------------------


@node
class ReadElement:
    """One element of a memory; waits for the device."""

    memory: Memory
    index: Size


@node
class Cores:
    """The number of compute units of the device."""


HostExp: TypeAlias = Atom | ScalarOp | SizeExp | ReadElement | GetParameter | AtLeast | Cores


@node
class HostBlock:
    """Statements in order."""

    statements: tuple[HostStatement, ...]


@node
class HostAssign:
    """`name = exp` for a scalar of the given type."""

    name: Name
    exp: HostExp
    type: ScalarType


@node
class HostMove:
    """All targets get their sources at once; scalars or memories."""

    targets: tuple[Name, ...]
    sources: tuple[Atom, ...]


@node
class Allocate:
    """`memory` becomes a buffer of `count` elements with unspecified contents."""

    memory: Memory
    count: Size


@node
class Drop:
    """The variables end; a buffer that no other variable holds is free."""

    names: tuple[Name, ...]


@node
class Launch:
    """Run a kernel over a grid of work-items; nothing happens when it is empty.

    `arguments` are the texts' values for the kernel's parameters in order: a memory,
    a scalar, or (for local memory) its number of elements.
    """

    kernel: Kernel
    grid: tuple[Size, ...]
    group: tuple[Size, ...]
    arguments: tuple[Memory | Name | Size, ...]


@node
class CopyMemory:
    """`count` elements from one memory to another of the same element type."""

    target: Memory
    target_offset: Size
    source: Memory
    source_offset: Size
    count: Size


@node
class WriteElement:
    """One element of a memory gets a host scalar."""

    memory: Memory
    index: Size
    value: Atom


@node
class HostIf:
    """A conditional of the host."""

    condition: Atom
    then: HostBlock
    otherwise: HostBlock


@node
class HostFor:
    """`index` runs over 0, 1, ... below `bound`."""

    index: Name
    bound: Atom
    body: HostBlock


@node
class HostWhile:
    """Runs as long as the variable `condition` is true."""

    condition: Name
    body: HostBlock


@node
class HostAssert:
    """Failure `number` with the values of its message, unless the condition holds."""

    condition: Atom
    number: int
    values: tuple[Atom, ...]


@node
class HostCall:
    """Call of another host function; memories and scalars alike are names."""

    targets: tuple[Name, ...]
    function: Name
    arguments: tuple[Atom, ...]


@node
class HostTrace:
    """Print a value with its label."""

    label: str
    value: Atom


HostStatement: TypeAlias = (
    HostAssign
    | HostMove
    | Allocate
    | Drop
    | Launch
    | CopyMemory
    | WriteElement
    | HostIf
    | HostFor
    | HostWhile
    | HostAssert
    | HostCall
    | HostTrace
)


@node
class HostFunction:
    """A function of the program: parameters and results are scalars and memories."""

    name: Name
    parameters: tuple[Name, ...]
    body: HostBlock
    results: tuple[Atom, ...]


@value
class Failure:
    """What failure number i says: `message` mixes texts with the types of the values
    recorded with it, in order."""

    message: tuple[str | ScalarType, ...]
    backtrace: tuple[str, ...]
