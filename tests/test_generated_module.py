"""Generated modules are compiled by Python once, and damaged code is made again."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest

from minifut import generated_module
from minifut.cache import entries, store_bytes

TEXT = "program = 6 * 7\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))


def loaded(text: str) -> object:
    generated_module.generated_program.cache_clear()
    return generated_module.generated_program(text)


def test_code_is_kept_for_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded(TEXT) == 42
    assert [entry.kind for entry in entries()] == [generated_module.KIND]
    with monkeypatch.context() as patch:
        patch.setattr(
            generated_module, "compile", lambda *_: pytest.fail("again"), raising=False
        )
        assert loaded(TEXT) == 42
    assert loaded("program = 43") == 43


@pytest.mark.parametrize("kept", [b"", b"\x00" * 9, marshal.dumps("text")])
def test_what_is_no_code_is_made_again(kept: bytes) -> None:
    store_bytes(generated_module.KIND, generated_module.key_of(TEXT), kept)
    assert loaded(TEXT) == 42
    assert loaded(TEXT) == 42
