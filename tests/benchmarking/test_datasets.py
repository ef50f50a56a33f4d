"""Data sets of test blocks, of other files and of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from minifut.benchmarking.datasets import (
    BENCH,
    TUNE,
    DataSet,
    Selection,
    data_sets,
)
from minifut.errors import UsageError
from tests.testing.fake import entry, program

BLOCKS = """
-- Sums.
-- ==
-- entry: sum total
-- "named" input { [1f32] } output { 1f32 }
-- input { [1f32,
--          2f32] } output { 3f32 }
-- random input { [10]f32 }
-- input @ data/large.in.gz output @ data/large.out
-- nobench input { [3f32] }
-- notune random input { [20]f32 } auto output
-- no_opencl input { [4f32] }
-- tiny input { [5f32] }
-- input { [6f32] } error: bounds

-- ==
-- entry: other
-- input { 100000000i64 200000000i64 300000000i64 400000000i64 }
entry sum (xs: []f32) = f32.sum xs
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "sums.fut").write_text(BLOCKS)
    return tmp_path / "sums.fut"


def names(found: list[DataSet]) -> list[str]:
    return [data.name for data in found]


def test_names_are_those_of_futhark(path: Path) -> None:
    found = data_sets(path, Selection(entries=frozenset({"sum"})))
    assert names(found) == [
        "named",
        '#1 ("[1f32, 2f32]")',
        "[10]f32",
        "data/large.in",
        "[20]f32",
        '#7 ("[5f32]")',
    ]
    (long,) = data_sets(path, Selection(entries=frozenset({"other"})))
    assert re.fullmatch(r'#0 \("(.{50})\.\.\."\)', long.name)


def test_every_entry_point_of_a_block_has_its_data(path: Path) -> None:
    found = data_sets(path, Selection())
    assert {d.program_name for d in found} == {
        f"{path}:{name}" for name in ("sum", "total", "other")
    }
    assert DataSet(path, "main", "", found[0].case).program_name == str(path)


def test_tags_set_cases_aside(path: Path) -> None:
    only = frozenset({"sum"})
    tuned = names(data_sets(path, Selection(TUNE, only)))
    assert '#4 ("[3f32]")' in tuned and "[20]f32" not in tuned
    without = names(data_sets(path, Selection(BENCH | {"tiny"}, only)))
    assert '#7 ("[5f32]")' not in without and "named" in without
    interpreted = names(data_sets(path, Selection(BENCH, only, "interpreter")))
    assert '#6 ("[4f32]")' in interpreted


def test_tags_set_programs_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text("-- ==\n-- tags { disable }\n-- input { 1 }\n")
    assert data_sets(path, Selection()) == []
    path.write_text("-- ==\n-- error: nonsense\n")
    assert data_sets(path, Selection()) == []
    path.write_text("entry main = 1i32\n")
    assert data_sets(path, Selection()) == []


def test_a_specification_in_its_own_file(path: Path, tmp_path: Path) -> None:
    spec = tmp_path / "sizes.spec"
    spec.write_text("Larger sizes.\n==\nentry: sum\nrandom input { [30]f32 }\n")
    (found,) = data_sets(path, Selection(spec_file=spec))
    assert (found.entry, found.name, found.path) == ("sum", "[30]f32", path)
    spec.write_text("random input { [30]f32 }\n")
    with pytest.raises(UsageError, match="no line begins with '=='"):
        data_sets(path, Selection(spec_file=spec))
    spec.write_text("\n==\nrandom input 3\n")
    with pytest.raises(UsageError, match=r"sizes.spec:3: .*expected"):
        data_sets(path, Selection(spec_file=spec))


def test_data_files_take_the_place_of_blocks(path: Path, tmp_path: Path) -> None:
    data = tmp_path / "values.in"
    data.write_text("[1f32, 2f32]")
    (found,) = data_sets(path, Selection(entries=frozenset({"sum"}), data=(data,)))
    assert found.name == str(data) and found.case.output == "any"
    fake = program(entry("sum", ["xs: []f32"], ["f32"], lambda xs: xs.sum()))
    np.testing.assert_array_equal(found.arguments(fake)[0], [1, 2])
    with pytest.raises(UsageError, match=r"none\.in: there is no such file"):
        data_sets(path, Selection(data=(tmp_path / "none.in",)))


def test_expected_results(path: Path) -> None:
    found = {d.name: d for d in data_sets(path, Selection(entries=frozenset({"sum"})))}
    (one,) = found["named"].expected() or []
    assert one == np.float32(1)
    assert found["[10]f32"].expected(lambda data: [0]) is None
    assert found["[20]f32"].expected(lambda data: [data.name]) == ["[20]f32"]
    assert found["[20]f32"].expected() is None
