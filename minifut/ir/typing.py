"""The typing rules: what an expression gives, one rule per class.

    type_of(Iota(n, 0, 1, i64))          ([n]i64,)
    type_of(Screma(n, xs, map f))        ([n]t,)      where f: ... -> t

`type_of` needs only the types of the operands. Where a result's size may be unknown
(`If`, `Match`, `Loop`, `Apply`) it gives them if the types do not depend on names bound
inside; otherwise the pattern has to be given where the statement is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from minifut.errors import InternalError
from minifut.ir import accumulators, core, derivatives, kernels, soacs
from minifut.ir.scope import array_type, type_of_atom
from minifut.ir.sizes import Size
from minifut.ir.soacs import operand_count
from minifut.ir.traverse import size_names, substitute
from minifut.ir.types import BOOL, I64, ArrayType, Type, array_of, element_of
from minifut.names import Name

Types: TypeAlias = Mapping[Name, Type]


def type_of(exp: core.Exp, scope: Types) -> tuple[Type, ...]:
    """The types of the results of an expression."""
    rule = RULES.get(type(exp))
    if rule is None:
        raise InternalError("ir.typing", f"no typing rule for {type(exp).__name__}")
    return rule(exp, scope)


def body_types(body: core.Body, scope: Types) -> tuple[Type, ...]:
    """The types of a body's results; they may mention names bound in it."""
    bound: dict[Name, Type] = {}
    for statement in body.statements:
        for parameter in statement.pattern:
            bound[parameter.name] = parameter.type

    def find(atom: core.Atom) -> Type:
        if isinstance(atom, Name) and atom in bound:
            return bound[atom]
        return type_of_atom(atom, scope)

    return tuple(find(atom) for atom in body.result)


# --- core ------------------------------------------------------------------------


def _same_as_atom(exp: Any, scope: Types) -> tuple[Type, ...]:
    return (type_of_atom(exp.atom, scope),)


def sliced_shape(
    shape: tuple[Size, ...], slice_: tuple[core.Atom | core.DimSlice, ...]
) -> tuple[Size, ...]:
    """The shape of `array[slice]` for an array of that shape."""
    kept = tuple(s.length for s in slice_ if isinstance(s, core.DimSlice))
    return kept + shape[len(slice_) :]


def shaped(element: Type, shape: tuple[Size, ...]) -> Type:
    """An array of the element type of `element` with this shape."""
    return array_of(element_of(element), shape)


def _index(exp: core.Index | kernels.CollectiveCopy, scope: Types) -> tuple[Type, ...]:
    type_ = array_type(exp.array, scope)
    return (shaped(type_, sliced_shape(type_.shape, exp.slice)),)


def _update(exp: core.Update, scope: Types) -> tuple[Type, ...]:
    return (array_type(exp.array, scope),)


def _replicate(exp: core.Replicate, scope: Types) -> tuple[Type, ...]:
    return (array_of(type_of_atom(exp.value, scope), exp.shape),)


def _literal(exp: core.ArrayLiteral, _: Types) -> tuple[Type, ...]:
    return (array_of(exp.row, (Size.constant(len(exp.rows)),)),)


def _rearrange(exp: core.Rearrange, scope: Types) -> tuple[Type, ...]:
    type_ = array_type(exp.array, scope)
    return (shaped(type_, tuple(type_.shape[p] for p in exp.permutation)),)


def _reshape(exp: core.Reshape, scope: Types) -> tuple[Type, ...]:
    return (shaped(array_type(exp.array, scope), exp.shape),)


def _concat(exp: core.Concat, scope: Types) -> tuple[Type, ...]:
    type_ = array_type(exp.arrays[0], scope)
    shape = list(type_.shape)
    shape[exp.dimension] = exp.size
    return (shaped(type_, tuple(shape)),)


def _branches(exp: core.If | core.Match, scope: Types) -> tuple[Type, ...]:
    found = body_types(exp.branches[0], scope)
    for body in exp.branches:
        types = body_types(body, scope)
        local = {p.name for s in body.statements for p in s.pattern}
        for a, b in zip(found, types, strict=True):
            if a != b or size_names(b) & local:
                raise InternalError(
                    "ir.typing",
                    f"branches give {a} and {b}: the pattern must say the type",
                )
    return found


def _loop(exp: core.Loop, _: Types) -> tuple[Type, ...]:
    own = {parameter.name for parameter in exp.parameters}
    types = tuple(parameter.type for parameter in exp.parameters)
    if any(size_names(type_) & own for type_ in types):
        raise InternalError(
            "ir.typing", "a loop changes sizes: the pattern must say the types"
        )
    return types


def _apply(exp: core.Apply, _: Types) -> tuple[Type, ...]:
    raise InternalError(
        "ir.typing", f"call of {exp.function}: the pattern must say the types"
    )


def _with_acc(exp: accumulators.WithAcc, scope: Types) -> tuple[Type, ...]:
    arrays = [array_type(array, scope) for i in exp.inputs for array in i.arrays]
    return (*arrays, *exp.function.results[len(exp.inputs) :])


def _update_acc(exp: accumulators.UpdateAcc, scope: Types) -> tuple[Type, ...]:
    return (type_of_atom(exp.accumulator, scope),)


# --- soacs -----------------------------------------------------------------------


