"""Sizes of applications.

The result of a function with unknown sizes gets new ones at each application; what an
argument is called in the result is replaced by the argument, if it can be a size.
"""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check.environment import plain
from minifut.frontend.check.inference.applications import callee_name
from minifut.frontend.check.messages import Mismatch, quote, source_text
from minifut.frontend.check.mismatches import size_mismatch, wrong_argument
from minifut.frontend.check.size_terms import has_binding
from minifut.frontend.check.sizing.expressions import (
    BINDING_WARNING,
    RULES,
    as_size,
    size,
)
from minifut.frontend.check.sizing.scopes import replace_sizes
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unify import unify
from minifut.frontend.check.sizing.unknowns import Usage
from minifut.frontend.check.witnesses import dimensions, free_sizes, produced_and_taken
from minifut.frontend.sizes import LONGEST_RESULT, free_in_size, length
from minifut.frontend.types import Type
from minifut.names import Name


def apply_one(
    state: Sizing,
    location: Location,
    callee: str | None,
    function: Type,
    argument: syntax.Exp,
) -> tuple[Type, tuple[Name, ...]]:
    """The type of a function applied to an (already sized) argument, and the unknown
    sizes of the result."""
    assert isinstance(function, types.Arrow) and argument.type is not None
    given = argument.type
    usage = Usage("use as function argument", argument.location)
    try:
        unify(state, usage, function.argument, given)
    except Mismatch as fault:
        head = wrong_argument(callee, argument)
        raise size_mismatch(
            state, argument.location, fault, head, plain(function.argument), given
        ) from None
    result, exts = _with_new_exts(state, location, callee, function)
    result, more = bind_pending(state, location, result)
    exts += more
    _refuse_unknown_parameters(state, location, callee, argument, exts, result)
    parameter = function.parameter
    # the first test is quick, and most parameters have no name
    if parameter in types.mentioned(result) and parameter in free_sizes(result):
        assert parameter is not None
        result = _with_argument(state, callee, parameter, argument, result)
    return plain(result), exts


def _with_new_exts(
    state: Sizing, location: Location, callee: str | None, function: types.Arrow
) -> tuple[Type, tuple[Name, ...]]:
    result = state.normal_type(function.result)
    if not function.exts:
        return result, ()
    source = "unknown size returned by " + (quote(callee) if callee else "function")
    fresh = tuple(state.unknown(location, source, e.base) for e in function.exts)
    for ext, name in zip(function.exts, fresh, strict=True):
        if ext in state.joined:
            state.joined[name] = state.joined[ext]
    mapping = {e: types.SizeVar(f) for e, f in zip(function.exts, fresh, strict=True)}
    return types.substitute(result, mapping), fresh


def pending_sizes(state: Sizing) -> tuple[set[int], dict[int, int]]:
    """The metas that are existential, and for copies the one that stands for all with
    the same origin."""
    pending: set[int] = set()
    groups: dict[tuple[int, object], int] = {}
    representative: dict[int, int] = {}
    for number, info in enumerate(state.metas):
        if info.kind == "existential":
            pending.add(number)
        elif info.kind == "copy":
            canonical = state.metas[info.canonical]
            if canonical.kind == "existential":
                pending.add(number)
                found = canonical.existential
                if found is not None and found.key is not None:
                    group = (info.occurrence, found.key)
                    representative[number] = groups.setdefault(group, number)
    return pending, representative


def is_pending(state: Sizing, number: int) -> bool:
    return state.canonical(number).kind == "existential"


def bind_pending(
    state: Sizing, location: Location, type_: Type
) -> tuple[Type, tuple[Name, ...]]:
    """Turn existential metas in a type into unknown sizes."""
    metas = [a for a in types.mentioned(type_) if isinstance(a, int)]
    if not any(is_pending(state, number) for number in metas):
        return type_, ()
    _, representative = pending_sizes(state)

    def leaf(size_: types.Size) -> types.Size:
        if isinstance(size_, types.SizeMeta) and size_.id in representative:
            return types.SizeMeta(representative[size_.id])
        return size_

    type_ = types.map_type(type_, lambda _: None, lambda s: types.map_size(s, leaf))

    def killer(size_: types.Size) -> object | None:
        for atom in free_in_size(size_):
            if isinstance(atom, int) and is_pending(state, atom):
                return state.metas[atom]
        return None

    return replace_sizes(state, location, killer, type_)


