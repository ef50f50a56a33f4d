"""Scans and sums within the maps that read them: meaning, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import ProgramError
from minifut.ir.core import Program
from minifut.ir.interpret import run
from minifut.ir.kernels import SegMap, SegRed, SegScan
from minifut.ir.parser import names_after, parse_program
from minifut.ir.printer import show
from minifut.ir.traverse import walk
from minifut.passes import scan_of_map
from minifut.passes.fuse_scans import fuse_scans
from tests.ir.programs import KERNELS_TEXT
from tests.passes.meaning import assert_same, outcome
from tests.passes.test_versions import compiled

FUSED = {
    "filter": "def main [n] (xs: [n]i64) = filter (\\x -> x % 3 == 0) xs",
    "partition": "def main [n] (xs: [n]i64) = partition (\\x -> x % 3 == 0) xs",
    "partition into three": """
def main [n] (xs: [n]i64) = partition2 (\\x -> x % 3 == 0) (\\x -> x % 3 == 1) xs""",
    "up to a number": """
def main [n] (xs: [n]i64) = filter (\\i -> i % 3 == 0) (iota (n + 1))""",
    "of a constant size": """
def main [n] (xs: [n]i64) = filter (\\i -> i % 7 < n) (iota 100)""",
    "one bit": """
def main [n] (xs: [n]i64) =
  let ones = map (& 1) xs
  let zeros = map (1 -) ones
  let before = map2 (*) zeros (scan (+) 0 zeros)
  let behind = map2 (*) ones (map (+ i64.sum zeros) (scan (+) 0 ones))
  in scatter (copy xs) (map (\\x -> x - 1) (map2 (+) before behind)) xs""",
    "digits, and their counts after the scatter": """
def main [n] (xs: [n]i64) =
  let flags = map (\\x -> (i64.bool (x % 3 == 0), i64.bool (x % 3 == 1))) xs
  let ends = scan (\\(a, b) (c, d) -> (a + c, b + d)) (0, 0) flags
  let (na, nb) = if n == 0 then (0, 0) else ends[n - 1]
  let place x i (a, b) =
    if x % 3 == 0 then a - 1 else if x % 3 == 1 then na + b - 1 else na + nb + i - a - b
  let sorted = scatter (copy xs) (map3 place xs (iota n) ends) xs
  let last = if n == 0 then 0 else (ends[n - 1]).0
  in (sorted, last + 2 * nb)""",
    "starts of runs": """
def main [n] (xs: [n]i64) =
  filter (\\i -> i == 0 || xs[i] / 4 != xs[i - 1] / 4) (iota n)""",
    "a product of two, with gaps": """
def main [n] (xs: [n]i64) (ys: *[n]i64) =
  let (ends, most) = scan (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, i64.lowest)
                          (map (\\x -> (x & 1, x)) xs) |> unzip
  in scatter ys (map2 (\\e x -> if x & 1 == 1 then 2 * e - 1 else -7) ends xs) most""",
    "the sum itself": """
def main [n] (xs: [n]i64) =
  scatter (copy xs) (scan (+) 0 (map (& 3) xs)) (map (\\_ -> i64.minimum xs) xs)""",
    "lookups by what is scanned": """
def main [n] (xs: [n]i64) =
  let starts = map2 (\\x i -> if x % 3 == 0 then i else 0) xs (iota n)
  in map (\\i -> xs[i] + 1) (scan i64.max 0 starts)""",
    "means up to each": """
def main [n] (xs: [n]i64) =
  map2 (\\s i -> s / (i + 1)) (scan (+) 0 xs) (iota n)""",
    "above all before": """
def main [n] (xs: [n]i64) =
  let most = scan i64.max i64.lowest xs
  in map (\\i -> i == 0 || xs[i] > most[i - 1]) (iota n)""",
    "the greatest before, and the mapped element": """
def main [n] (xs: [n]i64) =
  let ys = map (\\x -> x * x % 17) xs
  let most = scan i64.max 0 ys
  in map (\\i -> if i > 0 then (most[i - 1], ys[i] < most[i]) else (-1, false)) (iota n)
     |> unzip""",
    "linear functions": """
