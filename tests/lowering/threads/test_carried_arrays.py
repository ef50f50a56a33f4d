"""Arrays that a loop inside a thread passes on from one parameter to another."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

LOOP = """
entry main [k] (xss: [k][5]i32) =
  #[sequential_inner]
  map (\\xs -> let made {names} = map3 (\\x y z -> x + 2 * y - z) {names}
               in loop (a, b, c) = (xs, map (* 3) xs, map (+ 7) xs) for _i < 4 do
                    {results}) xss |> unzip3
"""
RESULTS = {
    "along": "(b, c, made a b c)",
    "against": "(made a b c, a, b)",
    "exchanged": "(b, a, made a b c)",
    "in a circle": "(c, a, b)",
    "reversed": "(reverse a, c, made a b c)",
    "one twice": "(b, b, made a b c)",
    "parts": "(rotate 1 b, rotate 2 a, made a b c)",
}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    text = LOOP.format(names="a b c", results=RESULTS[name])
    oracle = interpreted_program(stages.to_core(stages.check(Source("c.fut", text))))
    program = minifut.compile(text, schedule=schedule)
    xss = np.random.default_rng(3).integers(-9, 9, (37, 5)).astype(np.int32)
    for one, other in zip(program.main(xss), oracle.main(xss), strict=True):
        np.testing.assert_array_equal(one, other)


def test_arrays_that_are_passed_on_need_no_temporary() -> None:
    text = """
      entry main [n] (xs: [n]i32) =
        (loop (before, now) = (xs, xs) for d < n do
           (now, map (\\i -> before[(i + d) % n] + now[i]) (iota n))).1"""
    core = stages.to_core(stages.check(Source("c.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "c")
    assert "temporary" not in module


IN_ROWS = """
entry main [n] (xs: [n]i32) (k: i64) =
  let {names} = loop {names} = {start} for i < k do {body}
  in {names}
