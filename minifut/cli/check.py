"""`minifut check`: the front end alone."""

from __future__ import annotations

from pathlib import Path

import click

from minifut.cli.options import PROGRAM


@click.command("check")
@click.argument("file", type=PROGRAM)
def command(file: Path) -> None:
    """Check a program: its syntax, types, sizes and consumption."""
    from minifut import compiler

    checked = compiler.check(compiler.read_source(file))
    for warning in checked.warnings:
        click.echo(str(warning), err=True)
