"""A line in the log while a run builds kernels for long."""

from __future__ import annotations

import io
import logging
import time
from pathlib import Path

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime import build_notice, builds
from minifut.opencl.runtime.build_notice import BuildNotice

TEXT = "entry main (xs: []f32): f32 = f32.sum (scan (+) 0 (map (* 1.37) xs))"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_long_build_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(build_notice, "NOTICE_AFTER", 0.05)
    caplog.set_level(logging.INFO, "minifut")
    notice = BuildNotice()
    notice.begin("kmeans")
    notice.begin("kmeans")
    time.sleep(0.3)
    notice.begin("kmeans")
    notice.end()
    assert lines(caplog) == ["building 2 kernels of kmeans"]


def test_a_program_from_a_string_has_no_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(build_notice, "NOTICE_AFTER", 0.05)
    caplog.set_level(logging.INFO, "minifut")
    notice = BuildNotice()
    notice.begin("<text>")
    time.sleep(0.2)
    notice.end()
    assert lines(caplog) == ["building 1 kernel of a program"]


def test_a_short_build_is_not_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(build_notice, "NOTICE_AFTER", 0.1)
    caplog.set_level(logging.INFO, "minifut")
    notice = BuildNotice()
    notice.begin("kmeans")
    notice.end()
    time.sleep(0.3)
    assert not lines(caplog)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_terminal_shows_a_line_that_goes(
    monkeypatch: pytest.MonkeyPatch, is_shown: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(build_notice, "NOTICE_AFTER", 0.01)
    monkeypatch.setattr(build_notice, "TICK", 0.01)
    monkeypatch.setattr(BuildNotice, "is_shown", is_shown)
    monkeypatch.setattr("sys.stderr", terminal)
    notice = BuildNotice()
    notice.begin("kmeans")
    started = time.monotonic()
    wait = 30 if is_shown else 0.3  # a busy machine is no failure
    while not terminal.getvalue() and time.monotonic() < started + wait:
        time.sleep(0.02)
    notice.end()
    written = terminal.getvalue()
    assert ("\rminifut: building kernel 1 of kmeans, 0 s" in written) == is_shown
    assert not written or (written.endswith(" \r") and "\n" not in written)
    time.sleep(0.1)
    assert terminal.getvalue() == written


@pytest.mark.device
def test_a_first_call_says_what_it_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def slow(*arguments: object) -> object:
        time.sleep(0.2)
        return build(*arguments)

    build = builds.build
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    monkeypatch.setattr(builds, "build", slow)
    monkeypatch.setattr(build_notice, "NOTICE_AFTER", 0.05)
    caplog.set_level(logging.INFO, "minifut")
    program = minifut.compile(TEXT)
    program.main(np.ones(100, np.float32))
    (said,) = lines(caplog)
    assert said.startswith("building 2 kernels of ")
    caplog.clear()
    program.main(np.ones(100, np.float32))
    assert not lines(caplog)
