"""Entry points over chunks: what they give, however the chunks are cut, is what they
give on the whole."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from tests.distributed.programs import (
    ARGUMENTS,
    FLOATS,
    INTS,
    N,
    check,
    distribute,
    in_chunks,
)

da = pytest.importorskip("dask.array")
on_dask = pytest.importorskip("minifut.distributed.on_dask")

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("one_thread")]


@pytest.mark.sweep
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


def test_a_mapped_file_is_sent_in_chunks(
    program: minifut.Program, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.arange(100_000))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    parts = on_dask._parts(mapped, 0, range(0, 100_001, 10_000))
    assert len(parts) == 10
    tasks = dict(parts[0].dask).values()
    assert max(len(pickle.dumps(task)) for task in tasks) < 2 * mapped.nbytes / 10


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


def test_calls_are_those_of_the_entry_point(records: minifut.Program) -> None:
    centre = distribute(records.centre)
    assert inspect.signature(centre) == inspect.signature(records.centre)
    for named, message in (
        ({}, "1 argument expected .* without a value: ps"),
        ({"sp": INTS}, "there is no parameter 'sp'; did you mean 'ps'"),
        ({"ps": {"x": FLOATS, "y": INTS}, "device": True}, "device is no option"),
    ):
        with pytest.raises(minifut.ArgumentError, match=f"centre: {message}"):
            centre(**named)
