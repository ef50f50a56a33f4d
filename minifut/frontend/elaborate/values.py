"""What an expression stands for while the program is being interpreted statically.

    42, x, xs            Leaf: a core atom with its core type
    (a, b), {x = a}      RecordValue: fields in canonical order
    [(a, b), ...]        ArrayValue: a size over one element value with lifted leaves,
                         so that an array of pairs is a pair of arrays
    #some x              SumValue: a tag and the slots of all payloads
    \\x -> e, f a        Closure: code, environment, the arguments given so far
    map, (+)             Primitive: a function of the elaborator itself

A leaf below `ArrayValue` nodes has the sizes of those nodes as its outer dimensions. An
i64 leaf also remembers the `Size` that it is known to be, so that `n * m` computed by
the program and the size `n * m` are the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from minifut.immutables import quick_dataclass
from minifut.ir.core import Atom, Constant
from minifut.ir.sizes import Size
from minifut.ir.types import I64, ArrayType, ScalarType, Type, array_of, shape_of
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.frontend import syntax
    from minifut.frontend import types as checked_types
    from minifut.frontend.elaborate.environment import Environment
    from minifut.frontend.elaborate.static_types import StaticSum
    from minifut.frontend.elaborate.work import Work


@quick_dataclass
class Leaf:
    """An atom with its type; `size` is what an i64 is known to be."""

    atom: Atom
    type: Type
    size: Size | None = None

    @property
    def name(self) -> Name:
        """Of what is no constant."""
        assert isinstance(self.atom, Name)
        return self.atom

    @property
    def scalar_type(self) -> ScalarType:
        """Of what is no array."""
        assert isinstance(self.type, ScalarType)
        return self.type


@quick_dataclass
class RecordValue:
    """A tuple or record."""

    fields: dict[str, Value]


@quick_dataclass
class ArrayValue:
    """`size` elements, all described by one element with lifted leaves."""

    size: Size
    element: Value


@quick_dataclass
class SumValue:
    """`leaves[0]` is the tag; the others are the slots of `type`."""

    type: StaticSum
    leaves: tuple[Leaf, ...]


@quick_dataclass
class Known:
    """A sum that may hold functions: its constructor is known now."""

    constructor: str
    payload: tuple[Value, ...]


@quick_dataclass
class Expected:
    """The checker's type of a result, with what its names mean."""

    type: checked_types.Type
    env: Environment


@quick_dataclass
class Closure:
    """A function of the program. `instance` says what its type and size parameters
    stand for, in terms of the environment of the use."""

    name: str
    parameters: tuple[syntax.Pattern, ...]
    body: syntax.Exp
    env: Environment
    arguments: tuple[Value, ...] = ()
    instance: InstanceTerms | None = None
    definition: syntax.ValueDeclaration | None = None
    sizes: tuple[syntax.SizeParam, ...] = ()
    unsafe: bool = False


Terms: TypeAlias = "dict[Name, checked_types.Type | checked_types.Size]"
InstanceTerms: TypeAlias = "tuple[Terms, Environment]"
"""what type and size parameters stand for, in terms of an environment"""

PrimitiveCall: TypeAlias = "Callable[[Call], Value]"


@quick_dataclass
class Primitive:
    """A function of the elaborator, applied once `arity` arguments are there.
    `captured` are the values that `call` itself holds."""

    name: str
    arity: int
    call: PrimitiveCall
    arguments: tuple[Value, ...] = ()
    instance: InstanceTerms | None = None
    captured: tuple[Value, ...] = ()


@quick_dataclass
class Call:
    """A full application of a primitive."""

    work: Work
    name: str
    arguments: tuple[Value, ...]
    location: Location
    expected: Expected | None = None
    instance: InstanceTerms | None = None


Value: TypeAlias = (
    Leaf | RecordValue | ArrayValue | SumValue | Known | Closure | Primitive
)

UNIT = RecordValue({})


# --- making -----------------------------------------------------------------------


def constant(value: int | float | bool, type_: ScalarType) -> Leaf:
    """A constant; an i64 is its own size."""
    size = Size.constant(int(value)) if type_ == I64 else None
    return Leaf(Constant(type_.nearest(value), type_), type_, size)


def scalar(atom: Atom, type_: Type, size: Size | None = None) -> Leaf:
    """A scalar; the size of an i64 is found from the atom if not given."""
    if type_ == I64 and size is None:
        if isinstance(atom, Constant):
            size = Size.constant(int(atom.value))
        else:
            size = Size.of(atom)
    return Leaf(atom, type_, size)


