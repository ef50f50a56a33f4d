"""Loops over points that are split where a branch depends on the position compute what
the branches do, wherever the bounds are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.interpret import run

HEAD = "entry main [n] (k: i64) (l: i64) (xs: [n]i64): "
PROGRAMS = {
    "below": "[n]i64 = tabulate n (\\i -> if i < k then xs[i] * 3 else xs[i] - l)",
    "up to": "[n]i64 = tabulate n (\\i -> if i <= k then xs[i] * 3 else xs[i] - l)",
    "above": "[n]i64 = tabulate n (\\i -> if i > k then xs[i] * 3 else xs[i] - l)",
    "range": """[n]i64 =
        tabulate n (\\i -> if k <= i && i < l then xs[i] * 3 else xs[i] - 1)""",
    "outside": """[n]i64 =
        tabulate n (\\i -> if i < k || i >= l then xs[i] * 3 else xs[i] - 1)""",
    "shifted": """[n]i64 =
        tabulate n (\\i -> if i + 3 > k && i - 2 <= l then xs[i] * 3 else xs[i] - 1)""",
    "of a far index": """[n]i64 =
        tabulate n (\\i -> if i + 0x7FFFFFFFFFFFFFF0 < k then xs[i] else 1)""",
    "uniform part": """[n]i64 =
        tabulate n (\\i -> if l > 2 && i < k then xs[i] * 3 else xs[i] - l)""",
    "chained": """[n]i64 = tabulate n (\\i ->
        if i < k then xs[i] else if i < l then xs[i] * xs[i] else xs[i] + 1)""",
    "triangle": """[n][n]i64 =
        tabulate_2d n n (\\i j -> if j <= i then xs[j] * 3 else xs[i])""",
    "rows": """[n][n]i64 =
        tabulate_2d n n (\\i j -> if i < k then xs[j] * 3 else xs[i])""",
    "rows around": """[n][n]i64 =
        map2 (map2 (-)) (rotate 1 (replicate n xs)) (replicate n xs |> transpose)""",
    "neighbours": """[n]i64 =
        tabulate n (\\i -> if i > 0 && i < n - 1 then xs[i - 1] - xs[i + 1] else 7)""",
    "may fail": """[n]i64 =
        tabulate n (\\i -> if i >= 1 && i < n - 1 then xs[i - 1] else xs[i + k])""",
    "one point": """[n]i64 = tabulate n (\\i ->
        if i == k then 7 else if l - i == 3 then xs[i] else xs[i - 1 + i64.bool (i < 1)])""",
    "sums at a distance": """[n]i64 = map (\\d ->
        i64.sum (map (\\i -> if i + d < n then xs[i] * xs[i + d] else 0) (iota n)))
        (map (\\i -> if i < 2 then k + l else i % 3) (iota n))""",
    "of bytes": """[n]i64 =
        tabulate n (\\i -> if u8.i64 (i + 250) < u8.i64 k then xs[i] * 3 else xs[i] - 1)""",
    "of bytes as indices": """[n]i64 =
        tabulate n (\\i -> if i64.u8 (u8.i64 (i + 250)) < k then xs[i] else 7)""",
    "of short numbers": """[n]i64 =
        tabulate n (\\i -> if i16.i64 (i + 32760) < i16.i64 k then xs[i] else 7)""",
    "of unsigned numbers": """[n]i64 =
        tabulate n (\\i -> if u64.i64 (i - 5) < u64.i64 k then xs[i] else 7)""",
    "bounds of two scatters": """[n]i64 =
        let (is, js) = unzip (tabulate n (\\i -> (i + k, l - i)))
        in map2 (\\x y -> 7 * x - y) (scatter (copy xs) is (map (* 3) xs))
              (scatter (replicate n 5) js xs)""",
    "bounds that meet": """[n]i64 =
        let (is, js) = unzip (tabulate n (\\i -> (i - k, i + k)))
        in map2 (\\x y -> 7 * x - y) (scatter (copy xs) is (map (* 3) xs))
              (scatter (replicate n 5) js xs)""",
    "falling": "[n]i64 = tabulate n (\\i -> if k - i < l then xs[i] * 3 else xs[i])",
    "reversed": """[n]i64 =
        tabulate n (\\i -> let j = k - i in if j < 0 || j >= n then 0 else xs[j])""",
    "shifted by both": """[n]i64 =
        tabulate n (\\i -> if i + k - l >= 0 && i + l <= 7 then xs[i] else 4)""",
    "by data": """[n]i64 =
        tabulate n (\\i -> if i < xs[0] + 9 then xs[i] * 3 else xs[i] - l)""",
    "checked": """[n]i64 =
        tabulate n (\\i -> if i < k then xs[i] else xs[i - k] + 1)""",
    "checked by data": """[n]i64 =
        tabulate n (\\i -> let w = xs[n / 2] in if i < w then xs[i] else xs[i - w])""",
    "checked sums": "[n]i64 = tabulate n (\\i -> if i < l then 3 else xs[l - k + i + 1])",
    "checked in a loop": """[n]i64 = loop ys = xs for j < 3 do
        tabulate n (\\i -> if i < ys[j] then ys[i] else ys[i - ys[j]] + 1)""",
    "checked in a thread": """[n]i64 = loop ys = copy xs for j < n - 1 do
        tabulate n (\\i -> if i >= k && i < l then ys[i - k + j] else ys[i])""",
    "filter": """[n]i64 = tabulate n (\\i -> i64.sum (tabulate (l & 7) (\\j ->
        let p = i + j - k in if p >= 0 && p < n then xs[p] * (j + 3) else 1)))""",
    "filter by a loop": """[n]i64 = tabulate n (\\i -> loop s = 0 for j < l & 7 do
        let p = i + k - j in if p < 0 || p >= n || xs[p] == 3 then s else s - j * xs[p])""",
    "dilated filter": """[n]i64 = tabulate n (\\i -> i64.sum (tabulate 5 (\\j ->
        let p = i - (4 - j) * k in if p >= 0 && p < n then xs[p] * (j + 3) else l)))""",
    "filter of two distances": """[n]i64 = tabulate n (\\i ->
        loop s = 0 for a < l & 3 do loop s for b in l & 1...6 do
        let p = i + a * k - b * l in if p >= 0 && p < n then s + xs[p] else s * 3)""",
    "filter of rows": """[n][n]i64 = tabulate_2d n n (\\i j ->
        loop s = 0 for a < 3 do loop s for b < l & 3 do
        let (u, v) = (i + a - 1, j + b - k)
        in if u >= 0 && u < n && v >= 0 && v < n then s * 3 + xs[u] - xs[v] else s + 1)""",
    "filter by products": """[n]i64 = tabulate n (\\i -> i64.sum (tabulate (l & 7) (\\j ->
        let p = i + j * (j - k) in if p >= 0 && p < n then xs[p] * (j + 3) else 1)))""",
    "small arrays": """[n]i64 = tabulate n (\\i ->
        let a = if i < k then [xs[i], 1, 2] else [l, 0, xs[i]]
        in (loop a for j < 2 do a with [j] = a[j + 1] * 2)[1])""",
}
FAR = np.iinfo(np.int64)
BOUNDS = [(3, 5), (0, 0), (5, 3), (-4, 100), (FAR.min, FAR.max), (FAR.max, FAR.min)]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: Any) -> None:
    text = HEAD + PROGRAMS[name]
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text, schedule=schedule)
    for n in (0, 1, 2, 40):
        xs = np.arange(n, dtype=np.int64) * 5 - 7
        for bounds in (*BOUNDS, (n - 1, n)):
            given = [*map(np.int64, bounds), xs]
            try:
                wanted = run(core, "main", given)
            except ProgramError as error:
                with pytest.raises(ProgramError) as failure:
                    np.asarray(program.main(*given))
                assert failure.value.message == error.message
            else:
                np.testing.assert_array_equal(program.main(*given), wanted[0])


@pytest.mark.parametrize("name", ["neighbours", "filter", "dilated filter"])
def test_no_branch_is_left_in_the_interior(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    core = stages.to_core(stages.check(Source("program.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    interior = module.split("PARALLEL")[-1].split("store")[0]
    assert "if (" not in interior.split("}")[0]
