"""Streams of updates: what they mean, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import CompileError

from .running import core_of, result, results, shown

LIBRARY = """
type~ acc 't = intrinsics.acc t

def scatter_stream [k] 'a 'b (dest: *[k]a) (f: *acc ([k]a) -> b -> acc ([k]a))
                   (bs: []b) : *[k]a =
  intrinsics.scatter_stream dest f bs

def reduce_by_index_stream [k] 'a 'b (dest: *[k]a) (op: a -> a -> a) (ne: a)
                           (f: *acc ([k]a) -> b -> acc ([k]a)) (bs: []b) : *[k]a =
  intrinsics.hist_stream dest op ne f bs

def write [n] 't (acc: *acc ([n]t)) (i: i64) (v: t) : *acc ([n]t) =
  intrinsics.acc_write acc i v
"""


def test_updates_of_a_histogram_are_combined() -> None:
    text = f"""{LIBRARY}
    def main (xs: *[]i32) (is: []i64) =
      reduce_by_index_stream xs (+) 0
        (\\(acc: *acc ([]i32)) i -> write (write acc i 1) (i + 1) 2) is
    """
    assert result(text, np.int32([5, 0, 0]), [0, 1, -1, 7]) == [8, 3, 2]


def test_updates_without_operator_take_the_place() -> None:
    text = f"""{LIBRARY}
    def main (xs: *[]f64) (n: i64) =
      scatter_stream xs (\\(acc: *acc ([]f64)) i -> loop acc for j < i do write acc (i + j) 7) (iota n)
    """
    assert result(text, np.zeros(5), 3) == [0, 7, 7, 7, 0]


def test_elements_may_be_tuples_and_rows() -> None:
    text = f"""{LIBRARY}
    def op [m] (a: ([m]i64, bool)) (b: ([m]i64, bool)) = (map2 (+) a.0 b.0, a.1 || b.1)
    def main [k] [m] (xs: *[k][m]i64) (is: []i64) =
      let ys = zip xs (replicate k false)
      in reduce_by_index_stream ys op (replicate m 0, false)
           (\\(acc: *acc ([]([m]i64, bool))) i -> write acc i (replicate m i, true)) is |> unzip
    """
    sums, seen = results(text, np.ones((3, 2), np.int64), [2, 2, 1])
    assert sums.tolist() == [[1, 1], [2, 2], [5, 5]]
    assert seen.tolist() == [False, True, True]


def test_a_stream_within_a_stream_updates_the_outer_accumulator() -> None:
    text = f"""{LIBRARY}
    def main (n: i64) =
      reduce_by_index_stream (replicate n 0i32) (+) 0 (\\(acc: *acc ([n]i32)) i ->
        let inner = reduce_by_index_stream (replicate 2 0i32) (+) 0
          (\\(other: *acc ([2]i32)) j -> write other (j % 2) 1) (iota i)
        in write acc i (inner[0] * 10 + inner[1])) (iota n)
    """
    assert result(text, 4) == [0, 10, 11, 21]


def test_a_stream_is_a_map_over_an_accumulator() -> None:
    text = f"""{LIBRARY}
    def main (xs: *[]i32) (n: i64) =
      scatter_stream xs (\\(acc: *acc ([]i32)) i -> write acc i 1) (iota n)
    """
    assert "update_acc" in shown(text) and "with_acc" in shown(text)


def test_an_array_of_nothing_is_left_as_it_is() -> None:
    text = f"""{LIBRARY}
    def main (n: i64) =
      length (scatter_stream (replicate n ())
        (\\(acc: *acc ([n]())) i -> write acc i ()) (iota 3))
    """
    assert result(text, 5) == 5


def test_strided_parts_of_an_array_are_read_and_written() -> None:
    read = """
    def main (xs: []i32) : [][]i32 = intrinsics.flat_index_2d xs 1 2 4 3 2
    """
    assert result(read, np.arange(12, dtype=np.int32)) == [[1, 3, 5], [5, 7, 9]]
    write = """
    def main [k] [l] (xs: *[]i32) (vs: [k][l]i32) = intrinsics.flat_update_2d xs 1 4 1 vs
    """
    new = np.int32([[7, 8], [9, 10]])
    assert result(write, np.zeros(8, np.int32), new) == [0, 7, 8, 0, 0, 9, 10, 0]


REFUSED = [
    (
        "\\(acc: *acc ([n]i32)) i -> let other = write acc i 1 in acc",
        "was consumed",
        "use-after-consume",
    ),
    ("\\acc i -> let accs = [acc] in accs[0]", "lifted", "lifted-array-element"),
    ("\\acc i -> let other = opaque acc in acc", "lifted", "lifted-array-element"),
    (
        "\\(acc: *acc ([n]i32)) i -> let zs = scatter_stream (copy ys) (\\_ _ -> acc) "
        "(iota n) in write acc i zs[0]",
        "another accumulator",
        "accumulator-use",
    ),
    (
        "\\(acc: *acc ([n]i32)) i -> let other = loop b = acc for _j < 3i64 do b "
        "in write acc i 1",
        "more than once",
        "accumulator-use",
    ),
]


@pytest.mark.parametrize(("function", "message", "anchor"), REFUSED)
def test_misuse_is_refused_where_it_is(
    function: str, message: str, anchor: str
) -> None:
    text = f"""{LIBRARY}
    def main [n] (xs: *[n]i32) (ys: [n]i32) =
      scatter_stream xs ({function}) (iota n)
    """
    with pytest.raises(CompileError, match=message) as caught:
        core_of(text)
    assert caught.value.anchor == anchor and caught.value.location is not None


def test_recursive_functions_take_no_accumulators() -> None:
    text = f"""{LIBRARY}
    def go (a: *acc ([4]i32)) (j: i64) : *acc ([4]i32) =
      if j > 3 then a else go (write a j 1) (j + 1)
    def main (xs: *[4]i32) = scatter_stream xs go (iota 4)
    """
    with pytest.raises(CompileError, match="recursive"):
        core_of(text)
