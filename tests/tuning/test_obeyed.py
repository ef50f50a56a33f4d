"""What a tuning file sets, structure and sizes, is what runs: on the command line, when
measured, and from Python; what it may not set is told with the line and the bounds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import minifut
from minifut.cli import main
from minifut.parameters.file import read_tuning

pytestmark = pytest.mark.device

PROGRAM = """
-- ==
-- random input { [20][31]f32 [31][26]f32 } auto output
entry main [n] [m] [k] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
  map (\\row -> map (\\column -> reduce (+) 0 (map2 (*) row column)) (transpose b)) a
"""
STEM = "main.map_map_redomap."
TILES = {
    "block_rows": 2,
    "block_columns": 3,
    "block_depth": 5,
    "register_rows": 3,
    "register_columns": 16,
}
TILED = {STEM + "tiled": 0, **{STEM + name: value for name, value in TILES.items()}}
SPLIT = {**TILED, STEM + "split": 0, STEM + "narrow": 0, STEM + "split_depth": 7}
OUTER = {"main.map_reduce.outer": 0, STEM + "tiled": 1 << 40}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "product.fut"
    file.write_text(PROGRAM)
    return file


def set_all(path: Path, values: dict[str, int]) -> None:
    lines = "".join(f"{name}={value}\n" for name, value in values.items())
    Path(f"{path}.tuning").write_text("-- found elsewhere\n" + lines)


def invoke(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def matrices() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    a, b = random.integers(-4, 5, (20, 31)), random.integers(-4, 5, (31, 26))
    return a.astype(np.float32), b.astype(np.float32)


@pytest.mark.parametrize("wanted", [TILED, SPLIT, OUTER, {}])
def test_the_kernels_are_those_that_are_requested(
    path: Path, wanted: dict[str, int]
) -> None:
    set_all(path, wanted)
    program = minifut.compile(path, schedule="cpu")
    a, b = matrices()
    with program.tuning.watch() as seen:
        np.testing.assert_array_equal(program.main(a, b), a @ b)
    shapes = [shape for _, shape in seen.kernels]
    tiled = [shape for shape in shapes if STEM + "block_rows" in shape]
    assert len(tiled) == (STEM + "block_rows" in wanted)
    for shape in tiled:
        assert shape.items() <= wanted.items()
    assert any(STEM + "split_depth" in shape for shape in shapes) == (wanted is SPLIT)
    assert len(shapes) == (2 if wanted is SPLIT else 1)


def test_run_and_bench_obey(path: Path, tmp_path: Path) -> None:
    a, b = matrices()
    files = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(files[0], a), np.save(files[1], b)
    set_all(path, TILED)
    out = tmp_path / "c.npy"
    result = invoke("run", "-L", "--schedule", "cpu", path, *files, "-o", out)
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(out), a @ b)
    (ran,) = (x for x in result.stderr.split("\n") if x.startswith("Ran "))
    assert set(ran.split()[2:]) == {
        f"{name}={value}" for name, value in TILED.items() if "tiled" not in name
    }
    found = tmp_path / "found.json"
    quick = ("-r", "1", "--no-convergence-phase", "--schedule", "cpu")
    result = invoke("bench", path, *quick, "--json", found)
    assert result.exit_code == 0, result.output
    assert "runtimes" in next(
        iter(json.loads(found.read_text()).popitem()[1]["datasets"].values())
    )
    told = invoke("bench", path, "--print-params", "--schedule", "cpu").output
    for name, value in TILED.items():
        assert re.search(rf"^{re.escape(name)} +\w+ +{value} ", told, re.MULTILINE)


def test_what_the_search_writes_is_obeyed(path: Path) -> None:
    set_all(path, {STEM + "tiled": 0, STEM + "block_rows": 1, STEM + "narrow": 0})
    search = ("--tiles", "--points", "2", "-r", "1", "--schedule", "cpu")
    result = invoke("autotune", path, *search)
    assert result.exit_code == 0, result.output
    written = read_tuning(Path(f"{path}.tuning"))
    program = minifut.compile(path, schedule="cpu")
    assert {name: program.tuning[name] for name in written} == written
    a, b = matrices()
    with program.tuning.watch() as seen:
        np.testing.assert_array_equal(program.main(a, b), a @ b)
    for _, shape in seen.kernels:
        for name in shape.keys() & written.keys():
            assert shape[name] <= written[name]


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [("block_rows", 5000, "1 to 1024"), ("register_columns", -2, "1 to 64")],
)
def test_values_out_of_bounds_are_refused_where_they_stand(
    path: Path, name: str, value: int, bounds: str
) -> None:
    set_all(path, {**TILED, STEM + name: value})
    line = 3 + list(TILES).index(name)
    place = (
        rf"product\.fut\.tuning:{line}: parameter '{STEM}{name}' must be from {bounds}"
    )
    with pytest.raises(minifut.UsageError, match=place):
        minifut.compile(path, schedule="cpu")
    for command in ("run", "bench"):
        result = invoke(command, path, "--schedule", "cpu")
        assert result.exit_code == 2 and re.search(place, result.stderr)
    program = minifut.compile(PROGRAM, schedule="cpu")
    with pytest.raises(minifut.UsageError, match=place):
        program.tuning.load(f"{path}.tuning")


def test_a_value_that_the_command_line_replaces_is_not_looked_for(path: Path) -> None:
    set_all(path, {**TILED, STEM + "block_rows": 5000})
    minifut.compile(path, schedule="cpu", params={STEM + "block_rows": 2})
    with pytest.raises(minifut.UsageError, match=r"^parameter .* must be from 1 to"):
        minifut.compile(path, schedule="cpu", params={STEM + "block_rows": 0})


def test_tiles_beyond_the_memory_of_a_group_are_refused(path: Path) -> None:
    large = {"block_depth": 4096, "block_columns": 1024, "register_columns": 64}
    set_all(path, {**TILED, **{STEM + name: value for name, value in large.items()}})
    program = minifut.compile(path, schedule="cpu")
    with pytest.raises(minifut.UsageError, match="bytes of local memory") as caught:
        program.main(*matrices())
    assert f"{STEM}block_depth=4096" in str(caught.value)


def test_unknown_names_are_warned_of(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_all(path, {**TILED, STEM + "blok_rows": 2})
    program = minifut.compile(path, schedule="cpu")
    told = capsys.readouterr().err
    assert f"did you mean '{STEM}block_rows'?" in told
    assert program.tuning[STEM + "block_rows"] == 2
