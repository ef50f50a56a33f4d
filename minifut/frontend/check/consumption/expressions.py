"""What each expression consumes, and what its value may share memory with.

One function per kind of expression, in a table; each returns the `Tree` of the value
and records uses and consumptions in the `State`. Source: the language reference,
"In-place updates"; the rules of "Uniqueness types" in Henriksen's thesis (2017),
extended to records and sums by component.
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.errors import Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check.consumption.aliases import (
    NONE,
    Alias,
    AliasClosure,
    AliasLeaf,
    AliasTree,
    Parts,
    all_aliases,
    combine,
    leave_scope,
    map_aliases,
    tree_of,
    without,
)
from minifut.frontend.check.consumption.functions import (
    apply_tree,
    check_argument,
    check_function,
)
from minifut.frontend.check.consumption.loops import check_loop
from minifut.frontend.check.consumption.patterns import bind_pattern
from minifut.frontend.check.consumption.scope import State
from minifut.frontend.syntax.traverse import subexpressions
from minifut.frontend.types import Arrow, Record
from minifut.names import Name


def check_expression(state: State, exp: syntax.Exp) -> AliasTree:
    """Record what the expression uses and consumes; the aliases of its value."""
    return RULES[type(exp)](state, exp)


# --- values without aliases -------------------------------------------------------


def fresh(state: State, exp: syntax.Exp) -> AliasTree:
    """Literals, arrays, ranges: the parts are used, the value shares nothing."""
    for part in subexpressions(exp):
        check_expression(state, part)
    return tree_of(exp.type) if exp.type is not None else AliasLeaf()


# --- variables --------------------------------------------------------------------


def variable(state: State, exp: syntax.Var) -> AliasTree:
    """A use: not allowed once consumed. A global array aliases itself, and so may
    never be consumed; global functions have no aliases."""
    name = exp.name_resolved
    entry = state.table.get(name) if name is not None else None
    if entry is not None:
        tree = entry.tree
        for field in exp.fields:
            tree = tree.get(field) if isinstance(tree, Parts) else tree
        state.observe(exp.location, all_aliases(tree))
        return tree
    type_ = exp.type
    if name is not None and name in state.inferred:
        inferred = state.inferred[name]
        type_ = with_marks(type_, inferred)
    if isinstance(type_, Arrow):
        return AliasClosure(NONE, type_)
    if name is None or type_ is None or _is_sized_here(exp):
        return tree_of(type_) if type_ is not None else AliasLeaf()
    return _of_global(type_, name)


def _is_sized_here(exp: syntax.Var) -> bool:
    """An instance at sizes of the function around is made anew, as by a call."""
    return any(
        types.is_size(use) and not isinstance(use, types.SizeConst)
        for use in (exp.instance or {}).values()
    )


def _of_global(type_: types.Type, name: Name) -> AliasTree:
    """Global arrays alias themselves; values of abstract type are taken not to."""
    match type_:
        case types.Array():
            return AliasLeaf(frozenset({Alias(name)}))
        case Record(fields):
            return Parts(tuple((f, _of_global(t, name)) for f, t in fields))
        case types.Scalar() | types.Sum() | Arrow() | types.Named() | types.Meta():
            return tree_of(type_)


def with_marks(type_: types.Type | None, marked: types.Type) -> types.Type:
    """An instance of a function type with the inferred `*` marks on its result."""
    match type_, marked:
        case Arrow(p, argument, result, exts), Arrow(_, _, marked_result, _):
            return Arrow(p, argument, with_marks(result, marked_result), exts)
        case Record(fields), Record(marked_fields):
            marks = dict(marked_fields)
            return Record(
                tuple((f, with_marks(t, marks[f])) for f, t in fields if f in marks)
            )
        case None, _:
            return marked
        case _:
            return types.mark_unique(type_) if types.has_unique(marked) else type_


# --- transparent ------------------------------------------------------------------


def wrapped(
    state: State, exp: syntax.Ascription | syntax.Coercion | syntax.Attributed
) -> AliasTree:
    tree = check_expression(state, exp.value)
    if isinstance(exp, syntax.Ascription) and isinstance(tree, AliasClosure):
        check_diets(exp.location, exp.ascription.type, tree)
    return tree


def check_diets(
    location: Location, expected: types.Type | None, got: AliasTree
) -> None:
    """A function that consumes its argument, or whose result may alias, cannot stand
    where one is expected that does not."""
    if not isinstance(expected, Arrow) or not isinstance(got, AliasClosure):
        return
    if types.has_unique(got.type.argument) and not types.has_unique(expected.argument):
        raise error(
            location,
            f"The function {types.show(got.type)} does not have expected type "
            f"{types.show(expected)}: it is consuming its argument.",
            "consuming-function",
            "pass a function that copies its argument before consuming it",
        )
    if types.has_unique(expected.result) and not types.has_unique(got.type.result):
        raise error(
            location,
            f"The function {types.show(got.type)} does not have expected type "
            f"{types.show(expected)}: its result is not unique.",
            "consuming-function",
            'return a "copy"',
        )


def assertion(state: State, exp: syntax.Assert) -> AliasTree:
    check_expression(state, exp.condition)
    return check_expression(state, exp.value)


# --- products, sums, projections --------------------------------------------------


def tuple_expression(state: State, exp: syntax.TupleExp) -> AliasTree:
    return Parts(
        tuple((str(i), check_expression(state, e)) for i, e in enumerate(exp.elements))
    )


def record_expression(state: State, exp: syntax.RecordExp) -> AliasTree:
    return Parts(tuple((f.name, check_expression(state, f.value)) for f in exp.fields))


def constructor(state: State, exp: syntax.Constructor) -> AliasTree:
    payload = [
        ((exp.name, i), check_expression(state, e)) for i, e in enumerate(exp.arguments)
    ]
    whole = tree_of(exp.type) if exp.type is not None else Parts(())
    return combine(whole, Parts(tuple(payload)))


def projection(state: State, exp: syntax.Project) -> AliasTree:
    tree = check_expression(state, exp.record)
    return tree.get(exp.field) if isinstance(tree, Parts) else tree


def indexing(state: State, exp: syntax.Index) -> AliasTree:
    tree = check_expression(state, exp.array)
    _, *indices = subexpressions(exp)
    for part in indices:
        check_expression(state, part)
    assert exp.type is not None
    return tree_of(exp.type, all_aliases(tree))


# --- binding and branching --------------------------------------------------------


def let(state: State, exp: syntax.Let) -> AliasTree:
    with state.contained() as consumed:
        tree = check_expression(state, exp.value)
    if consumed and isinstance(exp.value.type, Arrow):
        raise error(
            exp.value.location,
            f"Let-bound expression of higher-order type {types.show(exp.value.type)} "
            "contains consumption, which is not allowed.",
            "contains-consumption",
        )
    state.consumed.update(consumed)
    bound = bind_pattern(state, exp.pattern, tree)
    return leave_scope(check_expression(state, exp.body), bound)


def let_function(state: State, exp: syntax.LetFunction) -> AliasTree:
    closure = check_function(state, exp.parameters, exp.result, exp.value, exp.location)
    assert exp.name_resolved is not None
    state.bind(exp.name_resolved, closure, consumable=False)
    return leave_scope(check_expression(state, exp.body), {exp.name_resolved})


def branch(state: State, exp: syntax.If) -> AliasTree:
    check_expression(state, exp.condition)
    with state.contained() as consumed_then:
        then = check_expression(state, exp.then)
    with state.contained() as consumed_else:
        otherwise = check_expression(state, exp.otherwise)
    return join_branches(state, [(then, consumed_then), (otherwise, consumed_else)])


def match(state: State, exp: syntax.Match) -> AliasTree:
    scrutinee = check_expression(state, exp.scrutinee)
    outcomes = []
    for case in exp.cases:
        with state.contained() as consumed:
            bound = bind_pattern(state, case.pattern, scrutinee)
            tree = leave_scope(check_expression(state, case.body), bound)
        outcomes.append((tree, consumed))
    return join_branches(state, outcomes)


def join_branches(
    state: State, outcomes: list[tuple[AliasTree, dict[Name, Location]]]
) -> AliasTree:
    """The value may be that of any branch; what one consumed, all have."""
    everything: dict[Name, Location] = {}
    for _, consumed in outcomes:
        everything.update(consumed)
    state.consumed.update(everything)
    tree = outcomes[0][0]
    for other, _ in outcomes[1:]:
        tree = combine(tree, other)
    return without(tree, everything)


# --- updates ----------------------------------------------------------------------


def update(state: State, exp: syntax.Update) -> AliasTree:
    _, *indices, _ = subexpressions(exp)
    for part in indices:
        check_expression(state, part)
    value = check_expression(state, exp.value)
    source = check_expression(state, exp.record)
    return updated(state, exp, source, value, exp.record.location.text())


def let_update(state: State, exp: syntax.LetUpdate) -> AliasTree:
    *indices, _, _ = subexpressions(exp)
    for part in indices:
        check_expression(state, part)
    value = check_expression(state, exp.value)
    assert exp.name_resolved is not None
    entry = state.table.get(exp.source_resolved) if exp.source_resolved else None
    if entry is not None:
        source = entry.tree
        state.observe(exp.location, all_aliases(source))
    else:
        source = AliasLeaf(frozenset({Alias(exp.source_resolved or exp.name_resolved)}))
    tree = updated(state, exp, source, value, exp.name)
    state.bind(
        exp.name_resolved, aliasing_itself(tree, exp.name_resolved), consumable=True
    )
    return leave_scope(check_expression(state, exp.body), {exp.name_resolved})


# --- applications -----------------------------------------------------------------


def application(state: State, exp: syntax.Apply) -> AliasTree:
    function = check_expression(state, exp.function)
    return apply_tree(state, exp, function, exp.function, exp.arguments)


def binary(state: State, exp: syntax.BinaryOp) -> AliasTree:
    function = check_expression(state, exp.operator)
    operands = (exp.left, exp.right)
    return apply_tree(state, exp, function, exp.operator, operands, left_first=True)


def section(state: State, exp: syntax.OperatorSection) -> AliasTree:
    operator = check_expression(state, exp.operator)
    captured = all_aliases(operator)
    for operand in (exp.left, exp.right):
        if operand is not None:
            _, tree = check_argument(state, operand, None, [])
            captured |= all_aliases(tree)
    type_ = exp.type if isinstance(exp.type, Arrow) else None
    return AliasClosure(captured, type_) if type_ is not None else AliasLeaf(captured)


RULES: dict[type, Callable[..., AliasTree]] = {
    syntax.Literal: fresh,
    syntax.StringLiteral: fresh,
    syntax.Hole: fresh,
    syntax.ArrayExp: fresh,
    syntax.RangeExp: fresh,
    syntax.Negate: fresh,
    syntax.Not: fresh,
    syntax.ProjectSection: fresh,
    syntax.IndexSection: fresh,
    syntax.UpdateSection: fresh,
    syntax.Var: variable,
    syntax.Parens: lambda s, e: check_expression(s, e.inner),
    syntax.QualParens: lambda s, e: check_expression(s, e.inner),
    syntax.Ascription: wrapped,
    syntax.Coercion: wrapped,
    syntax.Attributed: wrapped,
    syntax.Assert: assertion,
    syntax.TupleExp: tuple_expression,
    syntax.RecordExp: record_expression,
    syntax.Constructor: constructor,
    syntax.Project: projection,
    syntax.Index: indexing,
    syntax.Let: let,
    syntax.LetFunction: let_function,
    syntax.Lambda: lambda s, e: check_function(
        s, e.parameters, e.result, e.body, e.location
    ),
    syntax.If: branch,
    syntax.Match: match,
    syntax.Loop: check_loop,
    syntax.Update: update,
    syntax.LetUpdate: let_update,
    syntax.Apply: application,
    syntax.BinaryOp: binary,
    syntax.OperatorSection: section,
}


def aliasing_itself(tree: AliasTree, name: Name) -> AliasTree:
    return map_aliases(tree, lambda aliases: aliases | {Alias(name)})


def updated(
    state: State,
    exp: syntax.Update | syntax.LetUpdate,
    source: AliasTree,
    value: AliasTree,
    shown: str,
) -> AliasTree:
    """An indexed update consumes its source, which the new value must not alias; an
    update of a field only replaces that component."""
    if not any(not isinstance(step, str) for step in exp.steps):
        return replaced(source, [s for s in exp.steps if isinstance(s, str)], value)
    if not all_aliases(source).isdisjoint(all_aliases(value)):
        raise error(
            exp.value.location,
            f"Source array for in-place update\n  {shown}\nmight alias update value\n"
            f"  {exp.value.location.text()}",
            "in-place-alias",
            'use "copy" to remove aliases from the value',
        )
    state.consume(exp.location, all_aliases(source))
    return without_aliases(source)


def without_aliases(tree: AliasTree) -> AliasTree:
    """The shape alone."""
    return map_aliases(tree, lambda _: NONE)


def replaced(tree: AliasTree, path: list[str], value: AliasTree) -> AliasTree:
    """A record's tree with one component, deep inside, replaced."""
    if not path:
        return value
    if not isinstance(tree, Parts):
        return tree
    return Parts(
        tuple(
            (k, replaced(t, path[1:], value) if k == path[0] else t)
            for k, t in tree.parts
        )
    )