def _screma(exp: soacs.Screma, _: Types) -> tuple[Type, ...]:
    width = (exp.width,)
    results = exp.function.results
    scanned = [t for scan in exp.scans for t in scan.operator.results]
    reduced = [t for reduce in exp.reduces for t in reduce.operator.results]
    mapped = results[len(scanned) + len(reduced) :]
    return (
        *[array_of(t, width) for t in scanned],
        *reduced,
        *[array_of(t, width) for t in mapped],
    )


def _scatter(exp: soacs.Scatter, scope: Types) -> tuple[Type, ...]:
    return tuple(array_type(d.array, scope) for d in exp.destinations)


def _hist(exp: Any, scope: Types) -> tuple[Type, ...]:
    return tuple(array_type(d, scope) for o in exp.operators for d in o.destinations)


# --- derivatives -----------------------------------------------------------------


def _of_function(
    function: core.Lambda, arguments: tuple[core.Atom, ...]
) -> tuple[Type, ...]:
    names = [parameter.name for parameter in function.parameters]
    return substitute(function.results, dict(zip(names, arguments, strict=True)))


def _jvp(exp: derivatives.Jvp, _: Types) -> tuple[Type, ...]:
    primal = _of_function(exp.function, exp.arguments)
    return (*primal, *[array_of(type_, exp.shape) for type_ in primal])


def _vjp(exp: derivatives.Vjp, scope: Types) -> tuple[Type, ...]:
    primal = _of_function(exp.function, exp.arguments)
    types = [type_of_atom(atom, scope) for atom in exp.arguments]
    return (*primal, *[array_of(type_, exp.shape) for type_ in types])


def _custom_vjp(exp: derivatives.CustomVjp, _: Types) -> tuple[Type, ...]:
    return _of_function(exp.function, exp.arguments)


# --- kernels ---------------------------------------------------------------------


def result_type(
    result: kernels.KernelResult, type_: Type, shape: tuple[Size, ...], scope: Types
) -> Type:
    """The type of a kernel result whose type per point is `type_`."""
    match result:
        case kernels.Returns():
            return array_of(type_, shape)
        case kernels.WriteReturns(array, _, _):
            return array_type(array, scope)
        case kernels.TotalReturns():
            return type_
        case kernels.TileReturns(dimensions, _):
            return shaped(type_, tuple(total for total, _ in dimensions))
        case kernels.RegTileReturns(dimensions, _):
            return shaped(type_, tuple(total for total, _, _ in dimensions))


def _segmap(exp: kernels.SegMap, scope: Types) -> tuple[Type, ...]:
    return tuple(
        result_type(result, type_, exp.space.sizes, scope)
        for result, type_ in zip(exp.body.result, exp.types, strict=True)
    )


def _segred(exp: kernels.SegRed, scope: Types) -> tuple[Type, ...]:
    sizes = exp.space.sizes
    reduced = operand_count(exp.operators)
    return (
        *[array_of(type_, sizes[:-1]) for type_ in exp.types[:reduced]],
        *_mapped(exp, reduced, scope),
    )


def _segscan(exp: kernels.SegScan, scope: Types) -> tuple[Type, ...]:
    scanned = operand_count(exp.operators)
    return (
        *[array_of(type_, exp.space.sizes) for type_ in exp.types[:scanned]],
        *_mapped(exp, scanned, scope),
    )


def _mapped(exp: Any, start: int, scope: Types) -> list[Type]:
    pairs = zip(exp.body.result[start:], exp.types[start:], strict=True)
    return [result_type(r, t, exp.space.sizes, scope) for r, t in pairs]


RULES: dict[type, Callable[[Any, Types], tuple[Type, ...]]] = {
    core.Copy: _same_as_atom,
    core.Trace: _same_as_atom,
    core.Opaque: _same_as_atom,
    core.ScalarOp: lambda exp, _: (exp.operator.result,),
    core.SizeExp: lambda _, __: (I64,),
    core.Index: _index,
    core.Update: _update,
    core.Iota: lambda exp, _: (ArrayType(exp.element, (exp.length,)),),
    core.Replicate: _replicate,
    core.Scratch: lambda exp, _: (array_of(exp.element, exp.shape),),
    core.ArrayLiteral: _literal,
    core.Rearrange: _rearrange,
    core.Reshape: _reshape,
    core.Concat: _concat,
    core.Manifest: lambda exp, scope: (array_type(exp.array, scope),),
    core.If: _branches,
    core.Match: _branches,
    core.Loop: _loop,
    core.Apply: _apply,
    core.Assert: lambda _, __: (),
    accumulators.WithAcc: _with_acc,
    accumulators.UpdateAcc: _update_acc,
    soacs.Screma: _screma,
    soacs.Scatter: _scatter,
    soacs.Hist: _hist,
    derivatives.Jvp: _jvp,
    derivatives.Vjp: _vjp,
    derivatives.CustomVjp: _custom_vjp,
    kernels.SegMap: _segmap,
    kernels.SegRed: _segred,
    kernels.SegScan: _segscan,
    kernels.SegHist: _hist,
    kernels.CollectiveCopy: _index,
    kernels.GetParameter: lambda _, __: (I64,),
    kernels.AtLeast: lambda _, __: (BOOL,),
}
