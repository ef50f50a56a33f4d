"""The plans of entry points over chunks, what is kept while they run, and what cannot
be cut, refused at its place."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.distributed.execute import FAN, Chunked, _Run, combined
from minifut.distributed.plan import Once, OnChunks, Repeat, Tree
from minifut.distributed.planner import plan_of
from tests.distributed.programs import (
    FLOATS,
    INTS,
    ROWS,
    SOURCE,
    N,
    check,
    distribute,
    in_chunks,
)

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("one_thread")]


# --- memory ---------------------------------------------------------------------------


def test_arguments_are_read_again_and_not_kept(program: minifut.Program) -> None:
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
    from minifut.opencl.runtime.sessions import open_session

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


def test_what_is_cheap_is_computed_in_the_functions_on_chunks() -> None:
    """As where the program runs on one device, so that it is fused there."""
    prog = minifut.compile("""
entry nearest [n] [k] (xs: [n]f32) (cs: [k]f32): [n]i64 =
  map (\\x -> (reduce (\\a b -> if a.1 < b.1 then a else b) (0, f32.inf)
                     (zip (iota k) (map (\\c -> f32.abs (x - c)) cs))).0) xs
""")
    steps = plan_of(prog.nearest, "n").steps
    assert [type(step) for step in steps] == [OnChunks]
    xs, cs = FLOATS, np.arange(5, dtype=np.float32)
    check(distribute(prog.nearest)(in_chunks(xs, 30), cs), prog.nearest(xs, cs))


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


def test_two_levels_of_a_tree_are_combined_at_once() -> None:
    """In the order of the tree, whatever the number of chunks."""
    made: list[str] = []

    class Written:
        """A cluster of texts."""

        def combine(self, function: str, shared: Any, rows: Any) -> list[str]:
            assert 2 <= len(rows) <= FAN
            (text,) = combined(lambda pair: [f"({' '.join(pair)})"], rows)
            made.append(text)
            return [text]

    step = Tree("f", (), ("x",))
    for chunks, wanted in ((1, "0"), (3, "((0 1) 2)"), (6, "(((0 1) (2 3)) (4 5))")):
        values: Any = {"x": Chunked(tuple(map(str, range(chunks))))}
        _Run(Written(), chunks)._tree(step, values)  # type: ignore[arg-type]
        assert values["x"] == wanted
    assert len(made) == 1 + 3