def pair(*elements: Value) -> RecordValue:
    """A tuple."""
    return RecordValue({str(i): element for i, element in enumerate(elements)})


def elements(value: Value) -> tuple[Value, ...]:
    """The elements of a tuple."""
    assert isinstance(value, RecordValue)
    return tuple(value.fields.values())


def size_of(leaf: Value) -> Size:
    """An i64 as a size."""
    assert isinstance(leaf, Leaf) and leaf.type == I64, leaf
    size = leaf.size if leaf.size is not None else scalar(leaf.atom, I64).size
    assert size is not None
    return size


# --- going through -----------------------------------------------------------------


def leaves(value: Value) -> list[Leaf]:
    """All leaves, in order; functions have none."""
    match value:
        case Leaf():
            return [value]
        case ArrayValue(_, element):
            return leaves(element)
        case RecordValue(fields):
            return [leaf for part in fields.values() for leaf in leaves(part)]
        case SumValue(_, own):
            return list(own)
        case Known() | Closure() | Primitive():
            return []


def atoms(value: Value) -> tuple[Atom, ...]:
    """The atoms of all leaves."""
    return tuple(leaf.atom for leaf in leaves(value))


def map_leaves(value: Value, change: Callable[[Leaf], Leaf]) -> Value:
    """The same structure with other leaves."""
    match value:
        case Leaf():
            return change(value)
        case ArrayValue(size, element):
            return ArrayValue(size, map_leaves(element, change))
        case RecordValue(fields):
            return RecordValue({n: map_leaves(v, change) for n, v in fields.items()})
        case SumValue(type_, own):
            return SumValue(type_, tuple(change(leaf) for leaf in own))
        case Known() | Closure() | Primitive():
            return value


def with_leaves(value: Value, new: Iterator[Leaf]) -> Value:
    """The same structure with the given leaves, in order."""
    return map_leaves(value, lambda _: next(new))


def with_atoms(value: Value, new: Iterator[Atom]) -> Value:
    """The same structure and types with other atoms."""
    return map_leaves(value, lambda leaf: scalar(next(new), leaf.type))


def array_sizes(value: Value, depth: int = 0) -> list[Size]:
    """The sizes that a structure has of its own: those of its `ArrayValue` nodes and
    those that slots of sums add, in the order that `resized` takes them. `depth` is how
    many arrays are around it."""
    found: list[Size] = []

    def visit(part: Value, depth: int) -> None:
        match part:
            case ArrayValue(size, element):
                found.append(size)
                visit(element, depth + 1)
            case RecordValue(fields):
                for inner in fields.values():
                    visit(inner, depth)
            case SumValue(_, own):
                for leaf in own:
                    found.extend(shape_of(leaf.type)[depth:])

    visit(value, depth)
    return found


def resized(value: Value, sizes: list[Size]) -> Value:
    """The same structure with other sizes; the types of leaves follow."""
    new = iter(sizes)

    def visit(part: Value, prefix: tuple[Size, ...]) -> Value:
        match part:
            case Leaf(atom, type_, size):
                if shape_of(type_) == prefix:
                    return part
                return Leaf(atom, with_shape(type_, prefix), size)
            case ArrayValue(_, element):
                size = next(new)
                return ArrayValue(size, visit(element, (*prefix, size)))
            case RecordValue(fields):
                return RecordValue({n: visit(v, prefix) for n, v in fields.items()})
            case SumValue(type_, own):
                slots = []
                for leaf in own:
                    count = len(shape_of(leaf.type)) - len(prefix)
                    shape = (*prefix, *[next(new) for _ in range(count)])
                    slots.append(
                        Leaf(leaf.atom, with_shape(leaf.type, shape), leaf.size)
                    )
                return SumValue(type_, tuple(slots))
            case Known() | Closure() | Primitive():
                return part

    return visit(value, ())


def with_shape(type_: Type, shape: tuple[Size, ...]) -> Type:
    """An array of the same element type with another shape."""
    element = type_.element if isinstance(type_, ArrayType) else type_
    return array_of(element, shape)


def outer_size(value: Value) -> Size:
    """The size of an array."""
    assert isinstance(value, ArrayValue), value
    return value.size


def has_function(value: Value) -> bool:
    """Does it hold a function anywhere?"""
    match value:
        case Closure() | Primitive() | Known():
            return True
        case RecordValue(fields):
            return any(has_function(v) for v in fields.values())
        case ArrayValue(_, element):
            return has_function(element)
        case Leaf() | SumValue():
            return False
