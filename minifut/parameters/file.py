"""Tuning files: `NAME=INT`, one a line, beside the program.

    main.map_reduce_map.outer=128
    -- comments and blank lines are accepted

`prog.fut.tuning` belongs to `prog.fut`. Of two lines for a name the last one counts.
Written files are sorted, so that they compare well.

Files written for Futhark's compiler set numbers of that name's own versions, such as
`main.suff_outer_par_0`, which have no counterpart here. Its `default_tile_size` and the
like do, where kernels have the shapes that it makes: on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from minifut.errors import ParameterError, UsageError, reason
from minifut.files import read_text, write_whole
from minifut.suggestions import nearest

DEFAULT_EXTENSION = "tuning"

LONGEST_NUMBER = 20
"""digits; more would not fit 64 bits"""

_LINE = re.compile(r"([^=\s]+)\s*=\s*([+-]?[0-9][0-9_]*)\Z")


class FileSettings(dict[str, int]):
    """The numbers of a tuning file by name, and the line of each."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.lines: dict[str, int] = {}

    def set(self, name: str, value: int, line: int) -> None:
        """What a line says; of two for a name the last one counts."""
        self[name] = value
        self.lines[name] = line

    def where(self, wanted: Callable[[str], bool]) -> FileSettings:
        """Those whose names are wanted."""
        found = FileSettings(self.path)
        for name in filter(wanted, self):
            found.set(name, self[name], self.lines[name])
        return found


@contextmanager
def located(values: Mapping[str, int], but: Collection[str] = ()) -> Iterator[None]:
    """An error about a value is reported with the line that sets it, if the
    values are those of a file, `but` for those that something else sets."""
    try:
        yield
    except ParameterError as error:
        if not isinstance(values, FileSettings) or error.name in but:
            raise
        place = f"{values.path}:{values.lines[error.name]}"
        raise ParameterError(error.name, f"{place}: {error}") from None


def path_beside(program: str | Path, extension: str = DEFAULT_EXTENSION) -> Path:
    """Where the tuning file of a program is."""
    return Path(f"{program}.{extension}")


def tuning_beside(
    program: str | Path, extension: str = DEFAULT_EXTENSION
) -> FileSettings:
    """What the program's tuning file says; nothing if there is none."""
    path = path_beside(program, extension)
    return read_tuning(path) if path.exists() else FileSettings(path)


def read_tuning(path: Path) -> FileSettings:
    """The values in a file. Raises `UsageError` with the line that is wrong."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    found = FileSettings(path)
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("--")[0].strip()
        if not line:
            continue
        parts = _LINE.match(line)
        if parts is None:
            raise UsageError(f"{path}:{number}: '{line}' is not of the form NAME=INT")
        digits = parts[2].replace("_", "")
        if len(digits) > LONGEST_NUMBER:
            raise UsageError(f"{path}:{number}: {parts[1]}: the number is too long")
        found.set(parts[1], int(digits), number)
    return found


DEFAULTS = {
    "default_tile_size": {"tile_size", "tile_side", "tile_depth"},
    "default_reg_tile_size": {"reg_tile_size"},
    "default_group_size": {"group_size"},
    "default_thread_block_size": {"group_size"},
    "default_num_groups": {"num_groups"},
    "default_num_thread_blocks": {"num_groups"},
    "default_grid_size": {"num_groups"},
    "default_threshold": {"threshold"},
}
"""Futhark's numbers for all parameters of some kinds, by their names there"""


class Settable(Protocol):
    """A parameter of a program."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def bounds(self) -> tuple[int, int] | None: ...


def fitted(
    values: Mapping[str, int], parameters: Iterable[Settable], schedule: str
) -> tuple[dict[str, int], list[str]]:
    """What a tuning file sets of these parameters, and the names that mean nothing for
    them. A number 0 stands for the default, but for thresholds means always."""
    known = {p.name: p for p in parameters}
    found: dict[str, int] = {}
    meaningless: list[str] = []
    for name, value in values.items():
        kinds = DEFAULTS.get(name, ())
        if name in known or schedule != "gpu":
            continue
        for parameter in known.values():
            low, high = parameter.bounds or (1, value)
            if parameter.kind in kinds and low <= value <= high:
                found[parameter.name] = value
    for name, value in values.items():
        if name in known:
            if value != 0 or known[name].kind in ("threshold", "choice"):
                found[name] = value
        elif name not in DEFAULTS:
            meaningless.append(name)
    return found, meaningless


def unfitting_text(meaningless: Sequence[str], known: Collection[str] = ()) -> str:
    """One line about names that mean nothing for a program, which has others."""
    if len(meaningless) == 1:
        meant = nearest(meaningless[0], known, 0.8)
        text = f"the tuning file sets '{meaningless[0]}', which the program lacks"
        return f"{text}; {meant}" if meant else text
    return (
        f"the tuning file sets {len(meaningless)} parameters that the program lacks "
        f"('{meaningless[0]}', ...)"
    )


def write_tuning(
    path: Path, values: Mapping[str, int], known: Collection[str] | None = None
) -> None:
    """Write the values, sorted by name; the file appears whole or not at all. If it is
    there, and `known` are all parameters of the program, what it says of others, which
    may be those of derivatives, stays."""
    if known is not None and path.is_file():
        others = {n: v for n, v in read_tuning(path).items() if n not in known}
        values = {**others, **values}
    text = "".join(f"{name}={value}\n" for name, value in sorted(values.items()))
    write_whole(path, text.encode())
