"""SOACs and segmented operations: the values at all points, then combined.

Reductions and scans whose operator is a single known one go through NumPy's folds, all
others through the operator itself, from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minifut.ir import core, kernels, soacs
from minifut.ir.core import Atom, Lambda
from minifut.ir.interpret.arithmetic import fold_function
from minifut.ir.interpret.points import (
    Points,
    fresh,
    row_shape,
    soac_points,
    space_points,
)
from minifut.ir.interpret.translate import Writer, unpack
from minifut.ir.scalars import Operator
from minifut.ir.types import I64, AccType, Type, element_of

# --- combining --------------------------------------------------------------------


def single_operator(function: Lambda) -> Operator | None:
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


def _by_ufunc(
    writer: Writer,
    call: str,
    operator: Lambda,
    neutral: tuple[Atom, ...],
    points: Points,
    first: int,
    targets: list[str],
) -> bool:
    """Combine by NumPy's own fold (`call`), if there is one for the operator."""
    known = single_operator(operator)
    ufunc = fold_function(known) if known is not None else None
    if ufunc is None:
        return False
    kept = writer.keep(ufunc, "ufunc")
    values = points.array(first, operator.results[0], "()")
    start = writer.atom(neutral[0])
    writer.line(f"{targets[0]} = {call}({kept}, {start}, {values})")
    return True


def _reduce(
    writer: Writer,
    operator: Lambda,
    neutral: tuple[Atom, ...],
    points: Points,
    first: int,
    targets: list[str],
) -> None:
    """`targets` become the reduction of the values from result `first` on."""
    if _by_ufunc(writer, "fold_ufunc", operator, neutral, points, first, targets):
        return
    columns = _columns(points, first, operator)
    function = writer.function(operator, "operator")
    start = writer.atoms(neutral)
    writer.line(f"{unpack(targets)} = fold({function}, ({start}), [{columns}])")


def _columns(points: Points, first: int, operator: Lambda) -> str:
    return ", ".join(
        points.column(first + i, type_) for i, type_ in enumerate(operator.results)
    )


def _scan(
    writer: Writer,
    operator: Lambda,
    neutral: tuple[Atom, ...],
    points: Points,
    first: int,
    targets: list[str],
) -> None:
    """`targets` become the arrays of partial reductions."""
    if _by_ufunc(writer, "accumulate_ufunc", operator, neutral, points, first, targets):
        return
    columns = _columns(points, first, operator)
    function = writer.function(operator, "operator")
    start = writer.atoms(neutral)
    scanned = fresh(writer, "scanned")
    writer.line(f"{scanned} = accumulate({function}, ({start}), [{columns}])")
    for i, (target, type_) in enumerate(zip(targets, operator.results, strict=True)):
        element = element_of(type_)
        writer.line(
            f"{target} = stack({scanned}[{i}], {points.count}, "
            f"{row_shape(writer, type_)}, {element.name!r})"
        )


def screma(writer: Writer, exp: soacs.Screma, targets: list[str]) -> None:
    """Scans, reduces and maps of one pass."""
    points = soac_points(writer, exp.width, exp.arrays, exp.function)
    done = 0
    for scan in exp.scans:
        own = targets[done : done + len(scan.neutral)]
        _scan(writer, scan.operator, scan.neutral, points, done, own)
        done += len(scan.neutral)
    for reduce in exp.reduces:
        own = targets[done : done + len(reduce.neutral)]
        _reduce(writer, reduce.operator, reduce.neutral, points, done, own)
        done += len(reduce.neutral)
    for i in range(done, len(targets)):
        type_ = exp.function.results[i]
        if isinstance(type_, AccType):
            writer.line(f"{targets[i]} = {writer.name(type_.root)}")
            continue
        array = points.array(i, type_, row_shape(writer, type_))
        writer.line(f"{targets[i]} = {array}")


# --- writes -----------------------------------------------------------------------


