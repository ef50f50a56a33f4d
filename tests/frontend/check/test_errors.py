"""What is refused, where, and with which words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from minifut import stages
from minifut.errors import CompileError

from .checking import check

ROOT = Path(__file__).parents[3]


def refusal(text: str, **files: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        check(text, **files)
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f = lenght [1]", 'Unknown name "lenght"'),
        ("def f (x: i23) = x", 'Unknown type "i23"'),
        ("def f (x: i32) = x + 1.5f32", 'Cannot apply "\\+" to "1.5f32"'),
        ("def f (x: i32) = x 1", "non-function type"),
        ("def f x = x x", "Occurs check"),
        ("def f (xs: [2]i32) (ys: [3]i32) = zip xs ys", '"2" and "3" do not match'),
        ("def f [n] (x: i32) = x", "unused"),
        ("def f (b: bool) = if b then \\x -> x + 1i32 else \\x -> x", "function type"),
        ("def f = [\\x -> x + 1i32]", "functional"),
        ("def f (x: #a | #b i32) = match x case #b 1 -> 0i32", "Unmatched cases"),
        ("def f (#a: #a | #b) = 0i32", "Refutable"),
        ("def f = 300u8 + 300", "out of bounds"),
        ("def f (r: {a: i32}) = r.b", "field"),
        ("def f (x, x) = x + 1i32", "also bound"),
        ("entry f x = x", "polymorphic"),
        ("def f [n] (x: [n]i32) : [n + 1]i32 = x", "do not match"),
        ("def f (x: i32) : bool = x", "does not have expected type"),
        ("def f = let [n] (x: i32) = 2 in n", "unused"),
        (
            "def g (b: bool) (xs: []i32) = let a = [] : [][]i32 "
            "let b = [filter (> 0) xs] in a[0] == b[0]",
            "Causality check",
        ),
        ("def f (xs: [][]i32) = map (\\x -> filter (> 0) x) xs", "do not match"),
        ("type t = i32 -> i32", "Non-lifted"),
        ("module m : { val x : i32 } = { def y = 1i32 }", "does not define"),
        ("module m = { entry f (x: i32) = x }", "Entry points"),
        ("def f (g: i32 -> i32) (x: i32) : i32 = f (\\y -> g y) x", "unchanged"),
    ],
)
def test_words(text: str, words: str) -> None:
    found = refusal(text)
    assert re.search(words, str(found), re.S), str(found)
    assert found.location is not None
    assert found.anchor


def test_hints_name_the_nearest() -> None:
    assert refusal("def f = lenght [1]").hint == "did you mean 'length'?"


def test_both_types_are_shown_and_how_to_convert() -> None:
    fault = refusal("def g (x: f32) = x\ndef f (n: i32) = g n")
    assert "Expected: f32" in fault.message and "Actual:   i32" in fault.message
    assert fault.hint == 'convert with "f32.i32"'
    assert fault.location is not None
    assert (fault.location.line, fault.location.column) == (2, 20)


def test_unknown_sizes_are_explained() -> None:
    text = "def f (xs: []i32) (p: i32 -> bool) = zip (filter p xs) xs"
    assert 'returned by "filter" at 1:' in refusal(text).message


@pytest.mark.parametrize(
    "text",
    [
        "def f (n: i64) = map (\\i -> iota i) (iota n)",
        "def f (n: i64) = map iota (iota n)",
        "def f (n: i64) = let g = (\\i -> iota i) in map g (iota n)",
        "def f (n: i64) = tabulate n (\\i -> replicate (i + 1) 0i32)",
    ],
)
def test_rows_of_different_lengths_make_no_array(text: str) -> None:
    fault = refusal(text)
    assert fault.anchor == "irregular-array" and fault.hint is not None


def test_sizes_may_depend_on_parameters_inside_of_functions() -> None:
    check(
        "type^ wrap 'u = {f: u}\n"
        "def pair '^u (a: wrap u) (b: wrap u) : wrap (u, u) = {f = (a.f, b.f)}\n"
        "def one : wrap ((n: i64) -> [n]i32 -> [n]i32) = {f = \\n (xs: [n]i32) -> xs}\n"
        "def both = pair one one\n"
        "def f [n] (xs: [n]i32) = both.f.0 n xs"
    )


def test_imports_stay_below_and_do_not_turn_in_circles() -> None:
    assert "relative" in refusal('import "/etc/passwd"').message
    assert "no readable file" in refusal('import "nowhere"').message
    cycle = refusal('import "a"', a='import "b"', b='import "a"')
    assert "a.fut -> b.fut -> a.fut" in cycle.message


def test_deep_nesting_is_no_crash() -> None:
    check("def f (x: i32) = " + " + ".join(["x"] * 700))
    depth = 3000
    lets = "\n".join(f"let x{i + 1} = x{i} + 1" for i in range(depth))
    check(f"def f (x0: i32) =\n{lets}\nin x{depth}")


def test_every_error_of_the_front_end_has_its_entry_in_the_index() -> None:
    index = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## ([\w-]+)$", index, re.M)
    assert entries == sorted(entries)
    used, without = set(), []
    for path in (ROOT / "minifut" / "frontend").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            position = {"CompileError": 3, "error": 2}.get(call.func.id)
            if position is None:
                continue
            given = [k.value for k in call.keywords if k.arg == "anchor"]
            given += call.args[position : position + 1]
            if not given:
                without.append(f"{path.name}:{call.lineno}")
            used |= {node.value for node in given if isinstance(node, ast.Constant)}
    assert not without
    assert len(used) > 50
    assert used <= set(entries)


@pytest.mark.parametrize(
    "text",
    [
        "type t = intrinsics.accumulator i32",
        "def f (xs: []i32) = intrinsics.flat_rotate xs",
    ],
)
def test_what_futhark_builds_its_prelude_with_is_not_supported(text: str) -> None:
    fault = refusal(text)
    assert "is not supported" in fault.message and fault.anchor == "not-supported"
    assert fault.location is not None and fault.hint is not None


def test_what_must_be_a_record_and_a_number_is_reported_in_one_clause() -> None:
    fault = refusal(
        "def pair '^a (x: a) (_: a) = x\n"
        "def f (n: i32) = (pair (\\r -> r.width + 1) (\\k -> k + 1)) {width = n}"
    )
    assert "with type that must be a record with fields {width" in fault.message


NOT_FOUND = {"accumulator-use"}
"""entries whose example another check refuses first"""


def test_the_examples_of_the_index_give_its_errors() -> None:
    index = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", index, re.S | re.M)
    wrong, tried = {}, 0
    for anchor, text in entries:
        example = re.search(r"((?:^    .*\n|^\n(?=    ))+)", text, re.M)
        if example is None or anchor in NOT_FOUND:
            continue
        tried += 1
        program = "\n".join(line[4:] for line in example[1].split("\n"))
        try:
            stages.to_kernels(stages.to_core(check(program)))
            wrong[anchor] = "no error"
        except CompileError as error:
            if error.anchor != anchor:
                wrong[anchor] = error.anchor or "no anchor"
    assert tried > 25 and not wrong
