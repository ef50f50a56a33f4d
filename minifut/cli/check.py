"""`minifut check`: the front end; of a schedule, all but OpenCL's compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from minifut.cli.errors import WRONG_USE, say, warn_of_one_thread
from minifut.cli.options import PROGRAM, option
from minifut.errors import CompileError, Source


@click.command("check")
@click.argument("files", metavar="FILE...", type=PROGRAM, nargs=-1, required=True)
@option(
    "--schedule",
    "Lower them, too: warns of what one work-item of a GPU does alone.",
    type=click.Choice(["cpu", "gpu"]),
)
def command(files: tuple[Path, ...], schedule: str | None) -> int:
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
            alone: tuple[str, ...] = ()
            if schedule is not None:
                kernels = stages.to_kernels(stages.to_core(checked))
                lowered = stages.to_schedule(kernels, schedule)
                alone = stages.to_kernel_code(lowered, schedule).one_thread
        except CompileError as error:
            say(str(error))
            failed = WRONG_USE
            continue
        for warning in checked.warnings:
            say(str(warning))
        warn_of_one_thread(alone)
    return failed
