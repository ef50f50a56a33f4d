"""Functions and calls: what a body may consume, what a call does to its arguments.

Inside a function only its own consumed (`*`) parameters and what it makes itself may be
consumed. A call consumes the arguments whose parameter type says `*`; its result
aliases the other arguments unless the result type says `*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.check.consumption import patterns
from minifut.frontend.check.consumption.aliases import (
    NONE,
    AliasClosure,
    Parts,
    all_aliases,
    array_aliases,
    components,
    mark_fresh,
    result_of,
)
from minifut.frontend.syntax.traverse import uses
from minifut.frontend.types import Arrow, Record

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.frontend.check.consumption.aliases import AliasSet, AliasTree
    from minifut.frontend.check.consumption.scope import State
    from minifut.frontend.types import Type
    from minifut.names import Name


def check_function(
    state: State,
    parameters: tuple[syntax.Pattern, ...],
    declared: syntax.TypeExp | None,
    body: syntax.Exp,
    location: Location,
) -> AliasClosure:
    """Check a function's body; the closure has the inferred uniqueness of its result
    and aliases the free variables that it captures."""
    result, bound = check_body(state, parameters, declared, body, location)
    captured = NONE.union(
        *(
            all_aliases(state.table[name].tree)
            for name in {name for _, name in uses(body)}
            if name in state.table and name not in bound
        )
    )
    type_: Type = result
    for pattern in reversed(parameters):
        type_ = Arrow(None, patterns.parameter_type(pattern), type_)
    assert isinstance(type_, Arrow)
    return AliasClosure(captured, type_)


def check_body(
    state: State,
    parameters: tuple[syntax.Pattern, ...],
    declared: syntax.TypeExp | None,
    body: syntax.Exp,
    location: Location,
) -> tuple[Type, set[Name]]:
    """Check a body under its parameters; the result type with its `*` marks, and the
    names of the parameters."""
    with state.function_body(), state.contained():
        # deferred: expressions and functions are mutually recursive
        from minifut.frontend.check.consumption.expressions import check_expression

        bound: set[Name] = set()
        for pattern in parameters:
            _check_sizes(state, pattern)
            bound |= patterns.bind_parameter(state, pattern)
        tree = check_expression(state, body)
    plain = declared.type if declared is not None else body.type
    assert plain is not None
    check_returned(parameters, plain if declared is not None else None, tree, location)
    if parameters:
        check_no_global(state, tree, bound, location)
    if declared is not None:
        return plain, bound
    consumable = {
        leaf.name_resolved
        for pattern in parameters
        for (leaf, _), diet in zip(
            patterns.leaves(pattern, Parts(())),
            patterns.leaf_diets(pattern, None),
            strict=True,
        )
        if diet and leaf.name_resolved is not None
    }
    if not parameters:
        return types.strip_unique(plain), bound
    result = mark_fresh(plain, tree, consumable)
    return result, bound


def _check_sizes(state: State, pattern: syntax.Pattern) -> None:
    """The sizes written in a parameter's type may not consume anything."""
    from minifut.frontend.check.consumption.expressions import check_expression

    with state.function_body():
        for size in patterns.written_sizes(pattern):
            check_expression(state, size)


def check_returned(
    parameters: tuple[syntax.Pattern, ...],
    declared: Type | None,
    tree: AliasTree,
    location: Location,
) -> None:
    """A component declared `*` aliases neither an observed parameter nor another
    component."""
    if declared is None:
        return
    observed = {
        leaf.name_resolved: leaf
        for pattern in parameters
        for (leaf, _), diet in zip(
            patterns.leaves(pattern, Parts(())),
            patterns.leaf_diets(pattern, None),
            strict=True,
        )
        if not diet
    }
    seen: AliasSet = NONE
    seen_unique: AliasSet = NONE
    for unique, aliases in _returned(declared, tree):
        clash = seen if unique else seen_unique
        if not clash.isdisjoint(aliases):
            raise error(
                location,
                "A unique-typed component of the return value is aliased to some "
                "other component.",
                "unique-return-aliased",
                'return a "copy" of one of them',
            )
        seen |= aliases
        if not unique:
            continue
        seen_unique |= aliases
        for alias in aliases:
            if alias.name in observed:
                raise error(
                    location,
                    f'Unique-typed return value is aliased to "{alias.name.base}", '
                    "which is not consumable.",
                    "return-aliased",
                    f'return a "copy", or mark "{alias.name.base}" with "*"',
                )


def _returned(declared: Type, tree: AliasTree) -> list[tuple[bool, AliasSet]]:
    match declared, tree:
        case Record(fields), Parts():
            return [pair for f, t in fields for pair in _returned(t, tree.get(f))]
        case _:
            return [(types.has_unique(declared), all_aliases(tree))]


