"""A body of total scalar operators, for all points at once.

    \\x -> let y = mul_f32(x, x) in {y}        v_y = mul(v_x, v_x) on whole arrays

Allowed: scalar operators, sizes, copies, checks, and elements of arrays whose indices
are known for all points (rows of an input array included). The text computes the same
values as the loop over points would; a failing check reports its first failing point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir import core
from minifut.ir.core import Atom, Constant
from minifut.ir.interpret.arithmetic import lanes_function
from minifut.ir.types import ArrayType, ScalarType
from minifut.names import Name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minifut.ir.interpret.translate import Writer


def can_run_in_lanes(
    statements: tuple[core.Stm, ...], rows: set[Name], lanes: set[Name]
) -> bool:
    """May these statements be evaluated for all points at once? `rows` are parameters
    that are rows of input arrays, `lanes` the scalar ones."""
    varying = set(lanes)
    for statement in statements:
        if not _allowed(statement, rows, varying):
            return False
        varying.update(p.name for p in statement.pattern)
    return True


def _allowed(statement: core.Stm, rows: set[Name], varying: set[Name]) -> bool:
    match statement.exp:
        case core.ScalarOp() | core.Assert():
            return True
        case core.SizeExp(size):
            return varying.isdisjoint(size.names())
        case core.Copy() | core.Opaque():
            return isinstance(statement.pattern[0].type, ScalarType)
        case core.Index(array, slice_):
            scalar = isinstance(statement.pattern[0].type, ScalarType)
            fixed = all(isinstance(part, Name | Constant) for part in slice_)
            return scalar and fixed and array not in varying - rows
        case _:
            return False


class Lanes:
    """Writes statements in lanes. `row_index`: for each row parameter the text of its
    array and of the index of the rows."""

    def __init__(
        self, writer: Writer, row_index: Mapping[Name, tuple[str, str]], count: str
    ) -> None:
        self.writer = writer
        self.row_index = row_index
        self.count = count

    def statement(self, statement: core.Stm) -> None:
        """One statement."""
        writer = self.writer
        targets = [writer.parameter(p) for p in statement.pattern]
        match statement.exp:
            case core.ScalarOp(operator, operands):
                function = writer.keep(lanes_function(operator), operator.name)
                inner = ", ".join(writer.atom(o) for o in operands)
                writer.line(f"{targets[0]} = {function}({inner})")
            case core.SizeExp(size):
                writer.line(f"{targets[0]} = {writer.size(size)}")
            case core.Copy(atom) | core.Opaque(atom):
                writer.line(f"{targets[0]} = {writer.atom(atom)}")
            case core.Index(array, slice_):
                self._index(targets[0], array, atoms_of(slice_))
            case core.Assert() as check:
                self._assert(check)

    def _index(self, target: str, array: Name, indices: list[Atom]) -> None:
        texts = [self.writer.atom(i) for i in indices]
        if array in self.row_index:
            source, rows = self.row_index[array]
            texts.insert(0, rows)
        else:
            source = self.writer.name(array)
        inside = "".join(f"{text}, " for text in texts)
        # With no points nothing may be read: the index may not exist.
        self.writer.line(f"{target} = {source}[{inside}] if {self.count} else 0")

    def _assert(self, check: core.Assert) -> None:
        writer = self.writer
        message = writer.keep(check.message, "message")
        backtrace = writer.keep(check.backtrace, "backtrace")
        values = writer.atoms(a for a in check.message if not isinstance(a, str))
        writer.line(
            f"check_lanes({writer.atom(check.condition)}, {self.count}, "
            f"{message}, ({values}), {backtrace})"
        )


def atoms_of(slice_: tuple[Atom | core.DimSlice, ...]) -> list[Atom]:
    """The parts that fix their dimension."""
    return [part for part in slice_ if isinstance(part, Name | Constant)]


def row_parameters(parameters: tuple[core.Param, ...]) -> tuple[set[Name], set[Name]]:
    """The parameters that are rows of arrays, and those that are scalars."""
    rows = {p.name for p in parameters if isinstance(p.type, ArrayType)}
    return rows, {p.name for p in parameters} - rows
