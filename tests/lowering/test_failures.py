"""Failing checks: numbered, located, and harmless."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import ProgramError
from minifut.ir.parser import parse_program
from tests.opencl.device_programs import SCHEDULES, entry, load

pytestmark = pytest.mark.device

GATHER = """
fun main (n: i64, m: i64, xs: [n]f32, is: [m]i64) -> (r: [m]f32) {
  let r0: [m]f32 = segmap grid (j < m) -> (f32) {
    let i: i64 = is[j]
    let low: bool = le_i64(0i64, i)
    let high: bool = lt_i64(i, n)
    let inside: bool = and_bool(low, high)
    let () = assert(inside, ["index ", i, " of ", n, " (", inside, ") ", "i64"], ["a.fut:3:4", "a.fut:9:1"])
    let x: f32 = xs[i]
    return returns x
  }
  let r: [m]f32 = segmap grid (j1 < m) -> (f32) {
    let x1: f32 = r0[j1]
    let y: f32 = add_f32(x1, 1.0f32)
    return returns y
  }
  return r
}
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_kernel_fails_and_the_next_run_works(schedule: str) -> None:
    program = parse_program(entry(2, "[]f32 []i64", "[]f32") + GATHER)
    instance = load(program, schedule)
    xs = np.arange(10, dtype=np.float32)
    places = np.arange(3000, dtype=np.int64) % 10
    for wrong in (10, -1, 2**62):
        places[2100] = wrong
        with pytest.raises(ProgramError) as caught:
            instance.main(xs, places)
        assert caught.value.message == f"index {wrong} of 10 (false) i64"
        assert caught.value.backtrace == ("a.fut:3:4", "a.fut:9:1")
        places[2100] = 4
        np.testing.assert_array_equal(instance.main(xs, places), xs[places] + 1)


HOST = """
fun main (n: i64, xs: [n]f32, k: i64) -> (r: f32) {
  let low: bool = le_i64(0i64, k)
  let high: bool = lt_i64(k, n)
  let inside: bool = and_bool(low, high)
  let () = assert(inside, ["no element ", k], ["b.fut:1:2"])
  let r: f32 = xs[k]
  return r
}
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_host_fails(schedule: str) -> None:
    instance = load(parse_program(entry(1, "[]f32 i64", "f32") + HOST), schedule)
    xs = np.arange(4, dtype=np.float32)
    with pytest.raises(ProgramError, match="no element 4"):
        instance.main(xs, np.int64(4))
    assert instance.main(xs, np.int64(3)) == 3.0
