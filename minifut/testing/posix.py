"""POSIX extended regular expressions, as test blocks use them, for Python's `re`.

    [[:digit:]\\]+   ->   [0-9\\\\]+

The two differ inside brackets (classes by name, backslash an ordinary character, `]`
first stands for itself) and in groups such as `(?:`, which POSIX does not have. A dot
matches line ends too, and `^` and `$` match at every line.
"""

from __future__ import annotations

import re

from minifut.errors import UsageError

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def posix_regex(text: str) -> re.Pattern[str]:
    """The expression compiled. Raises `UsageError` if it is not one."""
    try:
        return re.compile(_translate(text), re.DOTALL | re.MULTILINE)
    except re.error as error:
        message = f"'{text}' is not a regular expression: {error}"
        raise UsageError(message) from None


def _translate(text: str) -> str:
    parts: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == "[":
            part, position = _translate_bracket(text, position)
            parts.append(part)
        elif char == "\\" and position + 1 < len(text):
            parts.append(re.escape(text[position + 1]))
            position += 2
        else:
            parts.append("(\\?" if text.startswith("(?", position) else char)
            position += len("(?") if text.startswith("(?", position) else 1
    return "".join(parts)


def _translate_bracket(text: str, start: int) -> tuple[str, int]:
    parts = ["["]
    position = start + 1
    if text.startswith("^", position):
        parts.append("^")
        position += 1
    first = True
    while position < len(text):
        char = text[position]
        named = re.compile(r"\[:([a-z]+):\]").match(text, position)
        if named and named[1] in _CLASSES:
            parts.append(_CLASSES[named[1]])
            position = named.end()
        elif char == "]" and not first:
            return "".join(parts) + "]", position + 1
        else:
            # a `-` at the front, or behind that of a range, stands for itself
            itself = char == "-" and parts[-1] in ("[", "^", "-")
            parts.append("\\" + char if itself or char in "[]\\&~|^" else char)
            position += 1
        first = False
    return re.escape(text[start:]), len(text)
