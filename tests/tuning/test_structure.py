"""Sizes and structure searched together, on simulated kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

import pytest

from minifut.parameters.decisions import Settings
from minifut.parameters.tuning import NEVER, Tunable
from minifut.tuning.halving import halving
from minifut.tuning.points import is_size, ladder, neighbours, random_points
from tests.tuning.simulated import Simulated, choice
from tests.tuning.test_autotune import tuner_for

CHOICES = (choice("tiled", taken=[choice("split", cpu=NEVER)]),)


def size(name: str, default: int, most: int = 1024, kind: str = "tile_size") -> Tunable:
    return Tunable(name, kind, {"cpu": default, "gpu": default}, (1, most), "")


SIZES = {
    "rows": size("rows", 32),
    "columns": size("columns", 64),
    "parts": size("parts", 4096, 1 << 30),
}


def tiled_cost(taken: Mapping[str, bool], settings: Settings) -> float:
    """Best at rows = 96, columns = 16; splitting gains at parts = 1024."""
    if not taken["tiled"]:
        return 2.0
    distance = abs(math.log2(settings["rows"] / 96))
    distance += abs(math.log2(settings["columns"] / 16))
    if taken["split"]:
        distance += abs(math.log2(settings["parts"] / 1024)) - 0.5
    return 1.0 * 2 ** (distance / 2)


def used(taken: Mapping[str, bool]) -> list[str]:
    if not taken["tiled"]:
        return []
    return ["rows", "columns", *(["parts"] if taken["split"] else [])]


def legal(taken: Mapping[str, bool], settings: Settings) -> bool:
    return not taken["tiled"] or settings["rows"] * settings["columns"] <= 8192


def subject(name: str = "d", split: int = 100) -> Simulated:
    return Simulated(
        name, CHOICES, {"tiled": [1000], "split": [split]}, tiled_cost, used, legal
    )


def test_structure_and_sizes_are_found_together() -> None:
    tuner = tuner_for([subject()], SIZES, points=120)
    tuner.run()
    assert tuner.values["tiled"] <= 1000 and tuner.values["split"] <= 100
    assert tuner.values["rows"] in (64, 96, 128)
    assert tuner.values["columns"] in (12, 16, 24)
    assert tuner.values["parts"] < 4096
    assert tuner.rows()[0].gain > 2


def test_only_as_many_points_as_requested_are_tried() -> None:
    seen: set[tuple[int, ...]] = set()
    one = subject()

    def cost(taken: Mapping[str, bool], settings: Settings) -> float:
        if taken["tiled"]:
            seen.add(tuple(settings[name] for name in (*SIZES, "split")))
        return tiled_cost(taken, settings)

    one.cost = cost
    tuner = tuner_for([one], SIZES, points=20)
    tuner.run()
    assert 5 < len(seen) <= 24


def test_fixed_and_useless_sizes_stay() -> None:
    tuner = tuner_for([subject()], SIZES, frozenset({"rows"}), points=60)
    tuner.run()
    assert tuner.values["rows"] == 32 and tuner.values["columns"] != 64

    flat = subject()
    flat.cost = lambda taken, settings: 1.0
    tuner = tuner_for([flat], SIZES, points=60)
    tuner.run()
    assert not tuner.changed


def test_sizes_are_not_searched_unless_requested() -> None:
    tuner = tuner_for([subject()], SIZES)
    tuner.run()
    assert set(tuner.changed) <= {"tiled", "split"}


def test_halving_keeps_the_best_of_each_group() -> None:
    asked: list[tuple[int, int]] = []

    def measure(points: list[int], runs: int) -> list[float]:
        asked.append((len(points), runs))
        return [math.inf if point == 13 else float(point) for point in points]

    found = halving(range(32), measure, lambda point: point // 16)  # type: ignore[arg-type]
    assert [point for point, _ in found] == [0, 1, 16]
    assert [runs for _, runs in asked] == [1, 2, 4, 8]
    assert [count for count, _ in asked] == [32, 16, 8, 5] or asked[0][0] == 32
    assert halving([13], measure, lambda point: 0) == []  # type: ignore[arg-type]


def test_ladders_stay_within_bounds_and_hold_the_default() -> None:
    assert ladder(size("rows", 42), 42)[0] == 5
    assert max(ladder(size("rows", 42, 100), 42)) == 84
    assert 7 in ladder(size("rows", 7, 8), 7)
    assert ladder(size("lanes", 16, 16, "lanes"), 16) == [1, 8, 16]
    assert ladder(size("group", 4, 16, "group_size"), 4) == [1, 2, 4, 8, 16]
    assert ladder(size("which", 2, 4, "choice"), 2) == [1, 2, 3, 4]
    limit = Tunable("t", "threshold", {"cpu": 1}, (0, NEVER), "")
    assert not is_size(limit) and is_size(size("rows", 1))


def test_points_are_different_and_neighbours_one_rung_away() -> None:
    ladders = {"a": [1, 2, 4], "b": [1, 3]}
    start = {"a": 2, "b": 1}
    found = random_points(Random(0), ladders, start, 50)
    assert len({tuple(p.values()) for p in found}) == len(found) == 5
    assert start not in found
    near = [tuple(p.values()) for p in neighbours(ladders, start)]
    assert near == [(1, 1), (4, 1), (2, 3)]


def test_an_interrupted_search_keeps_the_best_sizes_so_far() -> None:
    one = subject()
    runs = 0

    def cost(taken: Mapping[str, bool], settings: Settings) -> float:
        nonlocal runs
        runs += 1
        if runs == 250:
            raise KeyboardInterrupt
        return tiled_cost(taken, settings)

    one.cost = cost
    tuner = tuner_for([one], SIZES, points=120)
    with pytest.raises(KeyboardInterrupt):
        tuner.run()
    assert runs == 250
    assert (tuner.values["rows"], tuner.values["columns"]) != (32, 64)
    kept = tiled_cost({"tiled": True, "split": False}, tuner.values)
    assert kept < 0.8 * tiled_cost({"tiled": True, "split": False}, tuner.task.defaults)
    assert tuner.values["tiled"] <= 1000, "the best structure runs"


def test_an_interrupt_before_anything_is_known_keeps_the_defaults() -> None:
    one = subject()

    def cost(taken: Mapping[str, bool], settings: Settings) -> float:
        raise KeyboardInterrupt

    one.cost = cost
    tuner = tuner_for([one], SIZES, points=50)
    with pytest.raises(KeyboardInterrupt):
        tuner.run()
    assert not tuner.changed
