"""`minifut dev --reduce FILE --while COMMAND`: a failing program made smaller.

Each candidate is written to FILE with the ending `.reduced.fut`, beside FILE, so that
its imports are found; the command gets that path in the place of `{}`.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from pathlib import Path

import click

from minifut.errors import UsageError
from minifut.files import write_whole
from minifut.interrupts import raised


def reduce_file(file: Path, command: str) -> None:
    """Write the smallest program found for which the command succeeds."""
    from minifut.stages import read_source
    from minifut.testing.reducer import reduce_text

    path = file.with_suffix(".reduced.fut")
    if path.exists():
        raise UsageError(f"{path} exists already: rename it or remove it")
    quoted = shlex.quote(str(path))
    line = command.replace("{}", quoted) if "{}" in command else f"{command} {quoted}"
    started = time.perf_counter()

    def exit_code(text: str) -> int:
        write_whole(path, text.encode())
        done = subprocess.run(line, shell=True, capture_output=True)
        return done.returncode

    def show(text: str, tried: int) -> None:
        seconds = time.perf_counter() - started
        click.echo(
            f"{len(text)} characters after {tried} runs ({seconds:.0f} s)", err=True
        )

    text = read_source(file).text
    smallest = text
    try:
        code = exit_code(text)
        if code != 0:
            raise UsageError(
                f"the command fails on {file} (exit code {code}); it has to succeed "
                "as long as the program shows what you look for, such as "
                "'! minifut test {}'"
            )

        def note(text: str, tried: int) -> None:
            nonlocal smallest
            smallest = text
            show(text, tried)

        with raised():
            reduce_text(text, lambda text: exit_code(text) == 0, str(path), note)
    finally:  # an interruption keeps what was found
        if smallest != text:
            write_whole(path, smallest.encode())
        else:
            path.unlink(missing_ok=True)
    if smallest == text:
        click.echo("nothing can be left out")
    else:
        click.echo(f"{path}: {len(smallest)} of {len(text)} characters")
