"""`minifut check`: the front end alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from minifut.cli.errors import WRONG_USE, say
from minifut.cli.options import PROGRAM
from minifut.errors import CompileError, Source


@click.command("check")
@click.argument("files", metavar="FILE...", type=PROGRAM, nargs=-1, required=True)
def command(files: tuple[Path, ...]) -> int:
    """Check programs: their syntax, types, sizes and consumption.

    FILE may be - for standard input. All files are checked, whatever is wrong with
    some.
    """
    from minifut import stages

    failed = 0
    for file in files:
        try:
            if str(file) == "-":
                source = Source("<stdin>", sys.stdin.read())
            else:
                source = stages.read_source(file)
            checked = stages.check(source)
        except CompileError as error:
            say(str(error))
            failed = WRONG_USE
            continue
        for warning in checked.warnings:
            say(str(warning))
    return failed
