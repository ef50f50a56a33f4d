"""Expressions that are one Python expression; see `interpret.translate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from minifut.ir import core, kernels
from minifut.ir.core import Atom, Constant
from minifut.ir.interpret.arithmetic import python_text, scalar_function
from minifut.ir.types import ArrayType, element_of
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.ir.interpret.translate import Writer


def _scalar(writer: Writer, exp: core.ScalarOp) -> str:
    operands = [writer.atom(o) for o in exp.operands]
    text = python_text(exp.operator, operands)
    if text is not None:
        return text
    function = writer.keep(scalar_function(exp.operator), exp.operator.name)
    return f"{function}({', '.join(operands)})"


def index_text(writer: Writer, slice_: tuple[Atom | core.DimSlice, ...]) -> str:
    """A NumPy index."""
    parts = []
    for part in slice_:
        if isinstance(part, core.DimSlice):
            start, stride = writer.atom(part.start), writer.atom(part.stride)
            parts.append(f"stretch({start}, {writer.size(part.length)}, {stride}), ")
        else:
            parts.append(f"{writer.atom(part)}, ")
    return "".join(parts)


def _index(writer: Writer, exp: core.Index) -> str:
    array = writer.name(exp.array)
    rank = writer.types[exp.array].rank
    fixed = all(not isinstance(part, core.DimSlice) for part in exp.slice)
    if fixed and len(exp.slice) == rank:
        return f"{array}.item({index_text(writer, exp.slice)})"
    lengths = [p.length for p in exp.slice if isinstance(p, core.DimSlice)]
    found = f"{array}[{index_text(writer, exp.slice)}]"
    return f"whole({found}, {writer.shape(lengths)})" if lengths else found


def _collective_copy(writer: Writer, exp: kernels.CollectiveCopy) -> str:
    parts = [
        f"({writer.atom(p.start)}, {writer.size(p.length)}, {writer.atom(p.stride)}), "
        if isinstance(p, core.DimSlice)
        else f"{writer.atom(p)}, "
        for p in exp.slice
    ]
    return f"collective_copy({writer.name(exp.array)}, ({''.join(parts)}))"


def _iota(writer: Writer, exp: core.Iota) -> str:
    arguments = [writer.size(exp.length), writer.atom(exp.start)]
    arguments += [writer.atom(exp.stride), repr(exp.element.name)]
    return f"iota({', '.join(arguments)})"


def _replicate(writer: Writer, exp: core.Replicate) -> str:
    element = _element(writer, exp.value)
    shape = writer.shape(exp.shape)
    return f"replicate({shape}, {writer.atom(exp.value)}, {element!r})"


def _element(writer: Writer, atom: Atom) -> str:
    if isinstance(atom, Constant):
        return atom.type.name
    type_ = writer.types[atom]
    return element_of(type_).name


def _literal(writer: Writer, exp: core.ArrayLiteral) -> str:
    row = exp.row
    element = element_of(row)
    shape = writer.shape(row.shape) if isinstance(row, ArrayType) else "()"
    return f"literal(({writer.atoms(exp.rows)}), {shape}, {element.name!r})"


def _parameter(writer: Writer, parameter: kernels.Parameter) -> str:
    chosen = writer.parameters.get(parameter.name)
    if chosen is None:
        chosen = dict(parameter.defaults).get(writer.device_kind, 0)
    return str(chosen)


def _arrays(writer: Writer, names: Iterable[Name]) -> str:
    return "".join(f"{writer.name(n)}, " for n in names)


SIMPLE: dict[type, Callable[[Writer, Any], str]] = {
    core.Copy: lambda w, e: w.atom(e.atom),
    core.Opaque: lambda w, e: w.atom(e.atom),
    core.Trace: lambda w, e: f"trace({e.label!r}, {w.atom(e.atom)})",
    core.ScalarOp: _scalar,
    core.SizeExp: lambda w, e: w.size(e.size),
    core.Index: _index,
    core.Iota: _iota,
    core.Replicate: _replicate,
    core.Scratch: lambda w, e: f"scratch({w.shape(e.shape)}, {e.element.name!r})",
    core.ArrayLiteral: _literal,
    core.Rearrange: lambda w, e: f"{w.name(e.array)}.transpose({e.permutation})",
    core.Reshape: lambda w, e: f"{w.name(e.array)}.reshape({w.shape(e.shape)})",
    core.Concat: lambda w, e: f"concat(({_arrays(w, e.arrays)}), {e.dimension})",
    core.Manifest: lambda w, e: f"{w.name(e.array)}.copy()",
    kernels.CollectiveCopy: _collective_copy,
    kernels.GetParameter: lambda w, e: _parameter(w, e.parameter),
    kernels.AtLeast: lambda w, e: (
        f"{w.size(e.parallelism)} >= {_parameter(w, e.threshold)}"
    ),
}
