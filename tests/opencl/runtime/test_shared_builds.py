"""Kernels are compiled for PoCL's threads, and run in the calling thread as well."""

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
from minifut.opencl.runtime import binaries, kernels, shared_builds
from minifut.opencl.runtime.kernels import CALLER_WORK
from minifut.opencl.runtime.shared_builds import readdressed

pytestmark = pytest.mark.device

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
    given, expected = binary_for(PTHREAD), binary_for(BASIC)
    assert readdressed(given, PTHREAD, BASIC) == expected != given


@pytest.mark.parametrize(
    "binary", [binary_for(BASIC), binary_for(PTHREAD, b""), b"other"]
)
def test_other_binaries_are_left_alone(binary: bytes) -> None:
    with pytest.raises(ValueError, match="pthread"):
        readdressed(binary, PTHREAD, BASIC)


@pytest.fixture
def session() -> rt.Session:
    found = rt.open_session(None)
    if found.synchronous is None or "PoCL 3.0" not in found.device.version:
        pytest.skip("another driver, or one device")
    return found


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices for which programs are compiled, with an empty cache."""
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    monkeypatch.setattr(binaries, "_kept", [])
    compiled = kernels.compile_program
    handles: list[Any] = []

    def note(session: Any, handle: Any, text: str, options: str) -> Any:
        handles.append(handle)
        return compiled(session, handle, text, options)

    monkeypatch.setattr(kernels, "compile_program", note)
    return handles


def check(program: Any, n: int) -> None:
    xs, ys = np.arange(n, dtype=np.float32), np.ones(3, np.float32)
    for k in 2, 3, 4:
        scaled, moved = program.main(k, xs, ys)
        np.testing.assert_array_equal(scaled, k * xs)
        np.testing.assert_array_equal(moved, k + ys)


@pytest.mark.parametrize("n", [5, CALLER_WORK])
def test_kernels_are_compiled_once(
    session: rt.Session, built: list[Any], n: int
) -> None:
    program = minifut.compile(TEXT)
    check(program, n)
    check(program, 6)
    assert built == [session.device.handle]


def test_programs_may_have_kernels_of_the_same_name(
    session: rt.Session, built: list[Any]
) -> None:
    one = minifut.compile("entry main (xs: []f32) = map (* 7) xs")
    for _ in range(2):
        assert one.main(np.ones(3, np.float32)).tolist() == [7, 7, 7]
    check(minifut.compile(TEXT), 5)
    assert built == [session.device.handle] * 2


def test_small_launches_run_in_the_calling_thread(
    session: rt.Session, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = minifut.compile(TEXT)
    events: list[bool] = []
    failed = rt.Session.failed

    def note(session: rt.Session) -> bool:
        events.append(session.last_event is None)
        return failed(session)

    monkeypatch.setattr(rt.Session, "failed", note)
    check(program, 5)
    assert events[:2] == [False, True]


def test_a_later_process_loads_what_was_shared(
    session: rt.Session, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(minifut.compile(TEXT), 5)
    binaries.store_binaries()
    built.clear()
    monkeypatch.setattr(shared_builds, "_adapted", None)
    check(minifut.compile(TEXT), 5)
    assert not built


def test_what_cannot_be_shared_is_compiled_again(
    session: rt.Session, built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_builds, "TARGET", "unknown")
    check(minifut.compile(TEXT), 5)
    assert set(built) == {session.device.handle, session.device.synchronous}


def test_a_folder_of_the_user_gets_no_links(tmp_path: Path) -> None:
    command = """
import os, minifut
from pathlib import Path
from tests.opencl.runtime.test_shared_builds import TEXT, check
check(minifut.compile(TEXT), 5)
assert list(Path(os.environ["POCL_CACHE_DIR"]).glob("*/*/*/1-1-1*"))
assert not list(Path(os.environ["POCL_CACHE_DIR"]).glob("*/*/*/0-0-0"))
os._exit(0)
"""
    folder = tmp_path / "driver"
    folder.mkdir()
    variables = {**os.environ, "POCL_CACHE_DIR": str(folder)}
    variables["MINIFUT_CACHE"] = str(tmp_path / "cache")
    subprocess.run([sys.executable, "-c", command], env=variables, check=True)
