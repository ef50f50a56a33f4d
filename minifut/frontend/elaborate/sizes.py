"""Sizes of the checker's terms, and binding names by matching types with values.

match ([n][m]t) with a value of sizes k, 3    binds n := k, m := 3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend import types
from minifut.frontend.elaborate import values
from minifut.frontend.elaborate.environment import (
    Deferred,
    Environment,
    Sealed,
    Term,
    Thunk,
    TypeFunction,
)
from minifut.frontend.elaborate.values import Closure, Leaf, Primitive, Value
from minifut.ir.sizes import Size
from minifut.ir.types import I64
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def resolve_size(
    size: types.Size, env: Environment, work: Work, emit: bool = False
) -> Size | None:
    """What a size is here; None if its names mean nothing here. Only with `emit` are
    statements made to compute what the algebra of sizes cannot express."""
    match size:
        case types.SizeConst(number):
            return Size.constant(number)
        case types.SizeVar(name):
            return _meaning(env.meaning(name), work, emit)
        case types.SizeApply(str(function), arguments):
            found = [resolve_size(a, env, work, emit) for a in arguments]
            known = [size for size in found if size is not None]
            if len(known) < len(found):
                return None
            return _combine(function, known, work, emit)
        case types.SizeApply(Name() as name, arguments) if emit:
            return _call(name, arguments, env, work)
        case types.SizeOpaque() if emit:
            return _evaluate(size, env, work)
        case (
            types.SizeApply() | types.SizeOpaque() | types.SizeMeta() | types.SizeAny()
        ):
            return None


def _meaning(found: object, work: Work, emit: bool) -> Size | None:
    match found:
        case Size():
            return found
        case Leaf(_, type_) if type_ == I64:
            return values.size_of(found)
        case Thunk(term, home):
            return resolve_size(types.as_size(term), home, work, emit)
        case Deferred(evaluate):
            return _meaning(evaluate(), work, emit)
        case _:
            return None


def _combine(function: str, sizes: list[Size], work: Work, emit: bool) -> Size | None:
    from minifut.frontend.elaborate.numeric import apply_operator

    match function, sizes:
        case "+", [a, b]:
            return a + b
        case "-", [a, b]:
            return a - b
        case "-", [a]:
            return -a
        case "*", [a, b]:
            return a * b
        case (("/" | "//"), [a, b]) if (b.as_constant or 0) > 0:
            return a // b
    if not emit:
        return None
    operands = tuple(work.size_leaf(size) for size in sizes)
    return values.size_of(apply_operator(work, function, operands))


def _call(
    name: Name, arguments: tuple[types.Size, ...], env: Environment, work: Work
) -> Size | None:
    from minifut.frontend.elaborate.application import apply

    function = env.meaning(name) or work.prelude_value(name)
    if isinstance(function, Sealed):
        function = function.value
    if isinstance(function, Deferred):
        function = function.evaluate()
    given = [resolve_size(a, env, work, emit=True) for a in arguments]
    if not isinstance(function, (Closure, Primitive)) or None in given:
        return None
    leaves = [work.size_leaf(size) for size in given if size is not None]
    assert work.location is not None
    result = apply(work, function, leaves, work.location)
    return values.size_of(result) if isinstance(result, Leaf) else None


def _evaluate(size: types.SizeOpaque, env: Environment, work: Work) -> Size | None:
    """Evaluate the expression with its names bound to what they stand for."""
    from minifut.frontend.elaborate.expressions import evaluate
    from minifut.frontend.elaborate.free import free_variables

    inner = env.child()
    replaced = dict(size.substitution)
    for name, resolved in free_variables(size.expression):
        if resolved is None:
            continue
        found = _size_or_type(
            replaced.get(resolved) or types.SizeVar(resolved), env, work
        )
        if found is not None:
            inner.terms[name] = found
        elif resolved in replaced or env.term(name) is None:
            return None
    with work.without_checks():
        result = evaluate(size.expression, inner, work)
    return values.size_of(result) if isinstance(result, Leaf) else None


def _size_or_type(size: types.Size, env: Environment, work: Work) -> Term | None:
    """A size, or the value of any type that a name in a size means."""
    if isinstance(size, types.SizeVar):
        found = env.meaning(size.name)
        while isinstance(found, Thunk):
            if not isinstance(found.term, types.SizeVar):
                break
            found = found.env.meaning(found.term.name)
        if found is not None and not isinstance(found, (Size, Thunk)):
            return found  # type: ignore[return-value]
    known = resolve_size(size, env, work, emit=True)
    return work.size_leaf(known) if known is not None else None


_SIZELESS = (Leaf, Closure, Primitive)


def match_type(
    type_: types.Type | None, value: Value, env: Environment, force: frozenset[Name]
) -> None:
    """Bind the sizes that a type names to those of a value: names that mean nothing yet
    and those in `force`."""
    if type_ is None or isinstance(value, _SIZELESS):
        return
    match type_, value:
        case types.Array(size, element), values.ArrayValue(actual, inner):
            _bind_size(size, actual, env, force)
            match_type(element, inner, env, force)
        case types.Record(fields), values.RecordValue(parts):
            for name, part in fields:
                if name in parts:
                    match_type(part, parts[name], env, force)
        case types.Named(name, arguments), _:
            found = env.meaning(name)
            if (
                arguments
                and isinstance(found, Thunk)
                and isinstance(found.term, TypeFunction)
            ):
                names = [name for name, _ in found.term.parameters]
                mapping = dict(zip(names, arguments, strict=True))
                inside = types.substitute(found.term.body, mapping)
                match_type(inside, value, env, force)
        case types.Sum(constructors), values.SumValue():
            _match_sum(constructors, value, env, force)


def _bind_size(
    size: types.Size, actual: Size, env: Environment, force: frozenset[Name]
) -> None:
    if isinstance(size, types.SizeVar):
        name = size.name
        if name in force:
            if not isinstance(env.names.get(name), Size):
                env.names[name] = actual
        elif env.meaning(name) is None:
            env.names[name] = actual


def _match_sum(
    constructors: tuple[tuple[str, tuple[types.Type, ...]], ...],
    value: values.SumValue,
    env: Environment,
    force: frozenset[Name],
) -> None:
    from minifut.frontend.elaborate.static_types import StaticSum, slot_types
    from minifut.ir.types import shape_of

    assert isinstance(value.type, StaticSum)
    _, uses = slot_types(value.type)
    for name, payload in constructors:
        slots = [value.leaves[1 + place] for place in uses.get(name, [])]
        if len(slots) == len(payload):
            for type_, slot in zip(payload, slots, strict=True):
                for size in shape_of(slot.type):
                    if not isinstance(type_, types.Array):
                        break
                    _bind_size(type_.size, size, env, force)
                    type_ = type_.element
