"""What a run must give, and whether it did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minifut.errors import CompileError, ProgramError, UsageError, counted
from minifut.program import EntryPoint, Program
from minifut.testing import blocks
from minifut.testing.posix import posix_regex
from minifut.values.compare import compare_values
from minifut.values.random import random_value
from minifut.values.reader import read_file, read_values
from minifut.values.text import read_scalar_or_type
from minifut.values.types import ShapedType, Value, value_type


def literal_values(
    given: blocks.ValuesText | blocks.ValuesFile, folder: Path
) -> list[Value]:
    """The values written in a block or in a data file beside the program."""
    match given:
        case blocks.ValuesText(text):
            return read_values(text.encode(), "values", wrap=True)
        case blocks.ValuesFile(path):
            return read_values(read_file(folder / path), path, wrap=True)


def random_values(given: blocks.RandomValues) -> list[Value]:
    """A value for each type, each from the same seed; literals stand for themselves."""
    found: list[Value] = []
    for word in given.text.split():
        type_or_value = read_scalar_or_type(word)
        if isinstance(type_or_value, ShapedType):
            found.append(random_value(type_or_value))
        else:
            found.append(type_or_value)
    return found


def announced_bytes(given: blocks.CaseInput) -> int:
    """The size of random values, which is known before they are made; else 0."""
    if not isinstance(given, blocks.RandomValues):
        return 0
    types = [read_scalar_or_type(word) for word in given.text.split()]
    return sum(t.bytes for t in types if isinstance(t, ShapedType))


def case_arguments(
    program: Program, entry: EntryPoint, given: blocks.CaseInput, folder: Path
) -> list[Any]:
    """The arguments that an input stands for; files are looked for in the folder."""
    match given:
        case blocks.ScriptValues(text, in_file):
            from minifut.stages import read_source
            from minifut.testing.script import script_arguments

            if in_file:
                text = read_source(folder / text).text
            return script_arguments(program, entry, text, folder)
        case blocks.RandomValues():
            values = random_values(given)
        case blocks.ValuesText() | blocks.ValuesFile():
            values = literal_values(given, folder)
    check_arguments(entry, values)
    return list(values)


def check_arguments(entry: EntryPoint, values: Sequence[Any]) -> None:
    """Refuse values of another number or other types than the parameters have: nothing
    is converted."""
    if len(values) != len(entry.parameters):
        raise UsageError(
            f"{entry.name} takes {counted(len(entry.parameters), 'value')}, "
            f"{len(values) or 'none'} given"
        )
    for parameter, value in zip(entry.parameters, values, strict=True):
        expected = parameter.value_type
        if expected is None:
            raise UsageError(
                f"parameter {parameter.name} of {entry.name} has the type "
                f"{parameter.type_text}, which cannot be written as a value"
            )
        if value_type(value) != expected:
            raise UsageError(
                f"parameter {parameter.name} of {entry.name}: a value of type "
                f"{expected} is expected, got {value_type(value)}"
            )


def judge_values(got: Sequence[Any], expected: Sequence[Value]) -> str | None:
    """None if the results are right, else what is wrong."""
    flat: list[Any] = []
    for result in got:
        flat.extend(result if isinstance(result, tuple) and len(got) == 1 else [result])
    for number, result in enumerate(flat):
        if not hasattr(result, "dtype"):
            return f"result #{number} is {result!r}, not an array or a scalar"
    return compare_values(flat, expected)


def located_text(error: CompileError) -> str:
    """The message, and where the error ends: `a.fut:4:26-36`, `a.fut:4:26-5:2`."""
    place = error.location
    if place is None:
        return str(error)
    is_short = place.line == place.end_line
    end = f"{place.end_column}" if is_short else f"{place.end_line}:{place.end_column}"
    return f"{error}\n{place}-{end}"


def judge_message(message: str, regex: str, what: str) -> str | None:
    """None if the expression is found in the message."""
    if posix_regex(regex).search(message):
        return None
    return f"{what} with '{regex}' was expected, it is:\n{message}"


def judge_failure(entry: EntryPoint, arguments: list[Any], regex: str) -> str | None:
    """None if the run fails with the right words, else what is wrong. Arguments of
    wrong sizes are a failure like any other, whose message begins with `Error: `."""
    try:
        got = entry.call(arguments)
    except ProgramError as error:
        return judge_message(str(error), regex, "a run-time error")
    except UsageError as error:
        return judge_message(f"Error: {error}", regex, "a run-time error")
    shown = ", ".join(str(value) for value in got)[:200]
    return f"a run-time error with '{regex}' was expected, the results are: {shown}"
