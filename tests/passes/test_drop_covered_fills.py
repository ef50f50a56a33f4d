"""Arrays whose fills are dropped have all elements written; others keep their fill."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.interpret import run
from minifut.ir.printer import show

HEAD = "entry main [h] (n: i64) (s: i64) (t: i64) (xs: [h]i64): []i64 = "
INTERLEAVED = """
    let b = 1 << (s & 7)
    let all = replicate n (-1)
    let (is, js, ys, zs) = unzip4 (tabulate h (\\i ->
        let d = i / b * b * 2 + i % b in (d, d + b, xs[i] * 10, xs[i] + 7)))
    in scatter (scatter all is ys) js zs"""
PROGRAMS = {
    "pairs": """scatter (scatter (replicate n (-1)) (map (* 2) (iota h)) xs)
                        (map (\\i -> i * 2 + 1) (iota h)) (map (+ 5) xs)""",
    "blocks": INTERLEAVED,
    "truncated": INTERLEAVED.replace("%", "%%").replace("i / b", "i // b"),
    "backwards": "scatter (replicate n (-1)) (map (\\i -> t - i) (iota h)) xs",
    "transposed": "scatter (replicate n (-1)) (map (\\i -> i % s * t + i / s) (iota h)) xs",
    "as it is": "scatter (replicate n (-1)) (iota h) xs",
}
OTHERS = {
    "every second": "scatter (replicate n (-1)) (map (* 2) (iota h)) xs",
    "two of three": """let places c = map (\\i -> i * 3 + c) (iota h)
        in scatter (scatter (replicate n (-1)) (places 0) xs) (places 2) xs""",
    "the same twice": """let places = map (\\i -> i * 2) (iota h)
        in scatter (scatter (replicate n (-1)) places xs) places (map (+ 1) xs)""",
    "blocks of another length": """let places c = map (\\i -> i / s * s * 2 + i % s + c * t) (iota h)
        in scatter (scatter (replicate n (-1)) (places 0) xs) (places 1) xs""",
    "given": "scatter (replicate n (-1)) xs xs",
}
SIZES = [0, 1, 6, 24, 600]


def _kernels(name: str) -> str:
    text = HEAD + {**PROGRAMS, **OTHERS}[name]
    return show(stages.to_kernels(stages.to_core(stages.check(Source("p.fut", text)))))


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    text = HEAD + {**PROGRAMS, **OTHERS}[name]
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text, schedule=schedule)
    for h in SIZES:
        for n in (h, 2 * h, 3 * h, h + 1):
            for s, t in ((1, h - 1), (2, h // 2), (3, h // 3), (h, 1), (0, 4), (-2, 3)):
                if s == 0 and ("/ s" in text or "% s" in text):
                    continue
                given = [*map(np.int64, (n, s, t)), np.arange(h, dtype=np.int64) * 3]
                (wanted,) = run(core, "main", given)
                np.testing.assert_array_equal(program.main(*given), wanted)


@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_only_covered_fills_are_dropped(name: str) -> None:
    assert ("scratch(i64, [n])" in _kernels(name)) == (name in PROGRAMS)


def test_chains_of_definitions_are_read_once() -> None:
    links = "".join(f"let x{k + 1} = (x{k} ^ x{k}) + x{k} * x{k}\n" for k in range(40))
    body = f"tabulate h (\\i -> let x0 = i + s\n{links} in x40)"
    text = HEAD + f"scatter (replicate n 0) ({body}) xs"
    core = stages.to_core(stages.check(Source("p.fut", text)))
    assert "scratch(i64, [n])" not in show(stages.to_kernels(core))
