"""Properties: counterexamples, smaller ones, generators and shrinkers, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from minifut.errors import UsageError
from minifut.stages import Options
from minifut.testing.properties import Property, read_property
from minifut.testing.runner import Report, TestOptions, run_program

Run = Callable[..., Report]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(text: str, seed: int = 1, backend: str = "interpreter") -> Report:
        path = tmp_path / "a.fut"
        path.write_text("-- ==\n-- property: p\n\n" + text)
        options = TestOptions(Options(backend=backend), seed=seed)
        return run_program(path, options)

    return run


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("prop", Property("p")),
        ("prop(gen(f))", Property("p", "f")),
        ("prop(gen(f),shrink(g),size(3))", Property("p", "f", "g", 3)),
    ],
)
def test_attributes(attribute: str, expected: Property) -> None:
    assert read_property("p", ["other", attribute]) == expected


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([], "no #.prop. attribute"),
        (["prop", "prop(size(3))"], "more than one"),
        (["prop(genn(f))"], "not 'genn'"),
        (["prop(size(f))"], "not a number"),
        (["prop(gen(f(x)))"], "not understood"),
    ],
)
def test_wrong_attributes(attributes: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_property("p", attributes)


def test_what_holds_passes(run: Run) -> None:
    report = run("#[prop] entry p (xs: []i32) = reverse (reverse xs) == xs")
    assert report.failures == [] and report.runs == 1


@pytest.mark.parametrize(
    ("parameter", "holds", "shown"),
    [
        ("x: bool", "x", "false"),
        ("xs: []i32", "length xs < 3", r"\[-?\d+i32, -?\d+i32, -?\d+i32\]"),
        ("xs: [2]i8", "false", r"\[-?\d+i8, -?\d+i8\]"),
        ("x: {a: i8, b: (bool, u8)}", "x.b.0", r"{a = -?\d+i8, b = \(false, \d+u8\)}"),
        (
            "xs: [](bool, {k: u8, v: []i8})",
            "null xs",
            r"\[\((true|false), {k = \d+u8, v = \[-?\d+i8\]}\)\]",
        ),
    ],
)
@pytest.mark.parametrize(
    "backend", ["interpreter", pytest.param("opencl", marks=pytest.mark.device)]
)
def test_automatic_candidates(
    run: Run, parameter: str, holds: str, shown: str, backend: str
) -> None:
    import re

    (failure,) = run(
        f"#[prop] entry p ({parameter}): bool = {holds}", backend=backend
    ).failures
    first, second = failure.split("\n")
    assert re.fullmatch(r"property p \(size=50, seed=1\) failed after \d+ tests", first)
    assert re.fullmatch("counterexample: " + shown, second)


def test_floats_are_on_both_sides_of_zero(run: Run) -> None:
    text = "#[prop] entry p (xs: []f64) = all (\\x -> x >= 0 && x <= 1) xs"
    (failure,) = run(text).failures
    assert "-0." in failure
    assert not run("#[prop] entry p (x: f32) = f32.abs x <= 1").failures


SHRUNK = """
entry make (size: i64) (seed: u64): i64 = 1000 + size
entry less (x: i64) (random: u64): i64 = x - 1
#[prop(gen(make),shrink(less),size(7))]
entry p (x: i64): bool = x < 300
"""


def test_shrinkers_are_called_until_they_do_not_help(run: Run) -> None:
    (failure,) = run(SHRUNK).failures
    assert "size=7" in failure and failure.endswith("counterexample: 300i64")


def test_a_shrinker_that_fails_is_replaced_by_smaller_sizes(run: Run) -> None:
    (failure,) = run(SHRUNK.replace("= x - 1", "= x / (x - x)")).failures
    assert "shrinker less" in failure and "division by zero" in failure
    assert failure.endswith("counterexample: 1001i64")


def test_candidates_follow_from_the_seed(run: Run) -> None:
    text = "#[prop] entry p (x: u64) = false"
    assert run(text, 5).failures == run(text, 5).failures
    assert run(text, 5).failures != run(text, 6).failures


def test_consumed_candidates_are_shown_as_they_were(run: Run) -> None:
    (failure,) = run(
        "entry make (n: i64) (_: u64) = replicate n 1i32\n"
        "#[prop(gen(make),size(2))]\n"
        "entry p (xs: *[]i32) = (xs with [0] = 7)[0] == 1"
    ).failures
    assert failure.endswith("counterexample: [1i32]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#[prop] entry p (x: i32) = x / (x - x) == 1", "with candidate=-?[0-9]+i32"),
        (
            "entry f (n: i64) (s: u64) = [1i32][n]\n"
            "#[prop(gen(f))] entry p (x: i32) = true",
            "generator f failed with size=50",
        ),
        ("def p (x: i32) = true\nentry q = 1", "not an entry point: p"),
        ("entry p (x: i32) = true", "no #.prop. attribute"),
        ("#[prop] entry p (x: i32) = x", "must give a bool, not i32"),
        ("#[prop] entry p (x: i32) (y: i32) = true", "2 parameters"),
        ("#[prop] entry p = true", "no parameter"),
        ("#[prop(gen(f))] entry p (x: i32) = true", "generator of p is not an entry"),
        (
            "entry f (n: i64): i32 = 1\n#[prop(gen(f))] entry p (x: i32) = true",
            "expected: i64 -> u64 -> i32\nactual:   i64 -> i32",
        ),
        (
            "entry f (x: i32) (s: u64): i8 = 1\n"
            "#[prop(shrink(f))] entry p (x: i32) = true",
            'shrinker "f" for property "p" has the wrong type',
        ),
        ("#[prop] entry p (x: #a | #b) = true", "cannot be made automatically"),
    ],
)
def test_what_goes_wrong_is_reported(run: Run, text: str, message: str) -> None:
    import re

    (failure,) = run(text).failures
    assert re.search(message, failure)
