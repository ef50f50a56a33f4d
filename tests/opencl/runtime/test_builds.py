"""Kernels built for numbers that each launch gives."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.opencl.runtime import Entry, EntryLeaf, Kernel, Parameter, Program, Value
from minifut.opencl.runtime.host_scalars import covering, equal_parts

TEXT = """
__kernel void fill(__global int *failure, long n, __global int *ys)
{
    if (failure[0]) return;
    long i = get_global_id(0);
    if (i < n) ys[i] = WIDTH * 10 + OTHER;
}
"""


@pytest.mark.parametrize(
    ("wanted", "most", "found"),
    [(0, 8, 1), (1, 8, 1), (3, 8, 4), (4, 8, 4), (5, 8, 8), (99, 8, 8), (3, 12, 3),
     (1, 12, 3), (7, 12, 12), (1, 1, 1)],
)  # fmt: skip
def test_covering_is_the_least_half_that_is_enough(
    wanted: int, most: int, found: int
) -> None:
    assert covering(wanted, most) == found


@pytest.mark.parametrize(
    ("total", "most", "found"),
    [(0, 6, 1), (1, 6, 1), (4, 6, 4), (5, 6, 6), (7, 6, 4), (8, 6, 4), (9, 6, 6),
     (20, 6, 6), (99, 6, 6), (9, 8, 5), (17, 8, 6), (13, 8, 8), (3, 1, 1)],
)  # fmt: skip
def test_equal_parts_save_a_quarter(total: int, most: int, found: int) -> None:
    assert equal_parts(total, most) == found


def _fill(run, n):  # type: ignore[no-untyped-def]
    ys = run.allocate(4 * n)
    run.kernels[0].built(covering(n, run.parameters[0]))(n, n, ys.buffer)
    return ((ys, (n,)),)


@pytest.mark.device
def test_each_number_has_one_build() -> None:
    macros = (("WIDTH", 0), ("OTHER", 1))
    kernel = Kernel("fill", ("i64", "buffer"), TEXT, 1, macros, ("WIDTH",))
    program = Program(
        "builds",
        "cpu",
        kernels=(kernel,),
        entries=(
            Entry("main", _fill, (), (Value("n", "i64", (EntryLeaf("i64"),)),),
                  (Value("", "[]i32", (EntryLeaf("i32", (None,)),)),)),
        ),
        parameters=(
            Parameter("width", "reg_tile_size", {"cpu": 8}, (1, 64)),
            Parameter("other", "tile_size", {"cpu": 3}, (1, 64)),
        ),
    )  # fmt: skip
    instance = program.load()
    for n, width in ((3, 4), (4, 4), (100, 8), (1, 1), (3, 4)):
        np.testing.assert_array_equal(instance.main(n), [10 * width + 3] * n)
    (launcher,) = instance.run.kernels
    assert len(launcher._built) == 3
    instance.set_parameters({"width": 16, "other": 5})
    np.testing.assert_array_equal(instance.main(9), [165] * 9)
