"""One rule per expression of the core inside a thread; see `threads.builder`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.ir import accumulators, core, kernels, sizes
from minifut.ir.core import Stm
from minifut.ir.scalars import OF_POLYNOMIALS, operator
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.lowering.accumulators.common import lower_update
from minifut.lowering.threads import control
from minifut.lowering.threads.builder import KernelBuilder

# --- scalars --------------------------------------------------------------------------


def _same(k: KernelBuilder, stm: Stm, exp: Any) -> None:
    k.bind(stm.pattern[0].name, k.atom(exp.atom))


def _scalar_op(k: KernelBuilder, stm: Stm, exp: core.ScalarOp) -> None:
    operands = tuple(k.scalar(a) for a in exp.operands)
    op = exp.operator
    if op.result == I64 and op.name in OF_POLYNOMIALS:
        left, right = (k.host_size(operand) for operand in operands)
        if left is not None and right is not None:
            size = OF_POLYNOMIALS[op.name](left, right)
            k.bind(stm.pattern[0].name, k.size_value(size))
            return
    k.define(stm.pattern[0], kc.Operation(op, operands, kc.VectorType(op.result)))


def _size(k: KernelBuilder, stm: Stm, exp: core.SizeExp) -> None:
    k.define(stm.pattern[0], k.size(exp.size))


def _assert(k: KernelBuilder, stm: Stm, exp: core.Assert) -> None:
    condition = k.scalar(exp.condition)
    if isinstance(condition, kc.Literal) and condition.value:
        return
    values = tuple(k.scalar(part) for part in exp.message if not isinstance(part, str))
    types = tuple(value.type.scalar for value in values)
    number = k.host.program.failures.number(exp.message, types, exp.backtrace)
    k.fail_unless(condition, number, values)


# --- arrays ---------------------------------------------------------------------------


def _index(k: KernelBuilder, stm: Stm, exp: core.Index) -> None:
    view = k.array(exp.array).sliced(exp.slice, k.index, k.resolve)
    if view.rank == 0:
        k.define(stm.pattern[0], k.load(view.memory, view.offset))
    else:
        k.bind(stm.pattern[0].name, view)


def _update(k: KernelBuilder, stm: Stm, exp: core.Update) -> None:
    array = k.updatable(stm.pattern[0].name, exp.array)
    view = array.sliced(exp.slice, k.index, k.resolve)
    k.write(view, (), k.atom(exp.value))
    k.bind(stm.pattern[0].name, array)


def counted(k: KernelBuilder, exp: core.Iota, at: kc.Expression) -> kc.Expression:
    """The number at a place of an iota."""
    type_ = kc.VectorType(exp.element)
    multiply, add = operator("mul", exp.element), operator("add", exp.element)
    step = kc.Operation(multiply, (kc.Cast(at, type_), k.scalar(exp.stride)), type_)
    return kc.Operation(add, (k.scalar(exp.start), step), type_)


def _iota(k: KernelBuilder, stm: Stm, exp: core.Iota) -> None:
    made = k.fresh(stm.pattern[0])
    k.each(
        made.shape, lambda at: k.write(made, at, counted(k, exp, k.size_value(at[0])))
    )
    k.bind(stm.pattern[0].name, made)


def _replicate(k: KernelBuilder, stm: Stm, exp: core.Replicate) -> None:
    made = k.fresh(stm.pattern[0])
    value = k.atom(exp.value)
    k.each(made.shape[: len(exp.shape)], lambda at: k.write(made, at, value))
    k.bind(stm.pattern[0].name, made)


def _scratch(k: KernelBuilder, stm: Stm, exp: core.Scratch) -> None:
    k.bind(stm.pattern[0].name, k.fresh(stm.pattern[0]))


def _literal(k: KernelBuilder, stm: Stm, exp: core.ArrayLiteral) -> None:
    rows = [k.atom(row) for row in exp.rows]
    made = k.fresh(stm.pattern[0])
    for number, row in enumerate(rows):
        k.write(made, (sizes.Size.constant(number),), row)
    k.bind(stm.pattern[0].name, made)


def _rearrange(k: KernelBuilder, stm: Stm, exp: core.Rearrange) -> None:
    k.bind(stm.pattern[0].name, k.array(exp.array).rearrange(exp.permutation))


def _reshape(k: KernelBuilder, stm: Stm, exp: core.Reshape) -> None:
    array = k.array(exp.array)
    shape = tuple(k.resolve(size) for size in exp.shape)
    view = array.reshape(shape)
    if view is None:
        view = k.copied(array, exp.array.base).reshape(shape)
        assert view is not None
    k.bind(stm.pattern[0].name, view)


def _concat(k: KernelBuilder, stm: Stm, exp: core.Concat) -> None:
    made = k.fresh(stm.pattern[0])
    for part, array in made.joined(exp.dimension, map(k.array, exp.arrays)):
        k.copy(part, array)
    k.bind(stm.pattern[0].name, made)


def _manifest(k: KernelBuilder, stm: Stm, exp: core.Manifest) -> None:
    array = k.array(exp.array)
    order = exp.permutation
    inverse = tuple(order.index(d) for d in range(len(order)))
    shape = tuple(array.shape[d] for d in order)
    made = k.new_array(array.memory.element, shape, exp.array.base).rearrange(inverse)
    k.copy(made, array)
    k.bind(stm.pattern[0].name, made)


ThreadRule = Callable[[KernelBuilder, Stm, Any], None]

RULES: dict[type, ThreadRule] = {
    core.Copy: _same,
    core.Trace: _same,
    core.Opaque: _same,
    core.ScalarOp: _scalar_op,
    core.SizeExp: _size,
    core.Assert: _assert,
    core.Index: _index,
    core.Update: _update,
    core.Iota: _iota,
    core.Replicate: _replicate,
    core.Scratch: _scratch,
    core.ArrayLiteral: _literal,
    core.Rearrange: _rearrange,
    core.Reshape: _reshape,
    core.Concat: _concat,
    core.Manifest: _manifest,
    core.If: control.lower_if,
    core.Match: control.lower_match,
    core.Loop: control.lower_loop,
    core.Apply: control.lower_apply,
    kernels.SegMap: control.lower_segmap,
    accumulators.UpdateAcc: lower_update,
}
