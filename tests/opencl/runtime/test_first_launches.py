"""Kernels that a run launches first are built as one program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime import binaries, builds, sessions
from minifut.opencl.runtime.pool import Pool
from minifut.opencl.runtime.sections import Section, together

TEXT = """
entry steps (n: i64) (xs: []i32): []i32 =
  let ys = scan (+) 0 (map (* 2) xs)
  in loop ys for i < n do
       scan i32.max 0 (map2 (\\y k -> y ^ i32.i64 (i + k)) (reverse ys) (indices ys))
entry checked (xs: []i32) (is: []i64): []i32 =
  let ys = scan (+) 0 xs
  in scan (+) 0 (map (\\i -> ys[i]) is)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test, for its own kernels alone."""
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    monkeypatch.setattr(binaries, "_kept", [])
    return tmp_path / "kernels"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the programs that are built."""
    texts: list[str] = []
    build = builds.build

    def noted(session: Any, handle: Any, text: str, *rest: str) -> Any:
        texts.append(text)
        return build(session, handle, text, *rest)

    monkeypatch.setattr(builds, "build", noted)
    return texts


def wanted(n: int, xs: np.ndarray) -> np.ndarray:
    ys = np.cumsum(2 * xs, dtype=np.int32)
    for i in range(n):
        mixed = ys[::-1] ^ (i + np.arange(len(xs), dtype=np.int32))
        ys = np.maximum(0, np.maximum.accumulate(mixed))
    return ys


def test_each_text_stands_as_it_would_alone() -> None:
    parts = [
        Section(f"k{i}", "", f"static int f(int x) {{x + W}}\nk{i}\n", "-w", {"W": i})
        for i in range(2)
    ]
    assert together(parts) == "".join(
        f"#define f f_{i}\n#define W {i}\n"
        f"static int f(int x) {{x + W}}\nk{i}\n#undef f\n#undef W\n"
        for i in range(2)
    )
    assert parts[1].alone()[1] == "-w -DW=1"


@pytest.mark.device
def test_a_run_builds_one_program(built: list[str]) -> None:
    program = minifut.compile(TEXT, schedule="cpu")
    program.tuning.update({name: 0 for name in program.tuning if "host" in name})
    xs = np.arange(100, dtype=np.int32)
    for n in (3, 0, 4):
        np.testing.assert_array_equal(program.steps(n, xs), wanted(n, xs))
    (text,) = built
    assert text.count("__kernel ") > 1


@pytest.mark.device
def test_kernels_that_were_built_keep_their_place_among_others() -> None:
    program = minifut.compile(TEXT, schedule="cpu")
    host = next(name for name in program.tuning if "host" in name)
    for size, threshold, n in ((1 << 19, 0, 0), (1 << 19, 0, 3), (50, 1 << 40, 3)):
        program.tuning[host] = threshold
        xs = (np.arange(size) % 100).astype(np.int32)
        np.testing.assert_array_equal(program.steps(n, xs), wanted(n, xs))


@pytest.mark.device
def test_a_later_process_finds_each_kernel_in_its_program(
    cache: Path, built: list[str]
) -> None:
    xs = np.arange(100, dtype=np.int32)
    params = {"steps.loop_scan.host": 0}
    first = minifut.compile(TEXT, schedule="cpu", params=params)
    np.testing.assert_array_equal(first.steps(3, xs), wanted(3, xs))
    names = {path.name for path in cache.iterdir()}
    binaries.store_binaries()
    (whole,) = {path.name for path in cache.iterdir()} - names
    built.clear()
    again = minifut.compile(TEXT + " ", schedule="cpu", params=params)
    np.testing.assert_array_equal(again.steps(3, xs), wanted(3, xs))
    assert not built
    (cache / whole).unlink()
    binaries._kept.clear()
    again = minifut.compile(TEXT + "  ", schedule="cpu", params=params)
    np.testing.assert_array_equal(again.steps(3, xs), wanted(3, xs))
    assert built


@pytest.mark.device
def test_failures_and_interrupts_leave_nothing_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = minifut.compile(TEXT)
    xs = np.arange(1000, dtype=np.int32)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(builds, "build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            program.checked(xs, np.arange(1000))
    with pytest.raises(minifut.ProgramError, match="out of bounds"):
        program.checked(xs, np.arange(1000) * 2)
    found = program.checked(xs, np.zeros(1000, np.int64))
    np.testing.assert_array_equal(found, np.zeros(1000))


def test_helpers_that_are_not_static_have_names_of_their_own() -> None:
    inline = "__attribute__((always_inline)) "
    helpers = f"long mod_i64(long x) {{..}}\n{inline}float near(float x) {{..}}\n"
    text = helpers + "__kernel void main(..) {..}\n"
    whole = together([Section("main", "", text, "", {})] * 2)
    for name in ("mod_i64", "near"):
        assert f"#define {name} {name}_0" in whole
        assert f"#define {name} {name}_1" in whole
    assert "#define main" not in whole


@pytest.mark.device
def test_each_session_has_programs_of_its_own_context() -> None:
    xs = np.arange(100, dtype=np.int32)
    for most in (50_000_000, 60_000_000, 70_000_000):
        program = minifut.compile(TEXT, schedule="cpu", max_memory=most)
        np.testing.assert_array_equal(program.steps(3, xs), wanted(3, xs))
        if not any(kept.stored for kept in binaries._kept):
            binaries.store_binaries()  # what follows loads what was built


@pytest.mark.device
def test_blocks_are_let_go_behind_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that wait use blocks that are free: those keep their memory till then."""
    waiting: list[int] = []
    empty = Pool.empty

    def noted(self: Pool) -> None:
        kept = self.kept
        empty(self)
        if kept:
            known = sessions._sessions.values()
            waiting.append(sum(len(s.first_launches.waiting) for s in known))

    monkeypatch.setattr(Pool, "empty", noted)
    text = f"entry main (m: i64) = {'replicate m (' * 12} 1i32 {')' * 12}"
    program = minifut.compile(text, schedule="cpu", max_memory=3_300_000)
    assert (program.main(3) == 1).all()
    assert waiting and not any(waiting)
