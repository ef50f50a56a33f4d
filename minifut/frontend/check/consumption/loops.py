"""Loops: which parameters are consumed is inferred from the body.

A parameter that the body consumes must be given anew each time round by a value that
aliases nothing outside the loop and no other returned component; the initial value
given for it is consumed by the loop. A `*` in the pattern requires the same, unless the
body only reads the parameter and the initial value may not be consumed.
"""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check.consumption.aliases import (
    NONE,
    Alias,
    AliasLeaf,
    AliasSet,
    AliasTree,
    Parts,
    all_aliases,
    combine,
    leave_scope,
    own_tree,
    tree_of,
)
from minifut.frontend.check.consumption.patterns import (
    leaf_ascribed,
    leaf_diets,
    leaves,
    names_of,
)
from minifut.frontend.check.consumption.scope import State
from minifut.frontend.syntax.traverse import uses
from minifut.names import Name


def check_loop(state: State, exp: syntax.Loop) -> AliasTree:
    """The rule for `loop`."""
    from minifut.frontend.check.consumption.expressions import check_expression

    _check_form_outside(state, exp.form)
    with state.contained() as body_consumed, state.function_body():
        bound = _bind_parameters(state, exp.pattern)
        bound |= _bind_form(state, exp.form)
        if isinstance(exp.form, syntax.While):
            check_expression(state, exp.form.condition)
        body = check_expression(state, exp.body)
    needed = _converge(exp, set(body_consumed) & bound, body)
    with state.contained() as initially_consumed:
        assert exp.initial is not None
        initial = check_expression(state, exp.initial)
        consumed = needed | _declared(state, exp, initial, body)
        _consume_initial(state, exp, initial, consumed)
    state.consumed.update(initially_consumed)
    _check_free_uses(state, exp, initially_consumed)
    place = f"{exp.location.line}:{exp.location.column}"
    temporary = state.temporary(f"result of loop at {place}")
    result = _result(exp.pattern, initial, consumed, temporary)
    return combine(result, leave_scope(body, bound))


def _check_form_outside(state: State, form: syntax.LoopForm) -> None:
    from minifut.frontend.check.consumption.expressions import check_expression

    match form:
        case syntax.ForLess(bound=bound):
            check_expression(state, bound)
        case syntax.ForIn(array=array):
            check_expression(state, array)


def _bind_parameters(state: State, pattern: syntax.Pattern) -> set[Name]:
    """All are consumable for now, save those an ascription declares observed."""
    bound = set()
    rows = zip(
        [leaf for leaf, _ in leaves(pattern, AliasLeaf())],
        leaf_ascribed(pattern),
        leaf_diets(pattern, None),
        strict=True,
    )
    for leaf, ascribed, diet in rows:
        name = leaf.name_resolved
        if name is None or leaf.type is None:
            continue
        bound.add(name)
        own = own_tree(leaf.type, name)
        state.bind(name, own, consumable=diet or not ascribed)
    return bound


def _bind_form(state: State, form: syntax.LoopForm) -> set[Name]:
    match form:
        case syntax.ForLess(name_resolved=name) if name is not None:
            state.bind(name, AliasLeaf(), consumable=False)
            return {name}
        case syntax.ForIn(pattern=pattern):
            for leaf, _ in leaves(pattern, AliasLeaf()):
                if leaf.name_resolved is not None and leaf.type is not None:
                    own = own_tree(leaf.type, leaf.name_resolved)
                    state.bind(leaf.name_resolved, own, consumable=False)
            return names_of(pattern)
        case _:
            return set()


def _converge(exp: syntax.Loop, consumed: set[Name], body: AliasTree) -> set[Name]:
    """The consumed parameters: those given, and any whose returned value aliases one of
    them; with the checks on returned values."""
    own = names_of(exp.pattern)
    while True:
        returned = _check_returned(exp.location, exp.pattern, own, consumed, body)
        wider = consumed | ({a.name for a in returned} & own)
        if wider == consumed:
            return consumed
        consumed = wider


def _declared(
    state: State, exp: syntax.Loop, initial: AliasTree, body: AliasTree
) -> set[Name]:
    """The parameters that a `*` declares to be consumed; but whose initial value may
    not be consumed and is neither consumed nor returned by the body, is observed."""
    returned = {alias.name for alias in all_aliases(body)}
    rows = zip(leaves(exp.pattern, initial), leaf_diets(exp.pattern, None), strict=True)
    declared = {
        leaf.name_resolved
        for (leaf, tree), diet in rows
        if leaf.name_resolved is not None
        and diet
        and (leaf.name_resolved in returned or state.may_consume(tree))
    }
    return _converge(exp, declared, body)


