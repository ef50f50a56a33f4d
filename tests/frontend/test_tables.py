"""The parser's table, kept beside the grammar; and the cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minifut import cache
from minifut.errors import Source
from minifut.frontend import parser, tables
from minifut.frontend.build_lists import LISTS
from minifut.resources import grammar_file


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


@pytest.fixture
def grammar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the grammar, of which no table is kept."""
    copy = tmp_path / "futhark.lark"
    copy.write_bytes(grammar_file("futhark.lark").read_bytes())
    monkeypatch.setattr(tables, "grammar_file", lambda _: copy)
    return copy


def test_the_kept_table_is_that_of_the_grammar(grammar: Path) -> None:
    made = tables.write_table("futhark.lark", tables.STARTS)
    kept = grammar_file("futhark.lark").with_suffix(".json")
    assert made != kept
    assert made.read_text() == kept.read_text(), "python -m minifut.frontend.tables"


def test_a_changed_grammar_is_analysed(grammar: Path) -> None:
    tables.write_table("futhark.lark", tables.STARTS)
    text = grammar.read_text()
    grammar.write_text(text.replace('"def"', '"fun"'))
    table = tables.load_table("futhark.lark", tables.STARTS)
    assert "fun" in table.rows[table.starts["program"]]


def test_a_kept_table_needs_no_lark() -> None:
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
