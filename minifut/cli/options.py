"""Options that several subcommands share, and values that start with a minus sign."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from minifut.errors import Source, UsageError, reason
from minifut.stages import Options

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


class Seconds(click.FloatRange):
    """A time, from 0 on; `inf` is one, `nan` is none."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


VALUES = {"FILE": PROGRAM, "SECONDS": Seconds()}


def option(usage: str, help: str, **more: Any) -> Callable[[F], F]:
    """An option by its usage: `-o --output=FILE.. outputs` has a value, may be given
    several times, and is passed as `outputs`. Without a value or type it is a flag."""
    names = []
    for word in usage.split():
        name, _, value = word.partition("=")
        names.append(name)
        if value:
            shown = value.removesuffix("..")
            kind = VALUES.get(shown.partition(".")[0])
            more = {"type": kind, "metavar": shown, "multiple": shown != value, **more}
    if not more:
        is_set = not usage.startswith("--no-")
        more = {"is_flag": True, "flag_value": is_set, "default": not is_set}
    elif "default" in more:
        more["show_default"] = True
    return click.option(*names, help=help, **more)


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9,
          "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}  # fmt: skip
_BYTES = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) *([kmg]i?)?b?\Z", re.IGNORECASE)


def parse_bytes(
    ctx: click.Context, option: click.Parameter, given: str | None
) -> int | None:
    """A number of bytes: 1000000, 500MB, 2GiB."""
    if given is None:
        return None
    found = _BYTES.match(given.strip())
    number = found and int(float(found[1]) * _UNITS[(found[2] or "").lower()])
    if not number:
        raise click.BadParameter(
            f"'{given}' is not a number of bytes such as 500MB or 2GiB", ctx
        )
    return number


def target_options(command: F) -> F:
    """What to compile for; the arguments are those of `stages.Options`."""
    options = (
        option(
            "--schedule",
            "The shape of kernels (default: what fits the device).",
            type=click.Choice(["cpu", "gpu"]),
        ),
        option(
            "--device=NAME",
            "Words of the device's description, or #N of `minifut devices`.",
        ),
        option(
            "-P --param=NAME=INT.. parameters",
            "Set a tuning parameter.",
            callback=parse_parameters,
        ),
        option("--no-tuning use_tuning", "Ignore the tuning file beside the program."),
        option(
            "--tuning=EXT tuning_extension",
            "The tuning file of FILE is FILE.EXT.",
            default="tuning",
        ),
        option(
            "--max-memory=BYTES",
            "Most device memory to use, such as 500MB or 2GiB.",
            callback=parse_bytes,
        ),
        option(
            "--backend",
            "What runs the program.",
            type=click.Choice(["opencl", "interpreter", "sequential"]),
            default="opencl",
        ),
    )
    return with_options(command, options)


def with_options(command: F, options: Iterable[Callable[[F], F]]) -> F:
    """The command with these options, which its help lists in this order."""
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def require_entries(source: Source, entries: Sequence[object]) -> None:
    """Raises `UsageError` if a program has nothing to call."""
    if not entries:
        raise UsageError(
            f"{source.name}: there is no entry point; what is called from outside "
            "begins with `entry`, not `def`"
        )


def print_parameters_option(command: F) -> F:
    """`--print-params`."""
    return option(
        "--print-params print_parameters",
        "Print the tuning parameters instead of running anything.",
    )(command)


def show_parameters(paths: Iterable[Path], options: Options) -> None:
    """A table for each program: name, class, value, defaults, bounds, what the
    parameter guards."""
    from minifut import compiler, stages

    programs = list(paths)
    for path in programs:
        if len(programs) > 1:
            click.echo(f"{path}:")
        program = compiler.compile_program(stages.read_source(path), options)
        click.echo(str(program.tuning))


def print_bytes(data: bytes) -> None:
    """All of the data on standard output, which unbuffered may take a part only."""
    import sys

    if sys.stdout is None:
        raise OSError("standard output is closed")
    stream = sys.stdout.buffer
    left = memoryview(data)
    try:
        while left:
            left = left[stream.write(left) :]
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"standard output cannot be written: {reason(error)}") from None
