"""Which kernels batches may call, and where their arrays begin."""

from __future__ import annotations

import pytest

from minifut.opencl.kernel_texts import has_ranges, is_part
from tests.kernel_ir.reading import read_kernels
from tests.opencl.texts import kernel_text

PART = """
kernel k (buffer ys: global i64 written) groups (1) {
  let i: i64 = i64(get_global_id(0i32))
  array own: private i64 count 4
  store ys[i] = own[0i64]
}
"""
CLAIMED = """
kernel k (buffer taken: global i32 written) groups (1) {
  atomic atomic_add taken[0i64](1i32)
}
"""
CALLED = """
function f (scalar n: i64) gives (i64) calls () { result (i64(get_global_id(0i32))) }
"""

BOUNDED = """
kernel k (buffer ys: global i64 written) groups (1) constants (
  constant rows = get_parameter("p.rows" "tile_size" ("cpu" = 2) bounds 1 64)
) {
  let i: i64 = i64(get_global_id(0i32))
  store ys[i] = i64(clamp(i, 0i64, rows))
}
"""


def test_a_kernel_of_single_work_items_is_a_part() -> None:
    (kernel,) = read_kernels(PART)
    assert is_part(kernel)
    assert "long own[4] __attribute__((aligned(64)));" in kernel_text(kernel)


def test_groups_that_wait_are_taken_in_order() -> None:
    (kernel,) = read_kernels(PART.replace("own", "atoms"))
    assert has_ranges(kernel)
    (kernel,) = read_kernels(CLAIMED)
    assert is_part(kernel) and not has_ranges(kernel)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("groups (1)", "groups (32)"),
        ("get_global_id", "get_local_id"),
        ("store", "barrier local store"),
        ("private", "local"),
        (") groups", ", local_buffer shared: local i64 count 4) groups"),
    ],
)
def test_what_is_no_part(old: str, new: str) -> None:
    assert old in PART
    (kernel,) = read_kernels(PART.replace(old, new))
    assert not is_part(kernel)


def test_functions_do_not_know_the_index_of_a_part() -> None:
    (kernel,) = read_kernels(CALLED + PART.replace("(1) {", "(1) calls (f) {"))
    assert kernel.functions and not is_part(kernel)


def test_macros_among_arguments_of_overloaded_functions_are_converted() -> None:
    (kernel,) = read_kernels(BOUNDED)
    assert "clamp(i, (long)(0L), (long)(ROWS))" in kernel_text(kernel)
