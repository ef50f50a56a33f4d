"""Opaque values go back to the program that made them, not to a namesake."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.errors import UsageError

pytestmark = pytest.mark.device

SCALAR = "type t = #a i32 | #b f32\nentry make (x: i32): t = #a x\n"
ROW = "type t = #a ([2]i32) | #b f32\nentry make (x: i32): t = #a [x, x]\n"
USE = "entry use (v: t): bool = match v case #a _ -> true case #b _ -> false\n"


def test_a_value_of_another_program_is_refused() -> None:
    scalar, row = minifut.compile(SCALAR + USE), minifut.compile(ROW + USE)
    assert scalar.use(scalar.make(3)) == np.True_ == row.use(row.make(3))
    for program, other in ((scalar, row), (row, scalar)):
        with pytest.raises(UsageError, match="belongs to another program"):
            program.use(other.make(3))