def check_no_global(
    state: State, tree: AliasTree, bound: set[Name], location: Location
) -> None:
    """A function's result may not alias a global array."""
    for alias in array_aliases(tree):
        if alias.bound and alias.name not in state.table and alias.name not in bound:
            raise error(
                location,
                f'Function result aliases the free variable "{alias.name.base}". '
                'Use "copy" to break the aliasing.',
                "alias-free-variable",
            )


# --- calls -------------------------------------------------------------------------


def apply_tree(
    state: State,
    exp: syntax.Exp,
    function: AliasTree,
    written: syntax.Exp,
    arguments: tuple[syntax.Exp, ...],
    left_first: bool = False,
) -> AliasTree:
    """The tree of a call: the arguments from right to left (operands of an infix
    operator from left to right), then the result."""
    type_ = function.type if isinstance(function, AliasClosure) else written.type
    parameters: list[Type | None] = []
    result: Type | None = type_
    for _ in arguments:
        if isinstance(result, Arrow):
            parameters.append(result.argument)
            result = result.result
        else:
            parameters.append(None)
    name = written.location.text()
    place = f"{exp.location.line}:{exp.location.column}"
    temporary = state.temporary(f'result of applying "{name}" (at {place})')
    earlier: list[tuple[syntax.Exp, AliasTree]] = []
    observed: AliasSet = all_aliases(function) | {temporary}
    pairs = list(zip(arguments, parameters, strict=True))
    for argument, parameter in pairs if left_first else reversed(pairs):
        consumed, tree = check_argument(state, argument, parameter, earlier)
        earlier.append((argument, tree))
        if not consumed:
            observed |= all_aliases(tree)
    final = with_result_marks(exp.type, result)
    return result_of(final, observed)


def with_result_marks(actual: Type | None, declared: Type | None) -> Type:
    """The type of the call with the `*` marks of the function's result type."""
    if actual is None:
        assert declared is not None
        return declared
    match actual, declared:
        case Record(fields), Record(marked):
            marks = dict(marked)
            return Record(
                tuple((f, with_result_marks(t, marks.get(f))) for f, t in fields)
            )
        case Arrow(p, argument, result, exts), Arrow(_, marked_argument, marked_result):
            kept = (
                types.mark_unique(argument)
                if types.has_unique(marked_argument)
                else argument
            )
            return Arrow(p, kept, with_result_marks(result, marked_result), exts)
        case _, None:
            return actual
        case _:
            if types.has_unique(declared):
                return types.mark_unique(actual)
            return types.strip_unique(actual)


def check_argument(
    state: State,
    argument: syntax.Exp,
    parameter: Type | None,
    earlier: list[tuple[syntax.Exp, AliasTree]],
) -> tuple[bool, AliasTree]:
    """Use or consume one argument; says which, and its tree."""
    from minifut.frontend.check.consumption.expressions import (
        check_diets,
        check_expression,
    )

    with state.contained() as inside:
        tree = check_expression(state, argument)
    state.consumed.update(inside)
    if inside and isinstance(argument.type, Arrow):
        raise error(
            argument.location,
            f"Argument of functional type {types.show(argument.type)} contains "
            "consumption, which is not allowed.",
            "consuming-argument",
        )
    if parameter is not None:
        check_diets(argument.location, parameter, tree)
    if parameter is None or not types.has_unique(parameter):
        return False, tree
    _check_not_self_aliased(argument, tree)
    state.consume(argument.location, _consumed_part(parameter, tree))
    own = {alias.name for alias in all_aliases(tree) if alias.bound}
    for other, other_tree in earlier:
        shared = own & {alias.name for alias in all_aliases(other_tree) if alias.bound}
        for name in sorted(shared, key=lambda n: (n.base, n.tag)):
            raise error(
                argument.location,
                f'Argument is consumed, but aliases "{name.base}", which is '
                f"also aliased by other argument {other.location.text()} at "
                f"{other.location.line}:{other.location.column}.",
                "consumed-argument-aliased",
                'pass a "copy" of one of them',
            )
    return True, tree


def _consumed_part(parameter: Type, tree: AliasTree) -> AliasSet:
    """The aliases of the components that the parameter's type marks as consumed."""
    match parameter, tree:
        case Record(fields), Parts():
            return NONE.union(*(_consumed_part(t, tree.get(f)) for f, t in fields))
        case _:
            return all_aliases(tree) if types.has_unique(parameter) else NONE


def _check_not_self_aliased(argument: syntax.Exp, tree: AliasTree) -> None:
    seen: AliasSet = NONE
    for aliases in components(tree):
        if not seen.isdisjoint(aliases):
            raise error(
                argument.location,
                "Argument passed for consuming parameter is self-aliased.",
                "self-aliasing-arg",
                '"copy" one of its components',
            )
        seen |= aliases
