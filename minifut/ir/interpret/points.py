"""Evaluating a function at every point: a SOAC's rows, or the points of a space.

A body of total scalar operators is evaluated for all its points at once, in lanes:

    \\x -> let y = mul_f32(x, x) in {y}        values[y] = mul(values[x], values[x])

on whole arrays. Allowed are scalar operators, sizes, copies, checks, and elements of
arrays whose indices are known for all points (rows of an input array included). The
values are the same as one point after the other; a failing check reports its first
failing point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from minifut.ir import core, kernels
from minifut.ir.core import Atom, Body, DimSlice, Lambda, Stm
from minifut.ir.interpret import arrays
from minifut.ir.interpret.arithmetic import dtype_of, lanes_function
from minifut.ir.interpret.walk import Frame
from minifut.ir.sizes import Size
from minifut.ir.types import AccType, ArrayType, ScalarType, Type
from minifut.names import Name

STEPS_OF_LANES, LANES_OF_A_STEP = 4, 64


class PointValues:
    """The values at all points, for each result in the order of the points: an array
    (or one value for all) in lanes, else a list."""

    def __init__(self, values: Sequence[Any], count: int, in_lanes: bool) -> None:
        self.values = values
        self.count = count
        self.in_lanes = in_lanes

    def array(self, i: int, type_: Type, row: tuple[int, ...] = ()) -> np.ndarray:
        """The i-th values, each of this shape, as an array of its own."""
        element = dtype_of(type_)
        if self.in_lanes:
            spread = np.broadcast_to(self.values[i], (self.count,))
            return np.array(spread, element)
        return arrays.stack(self.values[i], self.count, row, element)

    def column(self, i: int, type_: Type) -> list[Any]:
        """The i-th values as a list of Python values."""
        if self.in_lanes:
            values: list[Any] = self.array(i, type_).tolist()
            return values
        return list(self.values[i])

    @staticmethod
    def one_by_one(found: list[list[Any]], results: int) -> PointValues:
        """From the results of each point."""
        return PointValues(
            [[p[i] for p in found] for i in range(results)], len(found), False
        )


def soac_points(
    f: Frame, width: Size, sources: tuple[Name, ...], function: Lambda
) -> PointValues:
    """The lambda at every row of the arrays."""
    count, given = f.size(width), f.atoms(sources)
    parameters, body = function.parameters, function.body
    rows = {p.name for p in parameters if isinstance(p.type, ArrayType)}
    if may_run_in_lanes(f, body, {p.name for p in parameters} - rows, function.results):
        f.count(STEPS_OF_LANES + count // LANES_OF_A_STEP)
        f.bind(parameters, given)
        return _in_lanes(f, body, body.result, count, rows)
    f.count(count)
    columns = [
        [value] * count if isinstance(p.type, AccType) else arrays.rows_of(value)
        for value, p in zip(given, parameters, strict=True)
    ]
    points = zip(*columns, strict=True) if columns else [()] * count
    found = [f.apply(function, point) for point in points]
    return PointValues.one_by_one(found, len(body.result))


def space_points(
    f: Frame,
    space: kernels.SegSpace,
    body: kernels.KernelBody,
    types: Sequence[Type],
    seen: Mapping[Name, Any],
) -> PointValues:
    """The kernel body at every point, row by row; results as a flat list of atoms.
    `seen` are arrays whose element at the point the body reads."""
    atoms = [atom for result in body.result for atom in result_atoms(result)]
    sizes, indices = f.shape(space.sizes), space.indices
    if may_run_in_lanes(f, body, {*indices, *seen}, types):
        f.values.update(seen)
        grid = (axis.ravel() for axis in np.indices(sizes))
        f.values.update(zip(indices, grid, strict=True))
        return _in_lanes(f, body, atoms, prod(sizes), set())
    found = []
    for number, at in enumerate(product(*[range(n) for n in sizes])):
        f.values.update(zip(indices, at, strict=True))
        f.values.update({name: all_[number].item() for name, all_ in seen.items()})
        f.statements(body.statements)
        found.append(f.atoms(atoms))
    return PointValues.one_by_one(found, len(atoms))


def result_atoms(result: kernels.KernelResult) -> list[Atom]:
    """The atoms that a kernel result needs from every point."""
    match result:
        case kernels.Returns(value):
            return [value]
        case kernels.WriteReturns(_, _, writes):
            return [a for indices, value in writes for a in (*indices, value)]
        case kernels.TotalReturns():
            return []
        case kernels.TileReturns(_, tile) | kernels.RegTileReturns(_, tile):
            return [tile]


# --- lanes ------------------------------------------------------------------------


def may_run_in_lanes(
    f: Frame, body: Body | kernels.KernelBody, lanes: set[Name], results: Sequence[Type]
) -> bool:
    """May the body be evaluated for all points at once? `lanes` are the names with a
    number for each point; the result is the same each time."""
    found = f.run.in_lanes.get(id(body))
    if found is None:
        scalars = all(isinstance(type_, ScalarType) for type_ in results)
        tiles = any(isinstance(result, _TILES) for result in body.result)
        allowed = scalars and not tiles and _all_allowed(body.statements, lanes)
        found = f.run.in_lanes[id(body)] = allowed
    return found


def _all_allowed(statements: Sequence[Stm], lanes: set[Name]) -> bool:
    varying = set(lanes)
    for statement in statements:
        if not _allowed(statement, varying):
            return False
        varying.update(p.name for p in statement.pattern)
    return True


_TILES = kernels.TileReturns | kernels.RegTileReturns


def _allowed(statement: Stm, varying: set[Name]) -> bool:
    match statement.exp:
        case core.ScalarOp() | core.Assert():
            return True
        case core.SizeExp(size):
            return varying.isdisjoint(size.names())
        case core.Copy() | core.Opaque():
            return isinstance(statement.pattern[0].type, ScalarType)
        case core.Index(array, slice_):
            scalar = isinstance(statement.pattern[0].type, ScalarType)
            sliced = any(isinstance(part, DimSlice) for part in slice_)
            return scalar and not sliced and array not in varying
        case _:
            return False


def _in_lanes(
    f: Frame,
    body: Body | kernels.KernelBody,
    results: Sequence[Atom],
    count: int,
    rows: set[Name],
) -> PointValues:
    """All points at once; `rows` are the arrays of which each point has a row."""
    value: Any
    for statement in body.statements:
        match statement.exp:
            case core.Assert() as check:
                _check(f, check, count)
                continue
            case core.ScalarOp(operator, operands):
                value = lanes_function(operator)(*f.atoms(operands))
            case core.Index(array, slice_):
                own_row = [np.arange(count)] if array in rows else []
                at = (*own_row, *f.index(slice_))
                # With no points nothing may be read: the index may not exist.
                value = f.values[array][at] if count else 0
            case core.SizeExp(size):
                value = f.size(size)
            case core.Copy(atom) | core.Opaque(atom):
                value = f.atom(atom)
        f.values[statement.pattern[0].name] = value
    return PointValues(f.atoms(results), count, True)


def _check(f: Frame, check: core.Assert, count: int) -> None:
    """Fails with the values of the first point where it does not hold."""

    def at(point: int, atom: Atom) -> Any:
        return np.broadcast_to(f.atom(atom), (count,))[point].item()

    holds = np.broadcast_to(f.atom(check.condition), (count,))
    if not holds.all():
        first = int(np.argmin(holds))
        parts = [p if isinstance(p, str) else at(first, p) for p in check.message]
        arrays.fail(parts, check.backtrace)
