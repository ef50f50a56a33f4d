"""Make a program that fails smaller, as long as it fails (delta debugging).

    reduce_text(text, holds)       holds("..") says whether a program still fails

    entry main (xs: []i32) = i32.sum (map (+ 1) (if c then xs else ys))
    ->
    entry main (xs: []i32) = i32.sum xs

One edit at a time, the largest first: comments and declarations are left out, an
expression is replaced by one inside it or by a constant of its type, cases of a match
and elements of a literal are dropped, numbers become small. Edits replace text between
the locations of syntax nodes, so that no other part of the program changes its form.
What does not parse, or has no types any more though the program had, is not tried.

Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input"
(2002); Regehr et al., "Test-case reduction for C compiler bugs" (2012).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from minifut import stages
from minifut.errors import CompileError, Location, Source
from minifut.frontend import syntax, types
from minifut.frontend.parser import parse_program
from minifut.frontend.syntax.traverse import subexpressions, walk

_ATOMIC = (syntax.Var, syntax.Literal, syntax.Parens, syntax.ArrayExp, syntax.TupleExp)
_COMMENTS = re.compile(r"^[ \t]*--[^\n]*\n?", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_COMMENT_BLOCK = re.compile(r"(?:^[ \t]*--[^\n]*\n?)+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `text[start:end]`."""

    start: int
    end: int
    replacement: str = ""
    changes_type: bool = False
    """of an expression; tried after those that do not"""

    @property
    def gain(self) -> int:
        """How many characters it takes away."""
        return self.end - self.start - len(self.replacement)

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]


def reduce_text(
    text: str,
    holds: Callable[[str], bool],
    name: str = "reduced.fut",
    on_step: Callable[[str, int], None] = lambda text, tried: None,
) -> str:
    """The smallest program found for which `holds` is still true, as it must be of the
    given one. `on_step(text, tried)` is called for each that is smaller.

    Raises `CompileError` if the program does not parse.
    """
    has_types = _is_typed(text, name)
    seen = {text}
    tried = 0

    def smaller() -> str | None:
        nonlocal tried
        for edit in sorted(edits(text, name), key=lambda e: (e.changes_type, -e.gain)):
            candidate = edit.apply(text)
            if edit.gain <= 0 or candidate in seen:
                continue
            seen.add(candidate)
            if _is_typed(candidate, name) if has_types else _parses(candidate, name):
                tried += 1
                if holds(candidate):
                    return candidate
        return None

    while (found := smaller()) is not None:
        text = found
        on_step(text, tried)
    return text


def _parses(text: str, name: str) -> bool:
    try:
        parse_program(Source(name, text))
    except CompileError:
        return False
    return True


def _is_typed(text: str, name: str) -> bool:
    try:
        stages.check(Source(name, text))
    except CompileError:
        return False
    except Exception:  # a fault of the checker itself, which may be what is looked for
        return _parses(text, name)
    return True


def edits(text: str, name: str) -> Iterator[Edit]:
    """All edits of a program; types are used where the checker finds them."""
    yield Edit(0, len(text), _BLANK_LINES.sub("\n", text).lstrip("\n"))
    yield from _without_comments(text)
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def place(location: Location) -> tuple[int, int]:
        return (
            starts[location.line - 1] + location.column - 1,
            starts[location.end_line - 1] + location.end_column - 1,
        )

    for node in walk(_tree(text, name)):
        match node:
            case (
                syntax.Program(declarations=parts)
                | syntax.ModuleBody(declarations=parts)
            ):
                spans = [_with_attributes(text, place, part) for part in parts]
                yield from _without_runs(spans)
            case syntax.Match(cases=cases):
                yield from (Edit(*place(case.location)) for case in cases)
            case syntax.ArrayExp(elements=(first, _, *_)):
                yield Edit(*place(node.location), f"[{first.location.text()}]")
        if isinstance(node, syntax.Exp):
            span = place(node.location)
            same_type = set(_replacements(node))
            yield from (Edit(*span, replacement) for replacement in same_type)
            yield from (
                Edit(*span, replacement, changes_type=True)
                for replacement in map(_as_operand, subexpressions(node))
                if replacement not in same_type
            )


def _tree(text: str, name: str) -> syntax.Program:
    """The program, with types if it has some."""
    source = Source(name, text)
    try:
        return stages.check(source).program
    except Exception:
        return parse_program(source)


def _without_comments(text: str) -> Iterator[Edit]:
    """All comments, a block of them, a line of one."""
    if _COMMENTS.search(text):
        yield Edit(0, len(text), _COMMENTS.sub("", text))
    for pattern in (_COMMENT_BLOCK, _COMMENTS):
        yield from (Edit(*found.span()) for found in pattern.finditer(text))


def _with_attributes(
    text: str,
    place: Callable[[Location], tuple[int, int]],
    declaration: syntax.Declaration,
) -> tuple[int, int]:
    """The place of a declaration with the attributes before it."""
    start, end = place(declaration.location)
    for attribute in declaration.attributes:
        start = min(start, text.rindex("#[", 0, place(attribute.location)[0]))
    return start, end


def _without_runs(spans: list[tuple[int, int]]) -> Iterator[Edit]:
    """Leave out half of the declarations, a quarter, ..., each alone."""
    length = len(spans)
    while length:
        for first in range(0, len(spans), length):
            run = spans[first : first + length]
            yield Edit(run[0][0], run[-1][1])
        length //= 2


def _replacements(exp: syntax.Exp) -> Iterator[str]:
    """What has the type of an expression: those inside it that do, constants."""
    if exp.type is not None:
        wanted = types.show(exp.type)
        for node in walk(exp):
            if (
                isinstance(node, syntax.Exp)
                and node.type is not None
                and types.show(node.type) == wanted
            ):
                yield _as_operand(node)
    if isinstance(exp, syntax.Literal) and isinstance(exp.value, int):
        yield from (f"{value}{exp.suffix}" for value in (1, 2, 10))
    if isinstance(exp.type, types.Scalar):
        yield "true" if exp.type.name == "bool" else f"1{exp.type.name}"


def _as_operand(exp: syntax.Exp) -> str:
    text = exp.location.text()
    return text if isinstance(exp, _ATOMIC) else f"({text})"
