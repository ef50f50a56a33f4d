"""What distinguishes one way of calling a shared function from another.

Equal keys mean that the same core function is used by both calls: the structure of the
arguments is the same, the same sizes are equal or known numbers, and functions among
the arguments are the same code with nothing in it that is bound in the caller only.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

from minifut.frontend.elaborate import environment, free, static_types, values
from minifut.frontend.elaborate.values import Closure, Leaf, Primitive, Value
from minifut.immutables import quick_dataclass
from minifut.ir.sizes import Size
from minifut.ir.types import I64, AccType, ScalarType, element_of, shape_of
from minifut.names import Name

INLINE = "inline"
"""the key of what cannot be passed to a shared function"""


@quick_dataclass
class Sizes:
    """The distinct sizes of a call, numbered in order of appearance."""

    numbers: dict[Size, int] = field(default_factory=dict)

    def key(self, size: Size | None) -> Hashable:
        """Equal for calls that may share a function."""
        if size is None or size.as_constant is not None:
            return None if size is None else ("is", size.as_constant)
        return self.numbers.setdefault(size, len(self.numbers))


def key_of(value: Value, sizes: Sizes, known: set[Name] | None) -> Hashable:
    """The key of an argument; `known` are the names that all functions see. Without
    them functions may hold what is bound in the caller only, which `lift` passes."""
    match value:
        case Leaf(_, AccType()):
            return INLINE
        case Leaf(_, type_, size):
            if type_ == I64 and size is not None and size in sizes.numbers:
                return ("size", sizes.numbers[size])
            return str(type_) if isinstance(type_, ScalarType) else element_of(type_)
        case values.RecordValue(fields):
            inner = [(name, key_of(v, sizes, known)) for name, v in fields.items()]
            return INLINE if any(k == INLINE for _, k in inner) else tuple(inner)
        case values.ArrayValue(size, element):
            key, inner_key = sizes.key(size), key_of(element, sizes, known)
            return INLINE if inner_key == INLINE else ("array", key, inner_key)
        case values.SumValue(type_, own):
            dims = tuple(sizes.key(s) for leaf in own for s in shape_of(leaf.type))
            return ("sum", static_key(type_, sizes), dims)
        case Primitive(_, _, call, ()) if known is not None and is_closed(value, known):
            return ("primitive", id(call))
        case Closure(_, _, body, env, ()) if known is not None and is_closed(
            value, known
        ):
            return ("closure", id(body), id(env))
        case _:
            return INLINE if known is not None else captured_key(value)


def captured_key(value: object) -> Hashable:
    """Equal for functions, and what they hold, that are the same in every way."""
    match value:
        case Leaf(atom, _, _):
            return ("atom", atom)
        case values.ArrayValue(_, element):
            return captured_key(element)
        case values.RecordValue(fields):
            return tuple((name, captured_key(part)) for name, part in fields.items())
        case values.SumValue(_, own):
            return tuple(captured_key(leaf) for leaf in own)
        case Closure(_, _, body, env, arguments):
            parts = tuple(captured_key(argument) for argument in arguments)
            return ("closure", id(body), id(env), parts)
        case Primitive(_, _, call, arguments):
            parts = tuple(captured_key(argument) for argument in arguments)
            return ("primitive", id(call), parts)
        case _:
            return id(value)


def is_closed(value: object, known: set[Name]) -> bool:
    """Does it refer to nothing but what is in scope everywhere?"""
    match value:
        case Leaf(atom, _):
            return not isinstance(atom, Name) or atom in known
        case Primitive(_, _, _, arguments, _, captured):
            return all(is_closed(v, known) for v in (*arguments, *captured))
        case Closure(_, _, body, env, ()):
            if value.definition is not None:
                return not value.definition.scheme_parameters
            found = (env.term(name) for name, _ in free.free_variables(body))
            return all(is_closed(term, known) for term in found)
        case values.ArrayValue() | values.RecordValue() | values.SumValue():
            return not values.has_function(value) and all(
                is_closed(leaf, known) for leaf in values.leaves(value)
            )
        case values.Known() | environment.SizeParameter():
            return False
        case _:
            return True


def static_key(static: static_types.Static, sizes: Sizes) -> Hashable:
    """Equal for types that may share a function."""
    match static:
        case static_types.StaticArray(size, element):
            return ("array", sizes.key(size), static_key(element, sizes))
        case static_types.StaticRecord(fields):
            return tuple((n, static_key(t, sizes)) for n, t in fields)
        case static_types.StaticSum(constructors):
            return tuple(
                (n, tuple(static_key(t, sizes) for t in payload))
                for n, payload in constructors
            )
        case static_types.StaticScalar() | static_types.StaticFunction():
            return static
