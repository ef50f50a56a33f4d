"""`minifut run`: one call of an entry point, values in and values out."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minifut.cli.options import (
    PROGRAM,
    ValuesCommand,
    option,
    print_bytes,
    print_parameters_option,
    show_parameters,
    target_options,
    unguarded,
)
from minifut.errors import UsageError, counted
from minifut.files import require_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minifut.program import EntryPoint, Program
    from minifut.signature import Parameter
    from minifut.values.structured import Described
    from minifut.values.structured_arguments import Leaves


@click.command("run", cls=ValuesCommand)
@click.argument("file", type=PROGRAM)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@option("-e --entry", "What to call.", default="main")
@option(
    "-o --output=OUT.npy.. outputs",
    "Save a result; once for each result.",
    type=PROGRAM,
)
@option("-b --binary", "Print the results in binary form.")
@option(
    "-L --log", "Say on standard error what is compared with thresholds, and what runs."
)
@print_parameters_option
@target_options
def command(
    file: Path,
    args: tuple[str, ...],
    entry: str,
    outputs: tuple[Path, ...],
    binary: bool,
    log: bool,
    print_parameters: bool,
    **target: Any,
) -> None:
    """Run a program on values and print or save the results.

    Each ARG is the path of a .npy file or a value such as 5, -100i8, 1.5f32,
    "[1, 2, 3]", "(1, true)", "{x = 1.5, y = 2}" or "#circle 1.5"; numbers without a
    suffix take the type of the parameter. Without ARGs the values come from standard
    input, in Futhark's text or binary form.
    """
    from minifut import compiler, stages

    options = stages.Options(**target)
    if print_parameters:
        show_parameters([file], options)
        return
    for path in outputs:
        if path.suffix not in ("", ".npy"):
            raise UsageError(
                f"{path}: results are saved as .npy; text goes to standard output"
            )
    require_writable(outputs)
    source = stages.read_source(file)
    # Files are read first: what is wrong with them is quick to find.
    texts = unguarded(args)
    files = [read_npy_argument(text) for text in texts]
    program = compiler.compile_program(source, options)
    chosen = chosen_entry(program, entry)
    if outputs and len(outputs) != len(chosen.results):
        raise UsageError(
            f"-o is given {counted(len(outputs), 'time')}, {entry} has "
            f"{counted(len(chosen.results), 'result')}: give it once for each"
        )
    values = arguments_of(program, chosen, texts, files)
    results = call_and_log(program, chosen, values) if log else chosen.call(values)
    if outputs:
        save(results, chosen, outputs)
    else:
        show(program, results, chosen, binary)


def chosen_entry(program: Program, name: str) -> EntryPoint:
    """The entry point of a name. Raises `UsageError`, which says how to name one."""
    try:
        return program.entry(name)
    except UsageError as error:
        if str(error).endswith("?"):
            raise
        hint = "name one with -e" if program.entries else "begin one with `entry`"
        raise UsageError(f"{error}; {hint}") from None


def arguments_of(
    program: Program, entry: EntryPoint, texts: Sequence[str], files: Sequence[Any]
) -> list[Any]:
    """The values for an entry point: those of files, where an argument names one, of
    literals, or without arguments of standard input."""
    given = list(files)
    stored = [text.endswith(".npy") for text in texts]
    if not texts and entry.parameters:
        given = read_input(program, entry)
    elif len(texts) == len(entry.parameters):
        given = [
            read_argument(program, text, number, parameter) if value is None else value
            for number, (text, value, parameter) in enumerate(
                zip(texts, files, entry.parameters, strict=True), 1
            )
        ]
    return fit(entry, given, stored)


def call_and_log(
    program: Program, entry: EntryPoint, values: Sequence[Any]
) -> tuple[Any, ...]:
    """The results; comparisons with thresholds, and kernels with the numbers that shape
    them, are printed, also of a failing run."""
    with program.tuning.watch() as seen:
        try:
            return entry.call(values)
        finally:
            for name, amount in seen.comparisons:
                click.echo(f"Compared {name} <= {amount}", err=True)
            for name, shape in seen.kernels:
                numbers = "".join(f" {n}={v}" for n, v in sorted(shape.items()))
                click.echo(f"Ran {name}{numbers}", err=True)


def read_npy_argument(text: str) -> Any:
    """The array of an argument that names a .npy file; None for other arguments."""
    if not text.endswith(".npy"):
        return None
    from minifut.values.npy import read_npy

    return read_npy(Path(text))


def read_argument(
    program: Program, text: str, number: int, parameter: Parameter
) -> Any:
    """The value of a literal. Its numbers are of the parameter's type where they have
    no suffix and that loses nothing."""
    from minifut.values.reader import read_literal

    name = f"argument {number} ({text[:40]})"
    expected = parameter.value_type
    if expected is None:
        return read_typed(program, [parameter], text.encode(), name, binary=False)[0]
    try:
        return read_literal(text, name, expected.element)
    except UsageError as error:
        with contextlib.suppress(UsageError):
            return read_literal(text, name)
        if hint := file_hint(text):
            raise UsageError(f"{error} ({hint})") from None
        raise


def file_hint(text: str) -> str:
    """What to do with an argument that names a file, but not a .npy file."""
    if not os.path.isfile(text):  # also of texts that cannot name a file
        named = re.fullmatch(r"[\w./\\-]+\.[A-Za-z]\w*", text)
        return "there is no such file either" if named else ""
    if text.endswith(".npz"):
        return "save each of its arrays as .npy: np.save(name, archive[name])"
    return f"to read values from a file: minifut run ... < {text}"


def read_input(program: Program, entry: EntryPoint) -> list[Any]:
    """All values on standard input."""
    from minifut.values.reader import read_stream, read_values

    data = read_stream(sys.stdin.buffer)
    if all(parameter.value_type for parameter in entry.parameters):
        return list(read_values(data, "standard input"))
    return read_typed(program, entry.parameters, data, "standard input")


def read_typed(
    program: Program,
    parameters: Sequence[Parameter],
    data: bytes,
    name: str,
    binary: bool = True,
) -> list[Any]:
    """A value for each parameter, which may be structured."""
    from minifut.values.reader import read_next
    from minifut.values.structured_text import read_structured
    from minifut.values.text import Malformed, skip_space

    def opaque(type_: Described, leaves: Sequence[Any]) -> Any:
        assert program.opaques is not None
        return program.opaques.make(type_.text, leaves)

    found: list[Any] = []
    offset = 0
    try:
        for parameter in parameters:
            offset = skip_space(data, offset)
            if parameter.value_type is not None:
                value, offset = read_next(data, offset, binary=binary)
            else:
                value, offset = read_structured(
                    parameter.structure, data, offset, opaque, binary
                )
            found.append(value)
        offset = skip_space(data, offset)
        if offset != len(data):
            raise Malformed(offset, "no further value was expected")
    except Malformed as error:
        message = f"{name}: byte {error.offset}: {error.message}"
        raise UsageError(message) from None
    return found


def fit(
    entry: EntryPoint, values: Sequence[Any], stored: Sequence[bool] = ()
) -> list[Any]:
    """The values if they are what the parameters want, else a `UsageError`; structured
    ones are checked by the call. `stored` says which are from .npy files."""
    if len(values) != len(entry.parameters):
        shown = ", ".join(f"{p.name}: {p.type_text}" for p in entry.parameters)
        raise UsageError(
            f"{entry.name} takes {counted(len(entry.parameters), 'value')} ({shown}), "
            f"{len(values) or 'none'} given"
        )
    fitted: list[Any] = []
    for parameter, value, is_stored in zip_longest(entry.parameters, values, stored):
        expected = parameter.value_type
        if expected is None:
            fitted.append(value)
            continue
        from minifut.values.foreign import astype_hint
        from minifut.values.types import DTYPES, value_type

        came = value_type(value)
        if came != expected:
            hint = ""
            if is_stored and came.rank == expected.rank:
                hint = astype_hint(value.dtype, DTYPES[expected.element])
                hint += " before the array is saved"
            raise UsageError(
                f"parameter {parameter.name} of {entry.name}: "
                f"{expected} is expected, got {came}{hint}"
            )
        fitted.append(value)
    return fitted


def save(results: Sequence[Any], entry: EntryPoint, outputs: Sequence[Path]) -> None:
    """Every result in its .npy file; arrays of records or tuples as structured ones."""
    import numpy as np

    from minifut.values.npy import write_npy_files
    from minifut.values.structured import StructArray

    results = [np.asarray(r) if isinstance(r, StructArray) else r for r in results]
    for described, result in zip(entry.results, results, strict=True):
        plain = described.value_type is not None
        if not plain and getattr(result, "dtype", np.dtype(object)).hasobject:
            raise UsageError(
                f"a result of type {described.type_text} cannot be saved as .npy"
            )
    write_npy_files(list(zip(outputs, results, strict=True)))


def show(
    program: Program, results: Sequence[Any], entry: EntryPoint, binary: bool
) -> None:
    """All results on standard output."""
    from minifut.values.structured_text import binary_of_leaves, format_structured
    from minifut.values.text import format_value

    texts: list[bytes] = []
    for result, described in zip(results, entry.results, strict=True):
        if described.value_type is not None:
            leaves, text = [result], format_value(result)
        else:
            leaves = leaves_of(program, described.structure, result)
            text = format_structured(described.structure, leaves)
        texts.append(binary_of_leaves(leaves) if binary else f"{text}\n".encode())
    print_bytes(b"".join(texts))


def leaves_of(program: Program, type_: Described, value: Any) -> list[Any]:
    """The arrays and scalars of a result."""
    from minifut.values.structured_arguments import open_value, whole_leaves

    def opaque(part: Described, inner: Any, path: str) -> Leaves:
        assert program.opaques is not None
        return [(leaf, path) for leaf in program.opaques.leaves(inner)]

    return whole_leaves(type_, open_value(type_, value, "", opaque))