def scatter(writer: Writer, exp: soacs.Scatter, targets: list[str]) -> None:
    """Writes in order; the last of several writes to one place wins."""
    points = soac_points(writer, exp.width, exp.arrays, exp.function)
    types = exp.function.results
    ranks = [d.rank for d in exp.destinations for _ in range(d.count)]
    index_at, value_at = 0, sum(ranks)
    for destination, target in zip(exp.destinations, targets, strict=True):
        writer.line(f"{target} = {writer.name(destination.array)}.copy()")
        for _ in range(destination.count):
            indices = [
                points.column(index_at + i, I64) for i in range(destination.rank)
            ]
            value = points.column(value_at, types[value_at])
            _write_all(writer, target, indices, value)
            index_at += destination.rank
            value_at += 1


def _write_all(writer: Writer, target: str, indices: list[str], value: str) -> None:
    inner = ", ".join(indices)
    writer.line(f"for w_at, w_value in zip(zip({inner}), {value}, strict=True):")
    writer.line(f"    if inside(w_at, {target}.shape[:len(w_at)]):")
    writer.line(f"        {target}[w_at] = w_value")


def hist(writer: Writer, exp: soacs.Hist, targets: list[str]) -> None:
    """Generalised histograms, element by element in order."""
    points = soac_points(writer, exp.width, exp.arrays, exp.function)
    _histograms(writer, exp.operators, points, exp.function.results, targets, [])


def _histograms(
    writer: Writer,
    operators: Sequence[Any],
    points: Points,
    types: Sequence[Type],
    targets: list[str],
    segments: list[str],
) -> None:
    bin_at = 0
    value_at = sum(len(operator.shape) for operator in operators)
    for operator in operators:
        own, targets = (
            targets[: len(operator.destinations)],
            targets[len(operator.destinations) :],
        )
        for target, destination in zip(own, operator.destinations, strict=True):
            writer.line(f"{target} = {writer.name(destination)}.copy()")
        function = writer.function(operator.operator, "operator")
        if isinstance(operator, kernels.SegHistOp) and operator.vector:
            function = f"vectorised({function}, {len(operator.vector)})"
        bins = [points.column(bin_at + i, I64) for i in range(len(operator.shape))]
        values = [
            points.column(value_at + i, types[value_at + i]) for i in range(len(own))
        ]
        bin_at += len(operator.shape)
        value_at += len(own)
        _update_bins(writer, own, function, segments + bins, values)


def _update_bins(
    writer: Writer,
    targets: list[str],
    function: str,
    bins: list[str],
    values: list[str],
) -> None:
    columns = ", ".join((f"zip({', '.join(bins)})", *values))
    names = "".join(f"h_{i}, " for i in range(len(values)))
    writer.line(f"for h_at, {names} in zip({columns}, strict=True):")
    writer.line(f"    if inside(h_at, {targets[0]}.shape[:len(h_at)]):")
    old = "".join(f"element({t}, h_at), " for t in targets)
    new = "".join(f"{t}[h_at], " for t in targets)
    writer.line(f"        {new} = {function}({old}{names})")


# --- segmented operations ---------------------------------------------------------


def _mapped(
    writer: Writer,
    exp: Any,
    first: int,
    points: Points,
    at: int,
    targets: list[str],
) -> None:
    """The results from `first` on: returned values, writes and tiles."""
    shape = "".join(f"{writer.size(s)}, " for s in exp.space.sizes)
    for i, target in zip(range(first, len(exp.body.result)), targets, strict=True):
        result, type_ = exp.body.result[i], exp.types[i]
        match result:
            case kernels.Returns() if isinstance(type_, AccType):
                writer.line(f"{target} = {writer.name(type_.root)}")
                at += 1
            case kernels.Returns():
                row = row_shape(writer, type_)
                array = points.array(at, type_, row)
                writer.line(f"{target} = {array}.reshape(({shape}) + {row})")
                at += 1
            case kernels.WriteReturns(array, _, writes):
                writer.line(f"{target} = {writer.name(array)}.copy()")
                for indices, _ in writes:
                    columns = [points.column(at + k, I64) for k in range(len(indices))]
                    value = points.column(at + len(indices), type_)
                    _write_all(writer, target, columns, value)
                    at += len(indices) + 1
            case kernels.TileReturns(dimensions, _):
                _tiles(writer, exp, points.texts[at], type_, dimensions, target)
                at += 1
            case kernels.RegTileReturns(dimensions, _):
                _register_tiles(
                    writer, exp, points.texts[at], type_, dimensions, target
                )
                at += 1


