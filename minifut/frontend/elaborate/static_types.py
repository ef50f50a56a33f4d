"""The checker's types with all names resolved: what a value will look like.

Needed where there is no value to examine: the element type of `[]`, the payload slots
of a constructor that is not there, the parameters of an entry point.

    opt ([n]f32)   ->   Sum(none: (), some: ([k]f32,))   if n stands for k here

A size that cannot be resolved is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from minifut.errors import error
from minifut.frontend import types
from minifut.frontend.elaborate import values
from minifut.frontend.elaborate.environment import Environment, Thunk, TypeFunction
from minifut.frontend.elaborate.values import Leaf, Value
from minifut.ir.node import immutable
from minifut.ir.sizes import ZERO, Size
from minifut.ir.types import (
    SCALARS,
    U8,
    AccType,
    ArrayType,
    ScalarType,
    Type,
    array_of,
    element_of,
    shape_of,
)

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


@immutable
class StaticScalar:
    type: ScalarType


@immutable
class StaticArray:
    size: Size | None
    element: Static


@immutable
class StaticRecord:
    fields: tuple[tuple[str, Static], ...]


@immutable
class StaticSum:
    """Constructors in canonical order; the tag of one is its position."""

    constructors: tuple[tuple[str, tuple[Static, ...]], ...]


@immutable
class StaticFunction:
    """A function, or a type of which nothing is known."""


Static: TypeAlias = (
    StaticScalar | StaticArray | StaticRecord | StaticSum | StaticFunction
)
STATIC_TYPES = (StaticScalar, StaticArray, StaticRecord, StaticSum, StaticFunction)
UNKNOWN = StaticFunction()


def resolve_type(
    type_: types.Type, env: Environment, work: Work, emit: bool = False
) -> Static:
    """What a type of the checker's is here. With `emit`, statements may be made to
    compute sizes."""
    from minifut.frontend.elaborate.sizes import resolve_size

    match type_:
        case types.Scalar(name):
            return StaticScalar(SCALARS[name])
        case types.Array(size, element):
            return StaticArray(
                resolve_size(size, env, work, emit),
                resolve_type(element, env, work, emit),
            )
        case types.Record(fields):
            return StaticRecord(
                tuple((n, resolve_type(t, env, work, emit)) for n, t in fields)
            )
        case types.Sum(constructors):
            return StaticSum(
                tuple(
                    (c, tuple(resolve_type(t, env, work, emit) for t in payload))
                    for c, payload in constructors
                )
            )
        case types.Named(name, arguments):
            return _resolve_named(env.meaning(name), arguments, env, work, emit)
        case types.Arrow() | types.Meta():
            return UNKNOWN


def is_type(found: object) -> bool:
    """Does a name stand for a type?"""
    match found:
        case Thunk(term, _):
            return not types.is_size(term)
        case _:
            return isinstance(found, STATIC_TYPES)


def _resolve_named(
    found: object,
    arguments: tuple[types.Type | types.Size, ...],
    env: Environment,
    work: Work,
    emit: bool,
) -> Static:
    match found:
        case Thunk(term, home):
            if isinstance(term, TypeFunction):
                inner = home.child()
                for (name, _), argument in zip(term.parameters, arguments, strict=True):
                    inner.names[name] = Thunk(argument, env)
                return resolve_type(term.body, inner, work, emit)
            return resolve_type(types.as_type(term), home, work, emit)
        case _:
            return found if isinstance(found, STATIC_TYPES) else UNKNOWN


def map_array_sizes(
    static: Static, change: Callable[[Size | None], Size | None]
) -> Static:
    """The type with other array sizes."""
    match static:
        case StaticArray(size, element):
            return StaticArray(change(size), map_array_sizes(element, change))
        case StaticRecord(fields):
            return StaticRecord(
                tuple((n, map_array_sizes(t, change)) for n, t in fields)
            )
        case StaticSum(constructors):
            return StaticSum(
                tuple(
                    (n, tuple(map_array_sizes(t, change) for t in payload))
                    for n, payload in constructors
                )
            )
        case StaticScalar() | StaticFunction():
            return static


def static_of(value: Value) -> Static:
    """The type of a value."""
    match value:
        case Leaf(_, AccType()):
            return UNKNOWN
        case Leaf(_, type_):
            return StaticScalar(element_of(type_))
        case values.ArrayValue(size, element):
            return StaticArray(size, static_of(element))
        case values.RecordValue(fields):
            return StaticRecord(tuple((n, static_of(v)) for n, v in fields.items()))
        case values.SumValue(type_, _):
            return type_
        case values.Known() | values.Closure() | values.Primitive():
            return UNKNOWN


# --- slots of sums -----------------------------------------------------------------


def slot_types(static: StaticSum) -> tuple[list[Type], dict[str, list[int]]]:
    """The slots behind the tag, and which of them each constructor uses.

    Scalars of one type share slots between constructors; arrays never do, since their
    sizes may differ.
    """
    slots: list[Type] = []
    uses: dict[str, list[int]] = {}
    for name, payload in static.constructors:
        taken: set[int] = set()
        used: list[int] = []
        for type_ in (t for part in payload for t in leaf_types(part)):
            free = (
                i
                for i, slot in enumerate(slots)
                if i not in taken and slot == type_ and isinstance(slot, ScalarType)
            )
            place = next(free, len(slots))
            if place == len(slots):
                slots.append(type_)
            taken.add(place)
            used.append(place)
        uses[name] = used
    return slots, uses


def leaf_types(static: Static, prefix: tuple[Size, ...] = ()) -> list[Type]:
    """The core types of the leaves of a value of this type; unknown sizes are 0."""
    match static:
        case StaticScalar(type_):
            return [array_of(type_, prefix)]
        case StaticArray(size, element):
            return leaf_types(element, (*prefix, size if size is not None else ZERO))
        case StaticRecord(fields):
            return [t for _, part in fields for t in leaf_types(part, prefix)]
        case StaticSum():
            slots, _ = slot_types(static)
            return [array_of(t, prefix) for t in (U8, *slots)]
        case StaticFunction():
            return []


def build(
    static: Static, own: Iterator[Leaf], work: Work, prefix: tuple[Size, ...] = ()
) -> Value:
    """The value of this type with these leaves, whose types give the sizes."""
    match static:
        case StaticScalar():
            return next(own)
        case StaticArray(size, element):
            inner_leaves = [next(own) for _ in leaf_types(element)]
            depth = len(prefix)
            if inner_leaves:
                size = shape_of(inner_leaves[0].type)[depth]
            actual = size if size is not None else ZERO
            inner = build(element, iter(inner_leaves), work, (*prefix, actual))
            return values.ArrayValue(actual, inner)
        case StaticRecord(fields):
            return values.RecordValue(
                {n: build(t, own, work, prefix) for n, t in fields}
            )
        case StaticSum():
            count = 1 + len(slot_types(static)[0])
            return values.SumValue(static, tuple(next(own) for _ in range(count)))
        case StaticFunction():
            raise error(
                work.location,
                "a function in this place is not supported",
                "not-supported",
                "functions cannot be stored in arrays, sums, loops or results",
            )


def has_unknown(static: Static) -> bool:
    """Does it hold a function or an unresolved type?"""
    match static:
        case StaticFunction():
            return True
        case StaticArray(_, element):
            return has_unknown(element)
        case StaticRecord(fields):
            return any(has_unknown(t) for _, t in fields)
        case StaticSum(constructors):
            return any(has_unknown(t) for _, ts in constructors for t in ts)
        case StaticScalar():
            return False


def static_sizes(static: Static) -> list[Size | None]:
    """The sizes in the order of `values.array_sizes`."""
    match static:
        case StaticArray(size, element):
            return [size, *static_sizes(element)]
        case StaticRecord(fields):
            return [s for _, part in fields for s in static_sizes(part)]
        case StaticSum():
            return [s for shape in _leaf_shapes(static) for s in shape]
        case StaticScalar() | StaticFunction():
            return []


def _leaf_shapes(
    static: Static, prefix: tuple[Size | None, ...] = ()
) -> list[tuple[Size | None, ...]]:
    """The shapes of the leaves, in the order of `leaf_types`."""
    match static:
        case StaticScalar():
            return [prefix]
        case StaticArray(size, element):
            return _leaf_shapes(element, (*prefix, size))
        case StaticRecord(fields):
            return [s for _, part in fields for s in _leaf_shapes(part, prefix)]
        case StaticSum(constructors):
            payloads = [part for _, parts in constructors for part in parts]
            # Arrays have slots of their own, in the order of the payloads.
            arrays = iter([s for part in payloads for s in _leaf_shapes(part) if s])
            slots = [
                next(arrays) if isinstance(slot, ArrayType) else ()
                for slot in slot_types(static)[0]
            ]
            return [prefix, *((*prefix, *own) for own in slots)]
        case StaticFunction():
            return []
