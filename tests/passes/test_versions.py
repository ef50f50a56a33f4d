"""Versions: each one, forced by its threshold, gives the same results."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir import kernels
from minifut.ir.core import Program
from minifut.ir.dialect import SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import names_after
from minifut.ir.printer import show
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.flatten.version_names import DEEPEST, MOST
from minifut.passes.pipelines import DEFAULT, FULL, MODERATE, run_pipeline
from tests.passes.meaning import assert_same, outcome
from tests.passes.random_programs import random_program

HUGE = 1 << 60

WORKED = """
def main [m] (n: i32) (pss: [m][m]i32) : ([m][m][m]i32, [m][m]i32) =
  unzip (map (\\(ps: [m]i32) ->
    let ass = map (\\(p: i32): [m]i32 ->
      let cs = scan (+) 0 (iota (i64.i32 p))
      let r = reduce (+) 0 cs
      in map (+ i32.i64 r) ps) ps
    let bs = loop ws = ps for _i < n do
      map2 (\\as w ->
        let d = reduce (+) 0 as
        let e = d + w
        in 2 * e) ass ws
    in (ass, bs)) pss)
"""
"""the example of the slides, (a) to (h)"""

SOURCES: dict[str, tuple[str, list[Any]]] = {
    "worked": (WORKED, [np.int32(3), np.array([[3, 1], [0, 2]], np.int32)]),
    "normalised rows": (
        "def main [n][m] (xss: [n][m]i64) = "
        "map (\\xs -> let s = reduce (+) 0 xs in map (+ s) xs) xss",
        [np.arange(12).reshape(3, 4)],
    ),
    "three scans": (
        """
def main [n][m][k] (xsss: [n][m][k]i64) =
  map (map (\\xs -> let a = scan (+) 0 xs
                   let b = scan i64.max i64.lowest (map (% 3) a)
                   in scan (*) 1 b)) xsss""",
        [np.arange(24).reshape(2, 3, 4)],
    ),
    "a branch": (
        """
def main [n][m] (c: bool) (xss: [n][m]i64) =
  map (\\xs -> let s = if c then scan (+) 0 xs else map (* 2) xs
              in (reduce (+) 0 s, xs)) xss""",
        [np.True_, np.arange(12).reshape(3, 4)],
    ),
    "a loop that starts the same": (
        """
def main [n][m] (k: i64) (xss: [n][m]i64) =
  map (\\xs -> loop (acc, ys) = (0, replicate m 1) for i < k do
                let zs = map2 (\\x y -> x + y + i) xs ys
                in (acc + reduce (+) 0 zs, scan (+) 0 zs)) xss""",
        [np.int64(3), np.arange(12).reshape(3, 4)],
    ),
    "checks": (
        """
def main [n][m] (is: [n]i64) (xss: [n][m]i64) =
  map (\\i -> let row = xss[i]
             let s = reduce (+) 0 row
             let t = row[s % m]
             in map (+ t) row) is""",
        [np.array([0, 2, 1]), np.arange(12).reshape(3, 4)],
    ),
    "a factorisation by a loop": (
        """
def main [n] (a: *[n][n]f64) =
  loop a for k < n - 1 do
    let m = n - k - 1
    let col = map (/ a[k, k]) a[k + 1:, k] :> [m]f64
    let row = copy a[k, k + 1:] :> [m]f64
    let sub = a[k + 1:, k + 1:] :> [m][m]f64
    let new = map2 (\\l r -> map2 (\\u x -> x - l * u) row r) col sub
    let a[k + 1:, k] = col
    let a[k + 1:, k + 1:] = new
    in a""",
        [np.array([[4.0, 1, 2], [2, 5, 1], [1, 3, 8]])],
    ),
    "a loop until nothing changes": (
        """
def main [n] (next: [n]i64) =
  let (found, rounds, _) =
    loop (label, k, go) = (iota n, 0i64, true) while go do
      let least = map2 (\\i l -> i64.min l label[next[i]]) (iota n) label
      in (least, k + 1, any id (map2 (!=) least label))
  in (found, rounds)""",
        [np.array([1, 2, 3, 0, 5, 4])],
    ),
    "a loop of loops": (
        """
def main [n] (d: i64) (xs: [n]i64) =
  loop (xs: [n]i64) = xs for i < d do
    loop (xs: [n]i64) = xs for j < i + 1 do
      map (\\t -> i64.max xs[t] xs[(t + i - j) % n]) (iota n)""",
        [np.int64(3), np.array([3, 1, 4, 1, 5])],
    ),
    "a scatter": (
        """
def main [n][m] (xss: [n][m]i64) =
  map (\\xs -> let s = reduce (+) 0 xs
              let is = map (\\x -> (x + s) % m) xs
              in scatter (replicate m s) is xs) xss""",
        [np.arange(8).reshape(2, 4)],
    ),
    "work in one thread between": (
        """
