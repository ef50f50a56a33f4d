"""Read the test blocks of a program.

    -- ==
    -- entry: sum
    -- input { [1, 2, 3] } output { 6 }
    -- random input { [100]f32 } auto output
    -- input { empty([0]i32) } error: empty

A block starts at a line `-- ==` and runs to the first line that is no comment; the
comment marks count for nothing, line ends are white space except after `entry:`,
`error:`, `warning:` and `property:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from minifut.errors import UsageError
from minifut.suggestions import unknown


@dataclass(frozen=True, slots=True)
class ValuesText:
    """Literal values, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class ValuesFile:
    """A data file, relative to the program."""

    path: str


@dataclass(frozen=True, slots=True)
class RandomValues:
    """Types with sizes, or literals, separated by white space."""

    text: str


@dataclass(frozen=True, slots=True)
class ScriptValues:
    """A FutharkScript expression, or a file that holds one."""

    text: str
    in_file: bool = False


@dataclass(frozen=True, slots=True)
class FailsWith:
    """The run must fail with a message in which the regular expression is found."""

    regex: str


CaseInput: TypeAlias = ValuesText | ValuesFile | RandomValues | ScriptValues
Output: TypeAlias = ValuesText | ValuesFile | FailsWith | Literal["auto", "any"]


@dataclass(frozen=True, slots=True)
class RunCase:
    """One input and what must come of it."""

    name: str
    tags: tuple[str, ...]
    input: CaseInput
    output: Output
    line: int
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class TestBlock:
    """Cases that are run for each of the entry points."""

    entries: tuple[str, ...]
    cases: tuple[RunCase, ...]
    warnings: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSpec:
    """All that a program says about its tests; `compile_error` is the regular
    expression of the error that it must be rejected with."""

    tags: tuple[str, ...] = ()
    compile_error: str | None = None
    blocks: tuple[TestBlock, ...] = ()


class _Cursor:
    """A place in a block's text, without comment marks; `line` is its first line."""

    def __init__(self, name: str, text: str, line: int) -> None:
        self.name = name
        self.text = text
        self.first_line = line
        self.offset = 0

    @property
    def line(self) -> int:
        return self.first_line + self.text.count("\n", 0, self.offset)

    def fail(self, message: str) -> UsageError:
        return UsageError(f"{self.name}:{self.line}: in a test block: {message}")

    def accept(self, regex: str) -> re.Match[str] | None:
        """Past the expression if it comes next."""
        found = re.compile(regex).match(self.text, self.offset)
        if found:
            self.offset = found.end()
        return found

    def word(self, word: str) -> bool:
        """Past a word and the white space after it, if it comes next."""
        return self.accept(re.escape(word) + r"(?![\w-])\s*") is not None

    def rest_of_line(self) -> str:
        found = self.accept(r"[^\n]*")
        text = found[0].strip() if found else ""
        self.accept(r"\s*")
        return text

    def braces(self) -> str:
        """What is between braces, which may be nested; strings are respected."""
        start = self.offset
        if not self.accept(r"\{"):
            raise self.fail("'{' or '@' was expected")
        depth = 1
        while depth:
            if not self.accept(r'(?:[^{}"]|"(?:[^"\\]|\\.)*")*'):
                break
            mark = self.accept(r"[{}]")
            if mark is None:
                self.offset = start
                raise self.fail("this '{' is not closed")
            depth += 1 if mark[0] == "{" else -1
        text = self.text[start + 1 : self.offset - 1]
        self.accept(r"\s*")
        return text.strip()


def read_spec(name: str, text: str) -> RunSpec:
    """The test blocks of a program. Raises `UsageError` with the line of a mistake."""
    return _read_all(_find_blocks(name, text))


def check_entries(wanted: Iterable[str], specs: Iterable[RunSpec]) -> None:
    """Refuse entry points that no block tests."""
    known = {
        name
        for spec in specs
        for block in spec.blocks
        for name in (*(block.entries if block.cases else ()), *block.properties)
    }
    for name in wanted:
        if name not in known:
            raise UsageError(unknown("tested entry point", name, known))


