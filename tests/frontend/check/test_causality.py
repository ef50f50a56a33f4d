"""Sizes that come into being must do so before what needs them."""

from __future__ import annotations

import pytest

from .checking import check
from .test_errors import refusal


@pytest.mark.parametrize(
    "body",
    [
        "let ys = filter (> 0) xs in map2 (+) ys ys",
        "let ys = filter (> 0) xs in map (\\y -> y + length ys) (copy ys)",
        "(\\ys -> length ys) (filter (> 0) xs)",
        "xs |> filter (> 0) |> map (+ 1)",
    ],
)
def test_sizes_known_in_time(body: str) -> None:
    check(f"def f (xs: []i64) = {body}")


@pytest.mark.parametrize(
    "body",
    ["[] ++ [filter (> 0) xs]", "[] ++ [map (+ 1) (filter (> 0) xs)]"],
)
def test_sizes_that_come_too_late(body: str) -> None:
    fault = refusal(f"def f (xs: []i64) = {body}")
    assert fault.anchor == "causality-check" and fault.location is not None
    assert "filter" in fault.message or "1:" in fault.message


def test_binding_the_size_before_is_the_remedy() -> None:
    check("def f (xs: []i64) = let ys = filter (> 0) xs in [] ++ [ys]")
