"""Loops over points in blocks of a period compute what the points do, wherever blocks
begin and end and whatever the period is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.interpret import run
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes import strip_mine
from minifut.kernel_passes.context import CodeContext
from minifut.names import NameSource
from minifut.rewrite.rule import Declined

HEAD = "entry main [n] (w: i64) (v: i64) (xs: [n]i64): []i64 = "
PROGRAMS = {
    "quotient": "tabulate n (\\i -> xs[i / w] + i)",
    "remainder": "tabulate n (\\i -> xs[i % w] * v)",
    "truncated": "tabulate n (\\i -> xs[i // w] - xs[i %% w])",
    "both": "tabulate n (\\i -> xs[i % w] - xs[i / w])",
    "flat stencil": """tabulate n (\\i ->
        let (row, column) = (i / w, i % w)
        in if row >= 1 && column >= 1 && column < w - 1
           then xs[i - 1] + xs[i + 1] * xs[i - w] else xs[i])""",
    "flat cube": "tabulate n (\\i -> xs[i % v % w] * 2 + (i / v) * (i % v / w))",
    "transposed": "tabulate n (\\i -> xs[(i % w) * (n / w) + i / w])",
    "partner": "tabulate n (\\i -> xs[i ^ w])",
    "pair": """tabulate n (\\i ->
        if i & w == 0 then i64.min xs[i] xs[i | w] else i64.max xs[i] xs[i ^ w])""",
    "pair by another bit": """tabulate n (\\i ->
        let (a, b) = (xs[i], xs[i ^ w])
        in if (i & v == 0) == (i & w == 0) then i64.min a b else i64.max a b)""",
    "pair by a shifted bit": """tabulate n (\\i ->
        let (a, b) = (xs[i], xs[i ^ w])
        let up = (i >> v) & 2 == 0
        in if i & w == 0 then if up == (a <= b) then a else b
           else if up == (b <= a) then a else b)""",
    "pair by order": """tabulate n (\\i ->
        let l = i ^ w
        in if (i & v == 0) == (i < l) then i64.min xs[i] xs[l] else i64.max xs[i] xs[l])""",
    "pair in branches": """tabulate n (\\i ->
        let l = i ^ w
        in if l > i then if i & v == 0 then i64.min xs[i] xs[l] else xs[l] - xs[i]
           else if i & v == 0 then i64.max xs[i] xs[l] else xs[i])""",
    "orders": """tabulate n (\\i ->
        i64.bool (i <= i ^ w) + 2 * i64.bool ((i | w) > i) + 4 * i64.bool (i >= i | w)
        + 8 * i64.bool (i ^ w < i) + 16 * i64.bool ((i | w) <= i) + xs[i ^ w])""",
    "bits and their values": """tabulate n (\\i ->
        xs[i ^ w] * ((i >> v) & 4) + (i & v) + ((i >> v) & 3))""",
    "bit": "tabulate n (\\i -> if i & w == 0 then xs[i] else v * (i | w))",
    "two periods": "tabulate n (\\i -> xs[i % w] + xs[i ^ v] - i / w * v)",
    "inner": "flatten (tabulate_2d 3 n (\\k i -> xs[i % w] * k + i / w))",
    "beside": "tabulate n (\\i -> xs[i % w] + (v + i) % w + v % (i + 1))",
    "in threads": """flatten (map (\\k -> loop ys = map (+ k) xs for j < 3 do
        tabulate n (\\i -> let (q, r) = (i / w, i % w)
                          in if r < v then ys[q * w + r] * j else ys[q] - ys[r] + i))
        (iota 3))""",
    "bins of blocks": """
        let p = tabulate n (\\i -> (i / w, i % w, xs[i] + i % w * 2 - i / w))
        let f a b = (i64.min a.0 b.0, a.1 + b.1)
        let q = reduce_by_index (replicate 50 (n, 0)) f (n, 0)
                                (map (.2) p) (map (\\(i, j, _) -> (i, j)) p)
        in map (\\(i, j) -> i * 1000 + j) q""",
    "kept of blocks": """
        map (\\(i, j) -> i * 1000 + j)
          (filter (\\(i, j) -> (i ^ j) & 1 == v & 1) (tabulate n (\\i -> (i / w, i % w))))""",
    "bins by functions": """
        let b = tabulate n (\\i -> i64.f64 (f64.sqrt (f64.i64 (i % w * (i / w)))))
        in hist (+) 0 40 b (map (const 1) b)""",
    "many": "tabulate (n * 70) (\\i -> i % w * v + i / w)",
}
PERIODS = [(32, 64), (64, 33), (33, 128), (40, 32), (31, 8), (1, 0), (4096, 40)]
SHORT = [(8, 16), (16, 8), (4, 64), (8, 3), (2, 0), (64, 4), (1, 62), (8, 63)]
ODD = [(0, 32), (-32, 32), (96, -64), (1 << 62, 32), (-(1 << 63), 1 << 60)]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text)
    for n in (0, 1, 128, 150):
        xs = np.arange(n, dtype=np.int64) * 5 - 7
        for periods in (*PERIODS, *SHORT, *ODD, (n, n - 1)):
            given: list[Any] = [*map(np.int64, periods), xs]
            try:
                wanted = run(core, "main", given)
            except ProgramError as error:
                with pytest.raises(ProgramError) as failure:
                    np.asarray(program.main(*given))
                assert (
                    failure.value.message.split("[")[0] == error.message.split("[")[0]
                )
            else:
                np.testing.assert_array_equal(program.main(*given), wanted[0])


def _module(body: str) -> str:
    core = stages.to_core(stages.check(Source("program.fut", HEAD + body)))
    return stages.to_host_module(stages.to_kernels(core), "cpu", "program")


def test_blocks_have_neither_divisions_nor_branches() -> None:
    body = "tabulate n (\\i -> if i & v == 0 then i | v else #[unsafe] xs[i ^ v])"
    blocks = _module(body).split("while (at_1 < stop)")[1].split("at_1 = end")[0]
    assert blocks.count("PARALLEL") == 2
    loops = blocks.split("PARALLEL")[1:]
    assert not any("if (" in loop.split("else")[0] or "^" in loop for loop in loops)


@pytest.mark.parametrize("test", ["i & 3", "(i >> 2) & 1"])
def test_constant_bits_leave_blocks_long(test: str) -> None:
    body = f"tabulate n (\\i -> xs[i ^ w] * ({test}))"
    assert "tested" not in _module(body) and "while" in _module(body)


@pytest.mark.parametrize("body", ["tabulate n (\\i -> i & w)", "map (% w) xs"])
def test_loops_without_gain_stay_whole(body: str) -> None:
    assert "period" not in _module(body) and "while" not in _module(body)


def test_calls_are_not_looked_for_without_a_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(strip_mine, "calls_functions")
    k = CodeBuilder(NameSource(1), "points")
    with k.loop("i", 100) as i:
        k.declare("x", i + 1)
    outcome = strip_mine.strip_mine_by_period(k.statements[-1], CodeContext(k))
    assert isinstance(outcome, Declined)
