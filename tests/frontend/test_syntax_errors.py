"""Wrong programs: the place, the words and the hint that a user meets."""

from __future__ import annotations

import random

import pytest

from minifut.errors import CompileError, Source
from minifut.frontend.parser import parse_program


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        (
            "def f x =\n  let y = x\n  y + 1\ndef g = 3",
            (4, 1),
            'Unexpected "def"; expected `in` or `let`',
            "is `in` missing?",
        ),
        ("def f = let x = 1", (1, 18), "end of file", "is `in` missing?"),
        ("def f = let x = 1\n\n-- end\n", (1, 18), "end of file", "is `in`"),
        (
            "def f = (1 + 2]",
            (1, 15),
            "Unexpected token: ']'",
            "`(` at 1:9 is not closed",
        ),
        ("def f = [1,\n 2", (2, 3), "end of file", "`[` at 1:9 is not closed"),
        ("def f = 1)", (1, 10), "Unexpected token: ')'", "no bracket is open"),
        ("def (a, b) = e", (1, 12), "Unexpected token: '='", "binds one name"),
        ("let {a, b} = e", (1, 12), "Unexpected token: '='", "binds one name"),
        ("def f = def g = 1", (1, 9), "expected an expression", "let ... in"),
        ("def f = if x then y", (1, 20), "expected `else`", "both `then` and `else`"),
        ("def f x = let y=-1 in y", (1, 16), "Unexpected token: '=-'", "one operator"),
        ("def f = map (\\x->-x)", (1, 16), "Unexpected token: '->-'", "one operator"),
        ("def f = x = y", (1, 11), "Unexpected token: '='", "`==`"),
        ("def f = 1..10", (1, 10), "a range needs an end", "a...b"),
        ("def f in = 2", (1, 7), 'Unexpected "in"', "reserved word"),
        ("def f = match x case #a => 1", (1, 25), "Unexpected token: '=>'", "`->`"),
        ("def f = a[0] [1]", (1, 9), "indexed array is applied", "a[i, j]"),
        ("def f = (1+2).(x)", (1, 9), "only a module", "m.(e)"),
        ("def f = 'ab'", (1, 9), "Unexpected token: '''", "double quotes"),
        ("def x ! y = x", (1, 7), "Unexpected token: '!'", "cannot be used as infix"),
        ("def f = -- | no\n 1", (1, 9), "documentation comment", "write `--`"),
        ("x = 3", (1, 1), "expected a declaration", "begins with `def`"),
        ("module type m = {def x: t}", (1, 18), 'Unexpected "def"', "val name : type"),
        ("def f = {x: 1}", (1, 11), "Unexpected token: ':'", "{x = 1}"),
        ("def f (x: t) -> t = x", (1, 14), "Unexpected token: '->'", "behind `:`"),
        ("type t = ", (1, 10), "expected a type", None),
        ("def f = #[1.5] x", (1, 11), "whole number", None),
    ],
)
def test_messages(
    text: str, place: tuple[int, int], message: str, hint: str | None
) -> None:
    with pytest.raises(CompileError) as caught:
        parse_program(Source("test.fut", text))
    error = caught.value
    assert error.location is not None
    assert (error.location.line, error.location.column) == place
    assert message in error.message
    assert hint is None or hint in (error.hint or "")


PROGRAM = """
-- | A program with something of everything.
module type monoid = { type t val zero : t val (+) : t -> t -> t }
module sum (m: monoid) : { val sum [n] : [n]m.t -> m.t } = {
  def sum [n] (xs: [n]m.t) = reduce (m.+) m.zero xs
}
type option 'a = #none | #some a
#[noinline]
def dot [n] 't (f: t -> f32) (xs: [n]t) (ys: *[n]t) : f32 =
  let zs = map2 (\\x y -> f x * f y) xs ys
  let zs[0] = 1.5f32
  in zs |> (.[1:]) |> reduce (+) 0x1.8p1
entry main (r: {a: i32, b: (bool, [2]u8)}) =
  loop (x, s) = (0i64, "text\\n") for i < 10 do
    match #some (x + i)
    case #some y -> if !r.b.0 && y % 2 == 0 then (y, s) else (-x, s with [0] = 'c')
    case _ -> ((0..2...8)[::-1][i] :> i64, assert (i < 3) ???)
"""

PIECES = [
    *"()[]{}<>=+-*/'\"`#.,:;!?\\|&^%$@~_\n\ta1é\0",
    *[
        "let ",
        " def ",
        " in ",
        " if ",
        " case ",
        "->",
        "..",
        "...",
        "#[",
        " with ",
        "1.5",
    ],
    *["'c'", '"s"', "#c ", "-- | ", " module ", " type ", "'~", " \\x -> "],
]


def test_mutated_programs_are_read_or_refused() -> None:
    draw = random.Random(20)
    refused = 0
    for _ in range(300):
        text = PROGRAM
        for _ in range(draw.randrange(1, 5)):
            start = draw.randrange(len(text))
            stop = start + draw.choice([0, 0, 1, 1, 5, 40])
            piece = draw.choice([*PIECES, "", ""])
            text = text[:start] + piece + text[stop:]
        try:
            parse_program(Source("test.fut", text))
        except CompileError as error:
            assert error.location is not None
            assert str(error)
            refused += 1
    assert 100 < refused < 300


def test_the_program_before_mutation_is_read() -> None:
    assert len(parse_program(Source("test.fut", PROGRAM)).declarations) == 5
