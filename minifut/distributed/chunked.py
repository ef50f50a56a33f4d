"""Which arrays are in chunks, read from their types.

A size variable of the entry point is split over the cluster, and with it every array
with a dimension of that size: `xss: [d][n]f32` is in chunks along dimension 1. On a
chunk the same array has the chunk's size there, which is another variable:

    n -> n_chunk     [d][n]f32 -> [d][n_chunk]f32     [n * d]f32 -> [n_chunk * d]f32

Sizes are renamed in types and widths only. Where the program computes with n as a
number (`f32.i64 n`) it keeps the size of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from minifut.errors import CompileError, Location, MinifutError
from minifut.ir.core import SizeExp, Stm
from minifut.ir.scope import Scope
from minifut.ir.sizes import Size
from minifut.ir.traverse import Replacer, used_names
from minifut.ir.types import Type, shape_of
from minifut.names import Name

T = TypeVar("T")


class Undistributable(MinifutError):
    """A statement cannot work on chunks; the message says why."""

    def __init__(self, reason: str, location: Location | None = None) -> None:
        super().__init__(reason)
        self.location = location


def distribution_error(problem: Undistributable, over: str) -> CompileError:
    """The error that users see."""
    return CompileError(
        problem.location,
        f"this cannot be distributed over {over}: {problem}",
        "maps, reductions, scans, histograms and filters over a size can be "
        "distributed; distribute over another size, or change this expression. "
        "For neighbours at a constant distance, give the entry point itself to "
        "dask.array.map_overlap",
    )


class _LocalSizes(Replacer):
    """Renames sizes everywhere but where they are computed with as numbers."""

    __slots__ = ()

    def node(self, node: Any) -> Any:
        return node if isinstance(node, SizeExp) else super().node(node)


@dataclass(frozen=True, slots=True)
class ChunkedSizes:
    """The chunked sizes of a program, each with the name of its chunk's size, and the
    types of all names."""

    sizes: Mapping[Name, Name]
    scope: Scope

    def factors(self, size: Size) -> tuple[Name, Size] | None:
        """The chunked size n and c where the size is n * c; None if none is in it.
        Raises `Undistributable` for any other form."""
        name, *others = self.sizes.keys() & size.names() or (None,)
        if name is None:
            return None
        factor, rest = size.divided(Size.of(name))
        if others or rest.terms or name in factor.names():
            raise _no_multiple(size)
        return name, factor

    def axis(self, type_: Type) -> int | None:
        """The dimension that is in chunks; None if there is none."""
        axes = [i for i, size in enumerate(shape_of(type_)) if self.factors(size)]
        if len(axes) > 1:
            raise Undistributable(
                f"an array {_untagged(type_)} has the size in two dimensions"
            )
        return axes[0] if axes else None

    def is_chunked(self, name: Name) -> bool:
        """Whether the array of that name is in chunks (in whatever form)."""
        type_ = self.scope.get(name)
        shape = () if type_ is None else shape_of(type_)
        return any(not self.sizes.keys().isdisjoint(size.names()) for size in shape)

    def touches(self, node: object) -> bool:
        """Whether it reads or makes anything in chunks. A computation with the number
        alone does not."""
        if any(self.is_chunked(name) for name in used_names(node)):
            return True
        return self.on_chunk(node) is not node

    def on_chunk(self, node: T) -> T:
        """A node or type with the sizes of a chunk."""
        replacer = _LocalSizes({}, binders=False)
        replacer.sizes = {whole: Size.of(part) for whole, part in self.sizes.items()}
        made: T = replacer.mixed(node)
        return made

    def and_also(self, whole: Name, part: Name) -> ChunkedSizes:
        """With one more chunked size."""
        return ChunkedSizes({**self.sizes, whole: part}, self.scope)


def _no_multiple(size: Size) -> Undistributable:
    shown = _untagged(size)
    return Undistributable(f"the size {shown} is no multiple of the chunks'")


def _untagged(node: Size | Type) -> str:
    """As the source writes it: `n_1 - 1` is n - 1."""
    return re.sub(r"\b(\w+)_\d+\b", r"\1", str(node))


def located(problem: Undistributable, statement: Stm) -> Undistributable:
    """The problem at the place of the statement, unless it has one of its own."""
    return Undistributable(str(problem), problem.location or statement.location)
