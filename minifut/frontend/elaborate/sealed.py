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
)
from minifut.frontend.elaborate.values import Closure
from minifut.names import Name


def seal(value: Term, spec: types.Type, env: Environment) -> Term:
    """The value with its parameters given in terms of its specification."""
    inner = value.value if isinstance(value, Sealed) else value
    if not isinstance(inner, Closure):
        return value
    if isinstance(value, Sealed):
        own, parameters = value.spec, None
    elif inner.definition is not None and inner.definition.scheme_parameters:
        assert inner.definition.type is not None
        own = inner.definition.type
        parameters = frozenset(inner.definition.scheme_parameters)
    else:
        return value
    mapping: dict[Name, types.Type | types.Size] = {}
    relate(own, spec, parameters, mapping)
    return Sealed(inner, spec, mapping, env, value if isinstance(value, Sealed) else None)


def relate(
    own: types.Type,
    spec: types.Type,
    parameters: frozenset[Name] | None,
    mapping: dict[Name, types.Type | types.Size],
) -> None:
    """Find what names of one type are in another of the same structure."""
    match own, spec:
        case types.Named(name, ()), _ if parameters is None or name in parameters:
            mapping.setdefault(name, spec)
        case types.Array(size, element), types.Array(other, other_element):
            if isinstance(size, types.SizeVar):
                mapping.setdefault(size.name, other)
            relate(element, other_element, parameters, mapping)
        case types.Arrow(_, argument, result, _), types.Arrow(_, other, other_result, _):
            relate(argument, other, parameters, mapping)
            relate(result, other_result, parameters, mapping)
        case types.Record(fields), types.Record(others):
            for (_, one), (_, two) in zip(fields, others, strict=False):
                relate(one, two, parameters, mapping)
        case types.Sum(constructors), types.Sum(others):
            for (_, ones), (_, twos) in zip(constructors, others, strict=False):
                for one, two in zip(ones, twos, strict=False):
                    relate(one, two, parameters, mapping)


def unseal(
    term: Sealed, instance: dict[Name, types.Type | types.Size], env: Environment
) -> tuple[Closure, dict[Name, types.Type | types.Size], Environment]:
    """The function inside with its own instance."""
    layer: Sealed | None = term
    while layer is not None:
        frame = Environment(layer.env)
        frame.names = {n: Thunk(t, env) for n, t in (instance or {}).items()}
        instance, env, layer = layer.mapping, frame, layer.inner
    return term.value, instance, env
