"""docs/command-line.md describes every option and every environment variable."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest

from minifut.cli import SUBCOMMANDS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "command-line.md").read_text()


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_options_are_described(name: str) -> None:
    command: click.Command = importlib.import_module(
        f"minifut.cli.{name.replace('-', '_')}"
    ).command
    assert f"`minifut {name}" in PAGE
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            described = [f"`{o}" in PAGE or f" {o}" in PAGE for o in parameter.opts]
            assert any(described), parameter.opts


def test_environment_variables_are_described() -> None:
    used = set()
    for path in (ROOT / "minifut").rglob("*.py"):
        used |= set(re.findall(r"MINIFUT_[A-Z_]+\b", path.read_text()))
    assert used and all(f"`{name}" in PAGE for name in used)
