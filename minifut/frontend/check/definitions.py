"""Checking one top-level definition: types, then sizes, then everything else."""

from __future__ import annotations

from minifut.errors import CompileError, error
from minifut.frontend import syntax, types
from minifut.frontend.check import causality, messages, restrictions
from minifut.frontend.check.environment import (
    Checking,
    Parameters,
    Scope,
    parameters_of,
)
from minifut.frontend.check.inference import applications, bindings
from minifut.frontend.check.inference.expressions import infer
from minifut.frontend.check.inference.patterns import refuse_repeated
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.sizing import applications as sized_applications
from minifut.frontend.check.sizing import finish, functions, generalise, loops, slices
from minifut.frontend.check.sizing import functions as sized_bindings
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.solver import (
    Free,
    HasConstructors,
    HasFields,
    OneOf,
    show_constructors,
)
from minifut.frontend.check.witnesses import free_sizes, must_be_explicit
from minifut.frontend.types import Type
from minifut.names import Name

FORMS = (applications, bindings, sized_applications, sized_bindings, loops, slices)
"""modules that add rules to the tables of the two passes when they are imported"""


def check_definition(
    context: Checking, scope: Scope, node: syntax.ValueDeclaration
) -> Name:
    """Check a `def`, `let` or `entry`; its name is not yet in scope."""
    if node.name in ("&&", "||"):
        text = f"The {node.name} operator may not be redefined."
        raise error(node.location, text, "reserved-name")
    if not node.parameters:
        return _check(context, scope, node, False)
    mark = scope.mark()
    try:
        return _check(context, scope, node, True)
    except CompileError:
        scope.restore(mark)
        # Before functions could be recursive, their name meant what it meant outside.
        if scope.term(node.name) is None:
            raise
        try:
            return _check(context, scope, node, False)
        except CompileError:
            pass
        raise


def _check(
    context: Checking, scope: Scope, node: syntax.ValueDeclaration, recursive: bool
) -> Name:
    inference = Inference(context, scope)
    name = context.names.fresh(node.name)
    own = _infer(inference, node, name if recursive else None)
    generalised = solve(inference, own)
    state = Sizing(context, inference)
    done = functions.size_definition(
        state,
        node.name,
        name if recursive else None,
        generalised,
        node.type_parameters,
        node.parameters,
        node.result,
        node.body,
        node.location,
    )
    finish.refuse_ambiguous(state)
    finisher = finish.Finisher(state)
    finisher.run()
    type_ = finisher.type(done.type, node.location)
    result = finisher.type(done.result, node.location)
    causality.check_causality(state, node.body)
    for parameter in node.parameters:
        restrictions.must_always_match(parameter)
    restrictions.check_restrictions(context, scope.prelude.operator_symbol, node.body)
    if any(
        isinstance(visited, syntax.Var) and visited.name_resolved is name
        for visited in state.unfinished.nodes
    ):
        restrictions.check_recursion(node, name, result)
    if node.is_entry:
        _check_entry(node, done)
    node.name_resolved = name
    node.type = type_
    node.scheme_parameters = tuple(n for n, _ in done.parameters)
    context.values[name] = types.Scheme(done.parameters, type_)
    context.joined.update(state.joined_of(done.exts, dict(done.parameters)))
    return name


def _infer(
    inference: Inference, node: syntax.ValueDeclaration, name: Name | None
) -> Type:
    """The first pass; the type of the whole. It may call itself by `name`."""
    scope = inference.scope
    mark = scope.mark()
    refuse_repeated(node.parameters, node.type_parameters)
    own = None
    if name is not None:
        own = inference.free(node.location)
        scope.bind_value(node.name, name)
        inference.types[name] = types.Scheme((), own)
    bindings.bind_parameters(inference, node.parameters, node.type_parameters)
    body = infer(inference, node.body)
    result = bindings.unify_result(inference, node.body.location, node.result, body)
    type_ = bindings.function_type(node.parameters, result)
    if own is not None:
        inference.unify(node.location, own, type_)
    scope.restore(mark)
    return type_


