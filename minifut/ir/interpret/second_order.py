"""SOACs and segmented operations: the values at all points, then combined.

Reductions and scans whose operator is a single known one go through NumPy's folds, all
others through the operator itself, from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from minifut.ir import core, kernels, scalars, soacs
from minifut.ir.interpret import arrays
from minifut.ir.interpret.arithmetic import dtype_of, fold_function
from minifut.ir.interpret.points import (
    PointValues,
    result_atoms,
    soac_points,
    space_points,
)
from minifut.ir.interpret.walk import Frame
from minifut.ir.node import divided, replace
from minifut.ir.types import I64, AccType, Type
from minifut.names import Name

MapReduceScan: TypeAlias = kernels.SegMap | kernels.SegRed | kernels.SegScan

# --- combining --------------------------------------------------------------------


def single_operator(function: core.Lambda) -> scalars.Operator | None:
    """The scalar operator that a lambda `\\x y -> op(x, y)` is."""
    body = function.body
    if len(function.parameters) != 2 or len(body.statements) != 1:
        return None
    statement = body.statements[0]
    names = tuple(p.name for p in function.parameters)
    match statement.exp:
        case core.ScalarOp(operator, operands) if operands == names:
            same = body.result == (statement.pattern[0].name,)
            return operator if same else None
        case _:
            return None


def screma(f: Frame, exp: soacs.Screma) -> list[Any]:
    """Scans, reduces and maps of one pass."""
    points = soac_points(f, exp.width, exp.arrays, exp.function)
    results: list[Any] = []
    for fold in exp.folds:
        results += _folded(f, fold, points, len(results))
    for i, type_ in list(enumerate(exp.function.results))[len(results) :]:
        results.append(_mapped(f, points, i, type_))
    return results


def _folded(
    f: Frame, fold: soacs.Scan | soacs.Reduce, points: PointValues, first: int
) -> list[Any]:
    """The values from result `first` on, scanned or reduced."""
    operator, start = fold.operator, f.atoms(fold.neutral)
    types = operator.results
    scan = isinstance(fold, soacs.Scan)
    known = single_operator(operator)
    ufunc = fold_function(known) if known is not None else None
    if ufunc is not None:
        by_ufunc = arrays.accumulate_ufunc if scan else arrays.fold_ufunc
        return [by_ufunc(ufunc, start[0], points.array(first, types[0]))]
    columns = _columns(points, first, types)
    if not scan:
        return arrays.fold(f.function(operator), start, columns)
    scanned = arrays.accumulate(f.function(operator), start, columns)
    return _stacked(f, scanned, types)


def _stacked(
    f: Frame, columns: list[list[Any]], types: Sequence[Type]
) -> list[np.ndarray]:
    """An array of each column of values."""
    return [
        arrays.stack(values, len(values), f.shape(type_), dtype_of(type_))
        for values, type_ in zip(columns, types, strict=True)
    ]


def _columns(points: PointValues, first: int, types: Sequence[Type]) -> list[list[Any]]:
    return [points.column(i, type_) for i, type_ in enumerate(types, first)]


def _mapped(f: Frame, points: PointValues, i: int, type_: Type) -> Any:
    """The i-th values as they are; an accumulator is the same for all points."""
    if isinstance(type_, AccType):
        return f.values[type_.root]
    return points.array(i, type_, f.shape(type_))


# --- writes -----------------------------------------------------------------------


def scatter(f: Frame, exp: soacs.Scatter) -> list[Any]:
    """Writes in order; the last of several writes to one place wins."""
    points = soac_points(f, exp.width, exp.arrays, exp.function)
    types = exp.function.results
    results = []
    for destination, own in zip(
        exp.destinations, exp.writes(range(len(types))), strict=True
    ):
        made = f.values[destination.array].copy()
        for index, value in own:
            first, rank = index[0] if index else 0, destination.rank
            _write_all(made, points, first, rank, value, types[value])
        results.append(made)
    return results


def _write_all(
    made: np.ndarray,
    points: PointValues,
    index: int,
    rank: int,
    value: int,
    type_: Type,
) -> None:
    """Write the values of result `value` at the indices from result `index` on."""
    indices = zip(*_columns(points, index, [I64] * rank), strict=True)
    for at, element in zip(indices, points.column(value, type_), strict=True):
        if arrays.inside(at, made.shape[:rank]):
            made[at] = element


def hist(f: Frame, exp: soacs.Hist) -> list[Any]:
    """Generalised histograms, element by element in order."""
    points = soac_points(f, exp.width, exp.arrays, exp.function)
    return _histograms(f, exp.operators, points, exp.function.results, [])


def _histograms(
    f: Frame,
    operators: Sequence[soacs.HistOp | kernels.SegHistOp],
    points: PointValues,
    types: Sequence[Type],
    segments: list[list[int]],
) -> list[Any]:
    bin_at, value_at = 0, sum(len(operator.shape) for operator in operators)
    results: list[Any] = []
    for operator in operators:
        own = [array.copy() for array in f.atoms(operator.destinations)]
        combine = f.function(operator.operator)
        if isinstance(operator, kernels.SegHistOp):
            combine = arrays.vectorised(combine, len(operator.vector))
        bins = segments + _columns(points, bin_at, [I64] * len(operator.shape))
        values = _columns(points, value_at, types[value_at : value_at + len(own)])
        for at, *new in zip(zip(*bins, strict=True), *values, strict=True):
            if arrays.inside(at, own[0].shape[: len(at)]):
                old = [arrays.element(array, at) for array in own]
                for array, value in zip(own, combine(*old, *new), strict=True):
                    array[at] = value
        results += own
        bin_at += len(operator.shape)
        value_at += len(own)
    return results


# --- segmented operations ---------------------------------------------------------


def segmented(f: Frame, exp: MapReduceScan) -> list[Any]:
    """A body at every point; reductions and scans along the innermost dimension."""
    match exp:
        case kernels.SegMap(steps=kernels.TimeSteps() as steps):
            return _time_steps(f, exp, steps)
        case kernels.SegMap(steps=kernels.BlockSteps() as steps):
            return _block_steps(f, exp, steps)
    seen: dict[Name, Any] = {}
    if isinstance(exp, kernels.SegMap) and exp.scan is not None:
        scanned = segmented(f, exp.scan)
        seen = {p.name: all_ for p, all_ in zip(exp.seen, scanned, strict=False)}
        neutral = [atom for o in exp.scan.operators for atom in f.atoms(o.neutral)]
        for total, all_, none in zip(exp.totals, scanned, neutral, strict=False):
            f.values[total.name] = all_[-1].item() if len(all_) else none
        for before, all_, none in zip(exp.before, scanned, neutral, strict=False):
            seen[before.name] = np.concatenate(([none], all_[:-1])).astype(all_.dtype)
    points = space_points(f, exp.space, exp.body, exp.types, seen)
    results: list[Any] = []
    if not isinstance(exp, kernels.SegMap):
        for operator in exp.operators:
            results += _segments(f, exp, operator, points, len(results))
    at = first = len(results)
    for result, type_ in zip(exp.body.result[first:], exp.types[first:], strict=True):
        results.append(_returned(f, exp, result, type_, points, at))
        at += len(result_atoms(result))
    return results


def _time_steps(f: Frame, exp: kernels.SegMap, steps: kernels.TimeSteps) -> list[Any]:
    """A map that is applied again and again, to what it made."""
    before = f.values[steps.array]
    for _ in range(steps.count):
        (made,) = segmented(f, replace(exp, steps=None))
        f.values[steps.array] = made
    f.values[steps.array] = before
    return [made]


def _block_steps(f: Frame, exp: kernels.SegMap, steps: kernels.BlockSteps) -> list[Any]:
    """The same, with scalars that change from one time to the next."""
    before = made = [f.values[name] for name in steps.arrays]
    f.bind(steps.state, f.atoms(steps.initial))
    counts = len(steps.state), len(steps.values)
    for _ in range(f.atom(steps.count)):
        following, values = divided(f.body(steps.step)[1:], counts)
        f.bind(steps.values, values)
        made = segmented(f, replace(exp, steps=None))
        f.values.update(zip(steps.arrays, made, strict=True))
        f.bind(steps.state, following)
    f.values.update(zip(steps.arrays, before, strict=True))
    return made


def _segments(
    f: Frame,
    exp: MapReduceScan,
    operator: kernels.SegBinOp,
    points: PointValues,
    first: int,
) -> list[Any]:
    """The values from result `first` on, scanned or reduced in each segment."""
    *outer, inner = space = f.shape(exp.space.sizes)
    scan = isinstance(exp, kernels.SegScan)
    types = exp.types[first : first + len(operator.neutral)]
    columns = _columns(points, first, types)
    combine = arrays.vectorised(f.function(operator.operator), len(operator.shape))
    neutral = [
        np.full(f.shape(type_), value, dtype_of(type_)) if f.shape(type_) else value
        for value, type_ in zip(f.atoms(operator.neutral), types, strict=True)
    ]
    combined: list[list[Any]] = [[] for _ in types]
    for s in range(prod(outer)):
        part = [column[s * inner : (s + 1) * inner] for column in columns]
        if scan:
            segment = arrays.accumulate(combine, neutral, part)
        else:
            segment = [[value] for value in arrays.fold(combine, neutral, part)]
        for values, more in zip(combined, segment, strict=True):
            values += more
    if not scan and not outer:
        return [value for (value,) in combined]
    whole = space if scan else outer
    stacked = _stacked(f, combined, types)
    return [array.reshape((*whole, *array.shape[1:])) for array in stacked]


def _returned(
    f: Frame,
    exp: MapReduceScan,
    result: kernels.KernelResult,
    type_: Type,
    points: PointValues,
    at: int,
) -> Any:
    """A result from the `at`-th values on: returned values, writes or tiles."""
    space = f.shape(exp.space.sizes)
    match result:
        case kernels.Returns():
            values = _mapped(f, points, at, type_)
            if isinstance(type_, AccType):
                return values
            return values.reshape(space + f.shape(type_))
        case kernels.WriteReturns(array, _, writes):
            made = f.values[array].copy()
            for indices, _ in writes:
                rank = len(indices)
                _write_all(made, points, at, rank, at + rank, type_)
                at += rank + 1
            return made
        case kernels.TotalReturns(value):
            return f.values[value]
        case kernels.TileReturns(dimensions) | kernels.RegTileReturns(dimensions):
            sizes = [f.shape(size) for size in zip(*dimensions, strict=True)]
            tiles = points.values[at]
            return arrays.assemble_tiles(tiles, space, dtype_of(type_), *sizes)


def seghist(f: Frame, exp: kernels.SegHist) -> list[Any]:
    """Histograms, one per segment."""
    points = space_points(f, exp.space, exp.body, exp.types, {})
    sizes = f.shape(exp.space.sizes)
    segments = np.indices(sizes).reshape(len(sizes), -1).tolist()[:-1]
    return _histograms(f, exp.operators, points, exp.types, segments)


RULES: dict[type, Callable[[Frame, Any], list[Any]]] = {
    soacs.Screma: screma,
    soacs.Scatter: scatter,
    soacs.Hist: hist,
    kernels.SegMap: segmented,
    kernels.SegRed: segmented,
    kernels.SegScan: segmented,
    kernels.SegHist: seghist,
}
