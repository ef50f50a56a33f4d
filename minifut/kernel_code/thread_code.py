"""One rule per expression of the core inside a thread; see `lower_kernel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.ir import core, kernels
from minifut.ir.core import Body, Param, Stm
from minifut.ir.scalars import operator
from minifut.ir.sizes import ZERO, Size
from minifut.ir.types import BOOL, I64, ArrayType, ScalarType
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.lower_kernel import KernelBuilder, NotInKernel, Value

# --- scalars --------------------------------------------------------------------------


def _same(k: KernelBuilder, stm: Stm, exp: Any) -> None:
    k.bind(stm.pattern[0].name, k.atom(exp.atom))


def _scalar_op(k: KernelBuilder, stm: Stm, exp: core.ScalarOp) -> None:
    operands = tuple(k.scalar(a) for a in exp.operands)
    op = exp.operator
    if op.result == I64 and op.name in ("add", "sub", "mul") and len(operands) == 2:
        left, right = (k.host_size(operand) for operand in operands)
        if left is not None and right is not None:
            size = (
                left + right if op.name == "add"
                else left - right if op.name == "sub"
                else left * right
            )  # fmt: skip
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
    number = k.host.failure(exp.message, types, exp.backtrace)
    k.fail_unless(condition, number, values)


# --- arrays ---------------------------------------------------------------------------


def sliced(
    k: KernelBuilder, array: Array, slice_: tuple[core.Atom | core.DimSlice, ...]
) -> Array:
    """The view that a slice gives."""
    entries: list[Size | tuple[Size, Size, Size]] = []
    for part in slice_:
        if isinstance(part, core.DimSlice):
            start, stride = k.index(part.start), k.index(part.stride)
            entries.append((start, k.resolve(part.length), stride))
        else:
            entries.append(k.index(part))
    return array.slice(tuple(entries))


def _index(k: KernelBuilder, stm: Stm, exp: core.Index) -> None:
    view = sliced(k, k.array(exp.array), exp.slice)
    if view.rank == 0:
        k.define(stm.pattern[0], k.load(view.memory, view.offset))
    else:
        k.bind(stm.pattern[0].name, view)


def _update(k: KernelBuilder, stm: Stm, exp: core.Update) -> None:
    array = k.array(exp.array)
    if stm.pattern[0].name not in k.host.in_place.updates:
        made = k.new_array(array.memory.element, array.shape, exp.array.base)
        k.copy(made, array)
        array = made
    view = sliced(k, array, exp.slice)
    k.write(view, (), k.atom(exp.value))
    k.bind(stm.pattern[0].name, array)


def _iota(k: KernelBuilder, stm: Stm, exp: core.Iota) -> None:
    made = k.fresh(stm.pattern[0])
    type_ = kc.VectorType(exp.element)
    start, stride = k.scalar(exp.start), k.scalar(exp.stride)
    multiply, add = operator("mul", exp.element), operator("add", exp.element)

    def visit(at: tuple[Size, ...]) -> None:
        number = kc.Cast(k.size_value(at[0]), type_)
        step = kc.Operation(multiply, (number, stride), type_)
        k.write(made, at, kc.Operation(add, (start, step), type_))

    k.each(made.shape, visit)
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
        k.write(made, (Size.constant(number),), row)
    k.bind(stm.pattern[0].name, made)


def _rearrange(k: KernelBuilder, stm: Stm, exp: core.Rearrange) -> None:
    k.bind(stm.pattern[0].name, k.array(exp.array).rearrange(exp.permutation))


def _reshape(k: KernelBuilder, stm: Stm, exp: core.Reshape) -> None:
    array = k.array(exp.array)
    shape = tuple(k.resolve(size) for size in exp.shape)
    if len(shape) == array.rank:
        view: Array | None = (
            array.with_shape(shape) if _same_shape(array, shape) else None
        )
    else:
        view = None
    view = view or array.reshape(shape)
    if view is None:
        made = k.new_array(array.memory.element, array.shape, exp.array.base)
        k.copy(made, array)
        view = made.reshape(shape)
        assert view is not None
    k.bind(stm.pattern[0].name, view)


def _same_shape(array: Array, shape: tuple[Size, ...]) -> bool:
    """Whether all dimensions but one are the same in words, so that (the number of
    elements being equal) all are equal."""
    pairs = zip(array.shape, shape, strict=True)
    return sum(a != b for a, b in pairs) <= 1 and ZERO not in shape


def _concat(k: KernelBuilder, stm: Stm, exp: core.Concat) -> None:
    made, start = k.fresh(stm.pattern[0]), ZERO
    for name in exp.arrays:
        array = k.array(name)
        part = array.shape[exp.dimension]
        entries = [(ZERO, size, Size.constant(1)) for size in array.shape]
        entries[exp.dimension] = (start, part, Size.constant(1))
        k.copy(made.slice(tuple(entries)), array)
        start = start + part
    k.bind(stm.pattern[0].name, made)


def _manifest(k: KernelBuilder, stm: Stm, exp: core.Manifest) -> None:
    array = k.array(exp.array)
    order = exp.permutation
    inverse = tuple(order.index(d) for d in range(len(order)))
    shape = tuple(array.shape[d] for d in order)
    made = k.new_array(array.memory.element, shape, exp.array.base).rearrange(inverse)
    k.copy(made, array)
    k.bind(stm.pattern[0].name, made)


# --- control --------------------------------------------------------------------------


def _variables(
    k: KernelBuilder, pattern: tuple[Param, ...]
) -> list[kc.Variable | None]:
    """A variable for each scalar; None for arrays."""
    return [
        k.declare(p.name.base, type_=kc.VectorType(p.type))
        if isinstance(p.type, ScalarType)
        else None
        for p in pattern
    ]


def _results(
    k: KernelBuilder, pattern: tuple[Param, ...], exp: core.If | core.Match
) -> list[kc.Variable | Array]:
    """Where the branches leave their results: variables; for arrays new memory, or
    what all branches live in."""
    own = {p.name for p in pattern}
    places: list[kc.Variable | Array] = []
    for position, (bound, variable) in enumerate(
        zip(pattern, _variables(k, pattern), strict=True)
    ):
        if variable is not None:
            places.append(variable)
            continue
        outer = k.host.residence.step(Stm(pattern, exp), position)
        if outer is not None:
            places.append(k.array(outer))
            continue
        assert isinstance(bound.type, ArrayType)
        if any(size.names() & own for size in bound.type.shape):
            raise NotInKernel(f"the size of {bound.name.base} depends on a branch")
        places.append(k.fresh(bound))
    return places


def _branch(k: KernelBuilder, body: Body, places: list[kc.Variable | Array]) -> None:
    for place, value in zip(places, k.body(body), strict=True):
        if isinstance(place, Array):
            assert isinstance(value, Array)
            k.copy(place, value)
        else:
            assert isinstance(value, kc.Expression)
            k.assign(place, value)


def _if(k: KernelBuilder, stm: Stm, exp: core.If) -> None:
    places = _results(k, stm.pattern, exp)
    with k.branch(k.scalar(exp.condition)):
        _branch(k, exp.then, places)
    with k.otherwise():
        _branch(k, exp.otherwise, places)
    _bind_all(k, stm.pattern, places)


def _match(k: KernelBuilder, stm: Stm, exp: core.Match) -> None:
    places = _results(k, stm.pattern, exp)
    scrutinees = [k.scalar(atom) for atom in exp.scrutinees]

    def cases(number: int) -> None:
        if number == len(exp.cases):
            _branch(k, exp.default, places)
            return
        case = exp.cases[number]
        condition: kc.Expression = kc.Literal(True, kc.TRUTH)
        for scrutinee, wanted in zip(scrutinees, case.values, strict=True):
            if wanted is not None:
                test = kc.Operation(
                    operator("eq", wanted.type),
                    (scrutinee, k.scalar(wanted)),
                    kc.VectorType(BOOL),
                )
                condition = kc.Binary("&&", condition, test, kc.TRUTH)
        with k.branch(condition):
            _branch(k, case.body, places)
        with k.otherwise():
            cases(number + 1)

    cases(0)
    _bind_all(k, stm.pattern, places)


def _bind_all(k: KernelBuilder, pattern: tuple[Param, ...], values: list[Any]) -> None:
    for bound, value in zip(pattern, values, strict=True):
        k.bind(bound.name, value)


def _start(k: KernelBuilder, exp: core.Loop) -> list[kc.Variable | Array]:
    """Where the parameters of a loop live, with their first values there."""
    own = {p.name for p in exp.parameters}
    initial = [k.atom(atom) for atom in exp.initial]
    places: list[kc.Variable | Array] = []
    for position, (bound, value) in enumerate(
        zip(exp.parameters, initial, strict=True)
    ):
        if isinstance(value, kc.Expression):
            places.append(k.declare(bound.name.base, value))
            continue
        stays = k.host.residence.stays(exp, position)
        if stays and bound.name not in k.host.in_place.copied:
            places.append(value)
            continue
        assert isinstance(bound.type, ArrayType)
        if any(size.names() & own for size in bound.type.shape):
            raise NotInKernel(f"the size of {bound.name.base} changes in a loop")
        shape = k.shape(bound.type)
        place = k.new_array(bound.type.element, shape, bound.name.base)
        k.copy(place, value)
        places.append(place)
    _bind_all(k, exp.parameters, places)
    return places


def _again(
    k: KernelBuilder, places: list[kc.Variable | Array], results: tuple[Value, ...]
) -> None:
    """The results become the parameters, all at once."""
    moving = {p.name for p in places if isinstance(p, kc.Variable)}
    memories = {p.memory for p in places if isinstance(p, Array)}
    taken: list[tuple[Any, Any]] = []
    for place, result in zip(places, results, strict=True):
        if isinstance(place, Array):
            assert isinstance(result, Array)
            if place.with_shape(result.shape) == result:
                continue
            if result.memory in memories:
                aside = k.new_array(result.memory.element, place.shape, "aside")
                k.copy(aside, result)
                result = aside
        elif isinstance(result, kc.Variable):
            if result.name == place.name:
                continue
            if result.name in moving:
                result = k.declare(result.name.base, result)
        taken.append((place, result))
    for place, result in taken:
        if isinstance(place, Array):
            k.copy(place, result)
        else:
            k.assign(place, result)


def _loop(k: KernelBuilder, stm: Stm, exp: core.Loop) -> None:
    places = _start(k, exp)
    floats = any(isinstance(p, kc.Variable) and p.type.scalar.is_float for p in places)
    with k.reassociate("reduction" in stm.attributes and floats):
        if isinstance(exp.form, core.ForLoop):
            form = exp.form
            type_ = kc.VectorType(form.type)
            with k.loop(form.index.base, k.scalar(form.bound), type_=type_) as index:
                k.bind(form.index, index)
                _again(k, places, k.body(exp.body))
        else:
            with k.while_loop(k.scalar(exp.form.condition)):
                _again(k, places, k.body(exp.body))
    _bind_all(k, stm.pattern, places)


def _apply(k: KernelBuilder, stm: Stm, exp: core.Apply) -> None:
    function = k.host.program.functions[exp.function]
    for parameter, argument in zip(function.parameters, exp.arguments, strict=True):
        k.bind(parameter.name, k.atom(argument))
    results = k.body(function.body)
    _bind_all(k, stm.pattern, list(results))


def _segmap(k: KernelBuilder, stm: Stm, exp: kernels.SegMap) -> None:
    """A segmap inside a thread: loops."""
    if any(not isinstance(result, kernels.Returns) for result in exp.body.result):
        raise NotInKernel("an inner segmap with other results than one per point")
    places = [k.fresh(bound) for bound in stm.pattern]

    def visit(at: tuple[Size, ...]) -> None:
        for name, index in zip(exp.space.indices, at, strict=True):
            k.bind(name, k.size_value(index))
        k.statements_of(exp.body.statements)
        for place, result in zip(places, exp.body.result, strict=True):
            assert isinstance(result, kernels.Returns)
            k.write(place, at, k.atom(result.value))

    k.each(tuple(k.resolve(size) for size in exp.space.sizes), visit)
    _bind_all(k, stm.pattern, places)


Rule = Callable[[KernelBuilder, Stm, Any], None]

RULES: dict[type, Rule] = {
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
    core.If: _if,
    core.Match: _match,
    core.Loop: _loop,
    core.Apply: _apply,
    kernels.SegMap: _segmap,
}
