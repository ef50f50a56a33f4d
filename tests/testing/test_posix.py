"""POSIX regular expressions mean the same in Python after translation."""

from __future__ import annotations

import pytest

from minifut.errors import UsageError
from minifut.testing.posix import posix_regex


@pytest.mark.parametrize(
    ("regex", "text", "found"),
    [
        ("a.*b", "xa\nyb", True),
        ("", "anything", True),
        ("Index \\[4\\]", "Index [4] out", True),
        ("[[:digit:]]+x", "12x", True),
        ("[[:space:]]", "ab", False),
        ("[]a]b", "]b", True),
        ("[^]]x", "]x", False),
        ("[\\]x", "\\x", True),
        ("[a\\.]b", "\\b", True),
        ("(a|b){2}", "ab", True),
        ("^two$", "one\ntwo\nthree", True),
        ("\\d", "5", False),
        ("[--a]+x", "-Ax", True),
        ("[+--]x", "-x", True),
        ("[a-]x", "-x", True),
        ("[^--a]x", "Ax", False),
        ("[unclosed", "[unclosed", True),
    ],
)
@pytest.mark.filterwarnings("error")
def test_search(regex: str, text: str, found: bool) -> None:
    assert bool(posix_regex(regex).search(text)) == found


def test_not_an_expression() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        posix_regex("(a")
