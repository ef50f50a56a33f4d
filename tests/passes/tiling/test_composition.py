"""Tiling step by step: what follows each step prints, verifies and runs."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.kernels import (
    CollectiveCopy,
    RegTileReturns,
    SegMap,
    TileReturns,
)
from minifut.ir.parser import parse_program
from minifut.ir.printer import show
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.tiling.composition import BLOCK, RECOGNISE, SPLIT
from minifut.passes.tiling.composition import BLOCK_AND_REGISTER as WHOLE
from minifut.rewrite.trace import Trace
from tests.passes.meaning import assert_same, outcome
from tests.passes.tiling.derive import (
    SMALL,
    parameters,
    prefixes,
    run_with,
    to_core,
)
from tests.passes.tiling.programs import MATMUL, PROGRAMS

SHAPES = ((5, 7, 4), (1, 1, 1), (4, 0, 3), (0, 3, 2))


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_prefix_is_a_program(name: str) -> None:
    program = PROGRAMS[name]
    random = np.random.default_rng(3)
    cases = [program.arguments(random, *shape) for shape in SHAPES]
    wanted = [outcome(to_core(program.text), given) for given in cases]
    values = parameters(program.nest, SMALL[0])
    known = ""
    for at, prefix in enumerate(prefixes(program.text, program.nest)):
        text = show(prefix)
        if text == known:
            continue
        known = text
        read = parse_program(text)
        verify(read, KERNELS)
        assert show(read) == text
        for given, expected in zip(cases, wanted, strict=True):
            assert not isinstance(expected, str)
            found = run_with(read, given, values)
            assert_same(expected, found, f"after step {at}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_last_step_has_tiles_in_registers(name: str) -> None:
    program = PROGRAMS[name]
    trace = Trace()
    last = prefixes(program.text, program.nest, trace=trace)[-1]
    found = list(walk(last))
    assert any(isinstance(node, CollectiveCopy) for node in found)
    assert any(isinstance(node, RegTileReturns) for node in found)
    levels = {node.level.kind for node in found if isinstance(node, SegMap)}
    assert levels == {"group", "thread", "register"}
    fired = trace.fired()
    for rule in ("recognise_tiling", "strip_mine_loop", "copy_tile"):
        assert rule in fired


def test_block_tiles_alone_are_a_prefix_of_their_own() -> None:
    last = prefixes(MATMUL, "main.map_map_redomap", (*RECOGNISE, *BLOCK))[-1]
    verify(last, KERNELS)
    assert any(isinstance(node, TileReturns) for node in walk(last))
    program = PROGRAMS["product"]
    given = program.arguments(np.random.default_rng(1), 5, 6, 7)
    values = parameters(program.nest, SMALL[0])
    names = ("register_rows", "register_columns")
    block = {k: v for k, v in values.items() if not k.endswith(names)}
    (found,) = run_with(last, given, block)
    np.testing.assert_array_equal(found, given[0] @ given[1])


@pytest.mark.parametrize(
    "name", ["product", "gemm", "nearest", "an operator that does not commute"]
)
def test_a_split_common_dimension_gives_the_same(name: str) -> None:
    program = PROGRAMS[name]
    last = prefixes(program.text, program.nest, (*RECOGNISE, *SPLIT, *WHOLE))[-1]
    verify(last, KERNELS)
    for shape in ((3, 13, 2), (2, 1, 2), (2, 0, 3)):
        given = program.arguments(np.random.default_rng(2), *shape)
        for depth in (1, 4, 100):
            values = parameters(program.nest, SMALL[0], split_depth=depth)
            found = run_with(last, given, values)
            assert_same(outcome(to_core(program.text), given), found, str(depth))


def test_no_operand_is_seen_that_is_not_there() -> None:
    """Beyond the edge of the part of a matrix that is used, there are zeros."""
    text = """
def main [n][m] (a: [n][m]i32): [][]i32 =
  let r = a[:n - 1, :m - 1]
  in map (\\x -> map (\\y -> reduce (+) 0 (map2 (/) x y)) r) r"""
    a = np.ones((6, 6), np.int32)
    a[-1] = a[:, -1] = 0
    last = prefixes(text, "main.map_map_redomap")[-1]
    for sizes in SMALL:
        (found,) = run(last, "main", [a], parameters("main.map_map_redomap", sizes))
        np.testing.assert_array_equal(found, np.full((5, 5), 5))
