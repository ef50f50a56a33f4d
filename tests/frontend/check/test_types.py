"""What types and sizes are inferred."""

from __future__ import annotations

import pytest

from .checking import inferred


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("def f (x: i32) = x + 1", "i32 -> i32"),
        ("def f x y = (x, y)", "'^_ '^_ t0 -> t1 -> (t0, t1)"),
        ("def f x = x + 1", "i32 -> i32"),
        ("def f x = x + 1.0", "f64 -> f64"),
        ("def f (x: u8) y = [x, y, 3]", "u8 -> u8 -> [3]u8"),
        ("def f = {b = 1u8, a = true}", "{a: bool, b: u8}"),
        ("def f (r: {x: i64, y: bool}) = if r.y then r.x else -r.x", None),
        ("def f g x = g (g x)", "'^_ (t2 -> t2) -> t2 -> t2"),
        ("def f (p: (i32, f32)) = p.1", "(i32, f32) -> f32"),
        ('def f = "abc"', "[3]u8"),
        ("def f (x: i32) = assert (x > 0) x", "i32 -> i32"),
        ("def f = (+ 1i64) >-> (2 *)", "i64 -> i64"),
        (
            "def f (x: i32) (y: bool) =\n"
            "  let swap 'a 'b (p: (a, b)) = let (x, y) = p in (y, x)\n"
            "  in (swap (x, y), swap (y, x))",
            "i32 -> bool -> ((bool, i32), (i32, bool))",
        ),
        (
            "def f [n] (xs: [n]i32) (ys: [n]bool) =\n"
            "  let pick [m] 't (fs: [m]bool) (xs: [m]t) = map (.1) (zip fs xs)\n"
            "  in (pick ys xs, pick ys ys)",
            "[n] [n]i32 -> [n]bool -> ([n]i32, [n]bool)",
        ),
    ],
)
def test_types(text: str, type_: str | None) -> None:
    shown = inferred(text)
    if type_ is None:
        assert shown.endswith("-> i64")
    else:
        assert rename(shown) == rename(type_)


def rename(text: str) -> str:
    """Number type variables in order of appearance."""
    import re

    seen: dict[str, str] = {}
    return re.sub(r"\bt\d+\b", lambda m: seen.setdefault(m[0], f"t{len(seen)}"), text)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("def f [n] (xs: [n]i32) = map (+ 1) xs", "[n] [n]i32 -> [n]i32"),
        ("def f (n: i64) = iota n", "(n: i64) -> [n]i64"),
        ("def f (n: i64) = iota (n + 1)", "(n: i64) -> [n + 1]i64"),
        ("def f (n: i64) = let m = n * 2 in iota m", "(n: i64) -> [n * 2]i64"),
        ("def f [n] (xs: [n]i32) = xs[1:]", "[n] [n]i32 -> [n - 1]i32"),
        ("def f [n] (xs: [n]i32) = xs[:3]", "[n] [n]i32 -> [3]i32"),
        ("def f [n] (xs: [n]i32) = xs[::-1]", "[n] [n]i32 -> [n]i32"),
        ("def f [n] (xs: [n]i32) = xs[::2]", "[n] [n]i32 -> ?[n₁].[n₁]i32"),
        ("def f (n: i64) = 2..<n", "(n: i64) -> [n - 2]i64"),
        ("def f [n] (xs: [n]i32) = filter (> 0) xs", "[n] [n]i32 -> ?[d].[d]i32"),
        (
            "def f [n] (xs: [n]i32) = xs |> filter (> 0) |> map f32.i32",
            "[n] [n]i32 -> ?[d].[d]f32",
        ),
        (
            "def f (b: bool) = if b then [1i32] else [2, 3]",
            "bool -> ?[differ].[differ]i32",
        ),
        (
            "def f [n] (xs: [n]i32) = loop ys = xs for i < n do map (+ 1) ys",
            "[n] [n]i32 -> [n]i32",
        ),
        (
            "def f (n: i32) = loop xs = [1i32] for i < n do xs ++ xs",
            "i32 -> ?[loop].[loop]i32",
        ),
        (
            "def f (n: i64) = let (m, x) = (n, 2i32) in replicate m x",
            "i64 -> ?[d].[d]i32",
        ),
        (
            "def f [n][m] (xs: [n][m]f32) = flatten (transpose xs)",
            "[n] [m] [n][m]f32 -> [m * n]f32",
        ),
        (
            "def f [n] (xs: []f64) (k: [n]i64) = xs :> [n]f64",
            "[n] [d] [d]f64 -> [n]i64 -> [n]f64",
        ),
    ],
)
def test_sizes(text: str, type_: str) -> None:
    assert inferred(text) == type_


def test_a_loop_that_swaps_keeps_its_sizes() -> None:
    text = """
    def f [n] (xs: [n]i32) (ys: [n]i32) =
      loop (a, b) = (xs, ys) for i < 10i32 do (b, a)
    """
    assert inferred(text) == "[n] [n]i32 -> [n]i32 -> ([n]i32, [n]i32)"


def test_user_operators_shadow_the_built_in_ones() -> None:
    text = """
    def (+) (x: bool) (y: bool) = x || y
    def f (x: bool) = x + true
    """
    assert inferred(text) == "bool -> bool"


def test_sum_types() -> None:
    text = """
    type shape = #circle f32 | #square f32 | #none
    def f (s: shape) = match s
      case #circle r -> r * r * f32.pi
      case #square a -> a * a
      case #none -> 0
    """
    shown = "#circle f32 | #none | #square f32"
    assert inferred(text) in (f"{shown} -> f32", f"({shown}) -> f32")


def test_recursive_functions() -> None:
    text = """
    def f [n] (xs: [n]i32) : i32 = if n == 0 then 0 else xs[0] + f (tail xs)
    """
    assert inferred(text) == "[n] [n]i32 -> i32"


def test_defaulting_warns_when_it_shows_in_the_type() -> None:
    from .checking import check

    assert "ambiguous" in check("def f x = x + 1").warnings[0]
    assert not check("def f (x: i32) = x + i32.f64 (1 + 2)").warnings


def test_names_may_begin_with_underscores() -> None:
    assert (
        inferred("def __x = 1u8\ndef f (_: i32) (__y: i32) = 2u8") == "i32 -> i32 -> u8"
    )
