"""Applications without sizes: functions, operators and sections of them."""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax
from minifut.frontend.check import environment, hints, mismatches, solver
from minifut.frontend.check.inference.expressions import RULES, infer
from minifut.frontend.check.inference.state import FLOATS, Inference
from minifut.frontend.check.messages import Mismatch, quote, source_text
from minifut.frontend.types import Array, Arrow, Meta, Type


def apply_one(
    state: Inference,
    location: Location,
    callee: str | None,
    position: int,
    function: Type,
    argument: Type,
    node: syntax.Exp | None,
    count: int = 1,
) -> Type:
    """The type of a function applied to one argument, of `count`."""
    function = state.solver.resolve(function)
    if isinstance(function, Meta):
        taken, result = state.free(location), state.free(location)
        state.unify(location, function, Arrow(None, taken, result))
        function = Arrow(None, taken, result)
    if not isinstance(function, Arrow):
        raise _not_a_function(state, location, callee, position, function, node, count)
    try:
        state.solver.unify(function.argument, argument)
    except Mismatch as fault:
        expected = function.argument
        shown = state.show(expected), state.show(argument)
        text = mismatches.both(
            mismatches.wrong_argument(callee, node), mismatches.EXPECTED, *shown
        )
        hint = _argument_hint(state, expected, argument, node)
        place = location if node is None else node.location
        raise mismatches.type_mismatch(state, place, fault, text, hint=hint) from None
    return environment.plain(function.result)


def _not_a_function(
    state: Inference,
    location: Location,
    callee: str | None,
    position: int,
    function: Type,
    node: syntax.Exp | None,
    given: int,
) -> Exception:
    named = quote(callee) if callee else "expression"
    if position == 0:
        return error(
            location,
            f"Cannot apply {named} as function, as it has non-function type:\n"
            f"  {state.show(function)}",
            "not-a-function",
            hints.not_a_function(source_text(node) if node is not None else None),
        )
    argument = quote(source_text(node)) if node is not None else "an argument"
    return error(
        location,
        f"Cannot apply {named} to {argument}.\n"
        f"Function accepts only {position} argument{'s' if position > 1 else ''}.",
        "too-many-arguments",
        hints.too_many_arguments(callee, given),
    )


def _argument_hint(
    state: Inference, expected: Type, actual: Type, argument: syntax.Exp | None
) -> str | None:
    wanted, given = state.finish(expected), state.finish(actual)
    written = "an argument" if argument is None else source_text(argument).strip('"')
    inner, own = wanted, given
    while isinstance(inner, Array) and isinstance(own, Array):
        inner, own = inner.element, own.element
    demand = state.solver.demand(inner)
    if isinstance(demand, solver.OneOf):
        is_float = demand.names == FLOATS
        return hints.number_required(own, is_float)
    return hints.conversion(wanted, given) or hints.float_literal(wanted, written)


def callee_name(node: syntax.Exp) -> str | None:
    """The name of what is applied, if it has one."""
    while isinstance(node, syntax.Parens):
        node = node.inner
    return str(node.name) if isinstance(node, syntax.Var) else None


def _apply(state: Inference, node: syntax.Apply) -> Type:
    function = infer(state, node.function)
    callee = callee_name(node.function)
    arguments = [infer(state, argument) for argument in node.arguments]
    count = len(arguments)
    for position, (argument, type_) in enumerate(
        zip(node.arguments, arguments, strict=True)
    ):
        function = apply_one(
            state, node.location, callee, position, function, type_, argument, count
        )
    return function


def _binary(state: Inference, node: syntax.BinaryOp) -> Type:
    operators: list[tuple[syntax.BinaryOp, Type]] = []
    left: syntax.Exp = node
    while isinstance(left, syntax.BinaryOp):
        operators.append((left, infer(state, left.operator)))
        left = left.left
    type_ = infer(state, left)
    for operation, function in reversed(operators):
        name = str(operation.operator.name)
        right = infer(state, operation.right)
        at = operation.location
        partial = apply_one(state, at, name, 0, function, type_, operation.left)
        type_ = apply_one(state, at, name, 1, partial, right, operation.right)
        operation.type = type_
    return type_


def _section(state: Inference, node: syntax.OperatorSection) -> Type:
    function = infer(state, node.operator)
    name = str(node.operator.name)
    if node.left is None and node.right is None:
        return function
    at = node.location
    missing = state.free(at)
    if node.left is not None:
        left = infer(state, node.left)
        partial = apply_one(state, at, name, 0, function, left, node.left)
        result = apply_one(state, at, name, 1, partial, missing, None)
        return Arrow(None, missing, result)
    assert node.right is not None
    right = infer(state, node.right)
    partial = apply_one(state, at, name, 0, function, missing, None)
    result = apply_one(state, at, name, 1, partial, right, node.right)
    return Arrow(None, missing, result)


RULES.update(
    {syntax.Apply: _apply, syntax.BinaryOp: _binary, syntax.OperatorSection: _section}
)
