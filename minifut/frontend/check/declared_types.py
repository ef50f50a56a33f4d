"""Types that are outside of definitions: abbreviations and specifications."""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend import syntax
from minifut.frontend.check.environment import Checking, Parameters, Scope, TypeBinding
from minifut.frontend.check.inference import type_expressions
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.messages import quote
from minifut.frontend.check.sizing.finish import Finisher, refuse_ambiguous
from minifut.frontend.check.sizing.functions import bind_type_parameters as bind_sizes
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.type_expressions import check_sizes_in
from minifut.frontend.check.witnesses import free_sizes, witnessed
from minifut.frontend.types import Scheme, Type
from minifut.names import Name


def evaluate_type(
    context: Checking,
    scope: Scope,
    parameters: tuple[syntax.TypeParameter, ...],
    node: syntax.TypeExp,
) -> tuple[Parameters, Type, tuple[Name, ...], str]:
    """Parameters, type, unknown sizes and liftedness of a type expression."""
    from minifut.frontend.check.definitions import solve

    inference = Inference(context, scope)
    mark = scope.mark()
    names = type_expressions.bind_type_parameters(inference, parameters)
    type_, exts, lifted = type_expressions.infer_type(inference, node)
    scope.restore(mark)
    solve(inference, type_)
    state = Sizing(context, inference)
    bind_sizes(state, parameters)
    check_sizes_in(state, node)
    refuse_ambiguous(state)
    Finisher(state).run()
    return names, type_, exts, lifted


def type_declaration(
    context: Checking, scope: Scope, node: syntax.TypeDeclaration
) -> TypeBinding:
    """A type abbreviation."""
    parameters, type_, exts, lifted = evaluate_type(
        context, scope, node.parameters, node.definition
    )
    found = witnessed(type_)
    if any(e not in found for e in exts):
        raise error(
            node.definition.location,
            "Type abbreviation contains an anonymous size not used constructively as "
            "an array size.",
            "anonymous-nonconstructive",
        )
    used = free_sizes(type_)
    for name, kind in parameters:
        if kind == "size" and name not in used:
            raise error(
                node.location,
                f"Size parameter {quote(f'[{name.base}]')} unused.",
                "unused-size",
            )
    if lifted == "^" and node.lifted != "^":
        raise error(
            node.location,
            "Non-lifted type abbreviations may not contain functions.",
            "lifted-type",
            "consider using 'type^'",
        )
    if type_expressions.RANK[lifted] > type_expressions.RANK[node.lifted] and not exts:
        raise error(
            node.location,
            "Non-size-lifted type abbreviations may not contain size-lifted types.",
            "lifted-type",
            "consider using 'type~'",
        )
    if exts and not node.lifted:
        raise error(
            node.location,
            "Non-lifted type abbreviations may not use existential sizes in their "
            "definition.",
            "lifted-type",
            f"use 'type~' or add size parameters to {quote(node.name)}",
        )
    node.name_resolved = context.names.fresh(node.name)
    return TypeBinding(node.name_resolved, parameters, type_, exts, node.lifted)


def value_spec_scheme(
    context: Checking, scope: Scope, node: syntax.ValueSpec
) -> Scheme:
    """The type of a `val`."""
    parameters, type_, exts, _ = evaluate_type(
        context, scope, node.type_parameters, node.type
    )
    if exts:
        raise error(
            node.location,
            "All function parameters must have non-anonymous sizes.",
            "anonymous-size-in-spec",
            f"add size parameters to {quote(node.name)}",
        )
    return Scheme(parameters, type_)
