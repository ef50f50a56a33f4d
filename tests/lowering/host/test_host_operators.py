"""Scalar operators on the host mean what they mean in the interpreter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from minifut.ir.scalar_meaning import meaning
from minifut.ir.scalars import Operator, all_operators
from minifut.lowering.host.operators import host_text
from minifut.opencl.runtime import host_scalars
from minifut.opencl.runtime.describe import DTYPES

ARITHMETIC = [
    operator
    for operator in all_operators()
    if operator.operands[0].is_integer and operator.result.is_integer
    if operator.name != "convert"
]


def samples(type_: str) -> np.ndarray:
    info = np.iinfo(DTYPES[type_])
    small = [-130, -65, -64, -33, -3, -2, -1, 0, 1, 2, 3, 7, 31, 32, 63, 64, 100]
    inside = [x for x in small if info.min <= x <= info.max]
    return np.array([*inside, info.min, info.max, info.max - 1], DTYPES[type_])


@pytest.mark.parametrize("operator", ARITHMETIC, ids=str)
def test_integers(operator: Operator) -> None:
    text = host_text(operator)
    assert text is not None
    names = ["a", "b", "c"][: len(operator.operands)]
    function = eval(
        f"lambda {', '.join(names)}: {text.format(*names)}", vars(host_scalars)
    )
    values = [samples(str(type_)) for type_ in operator.operands]
    if len(values) == 3:
        values = [column[::4] for column in values]
    for given in product(*values):
        with np.errstate(all="ignore"):
            expected = meaning(operator)(*given)
        found = function(*[int(x) for x in given])
        assert found == expected, (operator, given)
