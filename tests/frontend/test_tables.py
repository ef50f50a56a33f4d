"""The parser's table and the cache that keeps it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minifut import cache
from minifut.errors import Source
from minifut.frontend import parser, tables
from minifut.frontend.build_lists import LISTS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_bytes_come_back_by_kind_and_key(folder: Path) -> None:
    assert cache.load_bytes("a", "key") is None
    cache.store_bytes("a", "key", b"one\ntwo")
    cache.store_bytes("a", "other", b"")
    assert cache.load_bytes("a", "key") == b"one\ntwo"
    assert cache.load_bytes("a", "other") == b""
    assert cache.load_bytes("b", "key") is None
    assert len(files(folder)) == 2


@pytest.mark.parametrize("damage", [b"", b"x", b"0" * 64 + b"\n{}"])
def test_a_damaged_entry_counts_as_absent(folder: Path, damage: bytes) -> None:
    cache.store_bytes("a", "key", b"data")
    (entry,) = files(folder)
    entry.write_bytes(damage)
    assert cache.load_bytes("a", "key") is None


def test_a_folder_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path / "file" / "below"))
    cache.store_bytes("a", "key", b"data")
    assert cache.load_bytes("a", "key") is None


def test_the_cached_table_is_the_computed_one(folder: Path) -> None:
    computed = tables.load_table("futhark.lark", parser.STARTS)
    (entry,) = files(folder)
    assert tables.load_table("futhark.lark", parser.STARTS) == computed
    entry.write_bytes(entry.read_bytes()[:-20])
    assert set(tables.load_table("futhark.lark", parser.STARTS).starts) == set(
        parser.STARTS
    )


def test_a_cached_table_needs_no_lark(folder: Path) -> None:
    tables.load_table("futhark.lark", parser.STARTS)
    program = (
        "import sys\n"
        "from minifut.errors import Source\n"
        "from minifut.frontend.parser import parse_program\n"
        "parse_program(Source('t', 'def f = 1'))\n"
        "print('lark' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_every_rule_has_its_builder_and_every_builder_a_rule() -> None:
    named = {rule.action for rule in parser.futhark_table()[0].rules} - {""}
    assert named == set(parser.BUILDERS) | set(LISTS)


def test_all_start_rules_parse() -> None:
    source = Source("t", "i32")
    assert parser.parse(source, "type").location.end_column == 4
    assert parser.parse(source, "exp").location.end_column == 4
