"""What the verifier asks of each expression: operands, bodies, and the pattern.

Rules check operands and inner bodies; then the pattern must have the types that
`ir.typing` derives, except where sizes may be new (`If`, `Match`, `Loop`, `Apply`):
there each source of the results must fit the pattern with its names replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from minifut.ir import core, derivatives, kernels, soacs
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.core import Atom, DimSlice, Param, Stm
from minifut.ir.sizes import ONE, Size
from minifut.ir.types import (
    BOOL,
    I64,
    AccType,
    DataType,
    Type,
    array_of,
    element_of,
    row_type,
)
from minifut.ir.typing import sliced_shape, type_of
from minifut.ir.verify import instantiate, require
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.ir.verify import Verifier

Rule = Callable[["Verifier", Any], None]


def check_expression(v: Verifier, statement: Stm) -> None:
    """Check the expression of a statement, and that the pattern fits it."""
    exp = statement.exp
    kind = type(exp)
    special = EXISTENTIAL.get(kind)
    if special is not None:
        special(v, exp, statement.pattern)
        return
    if kind not in BINDING:
        v.uses(exp)
    rule = RULES.get(kind)
    if rule is not None:
        rule(v, exp)
    found = [parameter.type for parameter in statement.pattern]
    v.same_types(type_of(exp, v.scope), found, "the pattern")


def _is(v: Verifier, atom: Atom, type_: Type, what: str) -> None:
    v.same(type_, v.atom(atom), what)


# --- core ------------------------------------------------------------------------


def _scalar_op(v: Verifier, exp: core.ScalarOp) -> None:
    v.same_types(exp.operator.operands, v.types(exp.operands), f"{exp.operator}")


def _slice(v: Verifier, array: Name, slice_: tuple[Atom | DimSlice, ...]) -> Type:
    """The type of a slice of an array."""
    type_ = v.array(array)
    require(len(slice_) <= type_.rank, f"{array} has {type_.rank} dimensions")
    for part in slice_:
        if isinstance(part, DimSlice):
            _is(v, part.start, I64, "the start of a slice")
            _is(v, part.stride, I64, "the stride of a slice")
            v.size(part.length)
        else:
            _is(v, part, I64, f"an index of {array}")
    return array_of(type_.element, sliced_shape(type_.shape, slice_))


def _index(v: Verifier, exp: core.Index) -> None:
    _slice(v, exp.array, exp.slice)


def _update(v: Verifier, exp: core.Update) -> None:
    _is(v, exp.value, _slice(v, exp.array, exp.slice), "the new value")


def _iota(v: Verifier, exp: core.Iota) -> None:
    require(exp.element.is_integer, "iota makes integers")
    _is(v, exp.start, exp.element, "the start")
    _is(v, exp.stride, exp.element, "the stride")
    v.size(exp.length)


def _literal(v: Verifier, exp: core.ArrayLiteral) -> None:
    for row in exp.rows:
        _is(v, row, exp.row, "a row")


def _permutation(v: Verifier, exp: core.Rearrange | core.Manifest) -> None:
    rank = v.array(exp.array).rank
    identity = sorted(exp.permutation) == list(range(rank))
    require(identity, f"{exp.permutation} does not permute {rank} dimensions")


def _concat(v: Verifier, exp: core.Concat) -> None:
    first = v.array(exp.arrays[0])
    require(0 <= exp.dimension < first.rank, f"there is no dimension {exp.dimension}")
    total = Size.constant(0)
    for array in exp.arrays:
        type_ = v.array(array)
        require(type_.rank == first.rank, "arrays of different ranks")
        total = total + type_.shape[exp.dimension]
        shape = list(type_.shape)
        shape[exp.dimension] = first.shape[exp.dimension]
        v.same(first, array_of(type_.element, tuple(shape)), f"{array}")
    require(
        v.same_size(total, exp.size), f"the parts have size {total}, not {exp.size}"
    )


def _assert(v: Verifier, exp: core.Assert) -> None:
    _is(v, exp.condition, BOOL, "the condition")


# --- accumulators ------------------------------------------------------------------


def _with_acc(v: Verifier, exp: WithAcc) -> None:
    parameters = exp.function.parameters
    require(len(parameters) == len(exp.inputs), "as many accumulators as inputs")
    wanted: list[Type] = []
    for item, parameter in zip(exp.inputs, parameters, strict=True):
        elements = _accumulated(v, item)
        wanted.append(AccType(parameter.name, item.shape, elements))
    v.lambda_(exp.function, wanted, "the function")
    given = exp.function.results[: len(wanted)]
    v.same_types(wanted, given, "the accumulators that come back")


def _accumulated(v: Verifier, item: AccInput) -> tuple[DataType, ...]:
    """The types of what stands at one index; the operator must combine them."""
    require(bool(item.shape and item.arrays), "an accumulator without dimensions")
    elements = []
    for array in item.arrays:
        type_ = v.array(array)
        require(type_.rank >= len(item.shape), f"{array} has too few dimensions")
        element = row_type(type_, len(item.shape))
        assert not isinstance(element, AccType)
        elements.append(element)
        v.same(array_of(element, item.shape), type_, f"{array}")
    if item.operator is not None:
        v.same_types(elements, v.types(item.neutral), "the neutral elements")
        v.lambda_(item.operator, elements * 2, "the operator")
        v.same_types(elements, item.operator.results, "the operator gives")
    return tuple(elements)


def _update_acc(v: Verifier, exp: UpdateAcc) -> None:
    type_ = v.atom(exp.accumulator)
    if not isinstance(type_, AccType):
        require(False, f"{exp.accumulator} is no accumulator")
        return
    v.same_types([I64] * len(type_.shape), v.types(exp.indices), "the indices")
    v.same_types(type_.elements, v.types(exp.values), "the values")


# --- results with new sizes --------------------------------------------------------


def _branch(v: Verifier, body: core.Body, pattern: tuple[Param, ...]) -> None:
    added = v.body(body)
    v.results_fit(pattern, body.result, "a branch")
    v.unbind(added)


def _if(v: Verifier, exp: core.If, pattern: tuple[Param, ...]) -> None:
    _is(v, exp.condition, BOOL, "the condition")
    _branch(v, exp.then, pattern)
    _branch(v, exp.otherwise, pattern)


def _match(v: Verifier, exp: core.Match, pattern: tuple[Param, ...]) -> None:
    types = v.types(exp.scrutinees)
    for case in exp.cases:
        require(len(case.values) == len(types), "a case of another length")
        for constant, type_ in zip(case.values, types, strict=True):
            if constant is not None:
                v.same(type_, constant.type, "a case")
        _branch(v, case.body, pattern)
    _branch(v, exp.default, pattern)


def _loop(v: Verifier, exp: core.Loop, pattern: tuple[Param, ...]) -> None:
    v.types(exp.initial)
    require(len(exp.initial) == len(exp.parameters), "as many initials as parameters")
    if isinstance(exp.form, core.ForLoop):
        _is(v, exp.form.bound, exp.form.type, "the bound")
    added = v.bind(exp.parameters)
    v.results_fit(exp.parameters, exp.initial, "the initial values")
    if isinstance(exp.form, core.ForLoop):
        v.bind_name(exp.form.index, exp.form.type)
        added.append(exp.form.index)
    else:
        _is(v, exp.form.condition, BOOL, "the condition")
        own = {parameter.name for parameter in exp.parameters}
        require(exp.form.condition in own, "the condition is no parameter of the loop")
    added += v.body(exp.body)
    v.results_fit(exp.parameters, exp.body.result, "the loop's results")
    v.unbind(added)
    names = [parameter.name for parameter in pattern]
    require(len(names) == len(exp.parameters), "the pattern has another length")
    wanted = instantiate(exp.parameters, names)
    v.same_types(wanted, [p.type for p in pattern], "the pattern")


def _apply(v: Verifier, exp: core.Apply, pattern: tuple[Param, ...]) -> None:
    function = v.functions.get(exp.function)
    require(function is not None, f"there is no function {exp.function}")
    assert function is not None
    v.results_fit(function.parameters, exp.arguments, "an argument")
    require(len(pattern) == len(function.results), "the pattern has another length")
    given = dict(zip((p.name for p in function.parameters), exp.arguments, strict=True))
    names = [parameter.name for parameter in pattern]
    given |= dict(zip((p.name for p in function.results), names, strict=True))
    whole = function.parameters + function.results
    wanted = instantiate(whole, [given[p.name] for p in whole])
    results = wanted[len(function.parameters) :]
    v.same_types(results, [p.type for p in pattern], "the pattern")


# --- soacs -----------------------------------------------------------------------


def _rows(v: Verifier, arrays: Iterable[Name], width: Size) -> list[Type]:
    rows = []
    for array in arrays:
        if isinstance(v.atom(array), AccType):
            rows.append(v.atom(array))
            continue
        type_ = v.array(array)
        require(
            v.same_size(type_.shape[0], width),
            f"{array} has outer size {type_.shape[0]}, not {width}",
        )
        rows.append(row_type(type_))
    return rows


def _fold(v: Verifier, fold: Any, values: list[Type], what: str) -> list[Type]:
    """Check an operator with its neutral element; the types it folds."""
    types = v.types(fold.neutral)
    v.lambda_(fold.operator, types * 2, what)
    v.same_types(types, fold.operator.results, f"{what} gives")
    v.same_types(
        [array_of(t, getattr(fold, "shape", ())) for t in types],
        values[: len(types)],
        f"operands of {what}",
    )
    return types


def _screma(v: Verifier, exp: soacs.Screma) -> None:
    v.size(exp.width)
    v.lambda_(exp.function, _rows(v, exp.arrays, exp.width), "the function")
    values = list(exp.function.results)
    for fold in (*exp.scans, *exp.reduces):
        values = values[len(_fold(v, fold, values, "the operator")) :]


def _scatter(v: Verifier, exp: soacs.Scatter) -> None:
    v.size(exp.width)
    v.lambda_(exp.function, _rows(v, exp.arrays, exp.width), "the function")
    indices = sum(d.rank * d.count for d in exp.destinations)
    wanted: list[Type] = [I64] * indices
    for destination in exp.destinations:
        type_ = v.array(destination.array)
        require(destination.rank <= type_.rank, "more indices than dimensions")
        value = array_of(type_.element, type_.shape[destination.rank :])
        wanted += [value] * destination.count
    v.same_types(wanted, exp.function.results, "the function gives")


def _hist(v: Verifier, exp: soacs.Hist) -> None:
    v.size(exp.width)
    v.lambda_(exp.function, _rows(v, exp.arrays, exp.width), "the function")
    _bins(v, exp.operators, list(exp.function.results), ())


def _bins(
    v: Verifier, operators: Any, results: list[Type], segments: tuple[Size, ...]
) -> None:
    bins = sum(len(operator.shape) for operator in operators)
    v.same_types([I64] * bins, results[:bins], "the bins")
    values = results[bins:]
    for operator in operators:
        types = v.types(operator.neutral)
        vector = getattr(operator, "vector", ())
        v.lambda_(operator.operator, types * 2, "the operator")
        v.same_types(types, operator.operator.results, "the operator gives")
        full = [array_of(type_, vector) for type_ in types]
        v.same_types(full, values[: len(types)], "the values")
        values = values[len(types) :]
        wanted = [array_of(type_, segments + operator.shape) for type_ in full]
        v.same_types(wanted, v.types(operator.destinations), "the destinations")
    require(not values, "more values than operators take")


# --- derivatives -----------------------------------------------------------------


def _derivative(v: Verifier, exp: derivatives.Jvp | derivatives.Vjp) -> None:
    for size in exp.shape:
        v.size(size)
    arguments = v.types(exp.arguments)
    v.lambda_(exp.function, arguments, "the function")
    results = type_of(exp, v.scope)[: len(exp.function.results)]
    directions = arguments if isinstance(exp, derivatives.Jvp) else results
    wanted = [array_of(type_, exp.shape) for type_ in directions]
    v.same_types(wanted, v.types(exp.seeds), "the seeds")


def _custom_vjp(v: Verifier, exp: derivatives.CustomVjp) -> None:
    arguments = v.types(exp.arguments)
    v.lambda_(exp.function, arguments, "the function")
    results = type_of(exp, v.scope)
    v.lambda_(exp.adjoint, (*results, *results), "the adjoint")
    v.same_types(arguments, exp.adjoint.results, "the adjoint gives")


# --- kernels ---------------------------------------------------------------------

_DEPTH = {"grid": 0, "group": 1, "thread": 2, "register": 3}


def _segmented(v: Verifier, exp: Any) -> None:
    """Space, body and results of a segmented operation; then its operators."""
    if v.levels:
        outer, inner = _DEPTH[v.levels[-1].kind], _DEPTH[exp.level.kind]
        require(inner > 0 and inner >= outer, f"{exp.level} inside {v.levels[-1]}")
    for size in exp.space.sizes:
        v.size(size)
    for operator in getattr(exp, "operators", ()):
        for size in operator.shape:
            v.size(size)
    require(len(exp.types) == len(exp.body.result), "as many types as results")
    _operators(v, exp)
    v.levels.append(exp.level)
    for index in exp.space.indices:
        v.bind_name(index, I64)
    added = v.kernel_body(exp.body)
    for result, type_ in zip(exp.body.result, exp.types, strict=True):
        _kernel_result(v, result, type_)
    v.unbind([*added, *exp.space.indices])
    v.levels.pop()


def _operators(v: Verifier, exp: Any) -> None:
    values = list(exp.types)
    if isinstance(exp, kernels.SegHist):
        _bins(v, exp.operators, values, exp.space.sizes[:-1])
    elif not isinstance(exp, kernels.SegMap):
        for operator in exp.operators:
            values = values[len(_fold(v, operator, values, "the operator")) :]


def _kernel_result(v: Verifier, result: kernels.KernelResult, type_: Type) -> None:
    match result:
        case kernels.Returns(atom):
            _is(v, atom, type_, "a result")
        case kernels.WriteReturns(array, shape, writes):
            whole = v.array(array)
            sizes_fit = len(shape) == whole.rank and all(
                v.same_size(a, b) for a, b in zip(shape, whole.shape, strict=True)
            )
            require(sizes_fit, f"{array} has another shape than its writes say")
            for indices, written in writes:
                value = _slice(v, array, indices)
                _is(v, written, value, "a written value")
        case kernels.TileReturns(dimensions, tile):
            shape = tuple(size for _, size in dimensions if size != ONE)
            _is(v, tile, array_of(element_of(type_), shape), "the tile")
        case kernels.RegTileReturns(dimensions, tile):
            sizes = [(b, r) for _, b, r in dimensions if (b, r) != (ONE, ONE)]
            blocks = tuple(block for block, _ in sizes)
            registers = tuple(register for _, register in sizes)
            wanted = array_of(element_of(type_), blocks + registers)
            _is(v, tile, wanted, "the register tiles")


def _collective_copy(v: Verifier, exp: kernels.CollectiveCopy) -> None:
    _slice(v, exp.array, exp.slice)
    inside = bool(v.levels) and v.levels[-1].kind == "group"
    require(inside, "a collective copy is for all threads of a group")


def _at_least(v: Verifier, exp: kernels.AtLeast) -> None:
    v.size(exp.parallelism)


BINDING = {
    WithAcc, soacs.Screma, soacs.Scatter, soacs.Hist, derivatives.Jvp,
    derivatives.Vjp, derivatives.CustomVjp, kernels.SegMap, kernels.SegRed,
    kernels.SegScan, kernels.SegHist,
}  # fmt: skip
EXISTENTIAL: dict[type, Callable[[Verifier, Any, tuple[Param, ...]], None]] = {
    core.If: _if,
    core.Match: _match,
    core.Loop: _loop,
    core.Apply: _apply,
}
RULES: dict[type, Rule] = {
    core.ScalarOp: _scalar_op,
    core.SizeExp: lambda v, exp: v.size(exp.size),
    core.Index: _index,
    core.Update: _update,
    core.Iota: _iota,
    core.ArrayLiteral: _literal,
    core.Rearrange: _permutation,
    core.Manifest: _permutation,
    core.Concat: _concat,
    core.Assert: _assert,
    WithAcc: _with_acc,
    UpdateAcc: _update_acc,
    derivatives.Jvp: _derivative,
    derivatives.Vjp: _derivative,
    derivatives.CustomVjp: _custom_vjp,
    soacs.Screma: _screma,
    soacs.Scatter: _scatter,
    soacs.Hist: _hist,
    kernels.SegMap: _segmented,
    kernels.SegRed: _segmented,
    kernels.SegScan: _segmented,
    kernels.SegHist: _segmented,
    kernels.CollectiveCopy: _collective_copy,
    kernels.AtLeast: _at_least,
}