def main [n][m] (xss: [n][m]i64) =
  map (\\xs -> let s = reduce (+) 0 xs
              let c = loop c = s while c > 10 do c / 2
              let ys = loop ys = copy xs for i < m do ys with [i] = ys[i] + c
              in map2 (+) ys (scan (+) 0 xs)) xss""",
        [np.arange(12).reshape(3, 4)],
    ),
}


def compiled(text: str, steps: Any = DEFAULT) -> tuple[Program, Program]:
    """The program before and after the passes."""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    return core, run_pipeline(core, names_after(core), steps=steps)


def thresholds(program: Program) -> list[str]:
    return [
        node.threshold.name
        for node in walk(program)
        if isinstance(node, kernels.AtLeast)
    ]


def kernels_of(program: Program) -> list[str]:
    kinds = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)
    return [
        f"{type(node).__name__}{'' if node.level == kernels.GRID else f' {node.level}'}"
        f"({', '.join(map(show, node.space.sizes))})"
        for node in walk(program)
        if isinstance(node, kinds)
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_each_combination_of_versions_agrees(name: str) -> None:
    text, arguments = SOURCES[name]
    before, after = compiled(text)
    expected = outcome(before, arguments)
    assert not isinstance(expected, str)
    names = thresholds(after)
    assert names and len(set(names)) == len(names)
    for chosen in itertools.product((0, HUGE), repeat=len(names)):
        parameters = dict(zip(names, chosen, strict=True))
        given = [np.copy(a) for a in arguments]
        assert_same(expected, run(after, "main", given, parameters), str(parameters))


def test_a_failing_check_fails_in_each_version() -> None:
    text, _ = SOURCES["checks"]
    _, after = compiled(text)
    for columns in (4, 0):
        for chosen in (0, HUGE):
            parameters = dict.fromkeys(thresholds(after), chosen)
            with pytest.raises(ProgramError, match=r"out of bounds|by zero"):
                xss = np.ones((2, columns), np.int64)
                run(after, "main", [np.array([0, 9]), xss], parameters)


@pytest.mark.parametrize("seed", range(200, 240))
def test_random_programs_agree_in_both_versions(seed: int) -> None:
    program = random_program(seed, statements=10)
    verify(program, SOACS)
    random = np.random.default_rng(seed)
    after = run_pipeline(program, names_after(program))
    for n, m in ((0, 2), (1, 0), (3, 5)):
        given = [
            random.integers(-3, 6, (n,)),
            random.integers(-3, 6, (n, m)),
            np.int64(random.integers(-3, 6)),
        ]
        expected = outcome(program, given)
        for chosen in (0, HUGE):
            parameters = dict.fromkeys(thresholds(after), chosen)
            copies = [np.copy(a) for a in given]
            assert_same(expected, run(after, "main", copies, parameters), str(chosen))


def test_the_worked_example_becomes_its_four_kernels() -> None:
    _, after = compiled(WORKED, FULL)
    assert kernels_of(after) == [
        "SegMap(m, m)",
        "SegMap(m, m, m)",
        "SegRed(m, m, m)",
        "SegMap(m, m)",
    ]


def test_moderate_flattening_of_it_is_one_kernel() -> None:
    assert kernels_of(compiled(WORKED, MODERATE)[1]) == ["SegMap(m)"]


def test_thresholds_are_named_by_function_and_nest() -> None:
    assert thresholds(compiled(WORKED)[1]) == [
        "main.map_map_loop.outer",
        "main.map_map_loop.intra",
        "main.map_map_loop.map_scan_reduce_map.outer",
        "main.map_map_loop.map_reduce.outer",
        "main.map_map_loop.map_reduce.intra",
    ]


def test_an_edit_elsewhere_renames_nothing() -> None:
    text, _ = SOURCES["normalised rows"]
    other = f"entry other [n] (x: [n][n]i64) = map (reduce (+) 0) x\n{text}"
    known = set(thresholds(compiled(text)[1]))
    assert known < set(thresholds(compiled(other)[1]))


@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        ("sequential_inner", ["SegMap(n)"]),
        (
            "flattening(no_outer)",
            [
                *("SegMap group(n)", "SegRed thread(m)", "SegMap thread(m)"),
                *("SegRed(n, m)", "SegMap(n, m)"),
            ],
        ),
        ("flattening(no_intra)", ["SegMap(n)", "SegRed(n, m)", "SegMap(n, m)"]),
        (
            "flattening(only_intra)",
            ["SegMap group(n)", "SegRed thread(m)", "SegMap thread(m)"],
        ),
        ("flattening(only_outer)", ["SegMap(n)"]),
        ("incremental_flattening(only_inner)", ["SegRed(n, m)", "SegMap(n, m)"]),
    ],
)
def test_attributes_decide(attribute: str, wanted: list[str]) -> None:
    text, _ = SOURCES["normalised rows"]
    text = text.replace("map (\\xs", f"#[{attribute}] map (\\xs")
    assert kernels_of(compiled(text)[1]) == wanted


def test_choices_are_bounded() -> None:
    dimensions = "abcdefg"
    inner = "map (+ 1) x"
    for _ in dimensions[1:]:
        inner = (
            f"let s = x[0] in map (\\x -> {inner}) (map id x) |> reverse |> rotate 1"
        )
    sizes = "".join(f"[{c}]" for c in dimensions)
    text = f"def main {sizes} (x: {sizes}i64) = {inner}"
    names = thresholds(compiled(text)[1])
    assert 0 < len(names) <= MOST
    assert max(name.count(".") for name in names) <= DEEPEST + 1
