"""The types of values that come from one of several places."""

from __future__ import annotations

import pytest

from minifut.errors import CompileError

from .checking import check, inferred

TWO = "[d] [d] [d]i32 -> [d₁]i32 -> "


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (
            "(xs: []i32) = if null xs then [1, 2] else xs",
            "[d] [d]i32 -> ?[differ].[differ]i32",
        ),
        (
            "(xs: []i32) = if null xs then xs else []",
            "[d] [d]i32 -> ?[differ].[differ]i32",
        ),
        (
            "(a: []i32) (b: []i32) = if null a then a else b",
            TWO + "?[differ].[differ]i32",
        ),
        (
            "(a: []i32) (b: []i32) = if null a then (a, b) else (b, a)",
            TWO + "?[differ][differ₁].([differ]i32, [differ₁]i32)",
        ),
        (
            "(a: []i32) (b: []i32) = if null a then {a} else {a = b}",
            TWO + "?[differ].{a: [differ]i32}",
        ),
        (
            "(a: []i32) (b: []i32) : #none | #some ([]i32) ="
            " if null a then #some a else #some b",
            TWO + "?[differ].#none | #some [differ]i32",
        ),
        (
            "(a: []i32) (b: []i32) = match length a case 0 -> b case 1 -> b case _ -> a",
            TWO + "?[differ].[differ]i32",
        ),
        (
            "(a: []i32) (b: []i32) = loop x = a for _i < 3 do if null x then b else x",
            TWO + "?[loop].[loop]i32",
        ),
        (
            "(a: []i32) (b: []i32) = let g x = if x then a else b in g (null a)",
            TWO + "?[differ].[differ]i32",
        ),
        (
            "(xs: []i32) = xs |> (\\x -> if null x then [1] else x)",
            "[d] [d]i32 -> ?[d₁].[d₁]i32",
        ),
        (
            "(a: [][]i32) (b: [][]i32) ="
            " if null a then (if null b then a else transpose b) else [[1]]",
            "[d] [d] [d] [d] [d][d₁]i32 -> [d₂][d₃]i32 -> ?[differ][differ₁].[differ][differ₁]i32",
        ),
    ],
)
def test_sizes_that_differ_are_unknown(text: str, type_: str) -> None:
    """No caller has to give sizes that a branch happens to have."""
    assert inferred("def f " + text) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        # an operator's results are as long as each other
        (
            "[n] (xss: [n][]i32) (b: []i32) = map (\\x -> if null x then b else x) xss",
            "[n] [d] [n][d]i32 -> [d]i32 -> [n][d]i32",
        ),
        (
            "[n] (xss: [n][]i32) (b: []i32) ="
            " reduce (\\x y -> if null x then y else x) b xss",
            "[n] [d] [n][d]i32 -> [d]i32 -> [d]i32",
        ),
        (
            "[n] (a: [n][]i32) (b: []i32) (c: []i32) ="
            " map (\\x -> match n case 0 -> x case 1 -> b case _ -> c) a",
            "[n] [d] [n][d]i32 -> [d]i32 -> [d]i32 -> [n][d]i32",
        ),
        (
            "[n] (a: [n]i32) (b: [n]i32) = let g [m] (h: [m]i32 -> [m]i32)"
            " (x: [m]i32) = h x in g (\\x -> if null x then a else x) b",
            "[n] [n]i32 -> [n]i32 -> [n]i32",
        ),
        # what the result is combined with says how long it is
        (
            "(a: []i32) (b: []i32) (c: []i32) = map2 (+) c (if null a then a else b)",
            "[d] [d]i32 -> [d]i32 -> [d]i32 -> [d]i32",
        ),
        (
            "(a: []i32) (b: []i32) = [a, if null a then a else b]",
            "[d] [d]i32 -> [d]i32 -> [2][d]i32",
        ),
        (
            "[k] (a: []i32) (b: [k]i32): [k]i32 = if null a then a else b",
            "[k] [k]i32 -> [k]i32 -> [k]i32",
        ),
        (
            "[k] (a: []i32) (b: [k]i32): [k]i32 ="
            " loop x = a for _i < 3 do if null x then b else x",
            "[k] [k]i32 -> [k]i32 -> [k]i32",
        ),
        (
            "[k] (a: [k]i32) (b: []i32): [k]i32 ="
            " loop x = a for _i < 3 do map (+ 1) (if null x then b else x)",
            "[k] [k]i32 -> [k]i32 -> [k]i32",
        ),
        (
            "(n: i64) = match n case 0 -> [] case k -> map (+ 1) (iota k)",
            "i64 -> ?[differ].[differ]i64",
        ),
        # what is open for another reason is found
        (
            "(xs: [][]i32) = if null xs then [] else xs",
            "[d] [d] [d][d₁]i32 -> ?[differ].[differ][d₁]i32",
        ),
        (
            "[n] (c: bool) (xs: [n]i32) = loop x = xs for _i < 3 do"
            " if c then x else map (+ 1) xs",
            "[n] bool -> [n]i32 -> [n]i32",
        ),
    ],
)
def test_sizes_that_must_be_equal_are(text: str, type_: str) -> None:
    assert inferred("def f " + text) == type_


