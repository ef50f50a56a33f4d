"""Launches set each argument once, with the value and the type that the kernel has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime import enqueue
from minifut.opencl.runtime.enqueue import ARGUMENTS, enqueue_text

TEXT = """
entry main [n] (a: i8) (b: u16) (c: u64) (d: f32) (e: bool) (h: f16) (xs: [n]f64) =
  map (\\x -> x + f64.i8 a + f64.u16 b + f64.u64 c + f64.f32 d + f64.bool e + f64.f16 h)
      xs
"""


def test_the_text_of_a_launch() -> None:
    text = enqueue_text(("i64", "buffer", "f16", "local", "bool"))
    assert text.split("def start_here")[0] == (
        "def set_arguments(a1, a2, a3, a4, a5):\n"
        "    set_numbers((1, b'l', a1, 3, b'f', a3, 5, b'B', a5, ))\n"
        "    set_objects((2, a2, 4, a4, ))\n"
        "def enqueue(queue, sizes, local, a1, a2, a3, a4, a5):\n"
        "    set_numbers((1, b'l', a1, 3, b'f', a3, 5, b'B', a5, ))\n"
        "    set_objects((2, a2, 4, a4, ))\n"
        "    return start(queue, kernel, sizes, local, None, None, False, False)\n"
    )
    plain = enqueue_text(("i64", "buffer"), plain=True)
    assert "    set_argument(1, int64(a1))\n    set_argument(2, a2)\n" in plain


@pytest.mark.device
@pytest.mark.parametrize("plain", [False, True])
def test_arguments_of_all_types_arrive(
    plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by what older releases of pyopencl have, and in both ways to launch."""
    text = enqueue.enqueue_text
    monkeypatch.setattr(enqueue, "enqueue_text", lambda types, _: text(types, plain))
    enqueue._code.cache_clear()
    program = minifut.compile(TEXT + f"-- plain: {plain}")
    for n in (0, 3, 1 << 20):
        xs = np.arange(n, dtype=np.float64)
        numbers: tuple[Any, ...] = (-3, 65535, 1 << 40, 0.5, True, 0.25)
        for _ in range(2):
            found = program.main(*numbers, xs)
            assert np.array_equal(found, xs + sum(map(float, numbers)))
    enqueue._code.cache_clear()
    assert set(ARGUMENTS) >= {"i8", "u64", "f64", "bool", "buffer", "local"}
