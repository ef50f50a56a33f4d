r"""The map nest around a place: its dimensions and what each point computes first.

    map (\xs -> let a = f(..) in map (\x -> <here>) xs) xss
  ≙
    nest (i < n, j < m)  { let xs = xss[i]   let a = f(..)   let x = xs[j] }

A nest only grows. Its statements are views, scalar operators and checks: cheap enough
to be done again for each point of the dimensions that come later (`flatten.cheap`).
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir.core import Body, Index, Stm
from minifut.ir.kernels import SegSpace
from minifut.ir.node import immutable
from minifut.ir.sizes import Size
from minifut.ir.soacs import Soac
from minifut.ir.traverse import free_names, substitute
from minifut.ir.types import AccType
from minifut.names import Name


@immutable
class Nest:
    """Dimensions, outermost first, the statements of a point, and all names bound."""

    indices: tuple[Name, ...] = ()
    sizes: tuple[Size, ...] = ()
    statements: tuple[Stm, ...] = ()
    bound: frozenset[Name] = frozenset()

    @property
    def depth(self) -> int:
        return len(self.indices)

    @property
    def space(self) -> SegSpace:
        return SegSpace(self.indices, self.sizes)

    def inside(self, index: Name, size: Size) -> Nest:
        """With one more dimension."""
        return Nest(
            (*self.indices, index),
            (*self.sizes, size),
            self.statements,
            self.bound | {index},
        )

    def then(self, statements: Iterable[Stm]) -> Nest:
        """With more statements per point."""
        added = tuple(statements)
        names = [p.name for s in added for p in s.pattern]
        return Nest(
            self.indices, self.sizes, self.statements + added, self.bound.union(names)
        )

    def over(self, index: Name, exp: Soac) -> tuple[Nest, Body]:
        """With one more dimension, the lambda's parameters bound to the elements of the
        arrays there; and the lambda's body, in which accumulators are those from
        outside, since a nest's statements may be in several kernels."""
        pairs = tuple(zip(exp.function.parameters, exp.arrays, strict=True))
        rows = [
            Stm((parameter,), Index(array, (index,)))
            for parameter, array in pairs
            if not isinstance(parameter.type, AccType)
        ]
        body = substitute(
            exp.function.body,
            {p.name: array for p, array in pairs if isinstance(p.type, AccType)},
        )
        return self.inside(index, exp.width).then(rows), body

    def varies(self, node: object) -> bool:
        """Whether a node needs something that differs between points."""
        return not self.bound.isdisjoint(free_names(node))

    def size_varies(self, size: Size) -> bool:
        """Whether a size differs between points."""
        return not self.bound.isdisjoint(size.names())