def _bound_inside(type_: Type) -> set[Name]:
    if not isinstance(type_, types.Arrow | types.Record | types.Sum):
        return set()
    here = {name for part in types.parts(type_) for name in _bound_inside(part)}
    if isinstance(type_, types.Arrow):
        here.update(type_.exts)
        here |= set() if type_.parameter is None else {type_.parameter}
    return here


def _refuse_unknown_parameters(
    state: Sizing,
    location: Location,
    callee: str | None,
    node: syntax.Exp,
    exts: tuple[Name, ...],
    result: Type,
) -> None:
    problematic = set(exts)
    argument = node.type
    if isinstance(argument, (types.Arrow, types.Record, types.Sum)):
        problematic |= _bound_inside(state.normal_type(argument))
    if not problematic:
        return
    produced, taken = produced_and_taken(result)
    if problematic & (taken - produced):
        raise error(
            location,
            f"Cannot apply {quote(callee) if callee else 'function'} to "
            f"{quote(source_text(node))}.\n"
            "Existential size would appear in function parameter of return type:\n"
            f"  {state.show(result)}\n"
            "This is usually because a higher-order function is used with functional "
            "arguments that return existential sizes or locally named sizes, which are "
            "then used as parameters of other function arguments.",
            "existential-param-ret",
        )


def _with_argument(
    state: Sizing,
    callee: str | None,
    parameter: Name,
    argument: syntax.Exp,
    result: Type,
) -> Type:
    if has_binding(argument):
        state.context.warn(argument.location, BINDING_WARNING)
        source = (
            f"the value of argument {quote(source_text(argument))} passed to "
            f"{quote(callee) if callee else 'function'}"
        )
        name = state.unknown(argument.location, source, "n")
        argument.exts = (*argument.exts, name)
        return types.substitute(result, {parameter: types.SizeVar(name)})
    return state.normal_type(
        types.substitute(result, {parameter: as_size(state, argument)})
    )


def _short(
    state: Sizing, location: Location, type_: Type
) -> tuple[Type, tuple[Name, ...]]:
    """A result without long sizes: the size of `x ++ x` has those of `x` twice, and
    without a bound doubles with each `let`."""
    if all(length(size_) <= LONGEST_RESULT for size_, *_ in dimensions(type_)):
        return type_, ()
    return replace_sizes(
        state, location, lambda size_: length(size_) > LONGEST_RESULT or None, type_
    )


def _apply(state: Sizing, node: syntax.Apply) -> Type:
    function = size(state, node.function)
    callee = callee_name(node.function)
    for argument in node.arguments:
        size(state, argument)
    exts: tuple[Name, ...] = ()
    for argument in node.arguments:
        function, more = apply_one(
            state, node.location, callee, state.normal_type(function), argument
        )
        exts += more
    function, more = _short(state, node.location, function)
    node.exts = exts + more
    return function


def _binary(state: Sizing, node: syntax.BinaryOp) -> Type:
    chain = []
    left: syntax.Exp = node
    while isinstance(left, syntax.BinaryOp):
        chain.append(left)
        left = left.left
    type_ = size(state, left)
    for operation in reversed(chain):
        function = size(state, operation.operator)
        size(state, operation.right)
        callee = str(operation.operator.name)
        at = operation.location
        partial, _ = apply_one(state, at, callee, function, operation.left)
        type_, exts = apply_one(
            state, at, callee, state.normal_type(partial), operation.right
        )
        type_, more = _short(state, at, type_)
        operation.exts = exts + more
        operation.type = type_
        if operation is not node:
            state.unfinished.nodes.append(operation)
    return type_


def _section(state: Sizing, node: syntax.OperatorSection) -> Type:
    function = size(state, node.operator)
    callee = str(node.operator.name)
    if node.left is not None:
        size(state, node.left)
        type_, node.exts = apply_one(state, node.location, callee, function, node.left)
        return type_
    if node.right is None:
        return function
    size(state, node.right)
    assert isinstance(function, types.Arrow)
    second = state.normal_type(function.result)
    if function.exts or not isinstance(second, types.Arrow):
        raise error(
            node.location,
            f"Operator section with invalid operator of type {state.show(function)}",
            "operator-section",
        )
    turned = types.Arrow(
        second.parameter,
        second.argument,
        types.Arrow(function.parameter, function.argument, second.result, second.exts),
    )
    type_, node.exts = apply_one(state, node.location, callee, turned, node.right)
    return type_


RULES.update(
    {syntax.Apply: _apply, syntax.BinaryOp: _binary, syntax.OperatorSection: _section}
)
