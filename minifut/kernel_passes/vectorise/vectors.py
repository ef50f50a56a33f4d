"""Vector operations of one width: broadcasts, comparisons, selections, memory formats.

A varying boolean is a mask: an i32 in each lane, -1 or 0, whatever was compared
(`select` requires the width of its operands, so it is converted where it is used); in
memory it is a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.scalars import Operator
from minifut.ir.types import BOOL, I8, I16, I32, I64, U8, ScalarType
from minifut.kernel_ir import nodes as kc

INTEGER = {8: I8, 16: I16, 32: I32, 64: I64}


class VectorOperations:
    """Makes vectors of `width` lanes."""

    def __init__(self, width: int) -> None:
        self.width = width

    # --- types ------------------------------------------------------------------------

    def wide(self, scalar: ScalarType) -> kc.VectorType:
        """The type of a varying value; masks for booleans."""
        return kc.VectorType(I32 if scalar == BOOL else scalar, self.width)

    def broadcast(self, exp: kc.Expression) -> kc.Expression:
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
        """One lane of a vectorised value."""
        if exp.type.lanes == 1:
            return exp
        return kc.Component(exp, number, kc.VectorType(exp.type.scalar))

    def each(
        self, make: Callable[[int], kc.Expression], scalar: ScalarType
    ) -> kc.Expression:
        """A vector from an expression for each lane."""
        parts = tuple(make(number) for number in range(self.width))
        return kc.Vector(parts, kc.VectorType(scalar, self.width))

    def in_each(
        self, operator: Operator, operands: Sequence[kc.Expression]
    ) -> kc.Expression:
        """An operator applied lane by lane."""
        result = kc.VectorType(operator.result)

        def one(number: int) -> kc.Expression:
            own = tuple(self.lane(operand, number) for operand in operands)
            return kc.Operation(operator, own, result)

        return self.each(one, operator.result)

    def ramp(self, first: kc.Expression) -> kc.Expression:
        """`first`, `first + 1`, .. in the lanes."""
        scalar = first.type.scalar
        numbers = self.each(lambda n: kc.Literal(n, kc.VectorType(scalar)), scalar)
        return self.broadcast(first) + numbers

    def zeros(self, scalar: ScalarType) -> kc.Expression:
        """Zero in each lane."""
        return self.broadcast(kc.zero(scalar))

    # --- masks ------------------------------------------------------------------------

    def as_mask(self, compared: kc.Expression, bits: int) -> kc.Expression:
        """The result of a comparison of operands of so many bits, as a mask."""
        return compared if bits == 32 else kc.Cast(compared, self.wide(BOOL))

    def both(self, a: kc.Expression | None, b: kc.Expression) -> kc.Expression:
        """The lanes in both masks."""
        if a is None:
            return b
        return kc.Binary("&", a, b, self.wide(BOOL))

    def choose(
        self, mask: kc.Expression, then: kc.Expression, otherwise: kc.Expression
    ) -> kc.Expression:
        """`then` in the lanes of the mask, `otherwise` in the others."""
        then, otherwise = self.broadcast(then), self.broadcast(otherwise)
        bits = register_bits(then.type.scalar)
        if bits != 32:
            mask = kc.Cast(mask, kc.VectorType(INTEGER[bits], self.width))
        return kc.Select(mask, then, otherwise, then.type)

    def complement(self, mask: kc.Expression) -> kc.Expression:
        """The lanes not in the mask."""
        return kc.Binary("^", mask, self.all_active(), self.wide(BOOL))

    def all_active(self) -> kc.Expression:
        """The mask of all lanes."""
        return self.broadcast(kc.Literal(-1, kc.INT))

    def compare(
        self, symbol: str, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression:
        """The mask of a comparison of vectors."""
        bits = register_bits(left.type.scalar)
        return self.as_mask(kc.Binary(symbol, left, right, self.wide(BOOL)), bits)

    # --- memory -----------------------------------------------------------------------

    def from_memory(self, memory: kc.Memory, loaded: kc.Expression) -> kc.Expression:
        """Loaded elements as a register value: booleans are bytes in memory."""
        if memory.element != BOOL:
            return loaded
        zero = self.broadcast(kc.Literal(0, kc.VectorType(U8)))
        return self.compare("!=", loaded, zero)

    def to_memory(self, memory: kc.Memory, value: kc.Expression) -> kc.Expression:
        """A vector in its memory format."""
        if memory.element != BOOL:
            return value
        one, zero = kc.Literal(1, kc.INT), kc.Literal(0, kc.INT)
        return kc.Cast(self.choose(value, one, zero), kc.VectorType(U8, self.width))


def stored_type(memory: kc.Memory) -> ScalarType:
    """The elements of a vector that is loaded or stored."""
    return U8 if memory.element == BOOL else memory.element


def register_bits(scalar: ScalarType) -> int:
    return 32 if scalar.name in ("f16", "bool") else scalar.bits


def lane_bits(type_: kc.VectorType) -> int:
    """The bits of a lane in registers; floats of 16 bits are computed in 32."""
    scalar = type_.scalar
    return scalar.bits if scalar.is_integer else max(32, scalar.bits)
