"""Options that several subcommands share, and values that start with a minus sign."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

PROGRAM = click.Path(path_type=Path)

# A minus sign that begins a number: -1, -100i8, -1.5e3f32, -f64.inf
_NEGATIVE = re.compile(r"-(?:[0-9]|f(?:16|32|64)\.inf\b)")
_GUARD = "\0"


class ValuesCommand(click.Command):
    """A command that takes `-100i8` for a value, not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        guarded = [_GUARD + a if _NEGATIVE.match(a) else a for a in args]
        return super().parse_args(ctx, guarded)


def unguarded(values: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of a `ValuesCommand` as they were typed."""
    return tuple(value.removeprefix(_GUARD) for value in values)


def parse_parameters(
    ctx: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, int]:
    """`NAME=INT`, several times."""
    found: dict[str, int] = {}
    for text in given:
        name, separator, number = text.removeprefix(_GUARD).partition("=")
        try:
            found[name.strip()] = int(number.replace("_", ""), 0)
        except ValueError:
            separator = ""
        if not separator or not name.strip():
            raise click.BadParameter(f"'{text}' is not of the form NAME=INT", ctx)
    return found


def target_options(command: F) -> F:
    """`--schedule`, `--device`, `-P`, `--backend`."""
    options = (
        click.option(
            "--schedule",
            type=click.Choice(["cpu", "gpu"]),
            help="The shape of kernels (default: what fits the device).",
        ),
        click.option(
            "--device",
            metavar="NAME",
            help="Words of the device's description, or #N of `minifut devices`.",
        ),
        click.option(
            "-P",
            "--param",
            "parameters",
            metavar="NAME=INT",
            multiple=True,
            callback=parse_parameters,
            help="Set a tuning parameter.",
        ),
        click.option(
            "--no-tuning",
            "use_tuning",
            is_flag=True,
            flag_value=False,
            default=True,
            help="Ignore the tuning file beside the program (FILE.tuning).",
        ),
        click.option(
            "--backend",
            type=click.Choice(["opencl", "interpreter", "sequential"]),
            default="opencl",
            show_default=True,
            help="What runs the program.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def print_bytes(data: bytes) -> None:
    """All of the data on standard output, which unbuffered may take a part only."""
    import sys

    if sys.stdout is None:
        raise OSError("standard output is closed")
    stream = sys.stdout.buffer
    left = memoryview(data)
    while left:
        left = left[stream.write(left) :]
    stream.flush()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all. Raises `UsageError`."""
    import os
    import tempfile

    from minifut.errors import UsageError

    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".minifut-")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: cannot be written: {reason}") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
