"""Give the rows that a register tile reads in place pointers of their own.

    for step { unroll r below rows {             for step { unroll r below rows { {
      { let x = xs[k * (i + r) + step] .. }  →     part row = xs[k * (i + r)]
    } }                                            let x = row[step] .. } } }

LLVM's vectoriser of straight-line code finds the sums `k * (i + r) + step` of one base
pointer alike, adds them up in a vector, and takes them apart again in each step:
extractions compete with multiply-adds for the ports of vectors. A pointer does not
change in the loop, so that a step has one load with a scalar index. Measured on PoCL
and two cores of Zen 4: a product of 1024 takes 0.73 of the time.

Conditions: the loop is innermost; in the copies of an `Unrolled` a scalar is loaded
from global memory at a sum of two sizes, one of which does not change in the loop but
differs between the copies, while the other one changes in the loop.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from minifut.ir.node import replace
from minifut.ir.search import classes_in, nodes_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import declared
from minifut.kernel_passes.editor import KernelEditor, has_loops
from minifut.names import Name


def point_to_rows(k: KernelEditor) -> None:
    """Give the rows that a register tile reads in place pointers of their own."""
    k.change_loops(lambda loop: _with_pointers(k, loop))


def _with_pointers(k: KernelEditor, loop: kc.For) -> tuple[kc.Statement, ...] | None:
    if kc.Unrolled not in classes_in(loop.body) or has_loops(loop.body):
        return None
    copies = {n.index for n in nodes_of(kc.Unrolled, loop.body)}
    changing = declared(loop.body.statements) | {loop.variable.name}
    rows = _Rows(k, loop.variable.name, changing, copies)
    return (replace(loop, body=rows.within(loop.body, True)),)


class _Rows:
    """The loads of a loop at a row that is fixed in it."""

    def __init__(
        self, k: KernelEditor, step: Name, changing: Set[Name], copies: Set[Name]
    ) -> None:
        self.k = k
        self.step, self.changing, self.copies = step, changing, copies
        self.written = {
            parameter.memory.name
            for parameter in k.kernel.parameters
            if isinstance(parameter, kc.MemoryParameter) and parameter.written
        }

    def within(self, node: Any, scoped: bool) -> Any:
        """A statement or block with pointers. Copies of an `Unrolled` share a scope,
        where no name is declared twice: only blocks in it get pointers."""
        if isinstance(node, kc.Expression):
            return node
        if isinstance(node, kc.Block):
            found = []
            for statement in node.statements:
                if scoped and isinstance(statement, kc.Declare):
                    found += self.declaration(statement)
                else:
                    found.append(self.within(statement, True))
            return kc.Block(tuple(found))
        if not kc.blocks_of(node):
            return node
        scoped = not isinstance(node, kc.Unrolled | kc.StaticIf)
        return map_children(node, lambda child: self.within(child, scoped))

    def declaration(self, statement: kc.Declare) -> list[kc.Statement]:
        """A scalar that is loaded, from the pointer to its row."""
        match statement:
            case kc.Declare(variable, kc.Load(memory, kc.SizeValue(size), type_)) if (
                memory.space == "global" and type_.lanes == 1
            ):
                row = self.row_of(size)
                if row is None:
                    return [statement]
                part = kc.Memory(self.k.names.fresh(memory.name.base), memory.element)
                constant = memory.name not in self.written
                pointer = kc.DeclarePointer(part, memory, kc.SizeValue(row), constant)
                load = kc.Load(part, kc.SizeValue(size - row), type_)
                return [pointer, kc.Declare(variable, load)]
        return [statement]

    def row_of(self, size: Size) -> Size | None:
        """The part of an index that is fixed in the loop and differs between copies."""
        row, moving = size.split({self.step})
        names = row.names()
        if moving.terms and not names.isdisjoint(self.copies):
            return row if names.isdisjoint(self.changing) else None
        return None
