"""What the loops that take the place of SOACs are made of.

apply_lambda(build, \\x -> x + 1, (a,))      let x = a  let y = x + 1     gives y
bind_rows(build, f, (xs,), i)               let x = xs[i]  ..
in_bounds(build, (i, j), ([n], [m]))        0 <= i && i < n && 0 <= j && j < m
"""

from __future__ import annotations

from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Copy, Index, Lambda
from minifut.ir.sizes import Size
from minifut.ir.types import AccType
from minifut.names import Name


def apply_lambda(
    build: Builder, function: Lambda, arguments: tuple[Atom, ...]
) -> tuple[Atom, ...]:
    """Emit the lambda's own statements with its parameters bound to the arguments; it
    must not be used again, since its names are now taken."""
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        build.bind((parameter,), Copy(argument))
    build.extend(function.body.statements)
    return function.body.result


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
) -> Name:
    """Emit the test that all indices lie inside the shape."""
    tests = []
    for index, size in zip(indices, shape, strict=False):
        tests.append(build.op("le", i64(0), index))
        tests.append(build.op("lt", index, build.size_atom(size)))
    whole = tests[0]
    for test in tests[1:]:
        whole = build.op("and", whole, test)
    return whole
