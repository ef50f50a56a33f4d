"""The verifier accepts what is right and names what is wrong."""

from __future__ import annotations

import pytest

from minifut.errors import InternalError
from minifut.ir import core
from minifut.ir.core import Constant, Param
from minifut.ir.dialect import KERNELS, SOACS
from minifut.ir.parser import parse_program
from minifut.ir.types import F32, I8
from minifut.ir.verify import verify
from minifut.names import NameSource

from .programs import KERNELS_TEXT, SOACS_TEXT


def main(statements: str, result: str = "", results: str = "") -> str:
    return (
        "fun main (n: i64, m: i64, xs: [n]f32, ys: [m]f32, a: i32, c: bool) -> "
        f"({results}) {{ {statements} return {result} }}"
    )


def test_the_program_of_every_kernel_construct_is_right() -> None:
    verify(parse_program(KERNELS_TEXT), KERNELS)


def test_the_program_of_every_core_construct_is_right() -> None:
    verify(parse_program(SOACS_TEXT), SOACS)


GOOD = [
    "let k: i64 = add_i64(n, 1i64) let zs: [n + 1]f32 = scratch(f32, [k])",
    "let k: i64 = size(n * 2) let zs: [k]f32 = concat(0, n + n, xs, xs)",
    "let (k: i64, r: [k]f32) = if c then {n, xs} else {m, ys}",
    "let (k: i64, r: [k]f32) = loop (l: i64 = n, s: [l]f32 = xs) "
    "for i: i32 < a do {m, ys}",
    "let x: i32 = loop (x_1: i32 = a) for i: i32 < 3i32 do { "
    "let y: i32 = add_i32(x_1, i) return y }",
]


@pytest.mark.parametrize("statements", GOOD)
def test_right_statements(statements: str) -> None:
    verify(parse_program(main(statements)), SOACS)


WRONG = [
    ("let x: i32 = add_i32(a, b)", "b is not in scope"),
    ("let x: i32 = a let x: i32 = a", "x is bound twice"),
    ("let x: i64 = add_i32(a, a)", "the pattern: i64 stands where i32 belongs"),
    ("let x: i32 = add_i32(a, n)", "add_i32 (1): i64 stands where i32 belongs"),
    ("let x: i32 = add_i32(a)", "1 values stand where 2 belong"),
    ("let x: f32 = xs[a]", "an index of xs: i32"),
    ("let x: f32 = xs[0i64, 0i64]", "xs has 1 dimensions"),
    ("let x: [m]f32 = xs", "the pattern: [m]f32 stands where [n]f32 belongs"),
    ("let x: [n]f32 = xs with [0i64] = a", "the new value"),
    ("let x: [a]f32 = scratch(f32, [a])", "a is used as a size"),
    ("let x: [n]f32 = concat(0, n, xs, ys)", "the parts have size"),
    ("let (k: i64, r: [k]f32) = if c then {m, xs} else {m, ys}", "a branch (1)"),
    ("let x: i32 = if a then {a} else {a}", "the condition: i32"),
    ("let x: i32 = if c then {n} else {a}", "a branch: i64"),
    ("let x: i32 = if c then {let y: i32 = a return y} else {y}", "y is not in scope"),
    ("let x: i32 = loop (y: i32 = n) for i: i32 < a do {y}", "the initial values"),
    ("let x: i32 = loop (y: i32 = a) for i: i32 < a do {n}", "the loop's results"),
    ("let x: bool = loop (y: bool = c) while c do {y}", "is no parameter of the loop"),
    ("let x: i32 = apply nobody(a)", "there is no function nobody"),
    ("let () = assert(a, [], [])", "the condition: i32"),
    ("let z: [m]f32 = map(m, (xs), \\(x: f32) -> (f32) {x})", "outer size n, not m"),
    ("let z: [n]f32 = map(n, (xs), \\(x: f64) -> (f64) {x})", "parameter x"),
    ("let z: [n]f64 = map(n, (xs), \\(x: f32) -> (f64) {x})", "result of the function"),
    ("let z: [n][n]f32 = segmap grid (i < n, j < n) -> (f32) { return returns a }",
     "SegMap is not allowed here in Soacs"),
    ("let z: [1][1]f32 = rearrange((0, 0), xs)", "does not permute 1 dimensions"),
]  # fmt: skip


@pytest.mark.parametrize(("statements", "message"), WRONG)
def test_wrong_statements_are_named(statements: str, message: str) -> None:
    program = parse_program(main("let before: i32 = a " + statements))
    with pytest.raises(InternalError) as caught:
        verify(program, SOACS)
    assert message in caught.value.message
    marked = [line for line in caught.value.context.split("\n") if line[:1] == ">"]
    assert len(marked) == 1 and "fun main" not in marked[0]


KERNEL = "let z: [n]f32 = "
WRONG_KERNELS = [
    ("map(n, (xs), \\(x: f32) -> (f32) {x})", "Screma is not allowed here in Kernels"),
    ("segmap grid (i < n) -> (i32) { return returns 1.0f32 }", "a result: f32"),
    ("segmap grid (i < n) -> (f32) { let w: [n]f32 = segmap grid (j < n) -> (f32) "
     "{ return returns 1.0f32 } return returns 1.0f32 }", "grid inside grid"),
    ("segmap grid (i < n) -> (f32) { return writes xs [m] with () }", "another shape"),
    ("segmap grid (i < n) -> (f32) { return tile xs of (n by 16) }", "the tile: "),
    ("segmap grid (i < n) -> (f32) { return regtile xs of (n by 4 by 2) }",
     "the register tiles: "),
]  # fmt: skip


@pytest.mark.parametrize(("exp", "message"), WRONG_KERNELS)
def test_wrong_kernels_are_named(exp: str, message: str) -> None:
    with pytest.raises(InternalError, match=message.replace("(", "\\(")):
        verify(parse_program(main(KERNEL + exp)), KERNELS)


def test_wrong_functions_and_entries() -> None:
    for text, message in [
        (main("", "a", "r: i64"), "the function returns: i32"),
        ('entry "e" = nobody sizes 0 () -> ()', "no function nobody"),
        ('entry "e" = main sizes 1 () -> () ' + main(""), "6 parameters, not 1"),
    ]:
        with pytest.raises(InternalError) as caught:
            verify(parse_program(text), SOACS)
        assert message in caught.value.message


def test_the_context_is_ten_lines_around() -> None:
    many = " ".join(f"let x_{i}: i32 = a" for i in range(1, 60))
    text = main(many + " let bad: i64 = a " + many.replace("x_", "y_"))
    with pytest.raises(InternalError) as caught:
        verify(parse_program(text), SOACS)
    lines = caught.value.context.split("\n")
    assert len(lines) == 21 and lines[10].startswith(">") and "bad" in lines[10]


@pytest.mark.parametrize("constant", [Constant(255, I8), Constant(0.1, F32)], ids=str)
def test_a_constant_is_a_value_of_its_type(constant: Constant) -> None:
    names = NameSource()
    result = Param(names.fresh("r"), constant.type)
    body = core.Body((), (constant,))
    function = core.Function(names.fresh("f"), (), (result,), body)
    with pytest.raises(InternalError, match=f"{constant.value} is not a value of"):
        verify(core.Program((), (), (function,)), SOACS)
