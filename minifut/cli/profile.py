"""`minifut profile`: the time of one call by kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from minifut.cli import options
from minifut.cli.errors import warn_of_one_thread
from minifut.files import require_writable, write_whole


@click.command("profile", cls=options.ValuesCommand)
@click.argument("file", type=options.PROGRAM)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@options.option("-e --entry", "What to call.", default="main")
@options.option("--data=DATA", "Read the values from here.", type=options.PROGRAM)
@options.option("--json=FILE json_path", "Write the profile there, too.")
@options.target_options
def command(
    file: Path,
    args: tuple[str, ...],
    entry: str,
    data: Path | None,
    json_path: Path | None,
    **target: Any,
) -> None:
    """Say where the time of a call goes: kernels by their share, with the source
    lines that they come from, their bandwidth, what bounds it, and the comparisons
    with thresholds that chose them.

    ARGs are values as for `minifut run`; without them and --data the values come from
    standard input.
    """
    from minifut import compiler, stages
    from minifut.cli.run import arguments_of, chosen_entry, fit, read_npy_argument
    from minifut.inspection import one_thread_of
    from minifut.values.reader import read_stream, read_values

    require_writable([] if json_path is None else [json_path])
    source = stages.read_source(file)
    texts = options.unguarded(args)
    if texts and data is not None:
        raise click.UsageError("give values or --data, not both")
    files = [read_npy_argument(text) for text in texts]
    program = compiler.compile_program(source, stages.Options(**target))
    warn_of_one_thread(one_thread_of(program))
    chosen = chosen_entry(program, entry)
    if data is None:
        values = arguments_of(program, chosen, texts, files)
    else:
        with data.open("rb") as stream:
            values = fit(chosen, list(read_values(read_stream(stream), str(data))))
    found = program.profile(*values, entry=entry)
    click.echo(str(found))
    if json_path is not None:
        write_whole(json_path, (found.to_json() + "\n").encode())
