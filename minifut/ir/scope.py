"""Which type a name has.

Names are unique in a program, so one flat dictionary serves: a pass collects the types
of all that is bound around its place, and `Builder` adds what it makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from minifut.errors import InternalError
from minifut.ir.core import Atom, Constant, Param, Stm
from minifut.ir.traverse import bound_types, free_names, rename
from minifut.ir.types import ArrayType, Type, shape_of
from minifut.names import Name, NameSource

Scope: TypeAlias = dict[Name, Type]
T = TypeVar("T")


def scope_of(*nodes: object) -> Scope:
    """The types of all names bound anywhere in the nodes (a whole program, say)."""
    return bound_types(nodes)


def add_parameters(scope: Scope, parameters: Iterable[Param]) -> None:
    """Enter parameters or patterns."""
    for parameter in parameters:
        scope[parameter.name] = parameter.type


def fresh_copy(node: T, names: NameSource, scope: Scope) -> T:
    """The node with fresh names for what it binds, entered into the scope."""
    copy = rename(node, names)
    scope.update(scope_of(copy))
    return copy


def greatest_rank(statement: Stm, scope: Mapping[Name, Type]) -> int:
    """The most dimensions of anything that a statement reads or makes: a bound on what
    may be stored for it."""
    read = [type_of_atom(name, scope) for name in free_names(statement.exp)]
    types = [*read, *[parameter.type for parameter in statement.pattern]]
    return max((len(shape_of(type_)) for type_ in types), default=0)


def type_of_atom(atom: Atom, scope: Mapping[Name, Type]) -> Type:
    """The type of a name or constant."""
    if isinstance(atom, Constant):
        return atom.type
    found = scope.get(atom)
    if found is None:
        raise InternalError("ir.scope", f"{atom} is not in scope")
    return found


def array_type(name: Name, scope: Mapping[Name, Type]) -> ArrayType:
    """The type of a name that must be an array."""
    found = type_of_atom(name, scope)
    if not isinstance(found, ArrayType):
        raise InternalError("ir.scope", f"{name}: {found} is not an array")
    return found
