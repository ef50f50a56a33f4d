"""`minifut compile`: a Python module that runs without the compiler."""

from __future__ import annotations

from pathlib import Path

import click

from minifut.cli.options import PROGRAM
from minifut.files import write_whole


@click.command("compile")
@click.argument("file", type=PROGRAM)
@click.option(
    "-o", "--output", type=PROGRAM, help="The module (default: FILE with .py)."
)
@click.option(
    "--schedule",
    type=click.Choice(["cpu", "gpu"]),
    help="One shape of kernels (default: both; the device decides when it is loaded).",
)
def command(file: Path, output: Path | None, schedule: str | None) -> None:
    """Compile a program to a Python module.

    The module imports numpy, pyopencl and minifut's small runtime, not the compiler.
    """
    from minifut import compiler

    source = compiler.read_source(file)
    checked = compiler.check(source)
    for warning in checked.warnings:
        click.echo(str(warning), err=True)
    kernels = compiler.to_kernels(compiler.to_core(checked))
    text = compiler.to_host_module(kernels, schedule, file.stem)
    compiler.host_code(text)
    write_whole(output or file.with_suffix(".py"), text.encode())
