"""Values of sum types: a tag and the slots of all payloads.

#some x : #none | #some f32     ->    (1u8, x)
#none                           ->    (0u8, 0f32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend.elaborate import static_types, values
from minifut.frontend.elaborate.values import Leaf, Value, constant
from minifut.ir import core
from minifut.ir.core import Constant
from minifut.ir.types import BOOL, U8, ScalarType, Type, element_of, shape_of

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def tag(type_: static_types.StaticSum, constructor: str) -> Constant:
    """The tag of a constructor."""
    names = [name for name, _ in type_.constructors]
    return Constant(names.index(constructor), U8)


def construct(
    work: Work, type_: static_types.StaticSum, constructor: str, payload: list[Value]
) -> Value:
    """`#constructor payload`; the slots of others are filled with zeros."""
    if static_types.has_unknown(type_):
        return values.Known(constructor, tuple(payload))
    slots, uses = static_types.slot_types(type_)
    filled: list[Leaf | None] = [None] * len(slots)
    own = [leaf for value in payload for leaf in values.leaves(value)]
    for place, leaf in zip(uses[constructor], own, strict=True):
        filled[place] = leaf
    leaves = [
        leaf if leaf is not None else blank(work, slot)
        for leaf, slot in zip(filled, slots, strict=True)
    ]
    return values.SumValue(type_, (Leaf(tag(type_, constructor), U8), *leaves))


def payload(work: Work, value: Value, constructor: str) -> list[Value]:
    """What a constructor holds, if it is the one that is there."""
    if isinstance(value, values.Known):
        return list(value.payload)
    assert isinstance(value, values.SumValue)
    _, uses = static_types.slot_types(value.type)
    own = iter([value.leaves[1 + place] for place in uses[constructor]])
    parts = dict(value.type.constructors)[constructor]
    return [static_types.build(part, own, work) for part in parts]


def tests(value: Value, constructor: str) -> list[tuple[Leaf, Constant]]:
    """What must hold for the constructor to be the one that is there."""
    if isinstance(value, values.Known):
        fits = constant(value.constructor == constructor, BOOL)
        return [(fits, Constant(True, BOOL))]
    assert isinstance(value, values.SumValue)
    return [(value.leaves[0], tag(value.type, constructor))]


def blank(work: Work, type_: Type) -> Leaf:
    """A value of the type that nothing examines."""
    if isinstance(type_, ScalarType):
        return constant(0, type_)
    exp = core.Replicate(shape_of(type_), constant(0, element_of(type_)).atom)
    return work.leaf(exp, "blank")
