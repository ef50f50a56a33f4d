"""Which parts of a program count as unchanged."""

from __future__ import annotations

from minifut.ir.node import same_or
from minifut.ir.sizes import Size
from minifut.names import Name


def test_equal_items_are_no_change() -> None:
    sizes = (Size.of(Name("n", 1)), Size.constant(2))
    assert same_or([Size.of(Name("n", 1)), Size.constant(2)], sizes) is sizes
    assert same_or([Size.of(Name("n", 1))], sizes) == sizes[:1]
