"""`minifut dataset`: random values, or values converted between their forms.

Options act from left to right, as in Futhark's tool: a bound or a form holds for the
values requested after it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from minifut.cli.options import print_bytes
from minifut.errors import UsageError

if TYPE_CHECKING:
    from minifut.values.types import Value

ELEMENTS = (
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool",
)  # fmt: skip

HELP = """Print random values of given types.

\b
  -g, --generate TYPE   a value of a type such as i32 or [10]f32, or a literal
  -s, --seed INT        the seed of all that follow (default 1)
  --T-bounds=MIN:MAX    bounds for the element type T, as in --i32-bounds=0:9
  -b, --binary          print in binary form
  --text                print in text form (default)
  -t, --type            print the types instead of the values

Options hold for what comes after them. Without -g, values are read from standard input
and printed in the requested form.
"""

FLAGS = {"-b": "binary", "--binary": "binary", "--text": "text", "-t": "type"}
FLAGS["--type"] = "type"
WITH_VALUE = {"-g": "generate", "--generate": "generate", "-s": "seed"}
WITH_VALUE |= {"--seed": "seed"} | {f"--{e}-bounds": "bounds" for e in ELEMENTS}


@click.command(
    "dataset",
    help=HELP,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
    options_metavar="[OPTION...]",
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.pass_context
def command(context: click.Context, args: tuple[str, ...]) -> None:
    if "-h" in args or "--help" in args:
        click.echo(context.get_help())
        return
    from minifut.values.random import parse_bounds
    from minifut.values.text import read_scalar_or_type

    form, seed = "text", 1
    bounds: dict[str, tuple[float, float]] = {}
    generated: list[Callable[[], None]] = []  # once all options are known to be right
    for option, value in options_in_order(args):
        kind = FLAGS.get(option) or WITH_VALUE[option]
        if kind == "seed":
            seed = as_seed(value)
        elif kind == "bounds":
            element = option[2:].partition("-")[0]
            bounds = {**bounds, element: parse_bounds(element, value)}
        elif kind == "generate":
            wanted = read_scalar_or_type(value)
            generated.append(partial(generate, wanted, seed, bounds, form))
        else:
            form = kind
    for make in generated:
        make()
    if not generated:
        convert(form)


def generate(
    wanted: Any, seed: int, bounds: dict[str, tuple[float, float]], form: str
) -> None:
    """A random value of a type, or the value itself, in the requested form."""
    from minifut.values.random import random_value
    from minifut.values.types import ShapedType

    if isinstance(wanted, ShapedType):
        wanted = random_value(wanted, seed, bounds)
    show(wanted, form)


def options_in_order(args: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each option with its value ("" for flags). Raises `UsageError`."""
    from minifut.suggestions import unknown

    rest = iter(args)
    for text in rest:
        option, separator, value = text.partition("=")
        if not text.startswith("-"):
            hint = f"to make a value of a type: -g '{text}'"
            raise UsageError(f"'{text}' is not an option ({hint})")
        if not text.startswith("--") and len(text) > 2:
            option, separator, value = text[:2], "=", text[2:]
        if option in FLAGS and not separator:
            yield option, ""
        elif option in WITH_VALUE:
            given = value if separator else next(rest, None)
            if given is None:
                raise UsageError(f"{option} needs a value")
            yield option, given
        else:
            raise UsageError(unknown("option", option, [*FLAGS, *WITH_VALUE]))


def as_seed(text: str) -> int:
    """A seed: any integer that is not negative."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if seed < 0:
        raise UsageError(f"'{text}' is not a seed: a number of 0 or more is")
    return seed


def convert(form: str) -> None:
    """Values from standard input to standard output."""
    from minifut.values.reader import read_stream, read_values

    data = read_stream(sys.stdin.buffer)
    for value in read_values(data, "standard input"):
        show(value, form)


def show(value: Value | Any, form: str) -> None:
    """One value in the requested form."""
    from minifut.values.binary import write_binary
    from minifut.values.text import format_value
    from minifut.values.types import shaped_type

    if form == "binary":
        print_bytes(write_binary(value))
    elif form == "type":
        print_bytes(f"{shaped_type(value)}\n".encode())
    else:
        print_bytes(format_value(value).encode() + b"\n")
