r"""How much runs in parallel, as a size of the program.

segmap grid (i < n, j < m)                                     n * m
map (\xs -> .. map (\x -> ..) xs ..) xss        outer n, whole n * m
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minifut.ir.core import Lambda
from minifut.ir.kernels import SegHist, SegMap, SegRed, SegScan
from minifut.ir.sizes import ONE, Size, maximum, product
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import bound_names, walk
from minifut.names import Name

SEGMENTED = (SegMap, SegRed, SegScan, SegHist)


def parallelism(exp: object) -> Size:
    """The points of a segmented operation or the elements of a SOAC; 1 for others."""
    match exp:
        case SegMap() | SegRed() | SegScan() | SegHist():
            return product(exp.space.sizes)
        case Screma() | Scatter() | Hist():
            return exp.width
    return ONE


def whole_parallelism(exp: object) -> Size:
    """With the regular parallelism inside: the width times the greatest one inside
    whose size does not depend on the element."""
    if not isinstance(exp, (Screma, Scatter, Hist)):
        return parallelism(exp)
    inside = _inside(exp.function, set(bound_names(exp.function)))
    return exp.width * maximum(*inside) if inside else exp.width


def _inside(function: Lambda, bound: Collection[Name]) -> list[Size]:
    found: list[Size] = []
    for statement in function.body.statements:
        for node in _outermost(statement.exp):
            size = whole_parallelism(node)
            if size.names().isdisjoint(bound) and size not in found:
                found.append(size)
    return found


def _outermost(exp: Any) -> list[Any]:
    """The SOACs in an expression that stand in no other."""
    if isinstance(exp, (Screma, Scatter, Hist)):
        return [exp]
    found: list[Any] = []
    covered: set[int] = set()
    for node in walk(exp):
        if id(node) in covered or not isinstance(node, (Screma, Scatter, Hist)):
            continue
        found.append(node)
        covered.update(id(inner) for inner in walk(node))
    return found
