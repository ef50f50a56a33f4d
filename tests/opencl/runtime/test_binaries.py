"""Binaries of kernels outlive the process that built them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minifut.cache import encoded
from minifut.opencl.runtime import Entry, EntryLeaf, Kernel, Program, Value, binaries
from minifut.opencl.runtime.driver_binaries import ANY_SIZE
from minifut.opencl.runtime.driver_cache import private_folders

pytestmark = pytest.mark.device

TEXT = """
__kernel void sizes_of_groups(__global int *failure, __global int *ys)
{
    if (failure[0]) return;
    ys[get_global_id(0)] = get_local_size(0) * 1000 + get_local_id(0) * 10 + WORK_ITEMS;
}
"""


def _groups(run, n, group):  # type: ignore[no-untyped-def]
    ys = run.allocate(4 * n)
    run.kernels[0].of_group(group)(n, ys.buffer)
    return ((ys, (n,)),)


def program() -> Program:
    size = EntryLeaf("i64")
    return Program(
        "binaries",
        "gpu",
        kernels=(Kernel("sizes_of_groups", ("buffer",), TEXT, None),),
        entries=(
            Entry("main", _groups, (), (Value("n", "i64", (size,)),
                  Value("group", "i64", (size,))),
                  (Value("", "[]i32", (EntryLeaf("i32", (None,)),)),)),
        ),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test, for its own kernels alone."""
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    monkeypatch.setattr(binaries, "_kept", [])
    return tmp_path / "kernels"


def run(n: int, group: int) -> None:
    at = np.arange(n) % group
    np.testing.assert_array_equal(
        program().load().main(n, group), group * 1000 + at * 10 + group
    )


def test_each_size_of_groups_is_right_before_and_after(cache: Path) -> None:
    run(64, 4)
    run(64, 8)
    binaries.store_binaries()
    assert len(list(cache.iterdir())) == 2
    for group in (8, 4, 2, 16):
        run(64, group)
    run(1 << 20, 8)  # PoCL has another version for launches as long as this


def test_nothing_is_compiled_for_being_stored() -> None:
    run(64, 4)
    binaries.store_binaries()
    for folder in private_folders():
        made = folder.glob(f"*/*/sizes_of_groups/{ANY_SIZE}")
        assert all(path.is_symlink() for path in made)


def test_damaged_entries_are_recomputed(cache: Path) -> None:
    run(64, 4)
    binaries.store_binaries()
    (entry,) = cache.iterdir()
    entry.write_bytes(entry.read_bytes()[:-100])
    run(64, 4)


def test_many_programs_do_not_wait_for_the_end(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "MOST", 2)
    for group in (1, 2, 4):
        run(64, group)
    assert len(list(cache.iterdir())) == 2


def test_a_binary_that_lacks_the_program_is_not_stored(cache: Path) -> None:
    run(64, 32)
    for folder in private_folders():
        for kernel in folder.glob("*/*/sizes_of_groups"):
            (kernel.parent / "program.bc").unlink()
    binaries.store_binaries()
    assert not private_folders() or not cache.exists()


def test_a_binary_that_lacks_the_program_counts_as_none(cache: Path) -> None:
    run(64, 4)
    key = binaries._kept[0].key
    binaries.store_binaries()
    (entry,) = cache.iterdir()
    _, _, whole = entry.read_bytes().partition(b"\n")
    before, name, rest = whole.partition(b"/program.bc")
    if not name:
        pytest.skip("a binary of another driver")
    length = int.from_bytes(rest[:4], "little")
    lacking = before + name + bytes(4) + rest[4 + length :]
    assert binaries.is_whole(whole) and not binaries.is_whole(lacking)
    entry.write_bytes(encoded(lacking, "kernels", key))
    run(64, 4)
    binaries.store_binaries()
    assert entry.read_bytes().endswith(whole[-64:])


def test_kernels_are_built_after_the_folder_was_cleaned_up() -> None:
    command = """
import os, shutil
from tests.opencl.runtime.test_binaries import run
run(64, 4)
shutil.rmtree(os.environ["POCL_CACHE_DIR"])
run(64, 4)
run(64, 8)
"""
    variables = {k: v for k, v in os.environ.items() if k != "POCL_CACHE_DIR"}
    subprocess.run([sys.executable, "-c", command], env=variables, check=True)
