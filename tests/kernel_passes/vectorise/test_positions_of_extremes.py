"""Positions of extremes in loops of points: which elements are kept."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

HEAD = """
def point [n] (row: [n]TYPE) (t: i64): ([n]TYPE, i64, TYPE) =
  loop (row, at, best) = (copy row, -7, 0) for k < t do
    let (i, x) = FOUND
    in (if i >= 0 && i < n then row with [i] = row[i] - TYPE.i64 k / 3 else row, i, x)

def main [m][n] (rows: [m][n]TYPE) (t: i64): ([m][n]TYPE, [m]i64, [m]TYPE) =
  unzip3 (map (\\row -> point row t) rows)
"""
FOUND = {
    "the first greatest": """
      reduce_comm (\\(i, a) (j, b) ->
          if b > a || (b == a && j < i) then (j, b) else (i, a))
        (-1, -TYPE.inf) (zip (iota n) row)""",
    "the first least": """
      loop (i, x) = (-1, TYPE.inf) for j < n do if row[j] < x then (j, row[j]) else (i, x)
      """,
    "the last least": """
      loop (i, x) = (-1, TYPE.inf) for j < n do if x >= row[j] then (j, row[j]) else (i, x)
      """,
    "the last greatest above a limit": """
      loop (i, x) = (n / 2, 1) for j < n do if row[j] >= x then (j, row[j]) else (i, x)
      """,
    "the greatest of what is computed": """
      loop (i, x) = (-1, -TYPE.inf) for j < n do
        let y = row[j] * row[j] - TYPE.i64 j / 100
        in if y > x then (j, y) else (i, x)""",
    "the last least, or beside a NaN": """
      loop (i, x) = (-1, TYPE.inf) for j < n do if x < row[j] then (i, x) else (j, row[j])
      """,
    "the first greatest, or beside a NaN": """
      loop (i, x) = (i64.highest, -TYPE.inf) for j < n do
        if x > row[j] || (x == row[j] && i < j) then (i, x) else (j, row[j])""",
}
OTHERS = {
    "what is kept is not compared": """
      loop (i, x) = (-1, 0) for j < n do if row[j] > 0.5 then (j, row[j]) else (i, x)""",
    "a key that a branch gives": """
      loop (i, x) = (-1, -1) for j < n do
        let y = if row[j] > 0 then row[(j * 7) % n] else TYPE.i64 j / 90
        in if y > x then (j, y) else (i, x)""",
    "a key that is not the element": """
      loop (i, x) = (-1, 0) for j < n do if row[j] > x then (j, row[j] / 2) else (i, x)
      """,
}


def text_of(found: str, type_: str) -> str:
    return HEAD.replace("FOUND", found).replace("TYPE", type_)


def rows_of(n: int, dtype: type) -> np.ndarray:
    """Random rows, rows with many equal elements, and of special values."""
    random = np.random.default_rng(n)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    return np.array(
        [
            random.normal(size=n),
            random.integers(0, 3, n),
            random.choice(special, n),
            random.choice([0.0, -0.0], n),
            np.full(n, np.nan),
            np.full(n, -np.inf),
        ]
    ).astype(dtype)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", FOUND | OTHERS)
def test_all_versions_agree(name: str, type_: str) -> None:
    text = text_of((FOUND | OTHERS)[name], type_)
    oracle = minifut.compile(text, backend="interpreter")
    program = minifut.compile(text)
    for n in (0, 1, 15, 16, 17, 39, 100):
        rows = rows_of(n, {"f32": np.float32, "f64": np.float64}[type_])
        if "reduce" in text:  # with a NaN, no operator that compares is associative
            rows = rows[~np.isnan(rows).any(1)]
        wanted = oracle.main(rows, 4)
        for version in program.versions("main"):
            default = dict(program.tuning)
            program.tuning.update(version.settings)
            for a, b in zip(program.main(rows, 4), wanted, strict=True):
                assert np.array_equal(a, b, equal_nan=True), (version.name, n)
                assert np.array_equal(np.signbit(a), np.signbit(b)), (version.name, n)
            program.tuning.update(default)


@pytest.mark.parametrize("name", FOUND | OTHERS)
def test_extremes_are_found_in_lanes(name: str) -> None:
    program = minifut.compile(text_of((FOUND | OTHERS)[name], "f32"))
    found = [text for text in program.kernels.values() if "float most" in text]
    assert bool(found) == (name in FOUND)


ROWS = {
    "any": "or (map2 (\\x b -> b && x > row[k]) row found)",
    "all": "and (map2 (\\x b -> b && x * x < row[k]) row found)",
    "position": """(loop (i, x) = (-1, row[k]) for j < n do
        if row[j] > x then (j, row[j]) else (i, x)).0 > 7""",
}


@pytest.mark.parametrize("name", ROWS)
def test_lanes_do_not_traverse_rows_that_vectors_could_fold(name: str) -> None:
    """Sixteen rows would be read element by element."""
    text = f"""
        def main [m][n] (rows: [m][n]f32): [m][n]bool =
          #[incremental_flattening(only_outer)]
          map (\\row -> loop found = replicate n false for k < n do
              found with [k] = {ROWS[name]}) rows"""
    kernels = minifut.compile(text).kernels
    reason = "no vectorise_map: lanes read with a large stride in a loop"
    assert any(reason in text for text in kernels.values())
