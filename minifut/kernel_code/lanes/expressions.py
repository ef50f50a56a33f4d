"""Expressions lifted to lanes; see the package.

A truth value that varies is a mask: an i32 in each lane, -1 or 0, whatever was compared
(`select` wants it as wide as what it chooses, so it is converted where it is used). An
operator that has no vector spelling is applied lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.scalar_opencl import spelling
from minifut.ir.scalars import COMPARISONS, Operator
from minifut.ir.types import BOOL, F32, F64, I8, I16, I32, I64, U8, ScalarType
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lanes.affine import Affine, affine, is_zero
from minifut.kernel_code.lanes.varying import varies
from minifut.names import Name

COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
INTEGER = {8: I8, 16: I16, 32: I32, 64: I64}


class NotLifted(Exception):
    """The body needs something that lanes do not have; the message says what."""


class Lanes:
    """Lifts expressions; knows which variables vary and which are affine."""

    def __init__(self, width: int, varying: frozenset[Name]) -> None:
        self.width = width
        self.varying = varying
        self.affine: dict[Name, Affine] = {}
        self.mask: kc.Expression | None = None
        self.loops = 0

    # --- types ------------------------------------------------------------------------

    def wide(self, scalar: ScalarType) -> kc.VectorType:
        """The type of a varying value; masks for truth values."""
        return kc.VectorType(I32 if scalar == BOOL else scalar, self.width)

    def varies(self, exp: kc.Expression) -> bool:
        """Whether an expression differs between lanes."""
        return varies(exp, self.varying)

    def spread(self, exp: kc.Expression) -> kc.Expression:
        """The value as a vector, whether it varies or not."""
        if exp.type.lanes > 1:
            return exp
        if exp.type.scalar == BOOL:
            chosen = kc.Select(
                exp, kc.Literal(-1, kc.INT), kc.Literal(0, kc.INT), kc.INT
            )
            return kc.Vector((chosen,), self.wide(BOOL))
        return kc.Vector((exp,), self.wide(exp.type.scalar))

    def lane(self, exp: kc.Expression, number: int) -> kc.Expression:
        """One lane of a lifted value."""
        if exp.type.lanes == 1:
            return exp
        return kc.Component(exp, number, kc.VectorType(exp.type.scalar))

    def each(
        self, make: Callable[[int], kc.Expression], scalar: ScalarType
    ) -> kc.Expression:
        """A vector from an expression for each lane."""
        parts = tuple(make(number) for number in range(self.width))
        return kc.Vector(parts, kc.VectorType(scalar, self.width))

    def integers(self, first: kc.Expression, step: kc.Operand) -> kc.Expression:
        """The vector of an affine value."""
        if is_zero(step):
            return first
        numbers = self.each(lambda n: kc.Literal(n, kc.LONG), I64)
        return self.spread(first) + numbers * self.spread(kc.as_expression(step))

    # --- masks ------------------------------------------------------------------------

    def as_mask(self, compared: kc.Expression, bits: int) -> kc.Expression:
        """What a comparison of operands of so many bits gives, as a mask."""
        return compared if bits == 32 else kc.Cast(compared, self.wide(BOOL))

    def both(self, a: kc.Expression | None, b: kc.Expression) -> kc.Expression:
        """Lanes in both masks."""
        if a is None:
            return b
        return kc.Binary("&", a, b, self.wide(BOOL))

    def choose(
        self, mask: kc.Expression, then: kc.Expression, otherwise: kc.Expression
    ) -> kc.Expression:
        """`then` in the lanes of the mask, `otherwise` in the others."""
        then, otherwise = self.spread(then), self.spread(otherwise)
        bits = _register_bits(then.type.scalar)
        if bits != 32:
            mask = kc.Cast(mask, kc.VectorType(INTEGER[bits], self.width))
        return kc.Select(mask, then, otherwise, then.type)

    # --- expressions ------------------------------------------------------------------

    def lift(self, exp: kc.Expression) -> kc.Expression:
        """The value for all lanes: a vector if it varies, else the expression."""
        if not self.varies(exp):
            return exp
        found = affine(exp, self.affine, self.varying)
        if found is not None:
            return self.integers(*found)
        match exp:
            case kc.Variable(name, type_):
                return kc.Variable(name, self.wide(type_.scalar))
            case kc.Binary():
                return self.binary(exp)
            case kc.Operation(operator, operands, _):
                return self.operation(operator, [self.lift(o) for o in operands])
            case kc.Cast(operand, type_):
                return self.cast(self.lift(operand), operand.type.scalar, type_.scalar)
            case kc.Select(condition, then, otherwise, _):
                chosen, yes, no = (self.lift(e) for e in (condition, then, otherwise))
                if chosen.type.lanes > 1:
                    return self.choose(chosen, yes, no)
                yes, no = self.spread(yes), self.spread(no)
                return kc.Select(chosen, yes, no, yes.type)
            case kc.Call("!", (operand,), _):
                return self.complement(self.lift(operand))
            case kc.Call("min" | "max" as function, operands, type_):
                wide = tuple(self.spread(self.lift(o)) for o in operands)
                return kc.Call(function, wide, self.wide(type_.scalar))
            case kc.Load(memory, index, _):
                return self.load(memory, index)
        raise NotLifted(f"{type(exp).__name__} in lanes")

    def complement(self, mask: kc.Expression) -> kc.Expression:
        """The lanes not in the mask."""
        minus = self.spread(kc.Literal(-1, kc.INT))
        return kc.Binary("^", mask, minus, self.wide(BOOL))

    def binary(self, exp: kc.Binary) -> kc.Expression:
        symbol = exp.symbol
        left, right = (self.spread(self.lift(e)) for e in (exp.left, exp.right))
        if symbol in ("&&", "||"):
            return kc.Binary(symbol[0], left, right, self.wide(BOOL))
        if symbol in COMPARED.values():
            return self.compare(symbol, left, right)
        return kc.Binary(symbol, left, right, left.type)

    def compare(
        self, symbol: str, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression:
        """The mask of a comparison of vectors."""
        bits = _register_bits(left.type.scalar)
        return self.as_mask(kc.Binary(symbol, left, right, self.wide(BOOL)), bits)

    def operation(
        self, operator: Operator, operands: Sequence[kc.Expression]
    ) -> kc.Expression:
        """An operator of the program on vectors."""
        name, type_ = operator.name, operator.type
        wide = [self.spread(o) for o in operands]
        if name in COMPARISONS:
            return self.compare(COMPARED[name], *wide)
        if name == "convert":
            return self.convert(operator, wide[0])
        if type_.kind == "bool":
            if name == "not":
                return self.complement(wide[0])
            symbol = {"and": "&", "or": "|", "xor": "^"}[name]
            return kc.Binary(symbol, wide[0], wide[1], self.wide(BOOL))
        if name in ("min", "max"):
            return self.extreme(name, *wide)
        if spelling(operator).vector is not None and operator.result != BOOL:
            return kc.Operation(operator, tuple(wide), self.wide(operator.result))
        halved = self.by_power_of_two(operator, wide[0], operands[-1])
        if halved is not None:
            return halved
        if operator.result == BOOL or self.loops:
            raise NotLifted(f"{operator} is done lane by lane")
        result = kc.VectorType(operator.result)
        return self.each(
            lambda n: kc.Operation(
                operator, tuple(self.lane(o, n) for o in wide), result
            ),
            operator.result,
        )

    def by_power_of_two(
        self, operator: Operator, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression | None:
        """A quotient or rest that rounds down, by a constant power of two."""
        if not isinstance(right, kc.Literal) or not operator.type.is_integer:
            return None
        number = int(right.value)
        rounds_down = operator.name in ("div", "mod") or operator.type.kind == "uint"
        if number <= 0 or number & (number - 1) or not rounds_down:
            return None
        if operator.name in ("div", "quot"):
            places = kc.Literal(number.bit_length() - 1, right.type)
            return kc.Binary(">>", left, self.spread(places), left.type)
        if operator.name in ("mod", "rem"):
            ones = self.spread(kc.Literal(number - 1, right.type))
            return kc.Binary("&", left, ones, left.type)
        return None

    def extreme(
        self, name: str, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression:
        """min and max, by comparison as in the scalar spelling: NaN loses."""
        ordered = (right, left) if name == "min" else (left, right)
        mask = self.compare("<", *ordered)
        if left.type.scalar.is_float:
            mask = kc.Binary("|", mask, self.compare("!=", left, left), self.wide(BOOL))
        return self.choose(mask, right, left)

    def convert(self, operator: Operator, operand: kc.Expression) -> kc.Expression:
        """A conversion between types."""
        source, target = operator.operands[0], operator.result
        if source == BOOL:
            one, zero = kc.Literal(1, kc.INT), kc.Literal(0, kc.INT)
            number = self.choose(operand, one, zero)
            return kc.Cast(number, self.wide(target)) if target != I32 else number
        if target == BOOL:
            zero = kc.Literal(0.0 if source.is_float else 0, kc.VectorType(source))
            return self.compare("!=", operand, self.spread(zero))
        if source.is_float and target.is_integer and source in (F32, F64):
            type_ = self.wide(target)
            nought = self.spread(kc.Literal(0.0, kc.VectorType(source)))
            taken: kc.Expression
            taken = kc.Call(f"convert_{_c_name(type_)}_sat", (operand,), type_)
            if target.kind == "uint":
                signed = self.wide(ScalarType(f"i{target.bits}", "int", target.bits))
                below = kc.Call(f"convert_{_c_name(signed)}_sat", (operand,), signed)
                is_below = self.compare("<", operand, nought)
                taken = self.choose(is_below, kc.Cast(below, type_), taken)
            product = kc.Binary("*", operand, nought, operand.type)
            finite = self.compare("==", product, nought)
            return self.choose(finite, taken, kc.Literal(0, kc.VectorType(target)))
        if spelling(operator).vector is not None:
            return kc.Operation(operator, (operand,), self.wide(target))
        if self.loops:
            raise NotLifted(f"{operator} is done lane by lane")
        result = kc.VectorType(target)
        return self.each(
            lambda n: kc.Operation(operator, (self.lane(operand, n),), result), target
        )

    def cast(
        self, operand: kc.Expression, source: ScalarType, target: ScalarType
    ) -> kc.Expression:
        """C's own conversion, of index code."""
        if source == target:
            return operand
        if source == BOOL or target == BOOL:
            raise NotLifted("a cast of truth values")
        return kc.Cast(self.spread(operand), self.wide(target))

    # --- memory -----------------------------------------------------------------------

    def load(self, memory: kc.Memory, index: kc.Expression) -> kc.Expression:
        """The elements at the indices of all lanes."""
        if memory.space == "private":
            raise NotLifted("an array of the thread")
        found = affine(index, self.affine, self.varying)
        stored = U8 if memory.element == BOOL else memory.element
        one = kc.VectorType(memory.element)
        if found is not None and is_step_one(found[1]) and self.mask is None:
            loaded: kc.Expression = kc.Load(
                memory, found[0], kc.VectorType(stored, self.width)
            )
        else:
            if found is not None and self.loops and self.mask is None:
                # Each lane would walk along a row of its own.
                raise NotLifted("neighbours read places far apart in a loop")
            loaded = self.each(
                lambda n: self.guarded(kc.Load(memory, self.place(index, n), one), n),
                stored,
            )
        if memory.element != BOOL:
            return loaded
        zero = self.spread(kc.Literal(0, kc.VectorType(U8)))
        return self.compare("!=", loaded, zero)

    def place(self, index: kc.Expression, number: int) -> kc.Expression:
        """The index of one lane."""
        found = affine(index, self.affine, self.varying)
        if found is None:
            return self.lane(self.lift(index), number)
        first, step = found
        return first if is_zero(step) else first + kc.as_expression(step) * number

    def guarded(self, load: kc.Expression, number: int) -> kc.Expression:
        """A load in one lane, done only if the lane is active."""
        if self.mask is None:
            return load
        active = self.lane(self.mask, number).differs(0)
        scalar = load.type.scalar
        zero = 0.0 if scalar.is_float else False if scalar == BOOL else 0
        return kc.Select(active, load, kc.Literal(zero, load.type), load.type)


def is_step_one(step: kc.Operand) -> bool:
    """Whether lanes lie side by side."""
    return isinstance(step, int) and step == 1


def _register_bits(scalar: ScalarType) -> int:
    return 32 if scalar.name in ("f16", "bool") else scalar.bits


def _c_name(type_: kc.VectorType) -> str:
    from minifut.ir.scalar_opencl import register_type

    return register_type(type_.scalar, type_.lanes)