def _check_returned(
    location: Location,
    pattern: syntax.Pattern,
    own: set[Name],
    consumed: set[Name],
    body: AliasTree,
) -> AliasSet:
    """Check the returned value of each parameter; the aliases of the consumed ones."""
    of_consumed: AliasSet = NONE
    of_others: AliasSet = NONE
    for leaf, tree in leaves(pattern, body):
        name, aliases = leaf.name_resolved, all_aliases(tree)
        if name in consumed:
            outside = [a for a in aliases if a.bound and a.name not in own]
            if outside:
                raise error(
                    location,
                    f'Return value for consuming loop parameter "{leaf.name}" aliases '
                    f'"{outside[0].name.base}".',
                    "consuming-loop-param-aliases",
                    'return a "copy" of it',
                )
        if not aliases.isdisjoint(of_consumed):
            raise error(
                location,
                f'Return value for loop parameter "{leaf.name}" aliases other '
                "consumed loop parameter.",
                "loop-parameter-aliases-other",
                'return a "copy" of it',
            )
        if name in consumed and not aliases.isdisjoint(of_others):
            raise error(
                location,
                f'Return value for consuming loop parameter "{leaf.name}" aliases '
                "previously returned value.",
                "aliases-previously-returned",
                'return a "copy" of it',
            )
        if name in consumed:
            of_consumed |= aliases
        else:
            of_others |= aliases
    return of_consumed


def _consume_initial(
    state: State, exp: syntax.Loop, initial: AliasTree, consumed: set[Name]
) -> None:
    """Consume the components of the initial value given for consumed parameters."""
    assert exp.initial is not None
    place = exp.initial.location
    taken: AliasSet = NONE
    for leaf, tree in leaves(exp.pattern, initial):
        if leaf.name_resolved in consumed:
            aliases = all_aliases(tree)
            if not aliases.isdisjoint(taken):
                raise error(
                    place,
                    "Argument passed for consuming parameter is self-aliased.",
                    "self-aliasing-arg",
                    '"copy" one of the initial values',
                )
            taken |= aliases
    if taken:
        state.consume(place, taken)


def _check_free_uses(
    state: State, exp: syntax.Loop, consumed: dict[Name, Location]
) -> None:
    """The body and condition may not use what the initial value consumed."""
    if not consumed:
        return
    parts = [exp.body]
    if isinstance(exp.form, syntax.While):
        parts.append(exp.form.condition)
    for part in parts:
        for name in {name for _, name in uses(part)}:
            entry = None if name is None else state.table.get(name)
            if name is None or entry is None or name in names_of(exp.pattern):
                continue
            for alias in all_aliases(entry.tree):
                if alias.bound and alias.name in consumed:
                    raise error(
                        exp.location,
                        f"Loop body uses {state.describe(name)} (or an alias), but "
                        "this is consumed by the initial loop argument.",
                        "loop-body-uses-consumed",
                        'start the loop from a "copy"',
                    )


def _result(
    pattern: syntax.Pattern, initial: AliasTree, consumed: set[Name], temporary: Alias
) -> AliasTree:
    """Consumed components are fresh in the result; others may be the initial values."""
    match pattern:
        case (
            syntax.ParensPattern(inner=inner)
            | syntax.AscribedPattern(inner=inner)
            | syntax.AttributedPattern(inner=inner)
        ):
            return _result(inner, initial, consumed, temporary)
        case syntax.TuplePattern(elements=elements) if isinstance(initial, Parts):
            parts = [(str(i), e) for i, e in enumerate(elements)]
        case syntax.RecordPattern(fields=fields) if isinstance(initial, Parts):
            parts = list(fields)
        case syntax.NamePattern() if pattern.name_resolved in consumed:
            assert pattern.type is not None
            return tree_of(types.strip_unique(pattern.type))
        case _:
            assert pattern.type is not None
            own = tree_of(pattern.type, frozenset({temporary}))
            return combine(own, initial)
    return Parts(
        tuple((k, _result(p, initial.get(k), consumed, temporary)) for k, p in parts)
    )
