"""Errors of three kinds, and how each is reported.

`CompileError`   the program is at fault: where (line, caret), what, and what to do.
`ProgramError`   a run of it failed (index, assert, division, size): located as well.
`InternalError`  minifut is at fault: names the pass, shows the IR around the fault.

Anything else that a user can cause (a missing file, a wrong argument) is a
`UsageError`: one clear line, no position in a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_LINE = 160
"""Characters of a source line that an error shows."""
MOST_SHOWN = 10
"""Errors of one program that are shown."""


@lru_cache(maxsize=16)
def _lines(text: str) -> list[str]:
    """The lines of a text, which is split once however many of them are shown."""
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class Source:
    """A program text with the name that messages show for it."""

    name: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """The text of a line; `number` counts from 1."""
        lines = _lines(self.text)
        return lines[number - 1] if 0 < number <= len(lines) else ""


@dataclass(frozen=True, slots=True)
class Location:
    """A range of a source text: from (line, column) to (end_line, end_column), from 1.

    The end is exclusive, as in an editor's selection.
    """

    source: Source = field(repr=False)
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"

    @property
    def in_prelude(self) -> bool:
        """Whether it is none of the user's files."""
        return self.source.name.startswith("prelude/")

    def to(self, other: Location) -> Location:
        """The range from the start of this one to the end of `other`."""
        return Location(
            self.source, self.line, self.column, other.end_line, other.end_column
        )

    def text(self) -> str:
        """The source text itself, as `assert` messages quote it."""
        lines = _lines(self.source.text)[self.line - 1 : self.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: self.end_column - 1]
        lines[0] = lines[0][self.column - 1 :]
        return "\n".join(lines)

    def excerpt(self) -> str:
        """The first line of the range with carets under it; of a very long line only
        the part around them."""
        line = self.source.line(self.line)
        stop = self.end_column if self.end_line == self.line else len(line) + 1
        width = max(1, stop - self.column)
        margin = f"{self.line:5d} | "
        shown = "".join(
            c if c.isprintable() else " " if c == "\t" else "\ufffd" for c in line
        )
        before = self.column - 1
        if len(shown) > LONGEST_LINE:
            first = max(0, before - LONGEST_LINE // 3)
            last = min(len(shown), first + LONGEST_LINE)
            head, tail = "..." if first else "", "..." if last < len(shown) else ""
            shown = head + shown[first:last] + tail
            before += len(head) - first
            width = max(1, min(width, len(shown) - before))
        return f"{margin}{shown}\n{' ' * (len(margin) + before)}{'^' * width}"


def reason(error: BaseException) -> str:
    """What the system says about a failure, without the path that we show already."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start}: the text is not UTF-8"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).lower()


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Imports of `minifut.EXTRA` that fail where the extra is not installed."""
    try:
        yield
    except ImportError as missing:
        raise UsageError(
            f"minifut.{extra} needs more packages ({missing}): "
            f"pip install 'minifut[{extra}]'"
        ) from None


def counted(number: int, noun: str, several: str = "") -> str:
    """`1 value`, `2 values`, or `2 indices` by a plural of its own."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"


def ending_here(function: Callable[P, T]) -> Callable[P, T]:
    """The function; tracebacks of errors of its user end at it, since where in minifut
    they were found does not help."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except (CompileError, ProgramError, UsageError) as error:
            raise error.with_traceback(None) from None

    return called


class Portable(Exception):
    """An exception that can be pickled, whatever its constructor takes.

    That is needed of causes, too: libraries that send exceptions between processes
    pickle what each was raised from.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[Portable], arguments: tuple[Any, ...]) -> Portable:
    return kind.__new__(kind, *arguments)


class MinifutError(Portable):
    """The root of all errors that minifut raises on purpose."""


class UsageError(MinifutError, ValueError):
    """A request that cannot be fulfilled: wrong file, argument, option or device."""


class ForkedError(UsageError):
    """A device is used in a process that was forked after it was opened."""

    def __init__(self) -> None:
        super().__init__(
            "this process was forked from one that uses the OpenCL device already; "
            'start processes with multiprocessing.get_context("spawn") or "forkserver"'
        )


class ArgumentError(UsageError, TypeError):
    """An entry point cannot be called with these arguments."""


class ParameterError(UsageError):
    """A number that the tuning parameter `name` cannot have."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class CompileError(MinifutError, ValueError):
    """The program is wrong.

    `message` may have several lines; `hint` says what to do; `anchor` names the entry
    in the error index of the documentation. `others` are further errors of the same
    program, after this one.
    """

    def __init__(
        self,
        location: Location | None,
        message: str,
        hint: str | None = None,
        anchor: str | None = None,
    ) -> None:
        super().__init__(message)
        self.location = location
        self.message = message
        self.hint = hint
        self.anchor = anchor
        self.others: tuple[CompileError, ...] = ()

    def __str__(self) -> str:
        if not self.others:
            return self.text()
        errors = (self, *self.others)
        shown = [error.text() for error in errors[:MOST_SHOWN]]
        more = ", the first ones are shown" if len(errors) > MOST_SHOWN else ""
        return "\n\n".join((*shown, f"{len(errors)} errors{more}"))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: where in the compiler it was found is of no use."""
        return str(self).split("\n")

    def text(self) -> str:
        """This error alone, as a user reads it."""
        parts = []
        if self.location is not None:
            parts.append(f"{self.location}: error: {self.message}")
            parts.append(self.location.excerpt())
        else:
            parts.append(f"error: {self.message}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        if self.anchor:
            parts.append(f"see: minifut explain-error {self.anchor}")
        return "\n".join(parts)


def error(
    location: Location | None,
    message: str,
    anchor: str | None = None,
    hint: str | None = None,
) -> CompileError:
    """A `CompileError` with its entry in the index of errors."""
    return CompileError(location, message, hint, anchor)


class ProgramError(MinifutError, ValueError):
    """A run failed inside the program: `message` says why, `backtrace` where.

    `backtrace` holds `file:line:col` texts, innermost first.
    """

    def __init__(self, message: str, backtrace: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.backtrace = backtrace

    def __str__(self) -> str:
        lines = [f"Error: {self.message}"]
        if self.backtrace:
            lines += ["", "Backtrace:"]
            lines += [f"-> #{n}  {where}" for n, where in enumerate(self.backtrace)]
        return "\n".join(lines)


class InternalError(MinifutError):
    """A fault of minifut itself: in which pass, at which statement."""

    def __init__(self, stage: str, message: str, context: str = "") -> None:
        super().__init__(message)
        self.stage = stage
        self.message = message
        self.context = context

    def __str__(self) -> str:
        text = f"internal error in {self.stage}: {self.message}"
        return f"{text}\n{self.context}" if self.context else text
