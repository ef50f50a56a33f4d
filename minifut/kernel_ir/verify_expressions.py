"""What must hold of expressions and memories in kernel code: see `kernel_ir.verify`.

Messages that print types or names are made only where something is at fault: printing
would take longer than to examine.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I32, I64, U8
from minifut.ir.verify import Fault, require
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.types import COMPARISONS, LOGIC, natural_type
from minifut.names import Name

DeclaredType = kc.VectorType | kc.Memory
SHIFTS = ("<<", ">>")


class Expressions:
    """What is visible and what has a value, at one place of a kernel. `masked` are
    variables that got values in some lanes."""

    def __init__(self) -> None:
        self.known: dict[Name, DeclaredType] = dict.fromkeys(kc.FENCES, kc.INT)
        self.given: set[Name] = set(kc.FENCES)
        self.masked: set[Name] = set()
        self.ends = False
        """whether this is unreachable"""

    def declare(self, name: Name, what: DeclaredType, *, given: bool = False) -> None:
        self.known[name] = what
        if given:
            self.given.add(name)
        else:
            self.given.discard(name)

    # --- memories ---------------------------------------------------------------------

    def memory(self, memory: kc.Memory) -> None:
        if self.known.get(memory.name) != memory:
            raise Fault(f"{memory.name} is not visible as {memory.space}")

    def words(self, memory: kc.Memory) -> None:
        """Elements that atomics see as integers."""
        known = self.known.get(memory.name)
        shared = isinstance(known, kc.Memory) and known.space == memory.space
        require(shared, f"{memory.name} is not visible as {memory.space}")

    def global_memory(self, memory: kc.Memory) -> None:
        self.memory(memory)
        require(memory.space == "global", f"{memory.name} is {memory.space} memory")

    # --- expressions ------------------------------------------------------------------

    def visible(self, name: Name, type_: kc.VectorType) -> None:
        known = self.known.get(name)
        if known is None:
            raise Fault(f"{name} is not visible")
        if known != type_:
            raise Fault(f"{name} is {known} and not {type_}")

    def size(self, size: Size) -> None:
        for name in size.names():
            self.read(name, kc.LONG)

    def read(self, name: Name, type_: kc.VectorType) -> None:
        self.visible(name, type_)
        if not (name in self.given or name in self.masked or self.ends):
            raise Fault(f"{name} has no value here")

    def fits(self, exp: kc.Expression, type_: kc.VectorType) -> None:
        self.exp(exp)
        if exp.type != type_:
            raise Fault(f"a value of {exp.type} for one of {type_}")

    def integer(self, exp: kc.Expression) -> None:
        self.exp(exp)
        if exp.type.lanes != 1 or not exp.type.scalar.is_integer:
            raise Fault(f"{exp.type} is no index")

    def truth(self, exp: kc.Expression) -> None:
        self.exp(exp)
        if exp.type.lanes != 1:
            raise Fault(f"a condition of {exp.type}")

    def exp(self, exp: kc.Expression) -> None:
        """An expression and its parts."""
        match exp:
            case kc.Variable(name, type_):
                self.read(name, type_)
                return
            case kc.Literal():
                return
            case kc.Register(family, indices, type_):
                self.visible(family, type_)
                for index in indices:
                    if isinstance(index, Size):
                        self.size(index)
            case kc.SizeValue(size):
                self.size(size)
            case kc.Load(memory, index, type_, mask):
                self.memory(memory)
                self.indices(index, mask, type_)
                self.mask(mask, type_)
                if not element_fits(memory, type_):
                    raise Fault(f"elements of {memory.element}")
            case kc.Binary():
                self.binary(exp)
            case kc.Operation():
                self.operation(exp)
            case kc.Cast(operand, type_):
                self.exp(operand)
                require(operand.type.lanes == type_.lanes, "a cast keeps its lanes")
            case kc.Component(vector, lane):
                self.exp(vector)
                require(0 <= lane < vector.type.lanes, f"there is no lane {lane}")
            case kc.Vector(components, type_):
                self.all(components)
                require(len(components) in (1, type_.lanes), "as many values as lanes")
            case kc.Select(condition, then, otherwise):
                self.all((condition, then, otherwise))
                require(then.type == otherwise.type, "sides of different types")
                lanes = condition.type.lanes
                require(lanes in (1, then.type.lanes), "a mask of another width")
            case kc.Call(_, operands):
                self.all(operands)
                return
        natural = natural_type(exp)
        if natural not in (None, exp.type) and not _is_vector_of(natural, exp.type):
            raise Fault(f"{natural} and not {exp.type}")

    def all(self, exps: Iterable[kc.Expression]) -> None:
        for exp in exps:
            self.exp(exp)

    def indices(
        self, index: kc.Expression, mask: kc.Expression | None, type_: kc.VectorType
    ) -> None:
        """One index, or one for each lane of a mask."""
        if mask is None or index.type.lanes == 1:
            self.integer(index)
        else:
            self.exp(index)
            wanted = kc.VectorType(I64, type_.lanes)
            require(index.type == wanted, "indices are i64s, one for each lane")

    def mask(self, mask: kc.Expression | None, type_: kc.VectorType) -> None:
        """What is active of a vector."""
        if mask is not None:
            self.exp(mask)
            require(mask.type == kc.VectorType(I32, type_.lanes), "a mask is i32s")
            require(type_.lanes > 1, "a scalar access has no mask")

    def binary(self, exp: kc.Binary) -> None:
        self.exp(exp.left)
        self.exp(exp.right)
        left, right = exp.left.type, exp.right.type
        if left == right:
            return
        alike = exp.symbol in COMPARISONS or exp.symbol in LOGIC or exp.symbol in SHIFTS
        if left.lanes != right.lanes or not alike:
            raise Fault(f"{left} {exp.symbol} {right}")

    def operation(self, exp: kc.Operation) -> None:
        self.all(exp.operands)
        for operand, wanted in zip(exp.operands, exp.operator.operands, strict=True):
            found = operand.type.scalar
            mask = wanted == BOOL and operand.type.lanes > 1
            if found != wanted and not mask:
                raise Fault(f"{found} for {wanted} of {exp.operator}")


def element_fits(memory: kc.Memory, type_: kc.VectorType) -> bool:
    """Whether values of a type are elements; truth values in lanes are bytes."""
    return type_.scalar == memory.element or (
        memory.element == BOOL and type_.scalar == U8
    )


def _is_vector_of(natural: kc.VectorType | None, type_: kc.VectorType) -> bool:
    """Whether a type is the natural one of a scalar in several lanes (of a load)."""
    return natural is not None and natural.lanes == 1 and type_.lanes > 1
