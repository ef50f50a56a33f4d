"""Futhark in notebooks.

    %load_ext minifut

    %%futhark prog
    entry double [n] (xs: [n]i32): [n]i32 = map (* 2) xs

The entry points of a cell become names of the notebook, and the program itself the name
that is given, if any. Errors of a program are shown as the command line shows them, and
programs and entry points as tables.
"""

from __future__ import annotations

import shlex
from html import escape
from typing import TYPE_CHECKING, Any

from minifut.backend import NO_ENTRIES
from minifut.errors import UsageError, counted

if TYPE_CHECKING:
    from minifut.program import EntryPoint, Program


class WrongLine(UsageError):
    """What follows `%%futhark` is wrong; the line says all that helps."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def load(shell: Any) -> None:
    """Register the cell magic `%%futhark`."""
    shell.register_magic_function(
        lambda line, cell: run_cell(shell, line, cell), "cell", "futhark"
    )


def run_cell(shell: Any, line: str, cell: str) -> Program:
    """Compile a cell: `%%futhark [NAME] [--device DEVICE] [--schedule cpu|gpu]`.

    Raises `CompileError` if the program is wrong, `WrongLine` if the line is.
    """
    import minifut

    try:
        name, options = _options(line)
        program = minifut.compile(f"{cell}\n", **options)
    except UsageError as error:
        raise WrongLine(str(error)) from None
    found: dict[str, object] = {
        entry: point for entry, point in program.entries.items() if entry.isidentifier()
    }
    if name is not None:
        found[name] = program
    shell.push(found)
    return program


def _options(line: str) -> tuple[str | None, dict[str, Any]]:
    usage = "%%futhark [NAME] [--device DEVICE] [--schedule cpu|gpu]"
    name, options = None, {}
    words = iter(shlex.split(line))
    for word in words:
        if word in ("--device", "--schedule"):
            value = next(words, None)
            if value is None:
                raise UsageError(f"{word} needs a value: {usage}")
            options[word.removeprefix("--")] = value
        elif word.isidentifier() and name is None:
            name = word
        else:
            raise UsageError(f"'{word}' is not expected: {usage}")
    return name, options


def html_of_program(program: Program) -> str:
    """A table of its entry points, and how many tuning parameters it has."""
    rows = "".join(_row(entry) for entry in program.entries.values())
    tuning = counted(len(program.tuning), "tuning parameter")
    if not rows:
        return f"<div>{escape(program.description)}: {escape(NO_ENTRIES)}</div>"
    return (
        f"<div>{escape(program.description)}, {tuning}</div>"
        "<table><thead><tr><th>entry</th><th>parameters</th><th>results</th><th></th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def html_of_entry(entry: EntryPoint) -> str:
    """Its parameters and results with their types and sizes."""
    return f"<table><tbody>{_row(entry)}</tbody></table>"


def _row(entry: EntryPoint) -> str:
    def cell(lines: list[str]) -> str:
        return f"<td>{'<br>'.join(lines)}</td>"

    parameters = [
        f"{escape(p.name)}: <code>{escape(p.sized_text)}</code>"
        for p in entry.parameters
    ]
    results = [f"<code>{escape(r.sized_text)}</code>" for r in entry.results]
    about = escape(entry.documentation.partition("\n")[0])
    name = f"<b>{escape(entry.name)}</b>"
    return f"<tr>{cell([name])}{cell(parameters)}{cell(results)}{cell([about])}</tr>"
