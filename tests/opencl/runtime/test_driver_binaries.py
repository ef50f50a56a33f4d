"""Kernels are compiled once for both of PoCL's devices of the processor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import binaries, builds, driver_binaries, trial_launches
from minifut.opencl.runtime.driver_binaries import addressed
from minifut.opencl.runtime.kernels import CALLER_WORK
from minifut.opencl.runtime.trial_launches import MANY_GROUPS, Trial

TEXT = """
entry main (k: f32) (xs: []f32) (ys: []f32) = (map (* k) xs, map (+ k) (rotate 1 ys))
"""
BASIC, PTHREAD = "OpenCL 3.0 PoCL HSTR: basic-x", "OpenCL 3.0 PoCL HSTR: pthread-x"


def binary_for(version: str, rest: bytes = b"/program.bc\1\0\0\0") -> bytes:
    """A binary of PoCL for that device, as short as can be."""
    value = 0xCBF29CE484222325
    for byte in version.split(": ")[1].encode():
        value = (value * 0x100000001B3 % 2**64) ^ byte
    return b"poclbin\0" + value.to_bytes(8, "little") + rest


def test_a_binary_names_its_device() -> None:
    given, expected = binary_for(BASIC), binary_for(PTHREAD)
    assert addressed(given, PTHREAD) == expected != given
    assert addressed(expected, BASIC) == given
    assert addressed(b"other", BASIC) == b"other"


@pytest.mark.parametrize(
    ("sizes", "local", "brief"),
    [
        ((70,), (1,), (1,)),
        ((96, 4, 1), (32, 2, 1), (32, 2, 1)),
        ((MANY_GROUPS - 1,), (1,), (1,)),
        ((1 << 20, 2), (1, 2), (MANY_GROUPS, 2)),
    ],
)
def test_trials_are_as_small_as_can_be(sizes: Any, local: Any, brief: Any) -> None:
    assert Trial("k", (), sizes, local).brief_sizes == brief


@pytest.fixture
def session() -> rt.Session:
    found = rt.open_session(None)
    if not driver_binaries.serves_both(found.device):
        pytest.skip("another driver, or one device")
    return found


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices for which programs are compiled, with an empty cache."""
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    monkeypatch.setattr(binaries, "_kept", [])
    handles: list[Any] = []
    for module in builds, trial_launches:
        monkeypatch.setattr(module, "compile_program", noting(handles, module))
    return handles


def noting(handles: list[Any], module: Any) -> Any:
    compiled = module.compile_program

    def note(session: Any, handle: Any, text: str, options: str) -> Any:
        handles.append(handle)
        return compiled(session, handle, text, options)

    return note


def check(program: Any, n: int) -> None:
    xs, ys = np.arange(n, dtype=np.float32), np.ones(3, np.float32)
    for k in 2, 3, 4:
        scaled, moved = program.main(k, xs, ys)
        np.testing.assert_array_equal(scaled, k * xs)
        np.testing.assert_array_equal(moved, k + ys)


@pytest.mark.device
@pytest.mark.parametrize("n", [5, CALLER_WORK])
def test_kernels_are_compiled_once(
    session: rt.Session, built: list[Any], n: int
) -> None:
    program = minifut.compile(TEXT)
    check(program, n)
    check(program, CALLER_WORK + 5 - n)  # on the other device
    assert built == [session.device.synchronous]


@pytest.mark.device
def test_a_later_process_loads_what_was_compiled_for_either(
    session: rt.Session, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(minifut.compile(TEXT), 5)
    binaries.store_binaries()
    built.clear()
    monkeypatch.setattr(driver_binaries, "handed_over", None)
    for n in CALLER_WORK, 5:
        check(minifut.compile(TEXT), n)
    assert not built


@pytest.mark.device
def test_what_cannot_be_shared_is_compiled_again(
    session: rt.Session, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_binaries, "handed_over", lambda *_: (None, 0))
    program = minifut.compile(TEXT)
    check(program, 5)
    check(program, CALLER_WORK)
    assert set(built) == {session.device.handle, session.device.synchronous}


@pytest.mark.device
def test_a_folder_of_the_user_gets_no_links(tmp_path: Path) -> None:
    command = """
import os, minifut
from pathlib import Path
from tests.opencl.runtime.test_driver_binaries import CALLER_WORK, TEXT, check
check(minifut.compile(TEXT), CALLER_WORK)
assert list(Path(os.environ["POCL_CACHE_DIR"]).glob("*/*/*/1-1-1*"))
assert not list(Path(os.environ["POCL_CACHE_DIR"]).glob("*/*/*/0-0-0"))
os._exit(0)
"""
    folder = tmp_path / "driver"
    folder.mkdir()
    variables = {**os.environ, "POCL_CACHE_DIR": str(folder)}
    variables["MINIFUT_CACHE"] = str(tmp_path / "cache")
    subprocess.run([sys.executable, "-c", command], env=variables, check=True)