def main [n] (xs: [n]i64) =
  let after (a, b) (c, d) = (a * c, b * c + d)
  let (_, ys) = scan after (1, 0) (map (\\x -> (x % 3, x)) xs) |> unzip
  in map2 (\\y x -> y - x) ys xs""",
    "parts of the sum": """
def main [n] (xs: [n]i64) =
  let s = scan (+) 0 (map (\\x -> x & 7) xs)
  in map (\\x -> 1000 * x - 7 * s[n - 1]) s""",
    "returned with its differences": """
def main [n] (xs: [n]i64) =
  let s = scan (+) 0 xs
  in (s, map (\\i -> if i == 0 then s[i] else s[i] - s[i - 1]) (iota n))""",
    "depth of brackets": """
def main [n] (xs: [n]i64) =
  let opens x = x & 1 == 0
  let depth = scan (+) 0 (map (\\x -> if opens x then 1 else -1) xs)
  in map2 (\\d x -> if opens x then d else d + 1) depth xs""",
}
"""programs of which no scan stays behind"""

KEPT = {
    "a filter by sums, which are their own": """
def main [n] (xs: [n]i64) =
  let m = n / 2
  in filter (\\i -> i64.sum xs[i:i + m] % 3 == 0) (iota (n - m + 1))""",
    "segments by flags": """
def main [n] (xs: [n]i64) =
  let add (f, a) (g, b) = (f || g, if g then b else a + b)
  let (_, sums) = scan add (false, 0) (map (\\x -> (x % 5 == 0, x)) xs) |> unzip
  let ends = scan (+) 0 (map (\\x -> i64.bool (x % 5 == 0)) xs)
  let places = map2 (\\e x -> if x % 5 == 0 then e - 1 else -1) ends xs
  in scatter (replicate n 0) places sums""",
    "read elsewhere": """
def main [n] (xs: [n]i64) =
  let ends = scan (+) 0 (map (& 1) xs)
  let place i = if xs[i] & 1 == 1 then ends[n - 1] - ends[n - 1 - i] + i else -1
  in scatter (copy xs) (map place (iota n)) (replicate n 7)""",
    "returned, too": """
def main [n] (xs: [n]i64) =
  let ends = scan (+) 0 (map (& 1) xs)
  let places = map2 (\\e x -> if x & 1 == 1 then e - 1 else -1) ends xs
  in (ends, scatter (copy xs) places xs)""",
    "at the second to last point before": """
def main [n] (xs: [n]i64) =
  let s = scan (+) 0 xs
  in map (\\i -> if i < 2 then s[i] else s[i] - s[i - 2]) (iota n)""",
    "of elements at loaded places": """
def main [n] (xs: [n]i64) =
  let s = scan (+) 0 (map (\\x -> if n > 0 then xs[x % n] else 0) xs)
  in map2 (-) s xs""",
    "a scan of a scan": """
def main [n] (xs: [n]i64) =
  let ends = scan (+) 0 (scan i64.max 0 (map (& 1) xs))
  in scatter (copy xs) (map2 (+) ends (iota n)) xs""",
    "a scan by a reduction": """
def main [n] (xs: [n]i64) =
  let least = reduce i64.min 9 xs
  in partition (> least) xs""",
    "a scan by reductions of several, and by its own total": """
def main [n] (xs: [n]i64) =
  let (least, most) = (reduce i64.min 9 xs, reduce i64.max 0 xs)
  let (_, above, below) = partition2 (\\x -> x == least || x == most) (> least + 5) xs
  in filter (> i64.sum above) (above ++ below)""",
    "what a scan maps, elsewhere in another one": """
