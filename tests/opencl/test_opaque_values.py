"""Opaque values go back to the program that made them, not to a namesake."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minifut
from minifut.errors import UsageError
from minifut.opencl.runtime.opaque_values import Opaque

pytestmark = pytest.mark.device

ABSTRACT = """
module m : { type t val make: i32 -> t val use: t -> bool } =
  { type t = %s  def make (x: i32): t = %s  def use (_: t) = true }
entry make (x: i32): m.t = m.make x
entry use (v: m.t): bool = m.use v
"""
SCALAR = ABSTRACT % ("i32", "x")
ROW = ABSTRACT % ("[2]i32", "[x, x]")
FLOAT = ABSTRACT % ("f32", "f32.i32 x")


def test_a_value_of_another_program_is_refused() -> None:
    scalar, row, real = map(minifut.compile, (SCALAR, ROW, FLOAT))
    assert scalar.use(scalar.make(3)) == np.True_ == row.use(row.make(3))
    for program, other in ((scalar, row), (row, scalar), (scalar, real)):
        with pytest.raises(UsageError, match=r"a value of type m\.t has .*, this one"):
            program.use(other.make(3))
    again = pickle.loads(pickle.dumps(scalar.make(3)))
    assert scalar.use(again)
    other = Opaque(again.text, again.leaves, "another", again.types)
    with pytest.raises(UsageError, match=r"m\.t belongs to another program; give"):
        scalar.use(other)


KEPT = """
module rows : {
  type t [n]
  val make [n]: [n]f32 -> t [n]
  val get [n]: t [n] -> [n]f32
} = {
  type t [n] = [n]f32
  def make [n] (x: [n]f32): t [n] = map (2 *) x
  def get [n] (x: t [n]): [n]f32 = x
}
entry make [n] (x: [n]f32): rows.t [n] = rows.make x
entry get [n] (x: rows.t [n]): [n]f32 = rows.get x
entry both [n] (x: rows.t [n]): (rows.t [n], [n]f32) = (x, rows.get x)
"""


@pytest.mark.parametrize("device", [False, True])
def test_arrays_out_of_a_value_do_not_share_its_memory(device: bool) -> None:
    program = minifut.compile(KEPT)
    value = program.make(np.arange(4, dtype=np.float32))
    again, row = program.both(value, device=device)
    for array in (program.get(value, device=device), row):
        array[:] = np.float32(99)
    assert program.get(again).tolist() == program.get(value).tolist() == [0, 2, 4, 6]


def test_values_are_pickled_with_their_arrays() -> None:
    program = minifut.compile(KEPT)
    value = program.make(np.arange(4, dtype=np.float32))
    once = pickle.loads(pickle.dumps(value))
    for came in (once, pickle.loads(pickle.dumps(once))):
        assert program.get(came).tolist() == [0, 2, 4, 6]
    again, row = program.both(once)
    row[:] = 99
    assert program.get(once).tolist() == program.get(again).tolist() == [0, 2, 4, 6]


LIFTED = """
module rows : { type~ t  val make [n]: [n]f32 -> t  val get: t -> []f32 } = {
  type~ t = ([]f32, i32)
  def make [n] (x: [n]f32): t = (map (2 *) x, 1)
  def get ((x, _): t): []f32 = x
}
entry make [n] (x: [n]f32): rows.t = rows.make x
entry twice (x: rows.t) (y: rows.t): []f32 = rows.get x ++ rows.get y
"""


@pytest.mark.parametrize("backend", ["opencl", "interpreter"])
def test_values_of_any_size_are_arguments(backend: str) -> None:
    """Each hidden size has a parameter of its own."""
    program = minifut.compile(LIFTED, backend=backend)
    made = [program.make(np.ones(n, np.float32)) for n in (0, 3, 5)]
    for one, few in zip(made, (0, 3, 5), strict=True):
        for other, more in zip(made, (0, 3, 5), strict=True):
            assert program.twice(one, other).tolist() == [2.0] * (few + more)