def read_bare_spec(name: str, text: str) -> RunSpec:
    """One block in a file of its own, without comment marks; what precedes `==`
    is a description."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("=="):
            return _read_all([_Cursor(name, "\n".join(lines[number - 1 :]), number)])
    raise UsageError(f"{name}: no line begins with '=='")


def _read_all(cursors: list[_Cursor]) -> RunSpec:
    spec = RunSpec()
    for number, cursor in enumerate(cursors):
        cursor.accept(r"[ \t]*==\s*")
        if number == 0:
            spec = _read_head(cursor)
            if spec.compile_error is not None:
                if cursor.offset < len(cursor.text):
                    raise cursor.fail("nothing may follow the expected compile error")
                continue
        elif spec.compile_error is not None:
            raise cursor.fail("a program that must be rejected has one block only")
        block = _read_block(cursor)
        spec = RunSpec(spec.tags, None, (*spec.blocks, block))
    return spec


def _find_blocks(name: str, text: str) -> list[_Cursor]:
    found: list[tuple[int, list[str]]] = []
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if inside and line.startswith("--"):
            found[-1][1].append(line[2:])
        elif line.startswith("-- =="):
            found.append((number, [line[2:]]))
            inside = True
        else:
            inside = False
    return [_Cursor(name, "\n".join(lines), number) for number, lines in found]


def _read_head(cursor: _Cursor) -> RunSpec:
    tags: tuple[str, ...] = ()
    if cursor.word("tags"):
        tags = tuple(cursor.braces().split())
    if cursor.accept("error:"):
        return RunSpec(tags, cursor.rest_of_line())
    return RunSpec(tags)


def _read_block(cursor: _Cursor) -> TestBlock:
    properties: list[str] = []
    while cursor.accept("property:"):
        properties += cursor.rest_of_line().split()
    entries: list[str] = ["main"]
    if cursor.accept("entry:"):
        entries = cursor.rest_of_line().split()
    cases: list[RunCase] = []
    while (case := _read_case(cursor)) is not None:
        if case.is_named and any(case.name == c.name for c in cases):
            raise cursor.fail(f"two cases of one block are called '{case.name}'")
        cases.append(case)
    while cursor.word("structure"):
        # Counts of another compiler's operations: they say nothing about this one.
        cursor.accept(r"[\w-]*\s*")
        cursor.braces()
    warnings = []
    while cursor.accept("warning:"):
        warnings.append(cursor.rest_of_line())
    if cursor.offset < len(cursor.text):
        raise cursor.fail(f"'{cursor.rest_of_line()[:40]}' was not expected")
    return TestBlock(tuple(entries), tuple(cases), tuple(warnings), tuple(properties))


_CASE = (
    r'(?:"(?P<name>(?:[^"\\]|\\.)*)"\s*)?'
    r"(?P<tags>(?:(?!input\b|structure\b|warning:)[\w-]+[ \t]+)*)input\b\s*"
)


def _read_case(cursor: _Cursor) -> RunCase | None:
    line = cursor.line
    found = cursor.accept(_CASE)
    if found is None:
        return None
    tags = tuple(found["tags"].split())
    given = _read_input(cursor, tags)
    output = _read_output(cursor)
    if found["name"] is not None:
        return RunCase(found["name"], tags, given, output, line, True)
    return RunCase(_case_name(given), tags, given, output, line)


def _read_input(cursor: _Cursor, tags: tuple[str, ...]) -> CaseInput:
    path = cursor.accept(r"@\s*(\S+)\s*")
    if "script" in tags:
        return ScriptValues(path[1] if path else cursor.braces(), path is not None)
    if path:
        return ValuesFile(path[1])
    text = cursor.braces()
    return RandomValues(text) if "random" in tags else ValuesText(text)


def _read_output(cursor: _Cursor) -> Output:
    if cursor.accept(r"auto\s+output\b\s*"):
        return "auto"
    if cursor.accept(r"error:"):
        return FailsWith(cursor.rest_of_line())
    if not cursor.accept(r"output\b\s*"):
        return "any"
    path = cursor.accept(r"@\s*(\S+)\s*")
    return ValuesFile(path[1]) if path else ValuesText(cursor.braces())


def _case_name(given: CaseInput) -> str:
    match given:
        case ValuesFile(path):
            return path.removesuffix(".gz")
        case ValuesText() | RandomValues() | ScriptValues():
            text = " ".join(given.text.split())
            return text if len(text) <= 50 else text[:47] + "..."
