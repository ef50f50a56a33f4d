"""Kernels are built before the first call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minifut

SOURCE = """
entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)
entry rows [n][m] (xss: [n][m]i32) (k: i32): [n]i32 = map (reduce (+) k) xss
entry pick [n] (xs: [n]f32) (i: i64): f32 = xs[i + n]
entry powers [n] (x: f32) (k: i64) (xs: [n]f32): [k]f32 =
  map (\\i -> x ** f32.i64 i + f32.sum xs) (iota k)
entry pair (p: (i32, bool)): bool = p.1
"""


@pytest.mark.device
def test_later_calls_build_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = minifut.compile(SOURCE)
    ready = program.warm_up(n=1000)
    assert ready == ("dot", "pick", "powers")  # pick fails, which is no matter
    assert program.warm_up("rows", n=100, m=50) == ("rows",)

    def refuse(*_: object) -> None:
        pytest.fail("a kernel is built")

    monkeypatch.setattr("minifut.opencl.runtime.builds.build", refuse)
    ones = np.ones(1000, np.float32)
    assert program.dot(ones, ones) == 1000
    assert program.rows(np.ones((100, 50), np.int32), 7).tolist() == [57] * 100


@pytest.mark.parametrize(
    ("entry", "sizes", "words"),
    [
        (None, {"q": 3}, "there is no size or scalar parameter 'q'"),
        ({"n": 3}, {}, "there is no entry point"),
        ("rows", {"n": 3}, "rows cannot be run ahead of time: give the sizes m"),
        (None, {}, "dot cannot be .*: give the sizes n; .*; pair .*: call it"),
        (None, {"m": 3}, "rows cannot be run ahead of time: give the sizes n;"),
        ("pair", {}, "call it with arguments"),
        ("piar", {}, "'piar'"),
        (None, {"n": "a"}, "size n must be an integer from 0, not 'a'"),
        (None, {"n": -1}, "size n must be an integer from 0, not -1"),
        (None, {"n": True}, "size n must be an integer from 0, not True"),
        (None, {"n": 3, "k": "x"}, "k"),
    ],
)
def test_wrong_requests(
    entry: str | None, sizes: dict[str, object], words: str
) -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match=words):
        program.warm_up(entry, **sizes)


def test_scalars_by_the_names_of_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scalar may be a size inside, on which the version depends."""
    program = minifut.compile(SOURCE, backend="interpreter")
    seen = []
    point = program.entries["powers"]
    spied = replace(point, function=lambda *given: seen.append(given[:2]))
    monkeypatch.setitem(program.entries, "powers", spied)
    assert program.warm_up("powers", n=10, k=500) == ("powers",)
    assert program.warm_up("powers", n=10, x=0.5) == ("powers",)
    assert seen == [(1, 500), (0.5, 1)]


@pytest.mark.parametrize(
    "backend", ["interpreter", pytest.param("opencl", marks=pytest.mark.device)]
)
def test_a_size_that_is_guessed_is_told(
    caplog: pytest.LogCaptureFixture, backend: str
) -> None:
    program = minifut.compile(SOURCE, backend=backend)
    program.warm_up("powers", n=3, x=0.5, k=4)
    program.warm_up("rows", n=3, m=4)  # k is no size there
    assert not caplog.messages
    program.warm_up("powers", n=3)
    (message,) = caplog.messages
    assert "runs powers with k = 1, which is a size of its result" in message
    assert "give warm_up(n, k=..)" in message


def test_sizes_beyond_memory() -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(
        MemoryError, match=f"no memory for xss: {1 << 50}x{1 << 20} int"
    ):
        program.warm_up("rows", n=1 << 50, m=1 << 20)
