"""Vectorised expressions; see the package.

A varying boolean is a mask (see `vectors`). An operator that has no vector form is
applied lane by lane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minifut.ir.node import replace
from minifut.ir.scalar_opencl import spelling
from minifut.ir.scalars import COMPARISONS, INFIX, Operator
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children
from minifut.ir.types import BOOL, F32, F64, I32, I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.powers import shift_or_mask
from minifut.kernel_passes.vectorise import accesses, division, permutations
from minifut.kernel_passes.vectorise.affine import Affine, affine, is_zero, size_in_lane
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.position_masks import compared_positions
from minifut.kernel_passes.vectorise.positions_as_floats import positions_as_floats
from minifut.kernel_passes.vectorise.rows import Rounds
from minifut.kernel_passes.vectorise.strides import load_strided
from minifut.kernel_passes.vectorise.varying import sources_of, varies
from minifut.kernel_passes.vectorise.vectors import VectorOperations, stored_type
from minifut.names import Name
from minifut.rewrite.rule import Declined
from minifut.rewrite.strategy import first_of
from minifut.rewrite.trace import Derivation

LOADS = (
    accesses.load_vector,
    accesses.load_backwards,
    accesses.load_within_edges,
    load_strided,
    accesses.load_masked,
    accesses.gather_masked,
    accesses.gather_at_data,
    accesses.gather,
)
COMPARED = {name: INFIX[name] for name in COMPARISONS}


class ExpressionVectoriser(VectorOperations):
    """Vectorises expressions; holds which variables vary and which are affine. The
    context of the rules for loads."""

    def __init__(
        self,
        width: int,
        varying: frozenset[Name],
        derivation: Derivation | None = None,
        numbers: frozenset[Name] = frozenset(),
    ) -> None:
        super().__init__(width)
        self.derivation = derivation
        self.varying = varying
        self.affine: dict[Name, Affine] = {}
        self.steady: dict[Name, tuple[kc.Variable, kc.Variable]] = {}
        """the ends of clamped variables"""
        self.own: dict[kc.Memory, kc.Memory] = {}
        self.numbers = numbers
        self.mask: kc.Expression | None = None
        self.own_block: permutations.OwnBlock | None = None
        """where the index of the first lane is a multiple of the lanes"""
        self.loops: list[Rounds] = []
        """around what is vectorised"""
        self.rows: list[kc.Expression] | None = None
        """what must hold for lanes to read rows of their own, if they may"""

    def varies(self, exp: kc.Expression) -> bool:
        """Whether an expression differs between lanes."""
        return varies(exp, self.varying)

    def integers(self, first: kc.Expression, step: kc.Operand) -> kc.Expression:
        """The vector of an affine value."""
        if is_zero(step):
            return first
        numbers = self.each(lambda n: kc.Literal(n, kc.LONG), I64)
        return self.broadcast(first) + numbers * self.broadcast(kc.as_expression(step))

    def shared(self, exp: kc.Expression) -> kc.Expression | None:
        """The expression if it is the same in all lanes, where what differs in it are
        integers that cancel out."""
        sources = sources_of(exp)
        if kc.Register in sources or not sources & self.varying <= self.affine.keys():
            return None

        def change(node: Any) -> Any:
            if isinstance(node, kc.Expression) and node.type == kc.LONG:
                found = affine(node, self.affine, self.varying)
                if found is not None and is_zero(found[1]):
                    return found[0]
            return map_children(node, change)

        made: kc.Expression = map_children(exp, change)
        return None if self.varies(made) else made

    # --- expressions ------------------------------------------------------------------

    def vectorise(self, exp: kc.Expression) -> kc.Expression:
        """The value for all lanes: a vector if it varies, else the expression."""
        if not self.varies(exp):
            return exp
        found = affine(exp, self.affine, self.varying)
        if found is not None:
            return self.integers(*found)
        if (same := self.shared(exp)) is not None:
            return same
        if (numbers := permutations.combined_numbers(exp, self)) is not None:
            return numbers
        if (numbers := permutations.shifted_numbers(exp, self)) is not None:
            return numbers
        match exp:
            case kc.Variable() | kc.Register():
                return replace(exp, type=self.wide(exp.type.scalar))
            case kc.Binary():
                return self.binary(exp)
            case kc.Operation(operator, operands, _):
                if operator.name in COMPARISONS:
                    symbol = COMPARED[operator.name]
                    mask = compared_positions(self, symbol, *operands)
                    if mask is not None:
                        return mask
                if (quotient := self.divided_steps(operator, operands)) is not None:
                    return quotient
                made = self.operation(operator, [self.vectorise(o) for o in operands])
                if operator.name == "convert":
                    position = affine(operands[0], self.affine, self.varying)
                    floats = position and positions_as_floats(
                        self, operator, position, made
                    )
                    return floats or made
                return made
            case kc.Cast(operand, type_):
                return self.cast(
                    self.vectorise(operand), operand.type.scalar, type_.scalar
                )
            case kc.Select(condition, then, otherwise, _):
                chosen, yes, no = (
                    self.vectorise(e) for e in (condition, then, otherwise)
                )
                if chosen.type.lanes > 1:
                    return self.choose(chosen, yes, no)
                yes, no = self.broadcast(yes), self.broadcast(no)
                return kc.Select(chosen, yes, no, yes.type)
            case kc.Call("!", (operand,), _):
                return self.complement(self.vectorise(operand))
            case kc.Call("min" | "max" as function, operands, type_):
                wide = tuple(self.broadcast(self.vectorise(o)) for o in operands)
                return kc.Call(function, wide, self.wide(type_.scalar))
            case kc.Load():
                return self.load(exp)
            case kc.SizeValue(size, _):
                return self.size(size)
        raise NotVectorisable(f"{type(exp).__name__} has no vector form")

    def binary(self, exp: kc.Binary) -> kc.Expression:
        symbol = exp.symbol
        if symbol in kc.MIRRORED:
            mask = compared_positions(self, symbol, exp.left, exp.right)
            if mask is not None:
                return mask
        left, right = (self.broadcast(self.vectorise(e)) for e in (exp.left, exp.right))
        if symbol in ("&&", "||"):
            return kc.Binary(symbol[0], left, right, self.wide(BOOL))
        if symbol in COMPARED.values():
            return self.compare(symbol, left, right)
        return kc.Binary(symbol, left, right, left.type)

    def size(self, size: Size) -> kc.Expression:
        """A sum of products of which some factors vary."""
        total: kc.Expression | None = None
        for monomial, coefficient in size.terms:
            moving = [a for a in monomial if Size.of(a).names() & self.varying]
            rest = tuple(atom for atom in monomial if atom not in moving)
            product = self.broadcast(kc.SizeValue(Size(((rest, coefficient),))))
            for atom in moving:
                if not isinstance(atom, Name):
                    raise NotVectorisable("a varying quotient or extreme of sizes")
                product = product * self.vectorise(kc.Variable(atom, kc.LONG))
            total = product if total is None else total + product
        assert total is not None
        return total

    def operation(
        self, operator: Operator, operands: Sequence[kc.Expression]
    ) -> kc.Expression:
        """An operator of the program on vectors."""
        name, type_ = operator.name, operator.type
        wide = [self.broadcast(o) for o in operands]
        if name in COMPARISONS:
            return self.compare(COMPARED[name], *wide)
        if name == "convert":
            return self.convert(operator, wide[0])
        if type_.kind == "bool":
            if name == "not":
                return self.complement(wide[0])
            return kc.Binary(INFIX[name], wide[0], wide[1], self.wide(BOOL))
        if name in ("min", "max"):
            return self.extreme(name, *wide)
        shifted = self.by_constant_places(operator, wide[0], operands[-1])
        if shifted is not None:
            return shifted
        halved = self.by_power_of_two(operator, wide[0], operands[-1])
        if halved is not None:
            return halved
        if spelling(operator).vector is not None and operator.result != BOOL:
            return kc.Operation(operator, tuple(wide), self.wide(operator.result))
        if name in ("isnan", "isinf"):
            return self.tested(name, wide[0])
        if operator.result == BOOL or self.loops:
            raise NotVectorisable(f"{operator} is done lane by lane")
        return self.in_each(operator, wide)

    def divided_steps(
        self, operator: Operator, operands: Sequence[kc.Expression]
    ) -> kc.Expression | None:
        """A quotient or remainder of an affine value."""
        if operator.type != I64 or operator.name not in (
            *division.QUOTIENTS,
            *division.RESTS,
        ):
            return None
        dividend, divisor = affine(operands[0], self.affine, self.varying), operands[1]
        match dividend, divisor:
            case (first, int(step)), kc.Literal(value=value) if step > 1:
                if shift_or_mask(operator, divisor) is None:
                    return division.by_constant(self, operator, first, step, int(value))
            case (first, 1), _ if not self.varies(divisor):
                return division.by_steps(self, operator, first, divisor)
        return None

    def by_power_of_two(
        self, operator: Operator, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression | None:
        """A quotient or remainder that rounds down, by a constant power of two."""
        found = shift_or_mask(operator, right)
        if found is None:
            return None
        symbol, number = found
        return kc.Binary(symbol, left, self.broadcast(number), left.type)

    def by_constant_places(
        self, operator: Operator, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression | None:
        """A shift by fewer places than there are bits."""
        if operator.name not in ("shl", "shr") or not isinstance(right, kc.Literal):
            return None
        if not 0 <= int(right.value) < operator.type.bits:
            return None
        symbol = "<<" if operator.name == "shl" else ">>"
        return kc.Binary(symbol, left, self.broadcast(right), left.type)

    def tested(self, name: str, number: kc.Expression) -> kc.Expression:
        """Which lanes are not numbers, or infinite."""
        if name == "isnan":
            return self.compare("!=", number, number)
        size = kc.Call("fabs", (number,), number.type)
        infinity = kc.Literal(math.inf, kc.VectorType(number.type.scalar))
        return self.compare("==", size, self.broadcast(infinity))

    def extreme(
        self, name: str, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression:
        """min and max, by comparison as in the scalar spelling: NaN loses."""
        for number, other in ((left, right), (right, left)):
            if isinstance(number, kc.Register) and number.family in self.numbers:
                pair = (other, number) if name == "min" else (number, other)
                return self.choose(self.compare("<", *pair), other, number)
        ordered = (right, left) if name == "min" else (left, right)
        mask = self.compare("<", *ordered)
        if left.type.scalar.is_float:
            mask = kc.Binary("|", mask, self.compare("!=", left, left), self.wide(BOOL))
        return self.choose(mask, right, left)

    def convert(self, operator: Operator, operand: kc.Expression) -> kc.Expression:
        """A conversion between types."""
        source, target = operator.operands[0], operator.result
        if source == BOOL:
            return self.number_of_truth(operand, target)
        if target == BOOL:
            return self.compare("!=", operand, self.zeros(source))
        if spelling(operator).vector is not None:
            return kc.Operation(operator, (operand,), self.wide(target))
        if self.loops:
            raise NotVectorisable(f"{operator} is done lane by lane")
        return self.in_each(operator, (operand,))

    def cast(
        self, operand: kc.Expression, source: ScalarType, target: ScalarType
    ) -> kc.Expression:
        """C's conversion, in index arithmetic."""
        if source == target:
            return operand
        if source == BOOL:
            return self.number_of_truth(operand, target)
        if target == BOOL:
            raise NotVectorisable("a cast to booleans")
        return kc.Cast(self.broadcast(operand), self.wide(target))

    def number_of_truth(
        self, operand: kc.Expression, target: ScalarType
    ) -> kc.Expression:
        """1 where it holds, else 0."""
        if target in (F32, F64):  # one instruction: the bits of 1 where there is a bit
            one, zero = (kc.Literal(x, kc.VectorType(target)) for x in (1.0, 0.0))
            return self.choose(operand, one, zero)
        one, zero = kc.Literal(1, kc.INT), kc.Literal(0, kc.INT)
        number = self.choose(operand, one, zero)
        return kc.Cast(number, self.wide(target)) if target != I32 else number

    # --- memory -----------------------------------------------------------------------

    def load(self, load: kc.Load) -> kc.Expression:
        """The elements at the indices of all lanes."""
        if load.memory in self.own:
            return self.load_own(load)
        private = load.memory.space == "private"
        rules = (
            LOADS if self.own_block is None else (permutations.load_partners, *LOADS)
        )
        outcome = first_of((accesses.load_vector,) if private else rules, load, self)
        if isinstance(outcome, Declined):
            raise NotVectorisable("a private array" if private else outcome.reason)
        return self.from_memory(load.memory, outcome)

    def load_own(self, access: kc.Load | kc.Store) -> kc.Expression:
        """An element of an array that each point has."""
        memory = self.own[access.memory]
        if self.is_scattered(access):
            return self.from_memory(
                memory,
                self.each(
                    lambda n: self.guarded(self.own_element(access, n), n),
                    stored_type(memory),
                ),
            )
        type_ = kc.VectorType(stored_type(memory), self.width)
        return self.from_memory(memory, kc.Load(memory, self.place_own(access), type_))

    def own_element(self, access: kc.Load | kc.Store, number: int) -> kc.Load:
        """An element of the array of one lane."""
        memory = self.own[access.memory]
        place = self.place(access.index, number) * self.width + number
        return kc.Load(memory, place, kc.VectorType(memory.element))

    def is_scattered(self, access: kc.Load | kc.Store) -> bool:
        """Whether lanes access other elements of their arrays each."""
        return self.varies(access.index)

    def place_own(self, access: kc.Load | kc.Store) -> kc.Expression:
        """Where the lanes of an element are."""
        return access.index * self.width

    def place(self, index: kc.Expression, number: int) -> kc.Expression:
        """The index of one lane."""
        found = affine(index, self.affine, self.varying)
        if found is None:
            if isinstance(index, kc.SizeValue):
                inside = size_in_lane(index.size, self.affine, self.varying, number)
                if inside is not None:
                    return kc.SizeValue(inside)
            return self.lane(self.vectorise(index), number)
        first, step = found
        return first if is_zero(step) else first + kc.as_expression(step) * number

    def guarded(self, load: kc.Expression, number: int) -> kc.Expression:
        """A load in one lane, executed only if the lane is active."""
        if self.mask is None:
            return load
        active = self.lane(self.mask, number).differs(0)
        return kc.Select(active, load, kc.zero(load.type.scalar), load.type)
