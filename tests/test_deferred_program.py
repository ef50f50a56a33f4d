"""Programs whose device is opened at the first call."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import minifut
from minifut.deferred_program import DeferredProgram
from minifut.errors import UsageError
from minifut.opencl.runtime import device_record

SOURCE = """
-- | Twice as much.
entry twice (xs: []i32): []i32 = map (* 2) xs
entry tuning (x: i32): i32 = x + 1
"""
COMPILE = f"""
import sys, minifut
program = minifut.compile({SOURCE!r})
print(repr(program.twice), program.twice.__doc__, "pyopencl" in sys.modules)
"""


def test_a_known_program_is_compiled_without_drivers() -> None:
    """Also where neither the compiler nor what drives devices is imported."""
    if not os.path.exists(device_record.START):
        pytest.skip("nothing says what a record would depend on")
    text = COMPILE + (
        "heavy = 'minifut.frontend', 'minifut.passes', 'minifut.opencl.runtime.queue'\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    for _ in range(2):
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "entry twice (xs: [d]i32): [d]i32" in done.stdout
    assert "Twice as much." in done.stdout
    assert done.stdout.splitlines()[-2].endswith("False")
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.device
def test_the_first_call_opens_the_device() -> None:
    program = minifut.compile(SOURCE)
    assert isinstance(program, DeferredProgram)
    twice = program.twice
    before = hash(twice), twice.function
    assert program.twice(np.arange(3, dtype=np.int32)).tolist() == [0, 2, 4]
    assert (hash(twice), twice.function) != before
    assert hash(twice) == before[0]
    assert twice == program.twice
    # what was taken before the first call is still the entry point
    assert before[1](np.ones(1, np.int32), device=False).tolist() == [2]


@pytest.mark.device
@pytest.mark.parametrize("name", ["tuning", "description", "opaques"])
def test_what_depends_on_the_device_opens_it(name: str) -> None:
    program = minifut.compile(SOURCE)
    assert name in dir(program)
    assert getattr(program, name) is getattr(program, name)
    assert program["tuning"](np.int32(1)) == 2


@pytest.mark.device
def test_repr_to_device_and_pickling_open_the_device() -> None:
    assert "twice" in repr(minifut.compile(SOURCE))
    given = minifut.compile(SOURCE).to_device(np.arange(2, dtype=np.int32))
    assert minifut.compile(SOURCE).twice(given).tolist() == [0, 2]
    again = pickle.loads(pickle.dumps(minifut.compile(SOURCE).twice))
    assert again(np.ones(2, np.int32)).tolist() == [2, 2]


@pytest.mark.device
def test_threads_open_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = minifut.compile(SOURCE)
    assert isinstance(program, DeferredProgram)
    load, loads = program._load, []
    assert load is not None

    def counted() -> object:
        loads.append(1)
        return load()

    monkeypatch.setattr(program, "_load", counted)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(program.twice, [np.ones(3, np.int32)] * 16))
    assert all(result.tolist() == [2, 2, 2] for result in results)
    assert loads == [1]


@pytest.mark.device
def test_a_failure_to_load_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = minifut.compile(SOURCE)
    assert isinstance(program, DeferredProgram)
    load = program._load

    def fail() -> object:
        raise UsageError("no OpenCL device was found")

    monkeypatch.setattr(program, "_load", fail)
    for _ in range(2):
        with pytest.raises(UsageError, match="no OpenCL device"):
            program.twice(np.ones(1, np.int32))
    monkeypatch.setattr(program, "_load", load)
    assert program.twice(np.ones(1, np.int32)).tolist() == [2]


@pytest.mark.device
def test_what_the_user_set_is_checked_at_once() -> None:
    with pytest.raises(UsageError, match="no_such_device"):
        minifut.compile(SOURCE, device="no_such_device")
    with pytest.raises(UsageError, match="no_parameter"):
        minifut.compile(SOURCE, params={"no_parameter": 1})
    constant = "def c = [1i32, 2][i64.i32 (opaque 7)]\nentry f (x: i32) = x + c"
    with pytest.raises(minifut.ProgramError, match="Index"):
        minifut.compile(constant)


def test_records_depend_on_what_decides_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.path.exists(device_record.START):
        pytest.skip("nothing says what a record would depend on")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    known = [device_record._key(None)]

    def changed() -> bool:
        known.append(device_record._key(None))
        return known[-1] not in known[:-1]

    assert not changed()
    (tmp_path / "a.icd").write_text("lib.so\n")
    assert changed()
    (tmp_path / "lib.so").write_text("code")
    assert changed()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert changed()
    monkeypatch.setenv("MINIFUT_DEVICE", "gpu")
    assert changed()
    monkeypatch.setenv("POCL_DEVICES", "pthread basic")  # the default
    assert not changed()
    assert device_record._key("cpu") != known[-1]
    monkeypatch.setattr(device_record, "START", str(tmp_path / "none"))
    assert device_record._key(None) is None


@pytest.mark.device
def test_a_wrong_record_is_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    key = device_record._key(None)
    if key is None:
        pytest.skip("nothing says what a record would depend on")
    kind = device_record.kind_of_device(None)
    other = "gpu" if kind == "cpu" else "cpu"
    device_record.store_bytes(device_record.KIND, key, other.encode())
    program = minifut.compile(SOURCE)
    assert program.twice(np.ones(1, np.int32)).tolist() == [2]
    assert f"compiled for a {other} and runs on a {kind}" in caplog.text
    assert device_record.kind_of_device(None) == kind
    device_record.store_bytes(device_record.KIND, key, b"nothing")
    assert device_record.kind_of_device(None) == kind


@pytest.mark.device
def test_the_device_is_that_of_the_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    program = minifut.compile(SOURCE)
    monkeypatch.setenv("MINIFUT_DEVICE", "no_such_device")
    with pytest.raises(UsageError, match="no_such_device"):
        minifut.compile(SOURCE)
    wanted = minifut.compile(SOURCE, device="#0")
    monkeypatch.setenv("MINIFUT_DEVICE", "#0")
    named = minifut.compile(SOURCE)
    monkeypatch.setenv("MINIFUT_DEVICE", "no_such_device")
    for each in (wanted, named):
        assert each.twice(np.ones(1, np.int32)).tolist() == [2]
    monkeypatch.delenv("MINIFUT_DEVICE")
    assert program.twice(np.ones(1, np.int32)).tolist() == [2]
