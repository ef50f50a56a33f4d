"""The README tells every option and every environment variable."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest

from minifut.cli import SUBCOMMANDS

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_options_are_told(name: str) -> None:
    command: click.Command = importlib.import_module(f"minifut.cli.{name}").command
    assert f"`minifut {name}" in README
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            told = [f"`{o}" in README or f" {o}" in README for o in parameter.opts]
            assert any(told), parameter.opts


def test_environment_variables_are_told() -> None:
    used = set()
    for path in (ROOT / "minifut").rglob("*.py"):
        used |= set(re.findall(r"MINIFUT_[A-Z_]+\b", path.read_text()))
    assert used and all(f"`{name}" in README for name in used)
