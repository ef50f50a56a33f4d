"""Straight-line scalar code lifted to lanes: the body of a register nest, for as many
of its innermost points at once as a vector has lanes.

    let u = as[k, i]                  float u = as[..];          the same in all lanes
    let v = bs[k, x * 16 + j]         float16 v = *(float16 *)(bs + ..);
    let t = add_f32(s, mul_f32(u, v)) s = s + (float16)(u) * v;

The index j is v * lanes + lane, where `lane` stands for all lanes: a size that mentions
it differs between them, and a place in memory that grows by one from lane to lane is
read as a vector. What has no vector form raises `NotInLanes`; then one lane is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minifut.ir import core
from minifut.ir.core import Stm
from minifut.ir.scalar_opencl import spelling
from minifut.ir.sizes import ONE, ZERO, Extreme, Size
from minifut.ir.types import I64, ScalarType
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.register_tiles import Tile
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.kernel_code.group_cpu import WorkerBuilder


class NotInLanes(Exception):
    """The code has no vector form; the message says what."""


class Lanes:
    """Lowers statements over lanes. `registers` names the index of the copies for each
    index of the nest, by which tiles are read."""

    def __init__(
        self, k: WorkerBuilder, lanes: int, registers: dict[Name, Name]
    ) -> None:
        self.k = k
        self.lanes = lanes
        self.lane = k.names.fresh("lane")
        k.declared.add(self.lane)
        self.registers = registers
        self.numbers: set[core.Atom] = set()

    def statements(self, statements: tuple[Stm, ...]) -> None:
        """Lower statements in order."""
        for statement in statements:
            rule = RULES.get(type(statement.exp))
            if rule is None:
                raise NotInLanes(type(statement.exp).__name__)
            rule(self, statement, statement.exp)

    # --- values -----------------------------------------------------------------------

    def varies(self, exp: kc.Expression) -> bool:
        """Whether lanes may have different values."""
        if isinstance(exp, kc.SizeValue):
            return self.lane in exp.size.names()
        return exp.type.lanes > 1

    def vector(self, exp: kc.Expression) -> kc.Expression:
        """The value in all lanes."""
        type_ = kc.VectorType(exp.type.scalar, self.lanes)
        if isinstance(exp, kc.SizeValue) and self.varies(exp):
            each = [self.k.size_value(self.in_lane(exp.size, lane))
                    for lane in range(self.lanes)]  # fmt: skip
            return kc.Vector(tuple(each), type_)
        return exp if exp.type.lanes > 1 else kc.Vector((exp,), type_)

    def in_lane(self, size: Size, lane: int) -> Size:
        """A size as it is in one lane."""
        return size.substitute({self.lane: Size.constant(lane)})

    def place(self, index: core.Atom) -> Size:
        """An index that may vary."""
        if isinstance(index, Name) and index in self.k.sizes:
            return self.k.sizes[index]
        value = self.k.scalar(index)
        if value.type.lanes > 1:
            raise NotInLanes("an index computed in lanes")
        return self.k.as_size(value)

    def define(self, bound: core.Param, exp: kc.Expression) -> None:
        """Bind a scalar; vectors and plain values are kept in variables."""
        simple = isinstance(exp, kc.SizeValue | kc.Register)
        name = bound.name
        self.k.bind(name, exp if simple else self.k.named(exp, name.base))

    def read(self, array: Array, indices: tuple[Size, ...]) -> kc.Expression:
        """An element for each lane, or one for all."""
        place = array.position(indices)
        first = self.in_lane(place, 0)
        step = self.in_lane(place, 1) - first
        if step == ZERO and self.lane not in place.names():
            return self.k.load(array.memory, first)
        if place == first + Size.of(self.lane) and step == ONE:
            return self.k.load(array.memory, first, self.lanes)
        each = [
            self.k.load(array.memory, self.in_lane(place, lane))
            for lane in range(self.lanes)
        ]
        type_ = kc.VectorType(array.memory.element, self.lanes)
        if not steady(place, self.lane):
            return kc.Vector(tuple(each), type_)
        # Clamped indices are side by side except at the edge.
        found = self.k.declare("elements", type_=type_)
        end = self.in_lane(place, self.lanes - 1)
        spread = self.k.size_value(end - first)
        with self.k.branch(spread.equals(self.lanes - 1)):
            self.k.assign(found, self.k.load(array.memory, first, self.lanes))
        with self.k.otherwise():
            self.k.assign(found, kc.Vector(tuple(each), type_))
        return found


def steady(size: Size, lane: Name) -> bool:
    """Whether a size grows by nothing or one from each lane to the next."""
    varying = [(m, c) for m, c in size.terms if lane in Size(((m, c),)).names()]
    if not varying:
        return True
    (monomial, coefficient), *others = varying
    if others or coefficient != 1 or len(monomial) != 1:
        return False
    match monomial[0]:
        case Extreme(operands, _):
            return all(steady(operand, lane) for operand in operands)
    return monomial[0] == lane


def liftable(type_: ScalarType) -> bool:
    """Whether values of the type may lie in vectors."""
    return type_.kind != "bool" and type_.name != "f16"


# --- one rule per expression ----------------------------------------------------------


def _same(within: Lanes, stm: Stm, exp: Any) -> None:
    within.k.bind(stm.pattern[0].name, within.k.atom(exp.atom))


def _size(within: Lanes, stm: Stm, exp: core.SizeExp) -> None:
    size = within.k.full_size(exp.size)
    within.k.sizes[stm.pattern[0].name] = size
    within.define(stm.pattern[0], kc.SizeValue(size))


def _scalar_op(within: Lanes, stm: Stm, exp: core.ScalarOp) -> None:
    k, op = within.k, exp.operator
    operands = [k.scalar(atom) for atom in exp.operands]
    if not any(within.varies(operand) for operand in operands):
        value = kc.Operation(op, tuple(operands), kc.VectorType(op.result))
        within.define(stm.pattern[0], value)
        return
    if op.result == I64 and op.name in ("add", "sub", "mul"):
        left, right = (_as_size(operand) for operand in operands)
        if left is not None and right is not None:
            size = (
                left + right if op.name == "add"
                else left - right if op.name == "sub"
                else left * right
            )  # fmt: skip
            within.define(stm.pattern[0], kc.SizeValue(size))
            return
    types = (op.result, *op.operands)
    if spelling(op).vector is None or not all(map(liftable, types)):
        raise NotInLanes(op.name)
    vectors = tuple(within.vector(operand) for operand in operands)
    if op.name in ("min", "max") and op.result.is_float:
        for number, other in ((0, 1), (1, 0)):
            if exp.operands[number] in within.numbers:
                extreme = _extreme(op.name, vectors[number], vectors[other])
                within.define(stm.pattern[0], extreme)
                return
    type_ = kc.VectorType(op.result, within.lanes)
    within.define(stm.pattern[0], kc.Operation(op, vectors, type_))


def _extreme(name: str, number: kc.Expression, other: kc.Expression) -> kc.Expression:
    """The minimum or maximum, of which one operand is not a NaN."""
    better = other < number if name == "min" else other > number
    return kc.Select(better, other, number, number.type)


def _as_size(exp: kc.Expression) -> Size | None:
    match exp:
        case kc.SizeValue(size, _):
            return size
        case kc.Literal(number, _):
            return Size.constant(int(number))
        case kc.Variable(name, type_) if type_ == kc.LONG:
            return Size.of(name)
    return None


def _index(within: Lanes, stm: Stm, exp: core.Index) -> None:
    bound = stm.pattern[0]
    loaded = within.k.loaded.get(exp.array)
    value = within.k.atom(exp.array) if loaded is None else loaded
    if isinstance(value, Tile):
        own = exp.slice[len(within.k.point) if loaded is not None else 0 :]
        names = [within.registers.get(part) for part in own
                 if isinstance(part, Name)]  # fmt: skip
        if None in names or len(names) != len(value.counts):
            raise NotInLanes("a part of a register tile")
        within.k.bind(bound.name, value.at(tuple(n for n in names if n)))
        if exp.array in within.k.numbers:
            within.numbers.add(bound.name)
        return
    if not isinstance(value, Array) or not isinstance(bound.type, ScalarType):
        raise NotInLanes("an array")
    if not liftable(bound.type):
        raise NotInLanes(f"elements of type {bound.type}")
    indices = []
    for part in exp.slice:
        if isinstance(part, core.DimSlice):
            raise NotInLanes("a slice")
        indices.append(within.place(part))
    within.define(bound, within.read(value, tuple(indices)))


Rule = Callable[[Lanes, Stm, Any], None]

RULES: dict[type, Rule] = {
    core.Copy: _same,
    core.Opaque: _same,
    core.SizeExp: _size,
    core.ScalarOp: _scalar_op,
    core.Index: _index,
}
