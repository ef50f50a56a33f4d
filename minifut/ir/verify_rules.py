"""What the verifier requires of each expression: operands, bodies, and the pattern.

Rules check operands and inner bodies; then the pattern must have the types that
`ir.typing` derives, except where sizes may be new (`If`, `Match`, `Loop`, `Apply`):
there each source of the results must fit the pattern with its names replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.ir import core, derivatives, kernels, soacs
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.core import Param, Stm
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I64, AccType, DataType, Type, array_of, row_type
from minifut.ir.typing import type_of
from minifut.ir.verify import Verifier, instantiate, require
from minifut.ir.verify_kernels import at_least, collective_copy, segmented
from minifut.ir.verify_operands import (
    check_atom,
    check_bins,
    check_fold,
    check_rows,
    check_slice,
)

VerifyRule = Callable[["Verifier", Any], None]


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


# --- core ------------------------------------------------------------------------


def _scalar_op(v: Verifier, exp: core.ScalarOp) -> None:
    v.same_types(exp.operator.operands, v.types(exp.operands), f"{exp.operator}")


def _index(v: Verifier, exp: core.Index) -> None:
    check_slice(v, exp.array, exp.slice)


def _update(v: Verifier, exp: core.Update) -> None:
    check_atom(v, exp.value, check_slice(v, exp.array, exp.slice), "the new value")


def _iota(v: Verifier, exp: core.Iota) -> None:
    require(exp.element.is_integer, "iota makes integers")
    check_atom(v, exp.start, exp.element, "the start")
    check_atom(v, exp.stride, exp.element, "the stride")
    v.size(exp.length)


def _literal(v: Verifier, exp: core.ArrayLiteral) -> None:
    for row in exp.rows:
        check_atom(v, row, exp.row, "a row")


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
    check_atom(v, exp.condition, BOOL, "the condition")


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
    """The types of what is at one index; the operator must combine them."""
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
    check_atom(v, exp.condition, BOOL, "the condition")
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
        check_atom(v, exp.form.bound, exp.form.type, "the bound")
    added = v.bind(exp.parameters)
    v.results_fit(exp.parameters, exp.initial, "the initial values")
    if isinstance(exp.form, core.ForLoop):
        v.bind_name(exp.form.index, exp.form.type)
        added.append(exp.form.index)
    else:
        check_atom(v, exp.form.condition, BOOL, "the condition")
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


def _screma(v: Verifier, exp: soacs.Screma) -> None:
    v.size(exp.width)
    v.lambda_(exp.function, check_rows(v, exp.arrays, exp.width), "the function")
    values = list(exp.function.results)
    for fold in (*exp.scans, *exp.reduces):
        values = values[len(check_fold(v, fold, values)) :]


def _scatter(v: Verifier, exp: soacs.Scatter) -> None:
    v.size(exp.width)
    v.lambda_(exp.function, check_rows(v, exp.arrays, exp.width), "the function")
    indices = exp.index_count
    wanted: list[Type] = [I64] * indices
    for destination in exp.destinations:
        type_ = v.array(destination.array)
        require(destination.rank <= type_.rank, "more indices than dimensions")
        value = array_of(type_.element, type_.shape[destination.rank :])
        wanted += [value] * destination.count
    v.same_types(wanted, exp.function.results, "the function gives")


def _hist(v: Verifier, exp: soacs.Hist) -> None:
    v.size(exp.width)
    v.lambda_(exp.function, check_rows(v, exp.arrays, exp.width), "the function")
    check_bins(v, exp.operators, list(exp.function.results), ())


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
RULES: dict[type, VerifyRule] = {
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
    kernels.SegMap: segmented,
    kernels.SegRed: segmented,
    kernels.SegScan: segmented,
    kernels.SegHist: segmented,
    kernels.CollectiveCopy: collective_copy,
    kernels.AtLeast: at_least,
}
