"""Binding forms without sizes: functions, `let`, `loop` and `match`; updates, and
sections that are paths of fields and indices.

A chain of `let`s is walked in a loop, as its length is that of the program.
"""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax
from minifut.frontend.check.inference import patterns, type_expressions
from minifut.frontend.check.inference.expressions import (
    RULES,
    array_of,
    infer,
    require,
    step_type,
    unify_branches,
    unify_expected,
)
from minifut.frontend.check.inference.state import INTEGERS, Inference
from minifut.frontend.check.messages import Mismatch, quote, refuse_again, source_text
from minifut.frontend.check.mismatches import FUNCTION_BODY, LOOP_BODY, type_mismatch
from minifut.frontend.types import I64, Arrow, Scheme, Type
from minifut.names import Name


def bind_parameters(
    state: Inference,
    parameters: tuple[syntax.Pattern, ...],
    type_parameters: tuple[syntax.TypeParameter, ...] = (),
) -> tuple[tuple[Name, str], ...]:
    """Bring the parameters of a function into scope, at deeper and deeper levels."""
    patterns.refuse_repeated(parameters, type_parameters)
    names = type_expressions.bind_type_parameters(state, type_parameters)
    state.level += 1
    for parameter in parameters:
        patterns.infer_pattern(state, parameter)
        patterns.bind_pattern(state, parameter)
        state.level += 1
    return names


def function_type(
    parameters: tuple[syntax.Pattern, ...], result: Type, exts: tuple[Name, ...] = ()
) -> Type:
    """The type of a function with these (checked) parameters."""
    for parameter in reversed(parameters):
        assert parameter.type is not None
        result = Arrow(patterns.parameter_name(parameter), parameter.type, result, exts)
        exts = ()
    return result


def unify_result(
    state: Inference, location: Location, declared: syntax.TypeExp | None, body: Type
) -> Type:
    """A function's declared result against its body's type."""
    if declared is None:
        return body
    wanted, _, _ = type_expressions.infer_type(state, declared)
    unify_expected(state, location, wanted, body, FUNCTION_BODY)
    return wanted


def _lambda(state: Inference, node: syntax.Lambda) -> Type:
    mark, level = state.scope.mark(), state.level
    bind_parameters(state, node.parameters)
    body = infer(state, node.body)
    result = unify_result(state, node.body.location, node.result, body)
    state.level = level
    state.scope.restore(mark)
    return function_type(node.parameters, result)


def bind_to_value(state: Inference, pattern: syntax.Pattern, value: Type) -> None:
    """Match a pattern with a value and bring its names into scope."""
    type_ = patterns.infer_pattern(state, pattern)
    try:
        state.solver.unify(type_, value)
    except Mismatch as fault:
        text = (
            f"Pattern\n  {source_text(pattern)}\ncannot match value of type\n"
            f"  {state.show(value)}"
        )
        raise type_mismatch(
            state, pattern.location, fault, text, "pattern-mismatch"
        ) from None
    patterns.bind_pattern(state, pattern)


def _let_chain(state: Inference, node: syntax.Exp) -> Type:
    chain: list[syntax.Exp] = []
    mark, level = state.scope.mark(), state.level
    body: syntax.Exp = node
    while True:
        if isinstance(body, syntax.Let):
            _let(state, body)
        elif isinstance(body, syntax.LetFunction):
            _let_function(state, body)
        elif isinstance(body, syntax.LetUpdate):
            _let_update(state, body)
        else:
            break
        chain.append(body)
        body = body.body
    type_ = infer(state, body)
    for link in chain:
        link.type = type_
    state.level = level
    state.scope.restore(mark)
    return type_


def _let(state: Inference, node: syntax.Let) -> None:
    seen: dict[str, Location] = {}
    for size in node.sizes:
        refuse_again(seen, size.name, size.location, "Size name also bound at")
    patterns.refuse_repeated((node.pattern,), node.sizes)
    value = infer(state, node.value)
    for size in node.sizes:
        size.name_resolved = state.bind(size.name, I64)
    state.level += 1
    bind_to_value(state, node.pattern, value)
    state.level += 1


def _let_function(state: Inference, node: syntax.LetFunction) -> None:
    if node.name in ("&&", "||"):
        text = f"The {node.name} operator may not be redefined."
        raise error(node.location, text, "reserved-name")
    mark, level = state.scope.mark(), state.level
    state.level += 1
    names = bind_parameters(state, node.parameters, node.type_parameters)
    body = infer(state, node.value)
    result = unify_result(state, node.value.location, node.result, body)
    type_ = function_type(node.parameters, result)
    state.level = level
    state.scope.restore(mark)
    node.function_type = type_
    node.name_resolved = state.context.names.fresh(node.name)
    state.scope.bind_value(node.name, node.name_resolved)
    # What has been found out is written out: a use replaces type parameters in it.
    state.types[node.name_resolved] = Scheme(names, state.finish(type_))


