"""Scalars, records, arrays, loops and branches mean what they should."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import ProgramError
from tests.frontend.elaborate.running import result, results


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7i32 / -2", -4),
        ("7i32 % -2", -1),
        ("7i32 // -2", -3),
        ("7i32 %% -2", 1),
        ("2i32 ** 10", 1024),
        ("i32.(-8 >>> 28)", 15),
        ("-8i32 >> 2", -2),
        ("i32.u8 200", 200),
        ("i32.i8 (i8.i32 200)", -56),
        ("i32.u32 (u32.i16 (-1))", 65535),
        ("i32.get_bit 3 8", 1),
        ("i32.set_bit 4 0 1", 16),
        ("i32.popc 255", 8),
        ("i32.bool (1 < 2 && !(2 < 1))", 1),
        ("i32.highest + 1", -(2**31)),
        ("(\\(a, b) -> a - b) (5i32, 3)", 2),
        ("{x = 3i32, y = 4}.y", 4),
        ("({x = 3i32, y = 4} with x = 7).x", 7),
        ("(.1) (1i32, 2i32)", 2),
        ("[10i32, 20, 30][1]", 20),
        ("(.[2]) [10i32, 20, 30]", 30),
        ("if true then 1i32 else 2", 1),
        ("match (1i32, 2i32) case (0, _) -> 10 case (1, x) -> x case _ -> 0", 2),
        ("let f x = x + 1i32 in f (f 1)", 3),
        ("i32.sum [1, 2, 3]", 6),
        ("i32.maximum [1, 7, 3]", 7),
        ('length "h\u00e9" |> i32.i64', 3),
        ("(1i32 |> (+ 2)) - 1", 2),
    ],
)
def test_expression(expression: str, expected: int) -> None:
    assert result(f"entry main : i32 = {expression}") == expected


def test_record_parameters_stay_together() -> None:
    text = "entry main [n] (ps: [n]{x: i32, y: i32}) = map (\\p -> p.x * p.y) ps"
    assert result(text, ints(1, 2, 3), ints(4, 5, 6)) == [4, 10, 18]


def test_branches_of_different_sizes() -> None:
    text = "entry main [n] (b: bool) (xs: [n]i32) = if b then filter (> 1) xs else xs"
    assert result(text, True, ints(1, 2, 3)) == [2, 3]
    assert result(text, False, ints(1, 2, 3)) == [1, 2, 3]


def test_loop_with_a_growing_array() -> None:
    text = """
    entry main (n: i64) =
      loop (total, xs) = (0i64, []) for i < n do (total + i, xs ++ [i * i])
    """
    total, xs = results(text, np.int64(4))
    assert (total, xs.tolist()) == (6, [0, 1, 4, 9])


def test_while_and_for_in() -> None:
    halved = "entry main (x: i32) = loop x while x > 10 do x / 2"
    assert result(halved, np.int32(100)) == 6
    folded = "entry main [n] (xs: [n]i32) = loop acc = 0 for x in xs do 2 * acc + x"
    assert result(folded, ints(1, 0, 1)) == 5


def test_updates_leave_the_source_alone() -> None:
    text = """
    entry main [n] (xs: [n]i32) =
      let ys = copy xs
      let ys[0] = 9
      in (xs, ys with [1:3] = [7, 8])
    """
    xs, ys = results(text, ints(1, 2, 3))
    assert (xs.tolist(), ys.tolist()) == ([1, 2, 3], [9, 7, 8])


def test_sums_through_arrays() -> None:
    text = """
    type shape = #circle i32 | #box i32 i32 | #empty
    def area (s: shape) : i32 =
      match s
      case #circle r -> 3 * r * r
      case #box a b -> a * b
      case #empty -> 0
    entry main [n] (xs: [n]i32) =
      map (\\x -> if x == 0 then #empty else if x > 2 then #box x 2 else #circle x) xs
      |> map area
    """
    assert result(text, ints(0, 1, 2, 5)) == [0, 3, 12, 10]


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ("0i32..<4", [0, 1, 2, 3]),
        ("1i32...4", [1, 2, 3, 4]),
        ("1i32..3...8", [1, 3, 5, 7]),
        ("5i32..>2", [5, 4, 3]),
        ("10i32..7..>0", [10, 7, 4, 1]),
        ("0i32..<0", []),
    ],
)
def test_range(range_: str, expected: list[int]) -> None:
    assert result(f"entry main : []i32 = {range_}") == expected


@pytest.mark.parametrize(
    ("slice_", "expected"),
    [
        ("1:3", [1, 2]),
        (":2", [0, 1]),
        ("3:", [3, 4]),
        ("::-1", [4, 3, 2, 1, 0]),
        ("::2", [0, 2, 4]),
        ("3:0:-2", [3, 1]),
        ("2:2", []),
    ],
)
def test_slice(slice_: str, expected: list[int]) -> None:
    text = f"entry main [n] (xs: [n]i32) : []i32 = xs[{slice_}]"
    assert result(text, np.arange(5, dtype=np.int32)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(xs: []i32) = xs[length xs]", r"Index \[3\] out of bounds .* shape \[3\]"),
        ("(xs: []i32) = xs[2:1]", r"Index \[2:1\] out of bounds"),
        ("(xs: []i32) = 1 / xs[0]", "division by zero"),
        ("(xs: []i32) = assert (xs[0] != 0) 1i32", r"Assertion is false: xs\[0\] != 0"),
        ("(xs: []i32) = xs :> [2]i32", r"cannot match shape of type \"\[2\]i32"),
        ("(xs: []i32) = 0..1..<(xs[0] - 2)", r"Range 0\.\.1\.\.<-2 is invalid"),
        ("(xs: []i32) = replicate (i64.i32 xs[0] - 1) 0i32", "-1 is negative"),
        ("(xs: []i32) = 2i32 ** (xs[0] - 1)", "negative exponent"),
    ],
)
def test_failing_check(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        result(f"entry main {text}", ints(0, 0, 0))
    assert caught.value.backtrace[0].startswith("test.fut:1:")


def test_backtrace_goes_through_calls() -> None:
    text = "def f [n] (xs: [n]i32) i = xs[i]\ndef g xs = f xs 7\nentry main xs = g xs"
    with pytest.raises(ProgramError) as caught:
        result(text, ints(1))
    lines = [where.split(":")[1] for where in caught.value.backtrace]
    assert lines == ["1", "2", "3"]


def test_unsafe_has_no_checks() -> None:
    text = "entry main [n] (xs: [n]i32) (i: i64) = #[unsafe] xs[i] / xs[0]"
    from tests.frontend.elaborate.running import shown

    assert "assert" not in shown(text)
