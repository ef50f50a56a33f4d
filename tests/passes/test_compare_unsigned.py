"""An index is compared once with both bounds, in kernels only, and fails as before."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.core import ScalarOp
from minifut.ir.kernels import SegMap
from minifut.ir.traverse import walk

GATHER = (
    "entry main [n] (xs: [n]i32) (is: []i64) (k: i64) = map (\\i -> xs[i] + xs[k]) is"
)
OF_USERS = (
    "entry main (is: []i64) (k: i64) = map (\\i -> assert (0 <= i && i < k) (i + 1)) is"
)


def operators(text: str) -> tuple[list[str], list[str]]:
    """The comparisons in kernels, and outside of them."""
    program = stages.to_kernels(stages.to_core(stages.check(Source("x.fut", text))))
    inside, outside = [], []
    within = {
        id(node)
        for function in program.functions
        for kernel in walk(function)
        if isinstance(kernel, SegMap)
        for node in walk(kernel)
    }
    for function in program.functions:
        for node in walk(function):
            if isinstance(node, ScalarOp) and node.operator.name in ("le", "lt"):
                (inside if id(node) in within else outside).append(str(node.operator))
    return inside, outside


def test_kernels_compare_without_sign_and_the_host_as_written() -> None:
    inside, outside = operators(GATHER)
    assert set(inside) == {"lt_u64"} and "lt_u64" not in outside


def test_what_is_compared_with_a_number_that_may_be_negative_stays() -> None:
    assert set(operators(OF_USERS)[0]) == {"le_i64", "lt_i64"}


@pytest.mark.device
@pytest.mark.parametrize("index", [-1, 3, -(2**63), 2**63 - 1, 2**40])
def test_each_index_outside_fails_with_its_value(index: int) -> None:
    program = minifut.compile(GATHER)
    xs = np.array([4, 5, 6], np.int32)
    assert program.main(xs, np.array([2, 0, 1]), 1).tolist() == [11, 9, 10]
    with pytest.raises(ProgramError, match=rf"Index \[{index}\] out of bounds"):
        program.main(xs, np.array([0, index]), 0)
    assert program.main(xs, np.array([0]), 0).tolist() == [8]


@pytest.mark.device
def test_checks_of_loops_that_end_early_are_as_before() -> None:
    text = (
        "entry main [n] (xs: [n]i64) (is: []i64) ="
        " map (\\i -> loop i for _k < 5i32 do xs[i]) is"
    )
    program = minifut.compile(text)
    xs = np.array([1, 2, 0, -7])
    assert program.main(xs, np.array([0, 1, 2])).tolist() == [2, 0, 1]
    with pytest.raises(ProgramError, match=r"Index \[-7\] out of bounds"):
        program.main(xs, np.array([0, 3]))
    with pytest.raises(ProgramError, match="out of bounds for array of shape"):
        program.main(xs[:0], np.array([0]))