def _let_update(state: Inference, node: syntax.LetUpdate) -> None:
    written = syntax.QualName(node.location, (), node.name)
    source, _ = state.resolve(written)
    type_, _ = state.instantiate(source, node.location, node.name)
    node.source_resolved = source
    part = step_type(state, type_, node.steps, node.location)
    value = infer(state, node.value)
    unify_update(state, node.location, node.steps, part, value)
    node.name_resolved = state.bind(node.name, type_)


def _loop(state: Inference, node: syntax.Loop) -> Type:
    patterns.refuse_repeated((node.pattern,))
    if node.initial is None:
        node.initial = pattern_as_expression(node.pattern)
    initial = infer(state, node.initial)
    state.unify(node.location, state.free(node.location, "~"), initial)
    mark, level = state.scope.mark(), state.level
    match node.form:
        case syntax.ForLess():
            bound = require(state, node.form.bound, INTEGERS, "a loop bound")
            node.form.name_resolved = state.bind(node.form.name, bound)
            bind_to_value(state, node.pattern, initial)
        case syntax.ForIn(_, pattern, array):
            patterns.refuse_repeated((pattern,))
            element = state.free(node.location, "")
            found = infer(state, array)
            state.unify(
                array.location,
                array_of(1, element),
                found,
                "A for-in loop goes through an array, cannot unify",
            )
            bind_to_value(state, pattern, element)
            bind_to_value(state, node.pattern, initial)
        case syntax.While(_, condition):
            bind_to_value(state, node.pattern, initial)
            require(state, condition, ("bool",), "the condition of a loop")
    state.level += 1
    body = infer(state, node.body)
    unify_expected(state, node.body.location, initial, body, LOOP_BODY)
    state.level = level
    state.scope.restore(mark)
    assert node.pattern.type is not None
    return node.pattern.type


def pattern_as_expression(pattern: syntax.Pattern) -> syntax.Exp:
    """The variables that `loop p for ...` without initial values begins with."""
    at = pattern.location
    match pattern:
        case syntax.NamePattern(_, name):
            return syntax.Var(at, syntax.QualName(at, (), name))
        case (
            syntax.ParensPattern(_, inner)
            | syntax.AscribedPattern(_, inner, _)
            | syntax.AttributedPattern(_, _, inner)
        ):
            return pattern_as_expression(inner)
        case syntax.TuplePattern(_, elements):
            return syntax.TupleExp(
                at, tuple(pattern_as_expression(e) for e in elements)
            )
        case syntax.RecordPattern(_, fields):
            return syntax.RecordExp(
                at,
                tuple(
                    syntax.FieldAssignment(p.location, n, pattern_as_expression(p))
                    for n, p in fields
                ),
            )
    raise error(
        at,
        f"The loop has no initial value for {quote(source_text(pattern))}.",
        "loop-without-initial-value",
        "write loop PATTERN = VALUE",
    )


def _match(state: Inference, node: syntax.Match) -> Type:
    scrutinee = infer(state, node.scrutinee)
    first: Type | None = None
    for case in node.cases:
        mark = state.scope.mark()
        patterns.refuse_repeated((case.pattern,))
        bind_to_value(state, case.pattern, scrutinee)
        body = infer(state, case.body)
        state.scope.restore(mark)
        if first is None:
            first = body
        else:
            unify_branches(state, case.location, first, body)
    assert first is not None
    state.unify(node.location, state.free(node.location, "~"), first)
    return first


def _update(state: Inference, node: syntax.Update) -> Type:
    whole = infer(state, node.record)
    value = infer(state, node.value)
    part = step_type(state, whole, node.steps, node.location)
    unify_update(state, node.location, node.steps, part, value)
    return whole


def unify_update(
    state: Inference,
    location: Location,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    part: Type,
    value: Type,
) -> None:
    """A new value must have the type of what it replaces."""
    try:
        state.solver.unify(part, value)
    except Mismatch as fault:
        fields = ".".join(s for s in steps if isinstance(s, str))
        what = f"record field {quote(fields)}" if fields else "an array element"
        new, old = state.show(value), state.show(part)
        text = (
            f"Type mismatch when updating {what}: a value of type {new} cannot take "
            f"the place of one of type {old}."
        )
        raise type_mismatch(state, location, fault, text) from None


def _project_section(state: Inference, node: syntax.ProjectSection) -> Type:
    return _path_section(state, node.fields, node.location)


def _index_section(state: Inference, node: syntax.IndexSection) -> Type:
    return _path_section(state, (node.indices,), node.location)


def _update_section(state: Inference, node: syntax.UpdateSection) -> Type:
    return _path_section(state, node.steps, node.location)


def _path_section(
    state: Inference,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    location: Location,
) -> Type:
    whole = state.free(location)
    return Arrow(None, whole, step_type(state, whole, steps, location))


RULES.update(
    {
        syntax.Lambda: _lambda,
        syntax.Let: _let_chain,
        syntax.LetFunction: _let_chain,
        syntax.LetUpdate: _let_chain,
        syntax.Loop: _loop,
        syntax.Match: _match,
        syntax.Update: _update,
        syntax.ProjectSection: _project_section,
        syntax.IndexSection: _index_section,
        syntax.UpdateSection: _update_section,
    }
)
