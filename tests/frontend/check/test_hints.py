"""Mistakes that newcomers make: each message says what is wrong and what to do."""

from __future__ import annotations

import pytest

from minifut.errors import CompileError

from .checking import check

MISTAKES = [
    # (program, in the message, in the hint)
    ("def f (xs: []i32) = redcue (+) 0 xs", 'Unknown name "redcue"', "'reduce'"),
    ("def f (x: f32) = f32.sqroot x", "f32.sqroot", "'f32.sqrt'"),
    ("def f (x: f32) = sqrt x", "sqrt", "f32.sqrt, f64.sqrt"),
    ("module m = { def one = 1i32 }\ndef f = m.ones", "m.ones", "'m.one'"),
    ("def f (x: i32) : i32 = return x", "return", "leave 'return' out"),
    ("def f (x: int) = x", 'Unknown type "int"', "i8, i16, i32, i64"),
    ("def f (x: double) = x", "double", "f64"),
    ("def f (x: string) = x", "string", "[]u8"),
    ("def f (n: i32) (x: f32) : f32 = x * n", "Actual:   i32", '"f32.i32"'),
    ("def f (n: i32) (x: f32) = f32.sqrt n * x", "Expected: f32", '"f32.i32"'),
    ("def f (i: i32) = i + 1.5", "Expected: i32", "write 1"),
    ("def f (i: i32) = i / 2.0f32", "Actual:   f32", '"i32.f32"'),
    ("def f (x: i32) = if x then 1 else 2", "i32", "x != 0"),
    ("def f (xs: []f32) (i: f32) = xs[i]", "f32", '"i64.f32"'),
    ("def f (b: bool) = if b then 1i32 else 2f32", "Former: i32", '"i32.f32"'),
    ("def f (b: bool) = if b then 1 else true", "number", None),
    ("def g (x: i32) = x\ndef f (a: i32) = g a 2", "only 1 argument.", None),
    ("def g (x: i32) (y: i32) = x\ndef f (a: i32) : i32 = g a", "i32 -> i32", "lacks"),
    ("def f (xs: []f32) = reduce (\\a x -> a + x) xs", "Actual:   [d]f32", "missing"),
    ("def f (xs: []i32) = map xs (\\x -> x + 1)", "Actual:   [d]i32", "order"),
    ("def g (x: i32) = x\ndef f (x: i32) = g -1", "i32 -> i32", "f (-1)"),
    ("def f (a: bool) (b: bool) = a and b", "non-function type", "&&"),
    ("def f (p: {x: i32, why: i32}) = p.y", 'has no field "y"', "why, x"),
    ("def f (p: {left: i32}) = p.lft", 'has no field "lft"', "'left'"),
    ("def f (xs: []f32) = xs.sum", 'has no field "sum"', "'f x', and not 'x.f'"),
    ("def f (xs: [][]f32) = xs[0, 1, 2]", "Cannot index", "has 2 dimensions, and 3"),
    ("def f (xs: [n]f32) = xs", 'Unknown name "n"', "'def f [n] (xs: [n]f32)'"),
    ("def f (x: float32) = x", 'Unknown type "float32"', "f32"),
    ("def f (x: f32[]) = x", "requires 0 arguments", "[]f32"),
    ("def f (xs: []i32) = reduce max 0 xs", "max", "f64.max, i32.max"),
    ("def f (xs: []i32) = cumsum xs", "cumsum", "scan (+) 0 xs"),
    ("def f (xs: []f32) = map (*) xs xs", "only 2 arguments", "map2"),
    ("def f (a: []i8) = zip a a a", "only 2 arguments", "zip3"),
    ("def f (xs: []f32) = map f32.max xs", "functional", "lack an argument"),
    ("def f [n] (xs: [n]f32) = map (* n) xs", "Actual:   [n]f32", "f32.i64 x"),
    ("def f (n: i64) = map (* 1.5) (iota n)", "[n]float", '"f64.i64"'),
    ("def f [n] (xs: [n]f32) : [n]f32 = filter (> 0) xs", "Note:", "written []"),
    ("entry f x = x", "polymorphic", "(x: i32)"),
    ("def f (p: (i32, i32)) = p.2", "tuple type", "0, 1"),
    ("def f (x: i32) = let (a, b, c) = (x, x) in a", "3 and 2 elements", None),
    ("def f : (i32, i32, i32) = (1, 2)", "Expected: (i32, i32, i32)", "3 components"),
    ("def f (xs: []i32) = xs with [0] = 1", '"xs"', '"*"'),
    ("def f [n] [m] (a: [n]i32) (b: [m]i32) = zip a b", '"n" and "m"', "':>'"),
    # the words of the parser
    ("def f (x: i32) = (x + 1\ndef g = 2", "Unexpected", "`(` at 1:18"),
    ("def f (x: i32) =\n  let y = (x + 1\n  in y", '"in"', "`(` at 2:11"),
    ("def f (x: i32) =\n  let y = x\n  y * 2", "`in`", "is `in` missing?"),
    ("def f (b: bool) = if b then 1", "`else`", "both"),
    ("def f (x: i32) = if x > 1 then 1 elif x > 2 then 2 else 3", "else", "`else if`"),
    ("def f (x: i32) = if x = 3 then 1 else 2", "'='", "`==`"),
    ("def f (xs: []i32) = map (x -> x + 1) xs", "'->'", "`\\x -> x + 1`"),
    ("def f (n: i64) = loop a = 0 for i < n a + i", "`do`", "is `do` missing?"),
    ("def f (n: i64) = for i < n do i", '"for"', "loop x = start"),
    ("def f (x: i32) = case x of 1 -> 2", '"case"', "match x case"),
    ("def f (xs: []i32) = xs[0] = 3", "'='", "xs with [i] = e"),
    ("def f (xs: []i32) = map (lambda x: x + 1) xs", "'+'", "`\\x -> x + 1`"),
    ("def f (n: i64) = loop s = 0 for i < n do s += i", '"+="', "next value"),
    ("// a comment\ndef f = 1", "'//'", "`--`"),
]


@pytest.mark.parametrize(("text", "message", "hint"), MISTAKES)
def test_message_and_hint(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(CompileError) as caught:
        check(text)
    fault = caught.value
    assert fault.location is not None and fault.anchor
    assert message in fault.message
    assert hint is None or (fault.hint is not None and hint in fault.hint), fault.hint


def test_unknown_types_are_not_called_as_the_users_own() -> None:
    with pytest.raises(CompileError) as caught:
        check("def f 'a (x: a) (xs: []i32) = map xs (x, x)")
    assert "Expected: b -> c" in caught.value.message