def main [n] (xs: [n]i64) =
  let flags = map2 (!=) xs (rotate (-1) xs)
  let add (v, f) (w, g) = (if g then w else v + w, f || g)
  let (sums, _) = unzip (scan add (0, false) (zip (replicate n 1i64) flags))
  let (counts, runs, _) = unzip3 (filter (.2) (zip3 sums xs (rotate 1 flags)))
  in (counts, runs)""",
}
"""those of which one does"""


def scheduled(source: str) -> tuple[Program, Program]:
    """The program before and after the pass."""
    _, before = compiled(source)
    return before, fuse_scans(before, names_after(before))


def inputs(source: str, n: int) -> list[Any]:
    draw = np.random.default_rng(n)
    count = source.count("*[n]i64)") + 1
    return [draw.integers(-50, 50, n) for _ in range(count)]


def on_grid(program: Program) -> list[object]:
    """The scans and sums that are kernels of their own."""
    maps = [node for node in walk(program) if isinstance(node, SegMap)]
    seen = [node.scan for node in maps]
    folds = [n for n in walk(program) if isinstance(n, SegScan | SegRed)]
    return [fold for fold in folds if fold not in seen]


@pytest.mark.sweep
@pytest.mark.parametrize("name", FUSED | KEPT)
@pytest.mark.parametrize("n", [0, 1, 7, 64, 100])
def test_the_meaning_stays(name: str, n: int) -> None:
    source = (FUSED | KEPT)[name]
    before, after = scheduled(source)
    given = inputs(source, n)
    assert_same(outcome(before, given), outcome(after, given), name)
    again = parse_program(show(after, renumber=False))
    assert_same(outcome(before, given), outcome(again, given), name)


@pytest.mark.parametrize("name", FUSED)
def test_nothing_is_stored_between(name: str) -> None:
    _, after = scheduled(FUSED[name])
    assert on_grid(after) == []


@pytest.mark.parametrize("name", KEPT)
def test_what_is_needed_stays(name: str) -> None:
    _, after = scheduled(KEPT[name])
    assert on_grid(after)


def test_the_scan_of_a_filter_over_a_computed_range_is_not_kept() -> None:
    _, after = scheduled(KEPT["a filter by sums, which are their own"])
    assert not any(isinstance(fold, SegScan) for fold in on_grid(after))


def results_of(outcome: Any) -> list[np.ndarray]:
    every = outcome if isinstance(outcome, tuple) else (outcome,)
    return [np.asarray(each) for each in every]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("name", FUSED | KEPT)
def test_the_device_agrees(name: str) -> None:
    source = (FUSED | KEPT)[name]
    text = source.replace("def main", "entry main")
    program = minifut.compile(text, schedule="cpu")
    oracle = minifut.compile(text, backend="sequential")
    _, before = compiled(source)
    for n in (0, 1, 63, 40_000, 70_001):
        given = inputs(source, n)
        expected = results_of(oracle.main(*map(np.copy, given)))
        if n < 100:
            walked = run(before, "main", [np.copy(a) for a in given])
            sized = [np.asarray(e) for e in walked][-len(expected) :]
            for one, other in zip(expected, sized, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{name} {n}")
        found = results_of(program.main(*given))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other, err_msg=f"{name} {n}")


LOOKUPS = """
entry main [n] [m] (values: [m]i32) (marks: [n]i64): [n]i32 =
  map (\\i -> values[i]) (scan i64.max 0 marks)"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_checks_of_what_is_scanned_fail(schedule: str) -> None:
    program = minifut.compile(LOOKUPS, schedule=schedule)
    values = np.arange(50, dtype=np.int32) * 3
    for n in (1, 70, 1000, 300_000):
        marks = np.arange(n) * 49 // n * (np.arange(n) % 2)
        wanted = values[np.maximum.accumulate(marks)]
        for at in (0, n // 3, n - 1):
            np.testing.assert_array_equal(program.main(values, marks), wanted)
            wrong = marks.copy()
            wrong[at] = 50
            with pytest.raises(ProgramError, match="50"):
                program.main(values, wrong)


def test_sizes_are_found_for_maps_with_scans_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(scan_of_map, "sizes_by_name")
    program = parse_program(KERNELS_TEXT)
    names = names_after(program)
    assert fuse_scans(program, names) is program