PICK = "def p (c: bool) (a: []i32) (b: []i32) = if c then a else b\n"


@pytest.mark.parametrize(
    "text",
    [
        PICK + "def f [n] (a: [n]i32) : [n]i32 = p true a a",
        PICK + "def f [n] (as: [9][n]i32) (b: [n]i32) = map (p true b) as",
        PICK + "def f [n] (as: [9][n]i32) : [n]i32 = reduce (p true) as[0] as",
        PICK
        + "def q c a b = p c (p c a b) b\ndef f [n] (a: [n]i32) : [n]i32 = q true a a",
        "def f [n] (a: [n]i32) = let p (b: []i32) = if null b then a else b"
        " in (map2 (+) a (p a), p [1])",
        "def p (x: i32) (a: []i32) (b: []i32) = loop y = a for i < x do"
        " if i > 3 then b else y\ndef f [n] (a: [n]i32) = map2 (+) a (p 1 a a)",
        "def p (a: []i32) = if null a then [1, 2, 3] else a\n"
        "def f (x: [3]i32) : [3]i32 = p x",
        "def f [n] (a: [n]i32) (b: [n]i32) : ([n]i32, [n]i32) ="
        " loop (a, b) for i < 9 do if i % 2 == 0 then (b, a) else (a, b)",
    ],
)
def test_an_unknown_size_is_known_where_all_that_met_are_equal(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        PICK + "def f [n] [m] (a: [n]i32) (b: [m]i32) : [n]i32 = p true a b",
        PICK + "def f [n] [m] (as: [9][n]i32) (b: [m]i32) = map (p true b) as",
        "def p (a: []i32) = if null a then [1, 2, 3] else a\n"
        "def f (x: [4]i32) : [4]i32 = p x",
        "def f [n] [m] (a: [n]i32) (b: [m]i32) = map2 (+) a (if null a then a else b)",
        "def f [n] (xss: [n][n]i32) = map (\\x -> if null x then [1] else x) xss",
    ],
)
def test_sizes_that_cannot_be_equal_are_reported(text: str) -> None:
    with pytest.raises(CompileError, match="do not match"):
        check(text)


def test_a_function_with_branches_is_as_general_as_its_specification() -> None:
    text = """
    module m : { val f [a] [b] [c] : [a]i32 -> [b]i32 -> [c]i32 -> i64 } = {
      def f (a: []i32) (b: []i32) (c: []i32) =
        length (if null a then (if null b then c else b) else a)
    }
    """
    check(text)
    body = text[text.index("def") : text.rindex("}")]
    check(
        "module m (p: { type t }) : { val f [a] [b] [c] :"
        " [a]i32 -> [b]i32 -> [c]i32 -> i64 } = {" + body + "}"
        " module n = m { type t = i32 }"
    )


def test_different_sizes_print_differently() -> None:
    text = """
    module m : { val f [d] : [d]i32 -> i64 } = {
      def f (a: []i32) (b: []i32) = length a + length b
    }
    """
    with pytest.raises(CompileError) as fault:
        check(text)
    assert "val f [d] [d₁] : [d]i32 -> [d₁]i32 -> i64" in str(fault.value)
    with pytest.raises(CompileError, match='Sizes "n" and "n₁" do not match'):
        check("def f [n] (xs: [n]i32) = let g [n] (ys: [n]i32) = map2 (+) xs ys in g")
