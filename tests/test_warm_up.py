"""Kernels are built before the first call."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

SOURCE = """
entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)
entry rows [n][m] (xss: [n][m]i32) (k: i32): [n]i32 = map (reduce (+) k) xss
entry pick [n] (xs: [n]f32) (i: i64): f32 = xs[i + n]
entry pair (p: (i32, bool)): bool = p.1
"""


@pytest.mark.device
def test_later_calls_build_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = minifut.compile(SOURCE)
    assert program.warm_up(n=1000) == ("dot", "pick")  # pick fails, which is no matter
    assert program.warm_up("rows", n=100, m=50) == ("rows",)

    def refuse(*_: object) -> None:
        pytest.fail("a kernel is built")

    monkeypatch.setattr("minifut.opencl.runtime.kernels.build", refuse)
    ones = np.ones(1000, np.float32)
    assert program.dot(ones, ones) == 1000
    assert program.rows(np.ones((100, 50), np.int32), 7).tolist() == [57] * 100


@pytest.mark.parametrize(
    ("entry", "sizes", "words"),
    [
        (None, {"k": 3}, "'k'"),
        ("rows", {"n": 3}, "rows cannot be run ahead of time: give the sizes m"),
        ("pair", {}, "call it with arguments"),
        ("piar", {}, "'piar'"),
        (None, {"n": "a"}, "size n must be an integer from 0, not 'a'"),
        (None, {"n": -1}, "size n must be an integer from 0, not -1"),
    ],
)
def test_wrong_requests(entry: str | None, sizes: dict[str, int], words: str) -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match=words):
        program.warm_up(entry, **sizes)
