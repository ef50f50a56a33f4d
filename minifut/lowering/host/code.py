"""One rule per expression of the core on the host; see `host.builder`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from minifut.analysis.layouts import Order
from minifut.ir import core, kernels
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Atom, Body, Constant, Param, Stm
from minifut.ir.node import replace
from minifut.ir.scalars import operator
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.types import BOOL, I64, ArrayType, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.accumulators.common import lower_host_update, lower_with_acc
from minifut.lowering.groups.gpu_limits import check_requested_tiles
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.operators import host_text
from minifut.lowering.index_functions import Array, whole
from minifut.lowering.threads.builder import KernelBuilder
from minifut.lowering.threads.code import counted
from minifut.names import Name
from minifut.passes.layout.by_default import value_by_default

# --- scalars --------------------------------------------------------------------------


def _same(host: HostBuilder, stm: Stm, exp: Any) -> None:
    atom = exp.atom
    host.bind(stm.pattern[0], host.lookup(atom) if isinstance(atom, Name) else atom)


def _trace(host: HostBuilder, stm: Stm, exp: core.Trace) -> None:
    _same(host, stm, exp)
    if isinstance(stm.pattern[0].type, ScalarType):
        host.emit(kc.HostTrace(exp.label, host.atom(exp.atom)))


def _assign(host: HostBuilder, stm: Stm, exp: kc.HostExp) -> None:
    bound = stm.pattern[0]
    assert isinstance(bound.type, ScalarType)
    host.own_scalar(bound.name, bound.type)
    host.emit(kc.HostAssign(bound.name, exp, bound.type))


def _scalar_op(host: HostBuilder, stm: Stm, exp: core.ScalarOp) -> None:
    operands = tuple(host.atom(a) for a in exp.operands)
    if host_text(exp.operator) is not None:
        _assign(host, stm, core.ScalarOp(exp.operator, operands))
        needed, limit = operands[0], operands[-1]
        if limit in host.build.limits and needed in host.build.sizes:
            assert isinstance(needed, Name)
            check_requested_tiles(host, host.build.sizes[needed])
        return
    made = host.allocate(exp.operator.result, (), stm.pattern[0].name.base)

    def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
        values = tuple(k.scalar(a) for a in exp.operands)
        type_ = kc.VectorType(exp.operator.result)
        k.write(made, at, kc.Operation(exp.operator, values, type_))

    host.each(exp.operator.name, (), visit)
    host.bind(stm.pattern[0], made)


def _size(host: HostBuilder, stm: Stm, exp: core.SizeExp) -> None:
    size = host.size(exp.size)
    _assign(host, stm, core.SizeExp(size))
    host.build.keep_size(stm.pattern[0].name, size)


def _get_parameter(host: HostBuilder, stm: Stm, exp: kernels.GetParameter) -> None:
    host.program.parameter(exp.parameter)
    _assign(host, stm, exp)
    host.build.keep(stm.pattern[0].name, exp.parameter)


def _at_least(host: HostBuilder, stm: Stm, exp: kernels.AtLeast) -> None:
    host.program.parameter(exp.threshold)
    host.program.thresholds[stm.pattern[0].name] = stm
    _assign(host, stm, kernels.AtLeast(host.size(exp.parallelism), exp.threshold))


def _assert(host: HostBuilder, stm: Stm, exp: core.Assert) -> None:
    condition = host.atom(exp.condition)
    if isinstance(condition, Constant) and condition.value:
        return
    values = tuple(host.atom(p) for p in exp.message if not isinstance(p, str))
    types = tuple(
        v.type if isinstance(v, Constant) else host.scalars[v] for v in values
    )
    number = host.program.failures.number(exp.message, types, exp.backtrace)
    host.emit(kc.HostAssert(condition, number, values))


# --- arrays ---------------------------------------------------------------------------


def _index(host: HostBuilder, stm: Stm, exp: core.Index) -> None:
    view = host.array(exp.array).sliced(exp.slice, host.index, host.size)
    host.bind(stm.pattern[0], view)


def write(host: HostBuilder, view: Array, value: Any) -> None:
    """A scalar or an array becomes the contents of the view."""
    if value == view:
        return  # it was made there
    if isinstance(value, Array):
        host.copy(view, value)
    else:
        host.emit(kc.WriteElement(view.memory, view.offset, value))


def _update(host: HostBuilder, stm: Stm, exp: core.Update) -> None:
    array = host.array(exp.array)
    if stm.pattern[0].name not in host.facts.in_place.updates:
        array = host.copied(array)
    value = host.lookup(exp.value) if isinstance(exp.value, Name) else exp.value
    write(host, array.sliced(exp.slice, host.index, host.size), value)
    host.bind(stm.pattern[0], array)


def fresh(host: HostBuilder, bound: Param) -> Array:
    """New memory for an array of the pattern."""
    return host.allocate_result(bound, element_of(bound.type), host.shape(bound.type))


def _iota(host: HostBuilder, stm: Stm, exp: core.Iota) -> None:
    made = fresh(host, stm.pattern[0])
    host.each(
        "iota", made.shape, lambda k, at: k.write(made, at, counted(k, exp, at[0]))
    )
    host.bind(stm.pattern[0], made)


def _replicate(host: HostBuilder, stm: Stm, exp: core.Replicate) -> None:
    made = fresh(host, stm.pattern[0])
    outer = len(exp.shape)

    def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
        value = k.atom(exp.value)
        k.write(
            made, at, k.read(value, at[outer:]) if isinstance(value, Array) else value
        )

    host.each("replicate", made.shape, visit)
    host.bind(stm.pattern[0], made)


def _scratch(host: HostBuilder, stm: Stm, exp: core.Scratch) -> None:
    host.bind(stm.pattern[0], fresh(host, stm.pattern[0]))


MOST_STORED = 64
"""constants of a literal that a kernel stores; the host writes more of them as bytes"""


def _literal(host: HostBuilder, stm: Stm, exp: core.ArrayLiteral) -> None:
    made = fresh(host, stm.pattern[0])
    if isinstance(exp.row, ScalarType):
        computed = list(enumerate(exp.rows))
        if sum(isinstance(row, Constant) for row in exp.rows) > MOST_STORED:
            zero = Constant(0, exp.row)
            known = [row if isinstance(row, Constant) else zero for row in exp.rows]
            host.emit(kc.WriteConstants(made.memory, tuple(known)))
            computed = [(n, row) for n, row in computed if isinstance(row, Name)]

        def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
            for number, row in computed:
                k.write(made, (Size.constant(number),), k.scalar(row))

        if computed:
            host.each("literal", (ONE,), visit)
    else:
        for number, row in enumerate(exp.rows):
            assert isinstance(row, Name)
            host.copy(made.row((Size.constant(number),)), host.array(row))
    host.bind(stm.pattern[0], made)


def _rearrange(host: HostBuilder, stm: Stm, exp: core.Rearrange) -> None:
    host.bind(stm.pattern[0], host.array(exp.array).rearrange(exp.permutation))


def _reshape(host: HostBuilder, stm: Stm, exp: core.Reshape) -> None:
    array = host.array(exp.array)
    shape = host.sizes(exp.shape)
    view = array.reshape(shape)
    if view is None:
        view = host.copied(array).reshape(shape)
        assert view is not None
    host.bind(stm.pattern[0], view)


def _concat(host: HostBuilder, stm: Stm, exp: core.Concat) -> None:
    made = fresh(host, stm.pattern[0])
    for part, array in made.joined(exp.dimension, map(host.array, exp.arrays)):
        host.copy(part, array)
    host.bind(stm.pattern[0], made)


def _manifest(host: HostBuilder, stm: Stm, exp: core.Manifest) -> None:
    array, order = host.array(exp.array), exp.permutation
    if not (exp.array in host.facts.layouts.made and array.has_order(order)):
        array = host.copied(array, order)
    host.bind(stm.pattern[0], array)


# --- control --------------------------------------------------------------------------

Offsets: TypeAlias = Mapping[Name, Name]
"""variables with the places where arrays of a loop begin that are not at offset 0"""
NONE: Offsets = MappingProxyType({})


def transfer(host: HostBuilder, value: Any, target: Name | None = None) -> Atom:
    """The variable (of a scalar or a memory) that passes a value, to the target of
    a branch or a loop in the order that it has there."""
    if isinstance(value, Array):
        return host.whole(value, order_of(host, target)).memory.name
    assert isinstance(value, Name | Constant)
    if isinstance(value, Name) and value in host.values:
        return host.atom(value)
    return value


def order_of(host: HostBuilder, name: Name | None) -> Order | None:
    """The order of an array that crosses a branch or a loop; None: row-major."""
    return None if name is None else host.facts.layouts.carried.get(name)


def receive(host: HostBuilder, pattern: tuple[Param, ...]) -> tuple[Name, ...]:
    """The variables that receive passed values, bound to the pattern."""
    for bound in pattern:
        if isinstance(bound.type, ArrayType):
            memory = kc.Memory(bound.name, bound.type.element)
            shape, order = host.shape(bound.type), order_of(host, bound.name)
            host.values[bound.name] = whole(memory, shape, order)
        else:
            host.own_scalar(bound.name, element_of(bound.type))
    return tuple(bound.name for bound in pattern)


def value_of(host: HostBuilder, atom: Atom) -> Any:
    """What an atom stands for."""
    return host.lookup(atom) if isinstance(atom, Name) else atom


def _branch(
    host: HostBuilder, body: Body, targets: tuple[Name, ...], offsets: Offsets = NONE
) -> kc.HostBlock:
    with host.nested() as block:
        host.statements_of(body.statements, body.result)
        if targets:
            values = [value_of(host, atom) for atom in body.result]
            move(host, targets, values, offsets)
    return kc.HostBlock(tuple(block))


def move(
    host: HostBuilder,
    targets: tuple[Name, ...],
    values: Sequence[Any],
    offsets: Offsets,
) -> None:
    """Pass values to the targets of a branch or a loop, of some also the offset."""
    sources: list[Atom] = []
    starts: list[Atom] = []
    for value, target in zip(values, targets, strict=True):
        if target in offsets:
            view = value if value.is_row_major else host.copied(value)
            sources.append(view.memory.name)
            starts.append(host.size_atom(view.offset, "offset"))
        else:
            sources.append(transfer(host, value, target))
    host.emit(kc.HostMove((*targets, *offsets.values()), (*sources, *starts)))


def _if(host: HostBuilder, stm: Stm, exp: core.If) -> None:
    targets = tuple(bound.name for bound in stm.pattern)
    condition = host.atom(exp.condition)
    by_default = value_by_default(exp.condition, host.program.thresholds, host.schedule)
    alone, blocks = host.program.fallbacks.one_thread, []
    for body, never in ((exp.then, False), (exp.otherwise, True)):
        count = len(alone)
        blocks.append(_branch(host, body, targets))
        if by_default is never:  # so there is no warning
            del alone[count:]
    host.emit(kc.HostIf(condition, *blocks))
    receive(host, stm.pattern)


def _match(host: HostBuilder, stm: Stm, exp: core.Match) -> None:
    targets = tuple(bound.name for bound in stm.pattern)
    scrutinees = [host.atom(atom) for atom in exp.scrutinees]

    def cases(number: int) -> None:
        if number == len(exp.cases):
            for statement in _branch(host, exp.default, targets).statements:
                host.emit(statement)
            return
        case = exp.cases[number]
        condition: Atom = Constant(True, BOOL)
        for scrutinee, wanted in zip(scrutinees, case.values, strict=True):
            if wanted is not None:
                equal = core.ScalarOp(operator("eq", wanted.type), (scrutinee, wanted))
                test = host.scalar(equal, BOOL, "fits")
                both = core.ScalarOp(operator("and", BOOL), (condition, test))
                condition = host.scalar(both, BOOL, "fits")
        then = _branch(host, case.body, targets)
        with host.nested() as rest:
            cases(number + 1)
        host.emit(kc.HostIf(condition, then, kc.HostBlock(tuple(rest))))

    cases(0)
    receive(host, stm.pattern)


def is_part(host: HostBuilder, value: Any, parameter: Name) -> bool:
    """Whether the first value of a loop's parameter is a dense part of more memory, as
    one half of a partition: the loop passes on where it begins, and nothing is copied.

    before:
        copy (half, xs[m :+ n - m])
        move (ys) = (half)
    after:
        move (ys, offset) = (xs, m)
    """
    if not isinstance(value, Array) or order_of(host, parameter) is not None:
        return False
    return value.rank > 0 and value.is_row_major and value.offset != ZERO


def _loop(host: HostBuilder, stm: Stm, exp: core.Loop) -> None:
    values: list[Any] = []
    offsets: dict[Name, Name] = {}
    for bound, atom in zip(exp.parameters, exp.initial, strict=True):
        value = value_of(host, atom)
        if isinstance(value, Array) and bound.name in host.facts.in_place.copied:
            value = host.copied(value, order_of(host, bound.name))
        if is_part(host, value, bound.name):
            offsets[bound.name] = host.names.fresh("offset")
        values.append(value)
    targets = tuple(bound.name for bound in exp.parameters)
    if targets:
        move(host, targets, values, offsets)
    receive(host, exp.parameters)
    for name, offset in offsets.items():
        start = Size.of(host.own_scalar(offset, I64))
        host.values[name] = replace(host.array(name), offset=start)
    if isinstance(exp.form, core.ForLoop):
        index = exp.form
        bound_atom = host.atom(index.bound)
        host.own_scalar(index.index, index.type)
        body = _branch(host, exp.body, targets, offsets)
        host.emit(kc.HostFor(index.index, bound_atom, body))
    else:
        body = _branch(host, exp.body, targets, offsets)
        host.emit(kc.HostWhile(exp.form.condition, body))
    for bound, parameter in zip(stm.pattern, exp.parameters, strict=True):
        host.values[bound.name] = host.lookup(parameter.name)


def _apply(host: HostBuilder, stm: Stm, exp: core.Apply) -> None:
    arguments = tuple(transfer(host, value_of(host, a)) for a in exp.arguments)
    targets = receive(host, stm.pattern)
    host.emit(kc.HostCall(targets, exp.function, arguments))


HostRule = Callable[[HostBuilder, Stm, Any], None]

RULES: dict[type, HostRule] = {
    WithAcc: lower_with_acc,
    UpdateAcc: lower_host_update,
    core.Copy: _same,
    core.Trace: _trace,
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
    core.If: _if,
    core.Match: _match,
    core.Loop: _loop,
    core.Apply: _apply,
    kernels.GetParameter: _get_parameter,
    kernels.AtLeast: _at_least,
}
