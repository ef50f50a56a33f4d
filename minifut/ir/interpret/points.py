"""Evaluating a function at every point: a SOAC's rows, or the points of a space.

The values are left in one Python variable per result: an array when the body ran in
lanes, else a list with one value per point.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.ir.core import Atom, Lambda
from minifut.ir.interpret.lanes import Lanes, can_run_in_lanes, row_parameters
from minifut.ir.interpret.translate import Writer, unpack
from minifut.ir.sizes import Size
from minifut.ir.types import I64, AccType, ArrayType, ScalarType, Type, element_of
from minifut.names import Name


class Points:
    """The values at all points: Python variables, one per result, in the order of the
    points; `in_lanes` tells arrays from lists."""

    def __init__(self, texts: list[str], in_lanes: bool, count: str) -> None:
        self.texts = texts
        self.in_lanes = in_lanes
        self.count = count

    def array(self, i: int, type_: Type, shape: str) -> str:
        """The i-th values as an array of the outer shape `shape`."""
        element = element_of(type_)
        if self.in_lanes:
            return f"spread({self.texts[i]}, {self.count}, {element.name!r})"
        return f"stack({self.texts[i]}, {self.count}, {shape}, {element.name!r})"

    def column(self, i: int, type_: Type) -> str:
        """The i-th values as a list of Python values."""
        if self.in_lanes:
            assert isinstance(type_, ScalarType)
            return f"spread({self.texts[i]}, {self.count}, {type_.name!r}).tolist()"
        return self.texts[i]


def row_shape(writer: Writer, type_: Type) -> str:
    """The shape of one value, as text; () for a scalar."""
    return writer.shape(type_.shape) if isinstance(type_, ArrayType) else "()"


def fresh(writer: Writer, base: str) -> str:
    """A Python variable not used elsewhere."""
    return f"t_{base}_{len(writer.lines)}"


def soac_points(
    writer: Writer, width: Size, arrays: tuple[Name, ...], function: Lambda
) -> Points:
    """The lambda at every row of the arrays."""
    count = fresh(writer, "width")
    writer.line(f"{count} = {writer.size(width)}")
    rows, lanes = row_parameters(function.parameters)
    results = function.body.result
    scalars = all(isinstance(type_, ScalarType) for type_ in function.results)
    if scalars and can_run_in_lanes(function.body.statements, rows, lanes):
        writer.count(count, in_lanes=True)
        return _soac_lanes(writer, count, arrays, function)
    writer.count(count)
    name = writer.function(function)
    columns = [
        f"[{writer.name(a)}] * {count}"
        if isinstance(parameter.type, AccType)
        else f"rows_of({writer.name(a)})"
        for a, parameter in zip(arrays, function.parameters, strict=True)
    ]
    values = fresh(writer, "values")
    call = f"[{name}(*p) for p in zip({', '.join(columns)}, strict=True)]"
    if not arrays:
        call = f"[{name}() for _ in range({count})]"
    writer.line(f"{values} = {call}")
    return Points(_transpose(writer, values, len(results)), False, count)


def _transpose(writer: Writer, values: str, count: int) -> list[str]:
    texts = [f"{values}_{i}" for i in range(count)]
    for i, text in enumerate(texts):
        writer.line(f"{text} = [p[{i}] for p in {values}]")
    return texts


def _soac_lanes(
    writer: Writer, count: str, arrays: tuple[Name, ...], function: Lambda
) -> Points:
    row_index = {}
    index = fresh(writer, "index")
    writer.line(f"{index} = np.arange({count})")
    for parameter, array in zip(function.parameters, arrays, strict=True):
        text = writer.parameter(parameter)
        if isinstance(parameter.type, ArrayType):
            row_index[parameter.name] = (writer.name(array), index)
        else:
            writer.line(f"{text} = {writer.name(array)}")
    lanes = Lanes(writer, row_index, count)
    for statement in function.body.statements:
        lanes.statement(statement)
    return Points([writer.atom(r) for r in function.body.result], True, count)


def space_points(
    writer: Writer, space: kernels.SegSpace, body: kernels.KernelBody
) -> Points:
    """The kernel body at every point, row by row; results as a flat list of atoms."""
    for index in space.indices:
        writer.types[index] = I64
    atoms = [atom for result in body.result for atom in result_atoms(result)]
    count = fresh(writer, "count")
    sizes = [writer.size(size) for size in space.sizes]
    writer.line(f"{count} = {' * '.join(sizes) or '1'}")
    names = [writer.name(i) for i in space.indices]
    names_returned = [a for a in atoms if isinstance(a, Name)]
    whole = any(
        isinstance(writer.types.get(a), ArrayType | AccType) for a in names_returned
    )
    if not whole and can_run_in_lanes(body.statements, set(), set(space.indices)):
        shape = f"({''.join(f'{s}, ' for s in sizes)})"
        writer.line(f"{unpack(names)} = [i.ravel() for i in np.indices({shape})]")
        lanes = Lanes(writer, {}, count)
        for statement in body.statements:
            lanes.statement(statement)
        return Points([writer.atom(a) for a in atoms], True, count)

    def point() -> None:
        for statement in body.statements:
            writer.statement(statement)
        writer.line(f"return ({writer.atoms(atoms)})")

    function = writer.define("point", names, point)
    values = fresh(writer, "values")
    loops = " ".join(
        f"for {n} in range({s})" for n, s in zip(names, sizes, strict=True)
    )
    writer.line(f"{values} = [{function}({', '.join(names)}) {loops}]")
    return Points(_transpose(writer, values, len(atoms)), False, count)


def result_atoms(result: kernels.KernelResult) -> list[Atom]:
    """The atoms that a kernel result needs from every point."""
    match result:
        case kernels.Returns(value):
            return [value]
        case kernels.WriteReturns(_, _, writes):
            return [a for indices, value in writes for a in (*indices, value)]
        case kernels.TileReturns(_, tile) | kernels.RegTileReturns(_, tile):
            return [tile]
