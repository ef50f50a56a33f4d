"""Blocks of kernel code keep the classes of the nodes in them."""

from __future__ import annotations

from minifut.ir.search import classes_in
from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.expressions import VectorType
from minifut.kernel_passes.editor import change_loops, loops_of
from minifut.names import Name

COUNTER = kc.Variable(Name("i", 1), VectorType(I32))


def nested(depth: int) -> kc.Block:
    """Blocks in each other, the innermost with an assignment."""
    statements: tuple[kc.Statement, ...] = (kc.Assign(COUNTER, COUNTER + 1),)
    for _ in range(depth):
        statements = (kc.Branch(COUNTER.equals(0), kc.Block(statements), None),)
    return kc.Block(statements)


def test_classes_are_those_of_all_nodes_below() -> None:
    block = nested(3)
    found = classes_in(block)
    assert {kc.Assign, kc.Branch, kc.Block, kc.Variable} <= found
    assert kc.For not in found
    assert classes_in(block) is found


def test_blocks_without_loops_are_left_alone() -> None:
    block = nested(3)
    assert change_loops(block.statements, lambda _: ()) is block.statements
    assert not list(loops_of(block.statements))
    kept = kc.blocks_of(block.statements[0])[0]
    assert kept.classes is classes_in(kept)
