"""Bodies of kernels become functions, which the driver compiles once."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime.kernel_bodies import compiled_once
from minifut.opencl.runtime.sessions import open_session

KERNEL = """\
#define GROUP ((long)get_local_size(0))
static long half_of(long a) { return a / 2; }
__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void main_mapped(
        __global int *failure,
        long n,
        __global const float *restrict xs)
{
    if (failure[0]) return;
    long thread = ((long)get_global_id(0));
}
"""


def test_the_body_is_a_function_of_the_index() -> None:
    made = compiled_once(KERNEL)
    assert made.count("minifut_body_main_mapped(") == 2
    assert "long thread = ((long)minifut_id);" in made
    assert "minifut_body_main_mapped(failure, n, xs, get_global_id(0));" in made
    assert made.count("if (failure[0]) return;") == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(1, 1, 1)", "(WORK_ITEMS, 1, 1)"),
        ("get_global_id(0)", "7"),
        ("    long thread", "    long many = get_global_size(0);\n    long thread"),
        ("    long thread", "    barrier(CLK_LOCAL_MEM_FENCE);\n    long thread"),
        ("    long thread", "    __local float tile[16];\n    long thread"),
        ("a / 2", "a / get_local_size(0)"),
    ],
)
def test_other_kernels_stay_as_they_are(old: str, new: str) -> None:
    text = KERNEL.replace(old, new)
    assert text != KERNEL
    assert compiled_once(text) == text


@pytest.mark.skipif(
    open_session().device.platform != "PoCL", reason="machine code is PoCL's"
)
def test_the_driver_inlines_no_body() -> None:
    program = minifut.compile("entry main (xs: []f64) = map (\\x -> x * 1234567.25) xs")
    if open_session().device.platform != "PoCL":
        pytest.skip("the machine code is PoCL's")
    np.testing.assert_allclose(np.asarray(program.main(np.ones(3))), 1234567.25)
    factor = np.float64(1234567.25).tobytes()
    folder = Path(os.environ["POCL_CACHE_DIR"])
    found = [library.read_bytes() for library in folder.glob("**/main_*.so")]
    assert any(factor in code and b"minifut_body_main" in code for code in found)
