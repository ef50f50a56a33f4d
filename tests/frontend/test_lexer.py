r"""Tokens: what neighbouring characters decide, and what literals are worth."""

from __future__ import annotations

import math

import pytest

from minifut.errors import CompileError, Source
from minifut.frontend.lexer import tokenize
from minifut.frontend.syntax import Literal, StringLiteral
from tests.frontend.parsing import parse_expression


def kinds(text: str) -> str:
    return " ".join(tokenize(Source("test.fut", text)).kinds[:-1])


def texts(text: str) -> list[str]:
    return tokenize(Source("test.fut", text)).texts[:-1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a[i]", "ID INDEX ID ]"),
        ("a [i]", "ID [ ID ]"),
        (
            "a'[1][2] (b)[3]",
            "ID INDEX NATURAL ] INDEX NATURAL ] ( ID ) INDEX NATURAL ]",
        ),
        ("in[1]", "in [ NATURAL ]"),
        ("{}[1]", "{ } [ NATURAL ]"),
        ("x.0.1", "ID . NATURAL . NATURAL"),
        ("x.0.1f32", "ID . NATURAL . NATURAL ID"),
        ("1.5 .x", "NUMBER . ID"),
        ("0..<10", "NATURAL ..< NATURAL"),
        ("0..1...10", "NATURAL .. NATURAL ... NATURAL"),
        ("M.+ a.b.<* c.d", "OPERATOR OPERATOR ID . ID"),
        ("a...M.+", "ID ... OPERATOR"),
        ("- -> * < ^ | ! = == <= !!", "- -> * < ^ | ! = OPERATOR OPERATOR OPERATOR"),
        ("x=-1", "ID OPERATOR NATURAL"),
        ("-1", "- NATURAL"),
        ("a -- b\nc *-- d", "ID ID OPERATOR ID"),
        ("x -- | no\n y", "ID DOC ID"),
        ("-- | one\n  -- two\nx", "DOC ID"),
        ("#foo #[bar] # x"[:11], "CONSTRUCTOR #[ ID ]"),
        ("'t '~t '^t 't'", "' ID '~ ID '^ ID CHAR"),
        ("'^' '~' '\\''", "CHAR CHAR CHAR"),
        ("_ _x __y x_' __", "_ ID ID ID _ _"),
        ("??? ?[n]", "??? ? [ ID ]"),
        ("`f` \\x :> :", "` ID ` \\ ID :> :"),
        ("letx let in_", "ID let ID"),
    ],
)
def test_kinds(text: str, found: str) -> None:
    assert kinds(text) == found


def test_places_count_from_one_and_survive_comments() -> None:
    tokens = tokenize(Source("test.fut", "-- | a\n-- b\n\tdef  f\r\n =1"))
    places = list(zip(tokens.texts, tokens.lines, tokens.columns, strict=True))
    assert places[1:] == [
        ("def", 3, 2),
        ("f", 3, 7),
        ("=", 4, 2),
        ("1", 4, 3),
        ("", 4, 4),
    ]


@pytest.mark.parametrize(
    ("text", "value", "suffix"),
    [
        ("1_000", 1000, ""),
        ("42i8", 42, "i8"),
        ("0xFF_u8", 255, "u8"),
        ("0xff32", 0xFF32, ""),
        ("0b1010i64", 10, "i64"),
        ("0rMCMXCIVu16", 1994, "u16"),
        ("2f32", 2.0, "f32"),
        ("1.5", 1.5, ""),
        ("1_0.2_5e-1f64", 1.025, "f64"),
        ("1e3", 1000.0, ""),
        ("0x1.8p3", 12.0, ""),
        ("0x1.fp-1f32", 0.96875, "f32"),
        ("true", True, ""),
        ("'a'", 97, ""),
        ("'\\n'", 10, ""),
        ("'\\955'", 955, ""),
        ("'é'", 233, ""),
    ],
)
def test_literals(text: str, value: object, suffix: str) -> None:
    found = parse_expression(Source("test.fut", text))
    assert isinstance(found, Literal)
    assert (found.value, found.suffix) == (value, suffix)
    assert type(found.value) is type(value)


def test_a_float_too_large_is_infinite() -> None:
    found = parse_expression(Source("test.fut", "1e999"))
    assert isinstance(found, Literal)
    assert found.value == math.inf


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\tb\\\""', 'a\tb\\"'),
        (r'"\65\&5\x41\o101\ESC\^A"', "A5AA\x1b\x01"),
        (r'"a\  \b"', "ab"),
        ('"λ -- no comment"', "λ -- no comment"),
        ('""', ""),
    ],
)
def test_strings(text: str, value: str) -> None:
    found = parse_expression(Source("test.fut", text))
    assert isinstance(found, StringLiteral)
    assert found.value == value


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('"abc', "not closed", "newline"),
        ("a $ b", r"'\$' has no meaning", "<|"),
        ("a; b", "';' has no meaning", "semicolon"),
        ("λx", "'λ' has no meaning", "lambda"),
        ("a\u00a0b", r"U\+00A0", "no-break"),
        ("x # y", "stands alone", "--"),
        (r'"\q"', r"\\q is not a known escape", "backslash"),
        (r'"\1114112"', "not a known escape", "codes"),
        (r"'\&'", "exactly one character", None),
        ("1" * 5000, "too many digits", None),
        ("0x1.0p99999", "too large", None),
    ],
)
def test_what_is_no_token(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        parse_expression(Source("test.fut", text))
    assert caught.value.location is not None
    assert hint is None or hint in (caught.value.hint or "")


def test_the_lexer_is_linear() -> None:
    # a path of names was once scanned anew from each of them
    assert len(texts("a." * 50_000 + "b")) == 100_001
