"""`minifut compile`: a Python module that runs without the compiler, and its stubs."""

from __future__ import annotations

from pathlib import Path

import click

from minifut.cli.options import PROGRAM, option, require_entries
from minifut.errors import UsageError
from minifut.files import read_regular, write_whole

HEADER = b", compiled by minifut."
"""what the first line of a generated module ends with"""
STUB_HEADER = b"# Types of a program compiled by minifut."
LONGEST_HEADER = 400


@click.command("compile")
@click.argument("file", type=PROGRAM)
@option("-o --output=FILE", "The module (default: FILE with .py).")
@option(
    "--schedule",
    "One shape of kernels (default: both; the device decides when it is loaded).",
    type=click.Choice(["cpu", "gpu"]),
)
@option(
    "--stubs", "Write types of the entry points beside the module, for type checkers."
)
@option("--force", "Replace a file that minifut did not write.")
def command(
    file: Path, output: Path | None, schedule: str | None, stubs: bool, force: bool
) -> None:
    """Compile a program to a Python module.

    The module imports numpy, pyopencl and minifut's small runtime, not the compiler.
    """
    path = output or file.with_suffix(".py")
    stub = path.with_suffix(".pyi")
    if not force:
        refuse_to_replace(path, HEADER)
        if stubs:
            refuse_to_replace(stub, STUB_HEADER)
    text, types = module_texts(file, file.stem, schedule)
    write_whole(path, text.encode())
    click.echo(f"wrote {path}", err=True)
    if stubs:
        write_whole(stub, types.encode())
        click.echo(f"wrote {stub}", err=True)


def module_texts(file: Path, name: str, schedule: str | None) -> tuple[str, str]:
    """The module of a program and the types of its entry points; shows the compiler's
    warnings."""
    from minifut import stages
    from minifut.cli.stubs import stub_text

    source = stages.read_source(file)
    checked = stages.check(source)
    for warning in checked.warnings:
        click.echo(str(warning), err=True)
    require_entries(source, checked.entries)
    core = stages.to_core(checked)
    about = stages.documentation_of(checked)
    text = stages.to_host_module(stages.to_kernels(core), schedule, name, about)
    return text, stub_text(core, about)


def refuse_to_replace(path: Path, header: bytes) -> None:
    """Raises `UsageError` if there is a file that is none of ours."""
    if not path.is_file():
        return
    try:
        first = read_regular(path, path.stat().st_size)[:LONGEST_HEADER]
    except (OSError, ValueError):
        first = b""
    if header not in first.partition(b"\n")[0]:
        raise UsageError(
            f"{path} exists and was not written by minifut: name another file with "
            "-o, or replace it with --force"
        )
