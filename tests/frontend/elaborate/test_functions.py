"""Functions, polymorphism, modules and recursion vanish as they should."""

from __future__ import annotations

import numpy as np

from tests.frontend.elaborate.running import core_of, result, results, shown


def test_functions_of_functions_vanish() -> None:
    text = """
    def twice 't (f: t -> t) (x: t) = f (f x)
    entry main (x: i32) = twice (twice (\\y -> y * 3)) x
    """
    assert result(text, np.int32(1)) == 81
    assert len(core_of(text).functions) == 1


def test_polymorphic_use_at_two_types() -> None:
    text = """
    def swap 'a 'b (x: a, y: b) = (y, x)
    entry main (x: i32) = let (a, b) = swap (x, true) in swap (a, [b])
    """
    first, second = results(text, np.int32(3))
    assert (first.tolist(), bool(second)) == ([3], True)


def test_functor_is_applied_to_one_argument_at_a_time() -> None:
    source = """
    module type rules = {type cell val one: cell -> cell val make: i32 -> cell}
    module world (F: {val k: i32}) (R: rules): rules = {
      type cell = (R.cell, i32)
      def one ((a, b): cell): cell = (R.one a, b + F.k)
      def make x: cell = (R.make x, x)
    }
    module half = world {def k = 3i32}
    module a = half {type cell = i32 def one (x: i32) = x + 1 def make (x: i32) = x}
    module b = half {type cell = f32 def one (x: f32) = x / 2 def make x = f32.i32 x}
    entry main (x: a.cell) (y: b.cell): (a.cell, b.cell) =
      (a.one x, b.one (loop y for _i < 3 do b.one y))
    """
    found = results(source, np.int32(4), np.int32(5), np.float32(16), np.int32(0))
    assert [value.tolist() for value in found] == [5, 8, 1.0, 12]


def test_functor_is_applied_twice() -> None:
    text = """
    module type number = {type t val zero: t val add: t -> t -> t}
    module summing (N: number) = {def sum [n] (xs: [n]N.t) = reduce N.add N.zero xs}
    module a = summing {type t = i32 def zero = 0i32 def add x y = x + y}
    module b = summing {type t = (f64, f64) def zero = (0f64, 1f64)
                        def add (a: t) (b: t) = (a.0 + b.0, a.1 * b.1)}
    entry main (xs: []i32) = (a.sum xs, b.sum (map (\\x -> (f64.i32 x, 2)) xs))
    """
    total, first, second = results(text, np.array([1, 2, 3], np.int32))
    assert (total, first, second) == (6, 6.0, 8.0)


def test_sealed_size_parameters() -> None:
    text = """
    module m : {val upto [k] : [k]i64} = {def upto [n] : [n]i64 = 0..1..<n}
    entry main x = copy m.upto : [x]i64
    """
    assert result(text, np.int64(3)) == [0, 1, 2]


def test_recursion_becomes_a_call() -> None:
    text = """
    def factorial (n: i64) : i64 = if n == 0 then 1 else n * factorial (n - 1)
    entry main = factorial
    """
    assert result(text, np.int64(10)) == 3628800


def test_constants_are_made_once() -> None:
    text = """
    def table = map (* 2) (iota 3)
    entry main (i: i64) = table[i] + table[i + 1]
    """
    assert result(text, np.int64(1)) == 6
    program = core_of(text)
    assert len(program.constants) >= 2


def test_doubling_calls_do_not_double_the_program() -> None:
    """Each function calls the one before twice; inlining alone would be exponential."""
    lines = ["def f0 [n] (xs: [n]i32) = map (\\x -> x * x + 1) xs"]
    for i in range(1, 16):
        lines.append(f"def f{i} [n] (xs: [n]i32) = f{i - 1} (f{i - 1} xs)")
    lines.append("entry main [n] (xs: [n]i32) = f15 xs")
    assert len(shown("\n".join(lines)).split("\n")) < 20_000


def test_index_below_a_bound_is_not_checked() -> None:
    text = """
    entry main [n][m] (xs: [n][m]i32) =
      tabulate_2d n m (\\i j -> xs[i, j] + (flatten xs)[i * m + j])
    """
    assert "assert" not in shown(text)


def test_sizes_computed_by_the_program_are_sizes() -> None:
    text = """
    entry main [n][m] (xs: [n][m]i32) : [n * m]i32 =
      map2 (+) (flatten xs) (map i32.i64 (iota (m * n) :> [n * m]i64))
    """
    assert shown(text).count("reshape") == 1
    assert "assert" not in shown(text).replace("Range", "")


def test_recursion_may_change_its_sizes() -> None:
    text = """
    def total [n] (xs: [n]i32) : i32 =
      if n == 0 then 0
      else if n == 1 then xs[0]
      else xs[0] + total (drop 1 xs) - total (drop 2 xs)
    entry main = total
    """
    assert result(text, np.array([1, 2, 3], np.int32)) == 3


STEPS = """
def steps [n] (xs: {}[n]i64): [n]i64 =
  loop ys = {} for i < 4 do map (+ i) (rotate 1 ys)
"""


def test_a_definition_with_a_loop_is_made_once() -> None:
    text = STEPS.format("", "xs") + "entry main (xs: [3]i64) = steps (steps xs)"
    assert shown(text).count(" = loop (") == 1
    assert result(text, np.array([1, 2, 3])) == [15, 13, 14]


def test_a_definition_that_consumes_is_copied() -> None:
    # a function of the core would have to copy what it is given
    text = STEPS.format("*", "xs") + (
        "entry main (xs: *[3]i64) = map (+ 1) (steps (map (* 2) (steps xs)))"
    )
    assert shown(text).count(" = loop (") == 2
    assert result(text, np.array([1, 2, 3])) == [25, 21, 23]


def test_a_definition_that_soacs_call_is_copied() -> None:
    text = STEPS.format("", "xs") + (
        "entry main (xs: [2][3]i64) = (map steps xs, map steps (map (map (* 2)) xs))"
    )
    assert len(core_of(text).functions) == 1


def test_a_result_may_have_the_size_of_a_number_that_is_passed() -> None:
    text = """
    def counts [n] (xs: [n]i64) (k: i64): [k]i64 =
      hist (+) 0 k (map (\\x -> loop y = x while y >= k do y - k) xs) (replicate n 1)
    entry main [n] (xs: [n]i64) (k: i64) =
      (counts xs 3, map2 (-) (counts xs k) (reverse (counts xs k)))
    """
    assert len(core_of(text).functions) == 2
    threes, fours = results(text, np.array([1, 2, 3, 4, 7, 9]), 4)
    assert (list(threes), list(fours)) == ([2, 3, 1], [-1, 1, -1, 1])
