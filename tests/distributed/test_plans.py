"""Entry points over chunks: what they give, however the chunks are cut, is what they
give on the whole; and what cannot be cut is refused at its place."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.distributed.plan import Once, OnChunks, Repeat, Tree
from minifut.distributed.planner import plan_of

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.device

SOURCE = """
entry squares [n] (xs: [n]i32): [n]i32 = map (\\x -> x * x) xs
entry total [n] (xs: [n]i32): i32 = i32.sum xs
entry mean [n] (xs: [n]f32): f32 = f32.sum xs / f32.i64 n
entry variance [n] (xs: [n]f32): f32 =
  let m = f32.sum xs / f32.i64 n in f32.sum (map (\\x -> (x - m) ** 2) xs) / f32.i64 n
entry centred [n] (xs: [n]f32): [n]f32 =
  let m = f32.sum xs / f32.i64 n in map (\\x -> x - m) xs
entry column_means [n][d] (xss: [n][d]f32): [d]f32 =
  map (\\c -> f32.sum c / f32.i64 n) (transpose xss)
entry row_sums [n][d] (xss: [n][d]i32): [n]i32 = map i32.sum xss
entry norm_of_means [n][d] (xss: [n][d]f32): f32 =
  f32.sum (map (\\c -> (f32.sum c) ** 2) (transpose xss))
entry largest [n] (xs: [n]i32): (i32, i64) =
  let best (x, i) (y, j) = if y > x || (y == x && j < i) then (y, j) else (x, i)
  in reduce best (i32.lowest, -1) (zip xs (iota n))
entry steepest [n] (xs: [n]i32): i32 =
  let join (a, b, c, d) (e, f, g, h) =
    (i32.max a (i32.max e (c + f)), i32.max f (b + h) , i32.max c (d + g), d + h)
  let lift x = let y = i32.max x 0 in (y, y, y, x)
  let swap (a, b, c, d) (e, f, g, h) = let (p, q, r, s) = join (a, b, c, d) (e, f, g, h)
                                       in (p, i32.max b (d + f), i32.max g (h + c), s)
  in (reduce swap (0, 0, 0, 0) (map lift xs)).0
