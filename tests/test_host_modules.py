"""Compilations that are answered from memory or from the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import host_modules


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were really compiled."""
    from minifut import stages

    found: list[str] = []
    check = stages.check

    def noted(source: Any) -> Any:
        found.append(source.name)
        return check(source)

    monkeypatch.setattr(stages, "check", noted)
    return found


@pytest.mark.device
def test_a_source_is_compiled_once(
    tmp_path: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, part = tmp_path / "main.fut", tmp_path / "part.fut"
    path.write_text('import "part"\nentry main (x: i32): i32 = f x\n')
    part.write_text("def f (x: i32) = x + 1\n")
    first, second = minifut.compile(path), minifut.compile(path)
    assert first.main(np.int32(1)) == second.main(np.int32(1)) == 2
    assert first is not second
    assert len(compilations) == 1
    monkeypatch.setattr(host_modules, "_in_memory", type(host_modules._in_memory)())
    minifut.compile(path)
    assert len(compilations) == 1  # from the disk
    part.write_text("def f (x: i32) = x + 2\n")
    assert minifut.compile(path).main(np.int32(1)) == 3
    path.write_text('import "part"\nentry main (x: i32): i32 = f (f x)\n')
    assert minifut.compile(path).main(np.int32(1)) == 5
    assert len(compilations) == 3


@pytest.mark.device
def test_a_damaged_entry_is_made_again(
    compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_modules, "_in_memory", type(host_modules._in_memory)())
    monkeypatch.setattr(host_modules, "load_bytes", lambda kind, key: b'{"text": 1}')
    program = minifut.compile("entry main (x: i32): i32 = x - 7\n")
    assert program.main(np.int32(7)) == 0
    assert compilations
