"""Sizes unify as terms: by structure, without arithmetic."""

from __future__ import annotations

import pytest

from minifut.frontend.check.sizing.unify import parts_if_similar, same_size
from minifut.frontend.types import Size, SizeApply, SizeConst, SizeVar
from minifut.names import Name

from ..checking import check, inferred
from ..test_errors import refusal

N, M = SizeVar(Name("n", 1)), SizeVar(Name("m", 2))
ONE, TWO = SizeConst(1), SizeConst(2)


def plus(one: Size, other: Size) -> Size:
    return SizeApply("+", (one, other))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (N, N, True),
        (N, M, False),
        (plus(N, ONE), plus(N, ONE), True),
        (plus(N, ONE), plus(ONE, N), False),
        (plus(ONE, ONE), TWO, False),
    ],
)
def test_terms_are_the_same_by_their_structure(
    one: Size, other: Size, same: bool
) -> None:
    assert same_size(one, other) is same


def test_similar_terms_are_compared_part_by_part() -> None:
    parts = parts_if_similar(plus(N, ONE), plus(M, ONE))
    assert parts is not None and (N, M) in parts
    assert parts_if_similar(plus(N, ONE), N) is None


def test_a_size_that_is_not_written_is_found() -> None:
    assert inferred("def f [n] (xs: [n]i32) = zip xs xs") == (
        "[n] [n]i32 -> [n](i32, i32)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "def f [n] [m] (xs: [n]i32) (ys: [m]i32) = zip xs ys",
        "def f [n] (xs: [n]i32) (ys: [n + 1]i32) = zip xs ys",
        "def f [n] (xs: [n + 1]i32) (ys: [1 + n]i32) = zip xs ys",
    ],
)
def test_sizes_that_differ_are_refused(text: str) -> None:
    assert "do not match" in refusal(text).message


def test_a_coercion_says_that_sizes_are_equal() -> None:
    check("def f [n] [m] (xs: [n]i32) (ys: [m]i32) = zip xs (ys :> [n]i32)")
