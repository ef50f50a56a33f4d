"""Sizes: unknown ones, those of entry points, and what checks leave known."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import CompileError, ProgramError
from minifut.ir.types import shape_of
from tests.frontend.elaborate.running import core_of, result, results, shown


def test_odd_sizes_of_entry_parameters_are_checked() -> None:
    text = "entry main (n: i64) (m: i64) (xs: [n * m]i32) = unflatten xs :> [n][m]i32"
    xs = np.arange(6, dtype=np.int32)
    assert result(text, np.int64(2), np.int64(3), xs) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ProgramError, match="invalid sizes"):
        result(text, np.int64(2), np.int64(2), xs)


def test_size_of_an_opaque_expression() -> None:
    text = """
    def grid (n: i32) (m: i32) (xs: []i32) =
      unflatten (sized (i64.i32 n * i64.i32 m) xs)
    entry main n m xs = grid n m xs
    """
    xs = np.arange(4, dtype=np.int32)
    assert result(text, np.int32(2), np.int32(2), xs) == [[0, 1], [2, 3]]


def test_what_a_branch_checks_is_not_known_after_it() -> None:
    text = """
    entry main (c: bool) (n: i64) =
      let a = if c then i64.sum (iota n) else 0
      in replicate n a
    """
    with pytest.raises(ProgramError, match="negative"):
        result(text, False, np.int64(-1))


def test_loop_over_a_size_lifted_type() -> None:
    text = """
    def repeat '~a (n: i32) (f: (() -> a) -> a) (x: () -> a) =
      loop x = x () for _i < n do f (\\() -> x)
    entry main n (xs: []i32) =
      repeat n (\\(p: () -> []i32) -> p () ++ p ()) (\\() -> xs)
    """
    assert result(text, np.int32(2), np.array([7], np.int32)) == [7, 7, 7, 7]


def test_abstract_sizes_are_bound_by_values() -> None:
    text = """
    module box : {type box [n] val pack [n]: [n]i32 -> box [n]
                  val count [n]: box [n] -> i64} =
      {type box [n] = {xs: [n]i32} def pack xs = {xs} def count [n] (_: box [n]) = n}
    entry main (xs: []i32) = let b = box.pack xs in box.count b
    """
    assert result(text, np.zeros(3, np.int32)) == 3


def test_a_sum_that_holds_functions_is_known() -> None:
    text = """
    type^ choice = #apply (i32 -> i32) | #keep
    entry main (x: i32) =
      match (#apply (\\y -> y + x) : choice) case #apply f -> f 1 case #keep -> x
    """
    assert result(text, np.int32(4)) == 5


def test_irregular_rows_are_refused() -> None:
    with pytest.raises(CompileError):
        core_of("entry main (n: i64) = map (\\i -> iota i) (iota n)")


def test_wide_unsigned_numbers_are_extended_by_zeros() -> None:
    assert result("entry main (x: i16) = u32.i16 x", np.int16(-1)) == 65535


def test_trivial_maps_are_no_maps() -> None:
    text = "entry main [n] (xs: [n]i32) (y: f32) = map (\\x -> (y, x)) xs |> unzip"
    assert "map(" not in shown(text)
    ys, xs = results(text, np.array([1, 2], np.int32), np.float32(3))
    assert (ys.tolist(), xs.tolist()) == ([3.0, 3.0], [1, 2])


def test_attributes_reach_their_statement() -> None:
    text = "entry main [n] (xs: [n]i32) = #[sequential] map (+ 1) xs"
    assert "#[sequential] let mapped" in shown(text)


def test_what_is_not_supported_says_where() -> None:
    text = "entry main (x: f64) = #[param(scale)] x"
    with pytest.raises(CompileError, match="not supported") as caught:
        core_of(text)
    assert caught.value.location is not None


@pytest.mark.parametrize(
    ("recursive", "expected"),
    [
        ("def f (n: i64) : i64 = if n == 0 then 0 else n + f (n - 1)", 10),
        (
            "def g (h: i64 -> i64) (n: i64) : i64 ="
            " if n == 0 then 0 else h (g h (n - 1))"
            "\ndef f = g (+ 2)",
            8,
        ),
        (
            "def g [n] (k: i64) (xs: [n]i64) : [n]i64 ="
            " if k == 0 then xs else map (+ 1) (g (k - 1) xs)"
            "\ndef f k = i64.sum (g k [1, 1])",
            10,
        ),
    ],
)
def test_recursion(recursive: str, expected: int) -> None:
    assert result(f"{recursive}\nentry main n = f n", np.int64(4)) == expected


def test_what_is_written_to_a_slice_must_fit() -> None:
    text = """
    entry main (n: i64) (m: i64) = iota n with [:m] = replicate 4 7
    """
    assert result(text, np.int64(5), np.int64(4)) == [7, 7, 7, 7, 4]
    message = r"Value of shape \[4\] does not fit slice of shape \[3\]"
    with pytest.raises(ProgramError, match=message):
        result(text, np.int64(5), np.int64(3))


def test_unknown_sizes_inside_of_sums() -> None:
    text = """
    type opt 't = #some t | #none
    def f (b: bool) (x: i64) =
      if b then #some (iota x) else (#none : opt ([1]i64)) :> opt ([]i64)
    entry main b x = match f b x case #some xs -> xs case #none -> [7]
    entry pairs (b: bool) (x: i64) =
      match (if b
             then (#both (iota x) (replicate 2 x) : #both ([]i64) ([]i64) | #one ([]i64))
             else #one (iota 1))
      case #both xs ys -> xs ++ ys
      case #one xs -> xs
    """
    assert result(text, True, np.int64(3)) == [0, 1, 2]
    assert result(text, False, np.int64(3)) == [7]
    assert results(text, True, np.int64(3), entry="pairs")[-1].tolist() == [
        *[0, 1, 2],
        *[3, 3],
    ]
    assert results(text, False, np.int64(3), entry="pairs")[-1].tolist() == [0]


JOINS = """
entry literal (xs: []i32): []i32 =
  let xs = if null xs then [1, 2, 3] else xs in xs ++ [9]
entry either (a: []i32) (b: []i32) = length (if a[0] > 0 then a else b)
entry fields (a: []i32) (b: []i32) =
  let r = if a[0] > 0 then {p = a, q = b} else {p = b, q = a}
  in r.p ++ [i32.i64 (length r.q)]
entry cases (a: []i32) (b: []i32) =
  (match a[0] case 0 -> [7] case 1 -> b case _ -> a) ++ a
entry until (a: []i32) (b: []i32) = loop x = a for _i < 3 do if x[0] > 0 then x else b
entry piped (a: []i32) (_b: []i32) = a |> map (+ 1) |> (\\x -> if x[0] > 2 then [1] else x)
entry counted (a: []i32) (_b: []i32) =
  match length a case 0 -> [] case k -> map (\\i -> i32.i64 i + 1) (iota k)
entry nested (a: []i32) (b: []i32) =
  if a[0] > 1 then a else (if b[0] > 1 then b else [5, 6, 7])
"""


@pytest.mark.parametrize(
    ("entry", "first", "expected"),
    [
        ("literal", [], [1, 2, 3, 9]),
        ("literal", [5, 6], [5, 6, 9]),
        ("either", [1, 2], 2),
        ("either", [-1, 2], 1),
        ("fields", [1, 2], [1, 2, 1]),
        ("fields", [-1, 2], [3, 2]),
        ("cases", [0, 5], [7, 0, 5]),
        ("cases", [1, 5], [3, 1, 5]),
        ("cases", [2, 5], [2, 5, 2, 5]),
        ("until", [-1, 2], [3]),
        ("until", [1, 2], [1, 2]),
        ("piped", [1, 2], [2, 3]),
        ("piped", [2, 2], [1]),
        ("nested", [2, 2], [2, 2]),
        ("nested", [1, 2], [3]),
        ("counted", [1, 2], [1, 2]),
        ("counted", [], []),
    ],
)
def test_branches_of_any_size(entry: str, first: list[int], expected: object) -> None:
    arguments = [np.array(first, np.int32), np.array([3], np.int32)]
    given = arguments[: 1 if entry == "literal" else 2]
    assert result(JOINS, *given, entry=entry) == expected


def test_an_entry_point_returns_the_sizes_of_constants() -> None:
    core = core_of("def c = filter (> 0) [1, 2]\nentry main (x: i32) = (x, copy c)")
    (function,) = [f for f in core.functions if f.name.base == "main"]
    told = {p.name for p in (*function.parameters, *function.results)}
    for leaf in function.results:
        assert all(size.names() <= told for size in shape_of(leaf.type))


EQUATED = """
#[noinline] def pick (c: bool) (a: []i32) (b: []i32) = if c then a else b
entry called [n] (c: bool) (a: [n]i32) (b: [n]i32) : [n]i32 = map2 (+) a (pick c a b)
entry folded [n] (c: bool) (a: [n]i32) (b: [n]i32) = reduce (pick c) a [a, b, b]
entry mapped [n] (c: bool) (a: [n]i32) (b: [n]i32) = (map (pick c a) [b, b])[1]
entry locally [n] (c: bool) (a: [n]i32) (b: [n]i32) : [n]i32 =
  let g (x: []i32) = if c then x else a in map2 (*) (g b) b
entry until [n] (c: bool) (a: [n]i32) (b: [n]i32) : [n]i32 =
  let y = loop x = a for _i < 3 do if c then b else map (+ 1) x in map2 (-) y a
entry swapped [n] (c: bool) (a: [n]i32) (b: [n]i32) : [n]i32 =
  (loop (a, b) for i < 5 do if (i % 2 == 0) == c then (b, a) else (a, map (+ 1) b)).0
"""


@pytest.mark.parametrize(
    ("entry", "no", "yes"),
    [
        ("called", [5, 7], [2, 4]),
        ("folded", [4, 5], [1, 2]),
        ("mapped", [4, 5], [1, 2]),
        ("locally", [4, 10], [16, 25]),
        ("until", [3, 3], [3, 3]),
        ("swapped", [2, 3], [5, 6]),
    ],
)
def test_sizes_that_met_and_are_equal(entry: str, no: object, yes: object) -> None:
    a, b = np.array([1, 2], np.int32), np.array([4, 5], np.int32)
    assert result(EQUATED, False, a, b, entry=entry) == no
    assert result(EQUATED, True, a, b, entry=entry) == yes
