"""What small programs look like in the core."""

from __future__ import annotations

import textwrap

import pytest

from tests.frontend.elaborate.running import shown

CASES = {
    "map_over_records": (
        "entry main [n] (xs: [n](i32, i32)) = map (\\(a, b) -> a * b) xs",
        """
        fun main (n: i64, xs: [n]i32, xs_1: [n]i32) -> (result: [n]i32) {
          let mapped: [n]i32 = map(n, (xs, xs_1), \\(xs_2: i32, xs_3: i32) -> (i32) {
            let mul: i32 = mul_i32(xs_2, xs_3)
            return mul
          })
          return mapped
        }
        """,
    ),
    "size_from_the_outside": (
        "entry main (n: i64) = map (\\i -> let k = n % 3 in replicate k i) (iota 2)",
        None,
    ),
    "check": (
        "entry main [n] (xs: [n]i32) (i: i64) = xs[i]",
        """
        fun main (n: i64, xs: [n]i32, i: i64) -> (result: i32) {
          let le: bool = le_i64(0i64, i)
          let lt: bool = lt_i64(i, n)
          let and: bool = and_bool(le, lt)
          let () = assert(and, ["Index [", i, "] out of bounds for array of shape ", \
"[", n, "]", "."], ["test.fut:1:40"])
          let xs_1: i32 = xs[i]
          return xs_1
        }
        """,
    ),
    "zip_is_free": (
        "entry main [n] (xs: [n]i32) (ys: [n]f32) = (zip3 ys xs xs |> "
        "map (\\(a, b, _) -> (b, a)) |> unzip).1",
        """
        fun main (n: i64, xs: [n]i32, ys: [n]f32) -> (result: [n]f32) {ys}
        """,
    ),
}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[1]])
def test_golden(name: str) -> None:
    text, expected = CASES[name]
    assert expected is not None
    assert shown(text) == textwrap.dedent(expected).strip()


def test_size_is_moved_out_of_the_lambda() -> None:
    lines = shown(CASES["size_from_the_outside"][0]).split("\n")
    place = next(i for i, line in enumerate(lines) if " map(" in line)
    assert any("mod_i64(n, 3i64)" in line for line in lines[:place])
