"""Expressions without sizes: the simple forms.

`infer` dispatches on the kind of node; binding forms and applications are in modules
of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.errors import CompileError, Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check import hints
from minifut.frontend.check.environment import Structure, plain
from minifut.frontend.check.inference.state import (
    INTEGERS,
    NUMBERS,
    SIGNED,
    Inference,
    parametric,
)
from minifut.frontend.check.inference.type_expressions import infer_type
from minifut.frontend.check.messages import Mismatch, quote, refuse_again
from minifut.frontend.check.mismatches import (
    BRANCHES,
    EXPECTED,
    FORMER,
    both,
    from_annotation,
    type_mismatch,
)
from minifut.frontend.types import Type

ANY = types.SizeAny()


def infer(state: Inference, node: syntax.Exp) -> Type:
    """The type of an expression, noted in the node."""
    type_ = RULES[type(node)](state, node)
    node.type = type_
    return type_


def require(
    state: Inference, node: syntax.Exp, names: tuple[str, ...], purpose: str
) -> Type:
    """The type of an expression that must be one of some scalar types."""
    type_ = infer(state, node)
    wanted: Type = (
        types.Scalar(names[0])
        if len(names) == 1
        else state.one_of(names, node.location)
    )
    try:
        state.solver.unify(wanted, type_)
    except Mismatch:
        raise error(
            node.location,
            f"Cannot unify type {quote(state.show(type_))} with {purpose}, which must "
            f"be {'of type' if len(names) == 1 else 'one of'} {', '.join(names)}.",
            "type-mismatch",
            hints.conversion(types.Scalar(names[-1]), state.finish(type_)),
        ) from None
    return type_


def array_of(rank: int, element: Type) -> Type:
    """An array of some rank, sizes left open."""
    for _ in range(rank):
        element = types.Array(ANY, element)
    return element


def _string(state: Inference, node: syntax.StringLiteral) -> Type:
    return types.Array(types.SizeConst(len(node.value.encode())), types.U8)


def _variable(state: Inference, node: syntax.Var) -> Type:
    name, fields = state.resolve(node.name)
    node.name_resolved, node.fields = name, fields
    type_, instance = state.instantiate(name, node.location, str(node.name))
    node.instance = {**instance}
    for field in fields:
        type_ = project(state, type_, field, node.location)
    return type_


def project(state: Inference, type_: Type, field: str, location: Location) -> Type:
    """The type of a field."""
    result = state.free(location)
    known = state.finish(type_)
    if isinstance(known, types.Record) and field not in dict(known.fields):
        raise _no_such_field(state, known, field, location)
    if isinstance(known, types.Scalar | types.Array | types.Arrow):
        raise error(
            location,
            f"Cannot unify record type with field: the type\n  {state.show(known)}\n"
            f"has no field {quote(field)}.",
            "unknown-field",
            hints.NO_FIELDS,
        )
    wanted = state.with_field(field, result, location)
    state.unify(location, wanted, type_, "Cannot unify record type with field")
    return result


def _no_such_field(
    state: Inference, type_: types.Record, field: str, location: Location
) -> CompileError:
    fields = [name for name, _ in type_.fields]
    kind = "tuple" if type_.is_tuple else "record"
    hint = hints.nearest(field, fields) or f"its fields are {', '.join(fields)}"
    return error(
        location,
        f"Cannot unify record type with field: the {kind} type\n  {state.show(type_)}\n"
        f"has no field {quote(field)}.",
        "unknown-field",
        hint if fields else None,
    )


def _qualified_parens(state: Inference, node: syntax.QualParens) -> Type:
    module = state.resolve_module(node.module)
    if not isinstance(module, Structure):
        raise parametric(node.module, (*node.module.qualifiers, node.module.name))
    mark = state.scope.mark()
    state.scope.open(module)
    type_ = infer(state, node.inner)
    state.scope.restore(mark)
    return type_


def _record(state: Inference, node: syntax.RecordExp) -> Type:
    fields: dict[str, Type] = {}
    seen: dict[str, Location] = {}
    for field in node.fields:
        what = f"Field {quote(field.name)} previously defined at"
        refuse_again(seen, field.name, field.location, what)
        fields[field.name] = infer(state, field.value)
    return types.record(fields)


def _array(state: Inference, node: syntax.ArrayExp) -> Type:
    size = types.SizeConst(len(node.elements))
    if not node.elements:
        return types.Array(size, state.free(node.location, ""))
    element = infer(state, node.elements[0])
    state.unify(node.location, state.free(node.location, ""), element)
    headline = (
        "The elements of an array must have one type, cannot unify the first one's"
    )
    for other in node.elements[1:]:
        type_ = infer(state, other)
        if type_ is not element:
            state.unify(other.location, element, type_, headline)
    return types.Array(size, element)


def _range(state: Inference, node: syntax.RangeExp) -> Type:
    start = require(state, node.start, INTEGERS, "the start of a range")
    for part in (node.second, node.end):
        if part is not None:
            state.unify(part.location, start, infer(state, part))
    return types.Array(ANY, start)


def infer_indices(state: Inference, indices: tuple[syntax.DimIndex, ...]) -> int:
    """Check indices; the number of slices among them."""
    slices = 0
    for index in indices:
        if isinstance(index, syntax.SliceIndex):
            slices += 1
            for part in (index.start, index.stop, index.step):
                if part is not None:
                    require(state, part, ("i64",), "a bound of a slice")
        else:
            require(state, index, SIGNED, "an index")
    return slices


def _index(state: Inference, node: syntax.Index) -> Type:
    array = infer(state, node.array)
    slices = infer_indices(state, node.indices)
    element = state.free(node.location, "")
    whole = array_of(len(node.indices), element)
    hint = hints.number_of_indices(len(node.indices), state.finish(array))
    state.unify(
        node.array.location, array, whole, "Cannot index, cannot unify", hint=hint
    )
    return array_of(slices, element)


def step_type(
    state: Inference,
    type_: Type,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    location: Location,
) -> Type:
    """The type of the part that a path of fields and indices leads to."""
    for step in steps:
        if isinstance(step, str):
            type_ = project(state, type_, step, location)
        else:
            slices = infer_indices(state, step)
            element = state.free(location, "")
            state.unify(location, type_, array_of(len(step), element))
            type_ = array_of(slices, element)
    return type_


def _if(state: Inference, node: syntax.If) -> Type:
    require(state, node.condition, ("bool",), "a condition")
    then = infer(state, node.then)
    otherwise = infer(state, node.otherwise)
    result = state.free(node.location, "~")
    unify_branches(state, node.location, then, otherwise)
    state.unify(node.location, result, then)
    return then


def unify_branches(
    state: Inference, location: Location, former: Type, latter: Type
) -> None:
    """Branches must have one type."""
    _unify_shown(state, location, former, latter, BRANCHES, FORMER, "branches-differ")


def unify_expected(
    state: Inference, location: Location, wanted: Type, found: Type, headline: str
) -> None:
    """The expression must have the required type."""
    _unify_shown(state, location, wanted, found, headline, EXPECTED, "type-mismatch")


def _unify_shown(
    state: Inference,
    location: Location,
    one: Type,
    other: Type,
    headline: str,
    labels: tuple[str, str],
    anchor: str,
) -> None:
    """Unify two types, which the error shows one above the other."""
    try:
        state.solver.unify(one, other)
    except Mismatch as fault:
        text = both(headline, labels, state.show(one), state.show(other))
        hint = hints.conversion(state.finish(one), state.finish(other))
        raise type_mismatch(state, location, fault, text, anchor, hint) from None


def _annotated(
    state: Inference, value: syntax.Exp, annotation: syntax.TypeExp, kind: str
) -> Type:
    found = infer(state, value)
    wanted, _, _ = infer_type(state, annotation)
    unify_expected(state, value.location, wanted, found, from_annotation(kind))
    return plain(wanted)


def _constructor(state: Inference, node: syntax.Constructor) -> Type:
    payload = tuple(infer(state, a) for a in node.arguments)
    return state.with_constructor(node.name, payload, node.location)


def _assert(state: Inference, node: syntax.Assert) -> Type:
    require(state, node.condition, ("bool",), "an assertion")
    return infer(state, node.value)


LOGICAL = ("bool", *INTEGERS)

RULES: dict[type, Callable[[Inference, Any], Type]] = {
    syntax.Literal: Inference.literal,
    syntax.StringLiteral: _string,
    syntax.Hole: lambda s, e: s.free(e.location),
    syntax.Var: _variable,
    syntax.Project: lambda s, e: project(s, infer(s, e.record), e.field, e.location),
    syntax.Parens: lambda s, e: infer(s, e.inner),
    syntax.QualParens: _qualified_parens,
    syntax.TupleExp: lambda s, e: types.tuple_type(
        tuple(infer(s, x) for x in e.elements)
    ),
    syntax.RecordExp: _record,
    syntax.ArrayExp: _array,
    syntax.RangeExp: _range,
    syntax.Index: _index,
    syntax.Negate: lambda s, e: require(s, e.operand, NUMBERS, "numeric negation"),
    syntax.Not: lambda s, e: require(s, e.operand, LOGICAL, "logical negation"),
    syntax.If: _if,
    syntax.Constructor: _constructor,
    syntax.Ascription: lambda s, e: _annotated(
        s, e.value, e.ascription, "type ascription"
    ),
    syntax.Coercion: lambda s, e: _annotated(s, e.value, e.target, "size coercion"),
    syntax.Assert: _assert,
    syntax.Attributed: lambda s, e: infer(s, e.value),
}
