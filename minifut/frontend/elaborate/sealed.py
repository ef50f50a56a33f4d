"""Polymorphic values seen through a module type.

    module m : {val iota [k] : [k]i64} = {def iota [n] : [n]i64 = 0..1..<n}

A use of `m.iota` says what k stands for; the body requires n. So a sealed value carries
what each parameter of the definition is in terms of the specification: n is k.
"""

from __future__ import annotations

from minifut.frontend import syntax, types
from minifut.frontend.elaborate.environment import (
    Environment,
    Sealed,
    Term,
    Thunk,
    TypeFunction,
)
from minifut.frontend.elaborate.values import Closure, Terms
from minifut.names import Name


def seal(value: Term, spec: syntax.ValueSpec, env: Environment) -> Term:
    """The value with its parameters given in terms of its specification."""
    type_ = spec.type.type
    assert type_ is not None
    names = (p.name_resolved for p in spec.type_parameters)
    parameters = frozenset(name for name in names if name is not None)
    if isinstance(value, Sealed):
        return Sealed(value.value, type_, parameters, env, value)
    if not isinstance(value, Closure) or value.definition is None:
        return value
    if not value.definition.scheme_parameters:
        return value
    return Sealed(value, type_, parameters, env, None)


def _mapping(sealed: Sealed) -> Terms:
    """What the names of the type inside are in the specification; found at the first
    use, when the abstract types of the module are bound."""
    if sealed.mapping is None:
        sealed.mapping = {}
        if sealed.inner is not None:
            own, parameters = sealed.inner.spec, sealed.inner.parameters
        else:
            definition = sealed.value.definition
            assert definition is not None and definition.type is not None
            own = definition.type
            parameters = frozenset(definition.scheme_parameters)
        _Relation(parameters, sealed.env, sealed.mapping).relate(own, sealed.spec)
    return sealed.mapping


class _Relation:
    """Finds what names of one type are in another of the same structure."""

    def __init__(
        self, parameters: frozenset[Name], env: Environment, mapping: Terms
    ) -> None:
        self.parameters, self.env, self.mapping = parameters, env, mapping

    def relate(self, own: types.Type, spec: types.Type) -> None:
        match own, spec:
            case types.Named(name, ()), _ if name in self.parameters:
                self.mapping.setdefault(name, spec)
            case types.Named(name, ones), types.Named(other, twos) if name == other:
                for one, two in zip(ones, twos, strict=True):
                    self._argument(one, two)
            case types.Array(size, element), types.Array(other_size, other_element):
                self.relate_sizes(size, other_size)
                self.relate(element, other_element)
            case types.Arrow(_, argument, result, _), types.Arrow():
                self.relate(argument, spec.argument)
                self.relate(result, spec.result)
            case types.Record(fields), types.Record(others):
                for (_, one_part), (_, two_part) in zip(fields, others, strict=False):
                    self.relate(one_part, two_part)
            case types.Sum(constructors), types.Sum(other_constructors):
                pairs = zip(constructors, other_constructors, strict=False)
                for (_, own_parts), (_, spec_parts) in pairs:
                    for one_part, two_part in zip(own_parts, spec_parts, strict=False):
                        self.relate(one_part, two_part)
            case _, types.Named():
                expanded = self._expanded(spec)
                if expanded is not None:
                    self.relate(own, expanded)
            case types.Named(), _:
                expanded = self._expanded(own)
                if expanded is not None:
                    self.relate(expanded, spec)

    def _expanded(self, named: types.Named) -> types.Type | None:
        found = self.env.meaning(named.name) or self._same_base(named.name)
        if isinstance(found, Thunk) and isinstance(found.term, TypeFunction):
            names = [n for n, _ in found.term.parameters]
            given = dict(zip(names, named.arguments, strict=True))
            body = types.substitute(found.term.body, given)
            return None if body == named else body
        return None

    def _same_base(self, name: Name) -> object:
        """The checker renames the abstract types of a signature at each use; the
        specification itself keeps the first names."""
        for other, found in reversed(self.env.names.items()):
            if other.base == name.base and isinstance(found, Thunk):
                return found
        return None

    def _argument(
        self, own: types.Type | types.Size, spec: types.Type | types.Size
    ) -> None:
        if types.is_size(own):
            self.relate_sizes(own, types.as_size(spec))
        else:
            self.relate(own, types.as_type(spec))

    def relate_sizes(self, own: types.Size, spec: types.Size) -> None:
        match own, spec:
            case types.SizeVar(name), _ if name in self.parameters:
                self.mapping.setdefault(name, spec)
            case types.SizeApply(_, ones), types.SizeApply(_, twos):
                if own.function == spec.function and len(ones) == len(twos):
                    for one, two in zip(ones, twos, strict=True):
                        self.relate_sizes(one, two)
            case types.SizeOpaque(key, _, inner), types.SizeOpaque(other, _, outer):
                if key == other and len(inner) == len(outer):
                    for (_, one), (_, two) in zip(inner, outer, strict=True):
                        self.relate_sizes(one, two)


def unseal(
    term: Sealed, instance: Terms, env: Environment
) -> tuple[Closure, Terms, Environment]:
    """The function inside with its own instance."""
    layer: Sealed | None = term
    while layer is not None:
        frame = Environment(layer.env)
        frame.names = {n: Thunk(t, env) for n, t in (instance or {}).items()}
        instance, env, layer = _mapping(layer), frame, layer.inner
    return term.value, instance, env
