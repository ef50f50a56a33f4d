"""Applying functions.

A closure is entered: its body is interpreted in a frame where the parameters stand for
the arguments, so that the call vanishes (or is shared, see `functions`). A function of
the elaborator itself is just called. Too few arguments make a new function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.errors import Location, error
from minifut.frontend import types
from minifut.frontend.elaborate import patterns
from minifut.frontend.elaborate.environment import Environment, SizeParameter, Thunk
from minifut.frontend.elaborate.values import Call, Closure, Expected, Primitive, Value
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def apply(
    work: Work,
    function: Value,
    arguments: Sequence[Value],
    location: Location,
    expected: Expected | None = None,
) -> Value:
    """The function on these arguments, curried."""
    waiting = tuple(arguments)
    while waiting:
        if not isinstance(function, (Closure, Primitive)):
            raise error(location, "only functions can be applied", "not-supported")
        arity = (
            len(function.parameters)
            if isinstance(function, Closure)
            else function.arity
        )
        given = (*function.arguments, *waiting)
        if len(given) < arity:
            return replace(function, arguments=given)
        own, waiting = given[:arity], given[arity:]
        outer = expected if not waiting else None
        if isinstance(function, Primitive):
            work.location = location
            name, instance = function.name, function.instance
            call = Call(work, name, own, location, outer, instance)
            function = function.call(call)
        else:
            function = call_closure(work, function, own, location)
    return function


def call_closure(
    work: Work, closure: Closure, arguments: tuple[Value, ...], location: Location
) -> Value:
    """All arguments are there: share the function, or interpret its body."""
    shared = work.specialisations
    if closure.definition is not None:
        result = shared.call(work, closure, arguments, location)
        if result is not None:
            return result
        start = work.mark()
        definition = closure.definition
        outermost = definition not in shared.active
        shared.active.add(definition)
        result = enter(work, closure, arguments, location)
        if outermost:
            shared.active.discard(definition)
        shared.note_cost(definition, work.mark() - start)
        return result
    return enter(work, closure, arguments, location)


def enter(
    work: Work, closure: Closure, arguments: tuple[Value, ...], location: Location
) -> Value:
    """Interpret the body of a function."""
    from minifut.frontend.elaborate.expressions import evaluate

    frame = bind_arguments(work, closure, arguments)
    mode = work.mode
    calls = (location, *mode.calls) if closure.name else mode.calls
    work.mode = replace(mode, calls=calls, unsafe=closure.unsafe)
    try:
        return evaluate(closure.body, frame, work)
    finally:
        work.mode, work.location = mode, location


def bind_arguments(
    work: Work, closure: Closure, arguments: tuple[Value, ...]
) -> Environment:
    """The frame in which the body of a function is interpreted."""
    frame = closure.env.child()
    force = bind_instance(closure, frame)
    for size in closure.sizes:
        assert size.name_resolved is not None
        frame.terms[size.name] = SizeParameter(size.name_resolved, frame)
    for pattern, argument in zip(closure.parameters, arguments, strict=True):
        patterns.bind(pattern, argument, frame, work, force)
    return frame


def bind_instance(closure: Closure, frame: Environment) -> frozenset[Name]:
    """Let type and size parameters stand for what they are at this use; the sizes are
    returned, to be replaced by those of the arguments."""
    if closure.instance is None:
        return patterns.NONE
    terms, home = closure.instance
    sizes = set()
    for name, term in terms.items():
        frame.names[name] = Thunk(term, home)
        if types.is_size(term):
            sizes.add(name)
    return frozenset(sizes)
