"""What variables stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.errors import error
from minifut.frontend import syntax
from minifut.frontend.elaborate import environment, sealed, sizes, static_types, values
from minifut.frontend.elaborate.application import call_closure
from minifut.frontend.elaborate.values import Closure, Primitive, Value
from minifut.frontend.types import Named, Size, SizeVar, Type
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def lookup(name: syntax.QualName, env: environment.Environment) -> environment.Term:
    """The value or module of a qualified name; a qualifier may also be a record."""
    first, *rest = (*name.qualifiers, name.name)
    found = env.term(first)
    for part in rest:
        if isinstance(found, environment.Deferred):
            found = found.evaluate()
        if isinstance(found, environment.Module):
            found = found.terms.get(part)
        elif isinstance(found, values.RecordValue):
            found = found.fields[part]
        else:
            found = None
    if found is None:
        raise error(
            name.location, f"{name} is not known to elaboration", "not-supported"
        )
    return found


def variable(exp: syntax.Var, env: environment.Environment, work: Work) -> Value:
    found = lookup(exp.name, env)
    if isinstance(found, environment.SizeParameter):
        size = sizes.resolve_size(SizeVar(found.name), found.env, work, emit=True)
        if size is None:
            raise error(
                exp.location, f"the size {exp.name} is not known here", "not-supported"
            )
        return work.size_leaf(size)
    if isinstance(found, environment.Deferred):
        found = found.evaluate()
        work.location = exp.location
    if isinstance(found, environment.Sealed):
        closure, instance, home = sealed.unseal(found, exp.instance, env.capture())
        found = replace(closure, instance=(instance, home))
        if not found.parameters:
            return call_closure(work, found, (), exp.location)
        return found
    if isinstance(found, Closure) and not found.arguments:
        if exp.instance or (found.instance is None and found.definition is not None):
            found = _with_instance(found, exp.instance or {}, env)
        if not found.parameters:
            return call_closure(work, found, (), exp.location)
        return found
    if isinstance(found, Primitive) and found.name == "unflatten" and exp.instance:
        return replace(found, instance=(exp.instance, env.capture()))
    assert not isinstance(found, (environment.Module, environment.ElaboratedFunctor))
    return found


def _with_instance(
    closure: Closure, own: Mapping[Name, Type | Size], env: environment.Environment
) -> Closure:
    """A use of a function. One within its own body has the type
    parameters of that body (sizes follow from the arguments)."""
    names = closure.definition.scheme_parameters if closure.definition else ()
    known: dict[Name, Type | Size] = {
        name: Named(name) for name in names if static_types.is_type(env.meaning(name))
    }
    known.update(own)
    return replace(closure, instance=(known, env.capture())) if known else closure
