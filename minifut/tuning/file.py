"""Tuning files: `NAME=INT`, one a line, beside the program.

    main.map_reduce_map.outer=128
    -- comments and blank lines are accepted

`prog.fut.tuning` belongs to `prog.fut`. Of two lines for a name the last one counts.
Written files are sorted, so that they compare well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from minifut.errors import UsageError

_LINE = re.compile(r"([^=\s]+)\s*=\s*([+-]?[0-9][0-9_]*)\Z")


def path_beside(program: str | Path, extension: str = "tuning") -> Path:
    """Where the tuning file of a program is."""
    return Path(f"{program}.{extension}")


def tuning_beside(program: str | Path, extension: str = "tuning") -> dict[str, int]:
    """What the program's tuning file says; nothing if there is none."""
    path = path_beside(program, extension)
    return read_tuning(path) if path.is_file() else {}


def read_tuning(path: Path) -> dict[str, int]:
    """The values in a file. Raises `UsageError` with the line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: cannot be read: {reason.lower()}") from None
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("--")[0].strip()
        if not line:
            continue
        parts = _LINE.match(line)
        if parts is None:
            raise UsageError(f"{path}:{number}: '{line}' is not of the form NAME=INT")
        found[parts[1]] = int(parts[2].replace("_", ""))
    return found


def write_tuning(path: Path, values: Mapping[str, int]) -> None:
    """Write the values, sorted by name; the file appears whole or not at all."""
    text = "".join(f"{name}={value}\n" for name, value in sorted(values.items()))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: cannot be written: {reason}") from None