def solve(inference: Inference, own: Type) -> Parameters:
    """Find what is still open: defaults for numbers, parameters for the rest."""
    solver = inference.solver
    for location, written, kind, meta in inference.instantiations:
        restrictions.check_instantiation(
            location, written, kind, inference.finish(meta)
        )
    for number, wanted in enumerate(solver.wanted):
        if solver.links[number] is not None:
            continue
        if isinstance(wanted, HasFields):
            shown = messages.show(
                types.record({n: inference.finish(t) for n, t in wanted.fields.items()})
            )
            raise error(
                solver.origins[number],
                f"Type is ambiguous.\nMust be a record with fields\n  {shown}",
                "ambiguous-type",
                "add a type annotation to the record",
            )
        if isinstance(wanted, HasConstructors):
            known = {
                c: tuple(inference.finish(t) for t in ts)
                for c, ts in wanted.constructors.items()
            }
            raise error(
                solver.origins[number],
                "Type is ambiguous.\nMust be a sum type with constructors\n  "
                f"{show_constructors(known)}",
                "ambiguous-type",
                "add a type annotation that names all constructors",
            )
    visible = _metas(inference.finish(own))
    generalised = []
    for number, wanted in enumerate(solver.wanted):
        if solver.links[number] is not None:
            continue
        if isinstance(wanted, OneOf):
            solver.links[number] = _default(
                inference, number, wanted, number in visible
            )
        elif isinstance(wanted, Free) and number in visible:
            parameter = inference.context.names.fresh(f"t{number}")
            solver.links[number] = types.Named(parameter, (), wanted.lifted)
            generalised.append((parameter, wanted.lifted))
        else:
            solver.links[number] = types.UNIT
    return tuple(generalised)


def _metas(type_: Type) -> set[int]:
    found: set[int] = set()

    def on_type(term: Type) -> Type | None:
        if isinstance(term, types.Meta):
            found.add(term.id)
        return None

    types.map_type(type_, on_type, lambda s: s)
    return found


def _default(inference: Inference, number: int, wanted: OneOf, visible: bool) -> Type:
    origin = inference.solver.origins[number]
    if len(wanted.names) == 1:
        return types.Scalar(wanted.names[0])
    for name in ("i32", "f64"):
        if name in wanted.names:
            if visible and origin is not None:
                inference.context.warn(origin, f"Defaulting ambiguous type to {name}.")
            return types.Scalar(name)
    raise error(
        origin,
        f"Type is ambiguous (could be one of {', '.join(wanted.names)}).",
        "ambiguous-type",
        "add a type annotation to disambiguate the type",
    )


def _check_entry(node: syntax.ValueDeclaration, done: generalise.Definition) -> None:
    """What a caller from outside can provide and take."""
    arrows, result = parameters_of(done.type)
    if any(kind != "size" for _, kind in done.parameters):
        raise error(
            node.location,
            "Entry point functions may not be polymorphic.",
            "polymorphic-entry",
            "declare the types of its parameters, as in (x: i32) or (xs: []f32)",
        )
    sizes = [n for n, _ in done.parameters]
    in_parameters: set[Name | int] = set()
    constructive: set[Name | int] = set()
    for arrow in arrows:
        in_parameters |= free_sizes(arrow.argument)
        uses = must_be_explicit(arrow.argument)
        constructive |= {n for n, explicit in uses.items() if not explicit}
    in_result = free_sizes(result)
    for name in sizes:
        if name in in_result and name not in in_parameters:
            raise error(
                node.location,
                "Entry point functions must not be size-polymorphic in their return "
                "type.",
                "size-polymorphic-entry",
            )
    for name in sizes:
        if name not in constructive:
            raise error(
                node.location,
                f"Entry point size parameter [{name.base}] only used "
                "non-constructively.",
                "nonconstructive-entry",
            )
    if not restrictions.is_first_order(result) or not all(
        restrictions.is_first_order(a.argument) for a in arrows
    ):
        raise error(
            node.location,
            "Entry point functions may not be higher-order.",
            "higher-order-entry",
        )
