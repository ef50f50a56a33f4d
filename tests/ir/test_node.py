"""Which parts of a program count as unchanged."""

from __future__ import annotations

from minifut.ir.node import same_or
from minifut.ir.sizes import Size
from minifut.ir.traverse import substitute
from minifut.names import Name


def sizes() -> tuple[Size, ...]:
    """Equal ones at each call."""
    return Size.of(Name("n", 1)), Size.constant(2)


def test_what_was_made_of_the_same_objects_is_no_change() -> None:
    known = sizes()
    assert same_or(list(known), known) is known
    assert same_or(known[:1], known) == known[:1]
    assert same_or(sizes(), known) is not known


def test_equal_names_in_place_of_names_are_no_change() -> None:
    known = (*sizes(), Name("n", 1))
    assert substitute(known, {Name("n", 1): Name("n", 1)}) is known
