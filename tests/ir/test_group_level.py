"""Operations of a work-group: copies made together, thread and register levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minifut.errors import InternalError
from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.interpret.arrays import collective_copy
from minifut.ir.parser import parse_program
from minifut.ir.printer import show
from minifut.ir.verify import verify

TILED = (Path(__file__).parent / "printed" / "tiled_matmul.ir").read_text()
STEM = "main.map_map_redomap."
TILES = ("block_rows", "block_columns", "block_depth")
REGISTERS = ("register_rows", "register_columns")


@pytest.mark.parametrize(
    "shape", [(5, 7, 9), (8, 8, 8), (13, 1, 3), (0, 3, 4), (3, 0, 4)]
)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 2, 3, 2, 3), (3, 1, 8, 1, 4)])
def test_tiled_matmul_runs(shape: tuple[int, int, int], sizes: tuple[int, ...]) -> None:
    program = parse_program(TILED)
    verify(program, KERNELS)
    n, m, p = shape
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 4, (n, m)).astype(np.float32)
    b = rng.integers(-4, 4, (m, p)).astype(np.float32)
    names = [STEM + name for name in (*TILES, *REGISTERS)]
    (c,) = run(program, "main", [a, b], dict(zip(names, sizes, strict=True)))
    np.testing.assert_array_equal(c, a @ b)


def test_group_level_text_is_read_back() -> None:
    text = show(parse_program(TILED))
    assert "collective_copy" in text and "segmap register" in text
    assert show(parse_program(text)) == text


def test_copies_repeat_the_edge() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    copied = collective_copy(array, ((1, 3, 1), (-1, 3, 2)))
    assert copied.tolist() == [[3, 4, 5]] * 3
    assert collective_copy(array, (5,)).tolist() == [3, 4, 5]
    assert collective_copy(array, (1, 9)) == 5
    assert not collective_copy(np.empty((0, 2), np.int32), ((0, 2, 1), 1)).any()


def test_threads_may_not_copy_collectively() -> None:
    text = TILED.replace("segmap group", "segmap grid")
    with pytest.raises(InternalError, match="collective copy"):
        verify(parse_program(text), KERNELS)
