"""What the loops that take the place of SOACs are made of.

bind_rows(build, f, (xs,), i)               let x = xs[i]  ..
in_bounds(build, (i, j), ([n], [m]))        0 <= i && i < n && 0 <= j && j < m
write_out(build, map f [a, b], ..)          f a  f b     gives [f a, f b]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from minifut.ir.builder import Builder, i64
from minifut.ir.core import ArrayLiteral, Atom, Copy, Exp, Index, Lambda
from minifut.ir.sizes import Size
from minifut.ir.soacs import Screma
from minifut.ir.types import AccType
from minifut.names import Name

ApplyOperator: TypeAlias = Callable[[Builder, Lambda, Sequence[Atom]], Sequence[Atom]]
"""emits a function of these arguments; gives the results"""


SHORT_CHAIN = 4
"""operands that are folded one after the other"""


def bind_rows(
    build: Builder, function: Lambda, arrays: tuple[Name, ...], index: Name
) -> tuple[Atom, ...]:
    """Emit the lambda's statements on the elements of the arrays at `index`, and on
    accumulators as they are."""
    for parameter, array in zip(function.parameters, arrays, strict=True):
        whole = isinstance(parameter.type, AccType)
        build.bind((parameter,), Copy(array) if whole else Index(array, (index,)))
    build.extend(function.body.statements)
    return function.body.result


def in_bounds(
    build: Builder, indices: tuple[Atom, ...], shape: tuple[Size, ...]
) -> Atom:
    """Emit the test that all indices are inside the shape."""
    tests: list[Atom] = []
    for index, size in zip(indices, shape, strict=False):
        tests.append(build.op("le", i64(0), index))
        tests.append(build.op("lt", index, build.size_atom(size)))
    return build.all_of(tests)


def write_out(
    build: Builder,
    soac: Screma,
    elements: Callable[[int], Sequence[Atom]],
    apply: ApplyOperator,
) -> list[Exp]:
    """The results of a map, fold or scan of known width, whose points are emitted one
    after the other: `elements` gives those of the inputs at a point. More than a few
    are folded as a tree, whose operations need not wait for each other."""
    width = soac.width.as_constant
    assert width is not None
    points = [apply(build, soac.function, elements(i)) for i in range(width)]
    made: list[Exp] = []
    for scan in soac.scans:
        first, running = len(made), tuple(scan.neutral)
        prefixes = []
        for point in points:
            row = point[first : first + len(running)]
            running = tuple(apply(build, scan.operator, (*running, *row)))
            prefixes.append(running)
        types = soac.function.results[first:]
        for each, type_ in zip(zip(*prefixes, strict=True), types, strict=False):
            made.append(ArrayLiteral(each, type_))
    for fold in soac.reduces:
        first, running = len(made), tuple(fold.neutral)
        rows = [tuple(point[first : first + len(running)]) for point in points]
        if len(rows) > SHORT_CHAIN:
            rows = [_folded(build, fold.operator, rows, apply)]
        for row in rows:
            running = tuple(apply(build, fold.operator, (*running, *row)))
        made += map(Copy, running)
    for at, type_ in enumerate(soac.function.results[len(made) :], len(made)):
        made.append(ArrayLiteral(tuple(point[at] for point in points), type_))
    return made


def _folded(
    build: Builder,
    operator: Lambda,
    rows: Sequence[tuple[Atom, ...]],
    apply: ApplyOperator,
) -> tuple[Atom, ...]:
    """What the operator makes of some operands, half of them apart."""
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    sides = (
        _folded(build, operator, part, apply) for part in (rows[:half], rows[half:])
    )
    return tuple(apply(build, operator, [atom for side in sides for atom in side]))