entry running [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs
entry averages [n] (xs: [n]f32): [n]f32 =
  map3 (\\s x i -> x * f32.i64 i + s / f32.i64 (i + 1)) (scan (+) 0 xs)
       (map2 (\\i x -> x / f32.i64 (i + 1)) (iota n) xs) (iota n)
entry weighted [n] (xs: [n]f32) (steps: i32): f32 =
  let ws = map (\\i -> f32.i64 i / f32.i64 n) (iota n)
  let first = f32.sum (map2 (*) ws xs)
  in loop t = first for _i < steps do
       f32.sum (map3 (\\w x i -> w * x / (t + f32.i64 (i + n))) ws xs (iota n))
entry shares [n] (xs: [n]i32): [n]i32 =
  let s = scan (+) 0 xs in map2 (\\x y -> x * 10 + y % 7) s xs
entry linear [n] (xs: [n]i32) (ys: [n]i32): [n]i32 =
  let after (a, b) (c, d) = (a * c, b * c + d)
  in map (.1) (scan after (1, 0) (zip xs ys))
entry row_scan [n][d] (xss: [n][d]i32): [n][d]i32 =
  scan (map2 (+)) (replicate d 0) xss
entry even [n] (xs: [n]i32): []i32 = filter (\\x -> x % 2 == 0) xs
entry even_mean [n] (xs: [n]i32): (i64, i32) =
  let ys = filter (\\x -> x % 2 == 0) xs in (length ys, i32.sum (map (+ 1) ys))
entry kept_pairs [n] (xs: [n]i32) (ys: [n]f32): ([]i32, []f32) =
  unzip (filter (\\(x, _) -> x > 3) (zip xs ys))
entry histogram [n][k] (bins: [k]i32) (xs: [n]i32): [k]i32 =
  reduce_by_index (copy bins) (+) 0 (map (\\x -> i64.i32 x % k) xs) (map (% 5) xs)
entry row_histogram [n][d] (k: i64) (xs: [n]i32) (rows: [n][d]i32): [k][d]i32 =
  reduce_by_index (replicate k (replicate d 1)) (map2 (+)) (replicate d 0)
                  (map (\\x -> i64.i32 x % k) xs) rows
entry positions [n] (xs: [n]i32): [n]i32 = map2 (\\x i -> x + 2 * i32.i64 i) xs (iota n)
entry flat [n][d] (xss: [n][d]i32): i32 =
  i32.sum (map2 (\\x i -> x * i32.i64 i) (flatten xss) (iota (n * d)))
entry power [n] (xs: [n]i32) (steps: i32): [n]i32 =
  loop ys = xs for _i < steps do map (\\y -> y * 3 + 1) ys
entry relaxed [n] (xs: [n]f32) (steps: i32): ([n]f32, f32) =
  loop (ys, s) = (xs, 0) for i < steps do
    let t = f32.sum ys / f32.i64 n
    in (map (\\y -> (y + t) / 2) ys, s + f32.i32 i * t)
entry counted [n] (xs: [n]i32) (steps: i32): ([n]i32, i32, i32) =
  let (ys, c) = loop (ys, c) = (xs, 1) for _i < steps do (map (* 2) ys, c * 3)
  in (ys, c, i32.sum (map (+ c) ys) - c)
entry doubled [n] (xs: [n]i32) (limit: i32): ([n]i32, i32) =
  let (ys, c, _) = loop (ys, c, go) = (xs, 1, true) while go do
    let s = i32.sum ys
    let (zs, d) = loop (zs, d) = (ys, c) for _i < 2 do (map (+ 1) zs, d + 1)
    in (zs, d, s < limit && d < 20)
  in (ys, c)
entry until [n] (xs: [n]f32): (i32, f32) =
  loop (i, x) = (0, 8) while x > 0.1 do (i + 1, f32.sum (map (\\y -> y * x) xs))
entry checked [n] (xs: [n]i32): i32 = assert (i32.maximum xs < 100) (i32.sum xs)
"""
RANDOM = np.random.default_rng(7)
N, D = 103, 3
INTS = RANDOM.integers(-9, 9, N).astype(np.int32)
FLOATS = RANDOM.normal(size=N).astype(np.float32)
ROWS = RANDOM.integers(-9, 9, (N, D)).astype(np.int32)
POINTS = RANDOM.normal(size=(N, D)).astype(np.float32)
SMALL = np.abs(FLOATS) / np.abs(FLOATS).sum() / 2

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "squares": (INTS,),
    "total": (INTS,),
    "mean": (FLOATS,),
    "variance": (FLOATS,),
    "centred": (FLOATS,),
    "column_means": (POINTS,),
    "row_sums": (ROWS,),
    "norm_of_means": (POINTS,),
    "largest": (INTS,),
    "steepest": (INTS,),
    "running": (INTS,),
    "averages": (FLOATS,),
    "weighted": (np.abs(FLOATS), 3),
    "shares": (INTS,),
    "linear": (INTS, INTS),
    "row_scan": (ROWS,),
    "even": (INTS,),
    "even_mean": (INTS,),
    "kept_pairs": (INTS, FLOATS),
    "histogram": (np.arange(5, dtype=np.int32), np.abs(INTS)),
    "row_histogram": (4, np.abs(INTS), ROWS),
    "positions": (INTS,),
    "flat": (ROWS,),
    "power": (INTS, 3),
    "relaxed": (FLOATS, 4),
    "counted": (INTS, 3),
    "doubled": (INTS, 100),
    "until": (SMALL,),
    "checked": (INTS,),
}


@pytest.fixture(scope="module")
def program() -> minifut.Program:
    return minifut.compile(SOURCE)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


def distribute(entry: minifut.EntryPoint, **options: Any) -> Any:
    from minifut.dask import distribute

    return distribute(entry, over="n", **options)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def check(given: Any, wanted: Any) -> None:
    for one, other in zip(as_tuple(given), as_tuple(wanted), strict=True):
        one = np.asarray(one)
        assert one.dtype == np.asarray(other).dtype
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(one, other)


def in_chunks(value: Any, chunks: Any) -> Any:
    """Arrays of n elements as arrays of dask."""
    if isinstance(value, np.ndarray) and len(value) == N:
        return da.from_array(value, chunks=(chunks, *value.shape[1:]))
    return value


@pytest.mark.parametrize("name", ARGUMENTS)
def test_chunks_give_what_the_whole_gives(program: minifut.Program, name: str) -> None:
    arguments = ARGUMENTS[name]
    wanted = program[name](*arguments)
    function = distribute(program[name])
    for chunks in (N, (40, 0, 1, 62), 25):
        given = [in_chunks(value, chunks) for value in arguments]
        check(function(*given), wanted)


@pytest.mark.parametrize("name", ["total", "running", "even", "histogram", "centred"])
def test_no_elements(program: minifut.Program, name: str) -> None:
    arguments = [a[:0] if len(a) == N else a for a in ARGUMENTS[name]]
    given = distribute(program[name])(*arguments)
    if name != "centred":
        check(given, program[name](*arguments))


def test_arrays_that_are_not_of_dask_are_cut_by_bytes(program: minifut.Program) -> None:
    given = distribute(program.running, chunk_bytes=100)(INTS)
    assert len(given.chunks[0]) == -(-N // 21)
    check(given, program.running(INTS))


def test_filters_leave_chunks_of_known_sizes(program: minifut.Program) -> None:
    given = distribute(program.even)(in_chunks(INTS, 50))
    wanted = [np.sum(INTS[at : at + 50] % 2 == 0) for at in (0, 50, 100)]
    assert given.chunks == (tuple(wanted),)


# --- records, tuples and sums ---------------------------------------------------------

RECORDS = """
type point = {x: f32, y: i32}
entry move [n] (ps: [n]point) (by: point): [n]point =
  map (\\p -> {x = p.x + by.x, y = p.y * by.y}) ps
entry centre [n] (ps: [n]point): {at: point, count: i64} =
  let add (a: point) (b: point): point = {x = a.x + b.x, y = a.y + b.y}
  in {at = reduce add {x = 0, y = 0} ps, count = n}
entry kept [n] (ps: [n]point): []point = filter (\\p -> p.y > 0) ps
entry swapped [n] (ps: [n](i32, f32)) (q: (i32, f32)): [n](f32, i32) =
  map (\\(a, b) -> (b + q.1, a * q.0)) ps
entry area [n] (shapes: [n](#circle f32 | #square f32)): f32 =
  f32.sum (map (\\s -> match s case #circle r -> r * 3 case #square a -> a * a) shapes)
"""


@pytest.fixture(scope="module")
def records() -> minifut.Program:
    return minifut.compile(RECORDS)


def forms() -> list[Any]:
    """The same points in each form that arrays of records have."""
    table = np.zeros(N, [("x", "f4"), ("y", "i4")])
    table["x"], table["y"] = FLOATS, INTS
    fields = {"x": FLOATS, "y": INTS}
    rows = [{"x": x, "y": int(y)} for x, y in zip(FLOATS, INTS, strict=True)]
    spread = {name: da.from_array(a, chunks=25) for name, a in fields.items()}
    return [table, fields, rows, spread, da.from_array(table, chunks=40)]


@pytest.mark.parametrize("number", range(5))
def test_records_come_in_chunks(records: minifut.Program, number: int) -> None:
    points, by = forms()[number], {"x": 1.5, "y": 3}
    moved = distribute(records.move, chunk_bytes=100)(points, by)
    wanted = records.move({"x": FLOATS, "y": INTS}, by)
    assert isinstance(moved["x"], da.Array)
    np.testing.assert_array_equal(np.asarray(moved), np.asarray(wanted))
    centre = distribute(records.centre)(points)
    whole = records.centre({"x": FLOATS, "y": INTS})
    assert centre["count"] == N and centre["at"]["y"] == whole["at"]["y"]
    np.testing.assert_allclose(centre["at"]["x"], whole["at"]["x"], rtol=1e-4)
    kept = distribute(records.kept)(points)
    np.testing.assert_array_equal(kept["x"], FLOATS[INTS > 0])


def test_tuples_and_sums_come_in_chunks(records: minifut.Program) -> None:
    swapped = distribute(records.swapped)((INTS, FLOATS), (3, 0.5))
    np.testing.assert_array_equal(swapped["0"], FLOATS + np.float32(0.5))
    np.testing.assert_array_equal(swapped["1"], INTS * 3)
    shapes = [minifut.Variant("circle", 1.0), minifut.Variant("square", 2.0)] * 5
    assert distribute(records.area, chunk_bytes=8)(shapes) == 35


def test_fields_of_other_lengths_are_refused(records: minifut.Program) -> None:
    message = r"ps\.y: dimension 0 must be 103 \(n, from argument ps\.x\), got 102"
    with pytest.raises(minifut.ArgumentError, match=message):
        distribute(records.centre)({"x": FLOATS, "y": INTS[1:]})


# --- what is held ---------------------------------------------------------------------


def test_arguments_are_read_again_and_not_held(program: minifut.Program) -> None:
    """Each step over chunks reads them anew, what it made of them is kept."""
    read: list[int] = []

    def part(number: int) -> np.ndarray:
        read.append(number)
        return FLOATS[25 * number : 25 * number + 25]

    parts = [
        da.from_delayed(dask.delayed(part)(i), (25,), np.float32) for i in range(4)
    ]
    distribute(program.variance)(da.concatenate(parts))
    assert sorted(read) == sorted([*range(4)] * 2)
    read.clear()
    distribute(program.relaxed)(da.concatenate(parts), 3)
    assert sorted(read) == sorted([*range(4)] * 2)  # the first round; then its state


def test_results_of_tasks_leave_the_pool(program: minifut.Program) -> None:
    """Memory that dask lets go of, when it spills say, is the system's again."""
    from minifut.distributed.on_dask import run
    from minifut.opencl.runtime.queue import open_session

    pool = open_session().pool
    before = pool.in_use
    module = plan_of(program.squares, "n").module
    (squares,) = run(module, "chunk_0", (None, None), N, INTS)
    assert pool.in_use == before
    check(squares, INTS * INTS)
    kept = pool.kept
    del squares
    assert (pool.in_use, pool.kept) == (before, kept)


# --- the plan -------------------------------------------------------------------------


def test_a_reduction_is_one_pass_over_the_chunks(program: minifut.Program) -> None:
    kinds = [type(step) for step in plan_of(program.mean, "n").steps]
    assert kinds.count(OnChunks) == kinds.count(Tree) == 1


def test_what_one_pass_gives_is_combined_by_one_function(
    program: minifut.Program,
) -> None:
    plan = plan_of(
        minifut.compile(
            "entry both [n] (xs: [n]i32) (is: [n]i64): ([9]i32, [9]i64) =\n"
            "  (hist (+) 0 9 is xs, hist i64.max 0 9 is is)"
        ).both,
        "n",
    )
    (tree,) = (step for step in plan.steps if isinstance(step, Tree))
    assert len(tree.values) == 2


def test_positions_are_computed_again_and_not_kept(program: minifut.Program) -> None:
    plan = plan_of(program.averages, "n")
    first, second = (step for step in plan.steps if isinstance(step, OnChunks))
    assert len(first.results) == 2  # the chunk's own scan, and its last element
    assert plan.chunk_start in first.arguments and plan.chunk_start in second.arguments
    plan = plan_of(program.weighted, "n")
    (loop,) = (step for step in plan.steps if isinstance(step, Repeat))
    (inside,) = (step for step in loop.steps if isinstance(step, OnChunks))
    assert plan.chunk_start in inside.arguments
    assert not any(name.startswith("iota") for name in inside.arguments)


def test_a_variance_is_two_passes(program: minifut.Program) -> None:
    kinds = [type(step) for step in plan_of(program.variance, "n").steps]
    assert kinds.count(OnChunks) == 2
    assert kinds[-1] is Once


def test_a_loop_of_maps_stays_on_the_chunks(program: minifut.Program) -> None:
    (step,) = plan_of(program.power, "n").steps
    assert isinstance(step, OnChunks)


def test_a_loop_of_reductions_stays_with_the_host(program: minifut.Program) -> None:
    plan = plan_of(program.relaxed, "n")
    loops = [step for step in plan.steps if isinstance(step, Repeat)]
    assert len(loops) == 1 and loops[0].bound is not None
    assert sum(isinstance(step, OnChunks) for step in loops[0].steps) == 2


def test_plans_are_frozen_and_can_be_read(program: minifut.Program) -> None:
    plan = plan_of(program.mean, "n")
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.steps = ()  # type: ignore[misc]
    from minifut.dask import distribute

    distributed = repr(distribute(program.mean, over="n"))
    assert distributed.endswith(" distributed over n>") and len(distributed) < 90
    shown = repr(plan)
    assert shown.startswith("plan of mean over n\n  in chunks xs")
    assert "tree      combine_" in shown


# --- refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("entry f [n] (xs: [n]i32) = xs[3]", "1:28", "xs is indexed across its chunks"),
        (
            "entry f [n] (xs: [n]i32) =\n  map (\\i -> xs[(i * 7) % n]) (iota n)",
            "2:14",
            "more than the chunk",
        ),
        (
            "entry f [n] (xs: [n]i32) =\n  map (\\x -> i32.sum (map (* x) xs)) xs",
            "2:14",
            "more than the chunk",
        ),
        ("entry f [n] (xs: [n]i32) = reverse xs", "", "chunks"),
        ("entry f [n] (xs: [n]i32) = xs ++ xs", "", "joined end to end"),
        (
            "entry f [n] (xs: [n]i32) (is: [n]i64) = scatter (copy xs) is xs",
            "",
            "a scatter may write to any chunk",
        ),
        (
            "entry f [n] (xss: [n][n]i32) = map i32.sum xss",
            "",
            r"array \[n\]\[n\]i32 has the size in two dimensions",
        ),
        (
            "entry f [n] (xs: [n]i32) = map2 (+) xs[1:] xs[:n - 1]",
            "",
            "the size n - 1 is no multiple",
        ),
    ],
)
def test_what_cannot_be_cut_is_refused(text: str, place: str, message: str) -> None:
    program = minifut.compile(text)
    with pytest.raises(minifut.CompileError, match=message) as failure:
        plan_of(program.f, "n")
    assert f"<text>:{place}" in str(failure.value)


def test_unknown_sizes_are_refused(program: minifut.Program) -> None:
    with pytest.raises(minifut.UsageError, match="there is no size 'k'"):
        plan_of(program.mean, "k")


def test_values_of_abstract_types_cannot_be_sent() -> None:
    program = minifut.compile(
        "module m: {type t val one: t val add [n]: t -> [n]i32 -> [n]i32} =\n"
        "  {type t = i32 def one = 1i32 def add [n] (x: t) (ys: [n]i32) = map (+ x) ys}\n"
        "entry f [n] (p: m.t) (xs: [n]i32) = m.add p xs"
    )
    with pytest.raises(minifut.UsageError, match=r"p is of type .*abstract types"):
        plan_of(program.f, "n")


def test_what_is_no_entry_point_is_refused(program: minifut.Program) -> None:
    with pytest.raises(minifut.UsageError, match=r"prog\.main, and no Program"):
        plan_of(program, "n")  # type: ignore[arg-type]
    with pytest.raises(minifut.UsageError, match="chunk_bytes is a number of bytes"):
        distribute(program.mean, chunk_bytes=0)(FLOATS)


def test_interpreted_programs_are_refused() -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match="a program for OpenCL is needed"):
        plan_of(program.mean, "n")


def test_sizes_that_disagree_are_refused(program: minifut.Program) -> None:
    message = r"argument ys: dimension 0 must be 103 \(n, from argument xs\), got 102"
    with pytest.raises(minifut.ArgumentError, match=message):
        distribute(program.linear)(INTS, INTS[1:])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FLOATS, r"xs: expected \[\]i32, got an array of float32; use \.astype"),
        (da.from_array(ROWS), r"xs: expected \[\]i32 \(1-d\), got .*\(103, 3\)"),
        ("abc", r"xs: expected \[\]i32: str gives no array"),
        (
            da.from_array(INTS)[da.from_array(INTS) > 0],
            r"xs: .* call its \.compute_chunk_sizes\(\) first",
        ),
    ],
)
def test_wrong_arguments_are_refused_before_a_task_runs(
    program: minifut.Program, given: Any, message: str
) -> None:
    with pytest.raises(minifut.ArgumentError, match=message):
        distribute(program.squares)(given)


def test_failures_on_a_chunk_are_those_of_the_program(
    program: minifut.Program,
) -> None:
    with pytest.raises(minifut.ProgramError, match=r"i32\.maximum xs < 100"):
        distribute(program.checked)(in_chunks(INTS * 0 + 200, 50))
