"""Register tiles in pieces of vectors, and copies laid out for them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from minifut.analysis.residency.distributed import register_arrays
from minifut.ir.kernels import GROUP, SegMap
from minifut.ir.parser import parse_program
from minifut.ir.sizes import Size
from minifut.ir.traverse import walk
from minifut.lowering.groups.gpu_copy_layout import (
    innermost_dimensions,
    padded_strides,
)
from minifut.lowering.groups.gpu_interleave import (
    Interleaved,
    interleave,
    interleaved_position,
    vector_width,
)
from minifut.names import Name
from tests.opencl.texts import module_text

TILED = (Path(__file__).parents[2] / "ir" / "printed" / "tiled_matmul.ir").read_text()


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize("registers", [1, 2, 3, 4, 6, 8, 13])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_every_element_has_one_place(threads: int, registers: int, width: int) -> None:
    t, j = Name("t", 1), Name("j", 2)
    place = interleaved_position(
        Size.of(t), Size.of(j), Size.constant(threads), Size.constant(registers), width
    )
    pairs = list(itertools.product(range(threads), range(registers)))
    places = {(a, b): place.evaluate({t: a, j: b}) for a, b in pairs}
    assert sorted(places.values()) == list(range(threads * registers))
    for (a, b), at in places.items():
        if b % width and b < registers:
            assert at == places[a, b - 1] + 1  # a piece is consecutive
        if a and b % width == 0 and b + width <= registers:
            assert at == places[a - 1, b] + width  # next to its neighbour's


def test_the_widest_loads_have_16_bytes() -> None:
    assert [vector_width(n) for n in (1, 2, 4, 8)] == [16, 8, 4, 2]


def group_of(text: str) -> SegMap:
    nodes = walk(parse_program(text))
    return next(n for n in nodes if isinstance(n, SegMap) and n.level == GROUP)


def interleaved(text: str) -> Interleaved:
    group = group_of(text)
    return interleave(group, register_arrays(group.body, lambda sizes: True))


def test_what_depends_on_positions_is_interleaved() -> None:
    assert interleaved(TILED).width == 4
    assert interleaved(TILED.replace("f32", "f64")).width == 2
    clamped = TILED.replace("size(x_1 * rx + j_1)", "size(min(x_1 * rx + j_1, p - 1))")
    assert interleaved(clamped).width == 4


@pytest.mark.parametrize(
    "changed",
    [
        "size(x_1 * rx + 2 * j_1)",
        "size(x_1 * ry + j_1)",
        "size(j_1)",
        "size(x_1 * rx)",
        "size(min(x_1, p) * rx + j_1)",
    ],
)
def test_other_dependences_keep_tiles_consecutive(changed: str) -> None:
    text = TILED.replace("size(x_1 * rx + j_1)", changed)
    assert text != TILED and interleaved(text).width == 0


def test_threads_of_another_shape_keep_tiles_consecutive() -> None:
    text = TILED.replace("p by tx by rx", "p by rx by tx")
    assert interleaved(text).width == 0


def test_copies_have_registers_innermost() -> None:
    names = {n.base: d for n, d in innermost_dimensions(group_of(TILED).body).items()}
    assert names == {"as": 0}
    strides, count = padded_strides(tuple(map(Size.constant, (128, 8))), 0, 4)
    assert strides == (Size.constant(1), Size.constant(132))
    assert count == Size.constant(8 * 132)


def test_kernels_store_transposed_copies_and_load_along_registers() -> None:
    text = module_text(parse_program(TILED), schedule="gpu")
    text = text[text.index("__kernel") : text.index("_narrow(")]
    declared = re.findall(r"__local float (\w+)\[(.*)\] __attribute__", text)
    assert len(declared) == 2 and "+ 4" in declared[0][1]
    assert "= x_as[k * REGISTER_ROWS * BLOCK_ROWS + at_4 + 4 * k]" in text
    assert "= bs[k * REGISTER_COLUMNS * BLOCK_COLUMNS + at_5]" in text
