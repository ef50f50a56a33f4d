"""What is printed reads back as the same, on every construct."""

from __future__ import annotations

import pytest

from minifut.errors import UsageError
from minifut.ir import core, kernels, soacs
from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Constant, Param, Stm
from minifut.ir.parser import names_after, parse, parse_program
from minifut.ir.printer import CLASSES, keywords, show
from minifut.ir.sizes import Size
from minifut.ir.traverse import rename, walk
from minifut.ir.types import F64, I32, ArrayType
from minifut.names import Name, NameSource

from .programs import KERNELS_TEXT, SOACS_TEXT

TEXTS = [SOACS_TEXT, KERNELS_TEXT]


@pytest.mark.parametrize("text", TEXTS, ids=["soacs", "kernels"])
def test_programs_read_back(text: str) -> None:
    program = parse_program(text)
    for renumber in (True, False):
        shown = show(program, renumber)
        assert alpha_equal(parse_program(shown), program)
    assert show(parse_program(show(program))) == show(program)


@pytest.mark.parametrize("text", TEXTS, ids=["soacs", "kernels"])
def test_the_text_does_not_depend_on_tags(text: str) -> None:
    program = parse_program(text)
    names = names_after(program)
    for _ in range(50):
        names.fresh("unused")
    assert show(rename(program, names)) == show(program)


def test_the_texts_show_every_expression() -> None:
    met = {type(node) for text in TEXTS for node in walk(parse_program(text))}
    expressions = (
        *core.CORE_EXPRESSIONS,
        *soacs.SOAC_EXPRESSIONS,
        *kernels.KERNEL_EXPRESSIONS,
    )
    assert set(expressions) <= met and set(expressions) <= set(CLASSES)


def test_an_operator_reads_as_the_function_that_applies_it() -> None:
    text = "let e: f32 = sub_f32(c, d) return e"
    long = parse(rf"\(c: f32, d: f32) -> (f32) {{{text}}}", "lambda")
    assert alpha_equal(parse("sub_f32", "lambda"), long)
    result = parse("\\(c: f32, d: f32) -> (f32) {sub_f32(c, d)}", "lambda")
    assert alpha_equal(result, long)


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("let y: f32 = if c then {xs[i]} else {0f32}", ["f32"]),
        ("let ys: [2]f32 = map(2, (is), \\(i: i64) -> (f32) {xs[i]})", ["f32"]),
        ("let ys: [n]f32 = segmap grid (i < n) -> (f32) {returns xs[i]}", ["f32"]),
        ("let (a: bool, b: f32) = if c then {c, xs[i]} else {c, 0f32}", ["f32"]),
        (
            "let y: f32 = if c then {let b: bool = not_bool(c) "
            "let z: i32 = if b then {is[i]} else {0i32} return xs[z]} else {xs[i]}",
            ["bool", "i32", "i32", "f32", "f32"],
        ),
    ],
)
def test_a_result_may_be_an_expression_of_the_type_that_it_has(
    text: str, results: list[str]
) -> None:
    statement = parse(text, "statements")[0]
    inner = [s for s in walk(statement) if isinstance(s, Stm)][1:]
    assert sorted(str(s.pattern[0].type) for s in inner) == sorted(results)
    shown = show(statement)
    assert show(parse(shown, "statements")[0]) == shown


def test_a_result_without_a_type_is_refused() -> None:
    with pytest.raises(UsageError, match="a result whose type is known"):
        parse("{xs[i]}", "body")


def test_names_that_would_not_read_back_are_changed() -> None:
    names = NameSource()
    odd = [names.fresh(base) for base in ("map", "f32", "+^", "1x", "x'", "_")]
    statements = tuple(
        Stm((Param(name, I32),), core.Copy(Constant(1, I32))) for name in odd
    )
    shown = show(statements)
    assert alpha_equal(
        core.Body(parse(shown, "statements"), ()), core.Body(statements, ())
    )
    assert not {s.split(":")[0].split()[-1] for s in shown.split("\n")} & keywords()


def test_names_that_differ_in_the_program_differ_in_the_text() -> None:
    a, b = Name("x_1", 0), Name("x", 1)
    size = Size.of(a) + Size.of(b)
    for renumber in (True, False):
        assert len(parse(show(size, renumber), "size").names()) == 2


@pytest.mark.parametrize("value", [1e-300, 0.1, -0.0, 1e22, float("inf"), 3.0])
def test_floats_read_back_exactly(value: float) -> None:
    constant = Constant(value, F64)
    assert repr(parse(show(constant), "atom").value) == repr(value)


def test_sizes_print_the_same_whatever_their_tags() -> None:
    def shape(first: int, second: int) -> str:
        n, m = Name("n", first), Name("m", second)
        return show((Param(n, I32), Param(m, I32), ArrayType(
            F64, (Size.of(n) * Size.of(m) + Size.of(m),))))  # fmt: skip

    assert shape(3, 12) == shape(12, 3) == "n: i32, m: i32, [m * n + m]f64"


def test_wrong_text_is_a_usage_error_with_its_place() -> None:
    with pytest.raises(UsageError, match="line 2, column 3"):
        parse("let x: i32 = 1i32\n  = 3", "statements")
    with pytest.raises(UsageError, match="ad_i32 is none"):
        parse("ad_i32(x, y)", "exp")