def _tiles(
    writer: Writer, exp: Any, tiles: str, type_: Type, dimensions: Any, target: str
) -> None:
    element = element_of(type_)
    totals = writer.shape(total for total, _ in dimensions)
    sizes = writer.shape(tile for _, tile in dimensions)
    space = writer.shape(exp.space.sizes)
    writer.line(
        f"{target} = assemble_tiles({tiles}, {space}, {totals}, {sizes}, "
        f"{element.name!r})"
    )


def _register_tiles(
    writer: Writer, exp: Any, tiles: str, type_: Type, dimensions: Any, target: str
) -> None:
    element = element_of(type_)
    totals = writer.shape(total for total, _, _ in dimensions)
    blocks = writer.shape(block for _, block, _ in dimensions)
    registers = writer.shape(register for _, _, register in dimensions)
    space = writer.shape(exp.space.sizes)
    writer.line(
        f"{target} = assemble_register_tiles({tiles}, {space}, {totals}, {blocks}, "
        f"{registers}, {element.name!r})"
    )


def segmap(writer: Writer, exp: kernels.SegMap, targets: list[str]) -> None:
    """A body at every point."""
    points = space_points(writer, exp.space, exp.body)
    _mapped(writer, exp, 0, points, 0, targets)


def segred(writer: Writer, exp: kernels.SegRed, targets: list[str]) -> None:
    """A reduction along the innermost dimension of every segment."""
    _segmented(writer, exp, targets, "fold_segments", scan=False)


def segscan(writer: Writer, exp: kernels.SegScan, targets: list[str]) -> None:
    """A scan along the innermost dimension of every segment."""
    _segmented(writer, exp, targets, "scan_segments", scan=True)


def _segmented(
    writer: Writer,
    exp: kernels.SegRed | kernels.SegScan,
    targets: list[str],
    combine: str,
    scan: bool,
) -> None:
    points = space_points(writer, exp.space, exp.body)
    outer = writer.shape(exp.space.sizes[:-1])
    inner = writer.size(exp.space.sizes[-1])
    at = 0
    for operator in exp.operators:
        count = len(operator.neutral)
        columns = ", ".join(
            points.column(at + i, exp.types[at + i]) for i in range(count)
        )
        function = writer.function(operator.operator, "operator")
        types = [
            f"({_element(exp.types[at + i])!r}, {row_shape(writer, exp.types[at + i])})"
            for i in range(count)
        ]
        writer.line(
            f"{unpack(targets[at : at + count])} = {combine}({function}, "
            f"({writer.atoms(operator.neutral)}), [{columns}], {outer}, {inner}, "
            f"{len(operator.shape)}, [{', '.join(types)}])"
        )
        at += count
    _mapped(writer, exp, at, points, at, targets[at:])


def _element(type_: Type) -> str:
    return element_of(type_).name


def seghist(writer: Writer, exp: kernels.SegHist, targets: list[str]) -> None:
    """Histograms, one per segment."""
    points = space_points(writer, exp.space, exp.body)
    sizes = [writer.size(s) for s in exp.space.sizes]
    segments = []
    grid = fresh(writer, "grid")
    if len(sizes) > 1:
        shape = f"({''.join(f'{s}, ' for s in sizes)})"
        writer.line(f"{grid} = np.indices({shape}).reshape({len(sizes)}, -1).tolist()")
        segments = [f"{grid}[{i}]" for i in range(len(sizes) - 1)]
    _histograms(writer, exp.operators, points, exp.types, targets, segments)


RULES: dict[type, Callable[[Writer, Any, list[str]], None]] = {
    soacs.Screma: screma,
    soacs.Scatter: scatter,
    soacs.Hist: hist,
    kernels.SegMap: segmap,
    kernels.SegRed: segred,
    kernels.SegScan: segscan,
    kernels.SegHist: seghist,
}
