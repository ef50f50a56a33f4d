"""Marks on statements: which nest a kernel is, and how it is to be tiled.

    #[nest(main.map_map_redomap)]        a kernel that has been given its name
    #[tile(main.map_map_redomap, 0, 1)]  rows are dimension 0, columns dimension 1

A mark is an attribute of the statement, so that it is printed and read back with it,
and each rule of the composition can be run alone from text.
"""

from __future__ import annotations

from minifut.ir.core import Stm
from minifut.ir.node import immutable, replace

NEST = "nest("
TILE = "tile("
BLOCKS = "blocks"
"""marks a loop over blocks of the common dimension"""
REDUCTION = "reduction"
"""marks a loop that was a reduction, see `passes.sequentialise`"""

PAPER = "Teaching the Futhark compiler block and register tiled matrix multiplication"
LECTURE = "Locality of reference"


@immutable
class Mark:
    """The nest's name and the positions of its tiled dimensions, rows before columns
    (one alone: columns; none: not decided yet)."""

    nest: str
    dimensions: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The attribute."""
        if not self.dimensions:
            return f"{NEST}{self.nest})"
        return f"{TILE}{self.nest}, {', '.join(map(str, self.dimensions))})"


def mark_of(statement: Stm, kind: str) -> Mark | None:
    """The mark of this kind (`NEST` or `TILE`)."""
    for attribute in statement.attributes:
        if attribute.startswith(kind) and attribute.endswith(")"):
            nest, *dimensions = attribute[len(kind) : -1].split(", ")
            return Mark(nest, tuple(int(d) for d in dimensions))
    return None


def marked(statement: Stm, mark: Mark | None) -> Stm:
    """The statement with this mark instead of the one it has."""
    others = tuple(a for a in statement.attributes if not a.startswith((NEST, TILE)))
    added = () if mark is None else (mark.text,)
    return replace(statement, attributes=(*others, *added))
