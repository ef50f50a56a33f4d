"""Polymorphic values seen through a module type.

    module m : {val iota [k] : [k]i64} = {def iota [n] : [n]i64 = 0..1..<n}

A use of `m.iota` says what k stands for; the body asks for n. So a sealed value carries
what each parameter of the definition is in terms of the specification: n is k.
"""

from __future__ import annotations

from minifut.frontend import types
from minifut.frontend.elaborate.environment import (
    Environment,
    Sealed,
    Term,
    Thunk,
    TypeFunction,
)
from minifut.frontend.elaborate.values import Closure
from minifut.names import Name


def seal(value: Term, spec: types.Type, env: Environment) -> Term:
    """The value with its parameters given in terms of its specification."""
    if isinstance(value, Sealed):
        return Sealed(value.value, spec, env, value)
    if not isinstance(value, Closure) or value.definition is None:
        return value
    if not value.definition.scheme_parameters:
        return value
    return Sealed(value, spec, env, None)


def _mapping(sealed: Sealed) -> dict[Name, types.Type | types.Size]:
    """What the names of the type inside are in the specification; found at the first
    use, when the abstract types of the module are bound."""
    if sealed.mapping is None:
        sealed.mapping = {}
        if sealed.inner is not None:
            own, parameters = sealed.inner.spec, None
        else:
            definition = sealed.value.definition
            assert definition is not None and definition.type is not None
            own = definition.type
            parameters = frozenset(definition.scheme_parameters)
        _relate(own, sealed.spec, parameters, sealed)
    return sealed.mapping


def _relate(
    own: types.Type,
    spec: types.Type,
    parameters: frozenset[Name] | None,
    sealed: Sealed,
) -> None:
    """Find what names of one type are in another of the same structure."""
    mapping = sealed.mapping
    assert mapping is not None
    match own, spec:
        case types.Named(name, ()), _ if parameters is None or name in parameters:
            mapping.setdefault(name, spec)
        case types.Array(size, element), types.Array(other, other_element):
            if isinstance(size, types.SizeVar):
                mapping.setdefault(size.name, other)
            _relate(element, other_element, parameters, sealed)
        case types.Arrow(_, argument, result, _), types.Arrow(
            _, other, other_result, _
        ):
            _relate(argument, other, parameters, sealed)
            _relate(result, other_result, parameters, sealed)
        case types.Record(fields), types.Record(others):
            for (_, one), (_, two) in zip(fields, others, strict=False):
                _relate(one, two, parameters, sealed)
        case types.Sum(constructors), types.Sum(others):
            for (_, ones), (_, twos) in zip(constructors, others, strict=False):
                for one, two in zip(ones, twos, strict=False):
                    _relate(one, two, parameters, sealed)
        case _, types.Named(name, arguments):
            found = sealed.env.meaning(name)
            if isinstance(found, Thunk) and isinstance(found.term, TypeFunction):
                names = [n for n, _ in found.term.parameters]
                given = dict(zip(names, arguments, strict=True))
                body = types.substitute(found.term.body, given)
                _relate(own, body, parameters, sealed)


def unseal(
    term: Sealed, instance: dict[Name, types.Type | types.Size], env: Environment
) -> tuple[Closure, dict[Name, types.Type | types.Size], Environment]:
    """The function inside with its own instance."""
    layer: Sealed | None = term
    while layer is not None:
        frame = Environment(layer.env)
        frame.names = {n: Thunk(t, env) for n, t in (instance or {}).items()}
        instance, env, layer = _mapping(layer), frame, layer.inner
    return term.value, instance, env
