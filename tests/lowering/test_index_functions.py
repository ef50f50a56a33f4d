"""Views under other shapes: strides where the elements lie so, None where they do not."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size, as_size, dimension_groups, product
from minifut.ir.types import F32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.nodes import Memory
from minifut.lowering.index_functions import whole
from minifut.names import NameSource

NAMES = NameSource()
N = as_size(NAMES.fresh("n"))
MEMORY = Memory(NAMES.fresh("xs"), F32)


def sizes(text: str) -> tuple[Size, ...]:
    """`"4*n 2"` as (4 * n, 2)."""
    return tuple(
        product(tuple(N if f == "n" else as_size(int(f)) for f in dimension.split("*")))
        for dimension in text.split()
    )


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        ("n 8", "n 2 4", "0:1=0:1 1:2=1:3"),
        ("n 4 2", "n 8", "0:1=0:1 1:3=1:2"),
        ("n*4 2", "4*n 2", "0:1=0:1 1:2=1:2"),
        ("6 n", "2 3*n", "0:2=0:2"),
        ("6 n", "2 3 n", "0:1=0:2 1:2=2:3"),
        ("n 1", "n", "0:1=0:1 1:2=1:1"),
        ("n", "n 1 1", "0:1=0:1 1:1=1:3"),
        ("n", "1 n", "0:1=0:2"),
        ("", "1", "0:0=0:1"),
    ],
)
def test_groups_have_as_many_elements(before: str, after: str, groups: str) -> None:
    found = dimension_groups(sizes(before), sizes(after))
    shown = [f"{a.start}:{a.stop}={b.start}:{b.stop}" for a, b in found]
    assert " ".join(shown) == groups


@pytest.mark.parametrize(
    ("shape", "order", "other", "strides"),
    [
        ("7 n", (1, 0), "5 7", "1 n"),
        ("8 n", (1, 0), "n 2 4", "1 4*n n"),
        ("8 n*4", (1, 0), "n 4 8", "4 1 4*n"),
        ("n 3 5", (0, 2, 1), "n 5 3 1", "15 1 5 1"),
        ("4 n 2", (1, 2, 0), "n*2 4", "1 2*n"),
        ("8 n", (1, 0), "8*n", None),
        ("4 n 2", (1, 0, 2), "n 8", None),
    ],
)
def test_rearranged_arrays_have_other_shapes(
    shape: str, order: tuple[int, ...], other: str, strides: str | None
) -> None:
    view = whole(MEMORY, sizes(shape)).rearrange(order).reshape(sizes(other))
    assert (view and view.strides) == (strides and sizes(strides))


SLICES = {
    "rows": "map2 (map2 (+)) (xss[::2] :> [h][n]i64) (xss[1::2] :> [h][n]i64)",
    "columns": "map (\\xs -> map2 (+) (xs[::2] :> [h]i64) (xs[1::2] :> [h]i64)) xss",
    "both": "map2 (map2 (-)) (xss[::2, 1::2] :> [h][h]i64) (xss[1::2, ::-2] :> [h][h]i64)",
}


@pytest.mark.device
@pytest.mark.parametrize("name", SLICES)
def test_slices_whose_sizes_get_other_names_are_views(name: str) -> None:
    text = f"""entry main [n] (xss: [n][n]i64): [][]i64 =
      let h = n / 2 in {SLICES[name]}"""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    scheduled = stages.to_schedule(stages.to_kernels(core), "cpu")
    code = stages.to_kernel_code(scheduled, "cpu")
    assert not any(any(nodes_of(kc.CopyMemory, f)) for f in code.functions)
    xss = np.arange(64).reshape(8, 8) ** 2
    wanted = minifut.compile(text, backend="interpreter").main(xss)
    assert np.array_equal(minifut.compile(text).main(xss), wanted)