"""
CARRIED = {
    "updated": ("a", "copy xs", "a with [(7 * i) % n] = a[i % n] + 3"),
    "of two, one": ("(a, b)", "(copy xs, xs)", "(a with [i % n] = b[0] + a[n - 1], b)"),
    "both": (
        "(a, b)",
        "(copy xs, map (* 2) xs)",
        "let c = map (\\j -> b[n - 1 - j] + a[j]) (iota n)\n"
        "  in (a with [i % n] = b[0] + a[n - 1], c)",
    ),
    "exchanged": (
        "(a, b)",
        "(copy xs, map (* 2) xs)",
        "(b, a with [i % n] = b[0] - 1)",
    ),
    "anew": ("a", "xs", "map (\\j -> a[(j + i) % n] + a[j]) (iota n)"),
    "passed on": (
        "(a, b)",
        "(copy xs, map (* 2) xs)",
        "(b, map (\\j -> a[n - 1 - j] - b[(j + i) % n]) (iota n))",
    ),
    "passed on twice": (
        "(a, b, c)",
        "(copy xs, map (* 2) xs, map (* 3) xs)",
        "(b, c, map (\\j -> a[n - 1 - j] - b[(j + i) % n] + c[0]) (iota n))",
    ),
    "with a scalar": (
        "(s, a)",
        "(1i32, xs)",
        "(a[i % n], map (\\j -> a[(j + 1) % n] + s) (iota n))",
    ),
    "two anew": (
        "(a, b)",
        "(xs, replicate (n + 1) 1i64)",
        "(map (\\j -> a[n - 1 - j] + i32.i64 b[j]) (iota n),"
        " map (\\j -> b[n - j] + i64.i32 a[0]) (iota (n + 1)))",
    ),
    "in rows": (
        "a",
        "[xs, xs]",
        "a with [i % 2] = map (\\j -> a[(i + 1) % 2, n - 1 - j] + 1) (iota n)",
    ),
}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_loops_that_write_into_the_result(name: str, schedule: str) -> None:
    names, start, body = CARRIED[name]
    text = IN_ROWS.format(names=names, start=start, body=body)
    oracle = interpreted_program(stages.to_core(stages.check(Source("c.fut", text))))
    program = minifut.compile(text, schedule=schedule)
    random = np.random.default_rng(3)
    for n, k in ((1, 3), (5, 0), (37, 11), (37, 10), (2000, 8)):
        xs = random.integers(-9, 9, n).astype(np.int32)
        found, wanted = program.main(xs, k), oracle.main(xs, k)
        for one, other in zip(
            found if isinstance(found, tuple) else (found,),
            wanted if isinstance(wanted, tuple) else (wanted,),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


def test_a_loop_makes_its_array_in_the_result() -> None:
    text = """
      entry main [n] (xs: [n]i32) (k: i64) =
        loop a = copy xs for i < k do a with [(7 * i) % n] = a[i % n] + 3"""
    core = stages.to_core(stages.check(Source("c.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "c")
    assert module.count("run.allocate(") == 2, "the result of each version"


@pytest.mark.device
def test_buffers_take_turns_in_while_loops() -> None:
    text = """
      entry main [n] (xs: [n]i32) (most: i32) =
        loop (a, k) = (xs, 0) while a[0] < most && k < 20 do
          (map (\\j -> a[(j + 1) % n] + a[j]) (iota n), k + 1)"""
    oracle = interpreted_program(stages.to_core(stages.check(Source("c.fut", text))))
    program = minifut.compile(text)
    xs = np.arange(1, 9, dtype=np.int32)
    for most in (0, 2, 10, 100, 1000):
        for one, other in zip(
            program.main(xs, most), oracle.main(xs, most), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.device
@pytest.mark.parametrize("type_", ["i8", "u8", "i16", "i32", "u32", "i64", "u64"])
def test_buffers_take_turns_whatever_counts(type_: str) -> None:
    text = f"""
      entry main [n] (xs: [n]i32) (k: {type_}) =
        loop (a, b) = (xs, map (* 2) xs) for i < k do
          (b, map (\\j -> a[n - 1 - j] - b[(j + i64.{type_} i) % n]) (iota n))"""
    core = stages.to_core(stages.check(Source("c.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "c")
    assert ("+= 3L" in module) == (type_ != "u64"), "three rounds, counted in i64"
    oracle = interpreted_program(core)
    program = minifut.compile(text)
    xs = np.arange(9, dtype=np.int32)
    for k in (0, 1, 2, 3, 4, 7, 126, 127):
        for one, other in zip(program.main(xs, k), oracle.main(xs, k), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.device
@pytest.mark.parametrize("width", [1, 40, 700])
@pytest.mark.parametrize("rounds", ["for i < 3", "for i < k", "while s < k"])
def test_buffers_take_turns_for_points_in_lanes(rounds: str, width: int) -> None:
    text = f"""
      entry main [m] [n] (xss: [m][n]f32) (ks: [m]i64) =
        map2 (\\xs k ->
          let (s, last) =
            loop (s, last) = (0i64, replicate n 2) {rounds} do
              (s + 1, loop row = replicate n 1 for j in 1..<n do
                        row with [j] = f32.min row[j - 1] last[j] + xs[j] * last[j - 1])
          in (s, last[n - 1])) xss ks |> unzip"""
    core = stages.to_core(stages.check(Source("c.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "c")
    assert ("float8" in module) == (rounds == "for i < 3")
    oracle, program = interpreted_program(core), minifut.compile(text)
    for count in (1, 19, 40):
        random = np.random.default_rng(count)
        rows = random.random((count, width), np.float32)
        ks = random.integers(0, 5 if width < 700 else 3, count)
        for one, other in zip(
            program.main(rows, ks), oracle.main(rows, ks), strict=True
        ):
            np.testing.assert_array_equal(one, other)
