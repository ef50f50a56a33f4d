r"""Futhark source text as tokens, by one regular expression.

    def f [n] (a: [n]f32) = a[0] -- first     becomes
    def ID [ ID ] ( ID : [ ID ] ID ) = ID INDEX NATURAL ]

A token's kind is its text for keywords and punctuation, else a name in capitals as
listed in `grammar/futhark.lark`. What depends on neighbouring characters is decided
here: a `[` glued to what precedes it is an INDEX; behind a `.` a number is a field
(`x.0.1`), never a float; `m.+` is one qualified operator.
"""

from __future__ import annotations

import re
from dataclasses import field

from minifut.errors import CompileError, Location, Source, error
from minifut.ir.node import mutable

KEYWORDS = frozenset([
    "assert", "case", "def", "do", "else", "entry", "false", "for", "if", "import",
    "in", "include", "let", "local", "loop", "match", "module", "open", "then", "true",
    "type", "val", "while", "with",
])  # fmt: skip

# These operators are also something else in the grammar, and are tokens of their own.
SPECIAL_OPERATORS = frozenset(["=", "-", "*", "<", "^", "|", "!", "->"])

END = "$END"

_WORD = r"(?:[a-zA-Z][a-zA-Z0-9_']*|_+[a-zA-Z0-9][a-zA-Z0-9_']*)"
_SYMBOL = r"[-+*/%=!><|&^][-+*/%=!><|&^.]*"
_INTEGER_SUFFIX = r"(?:[iu](?:8|16|32|64))?"
_FLOAT_SUFFIX = r"(?:f(?:16|32|64))?"

_TOKEN = re.compile(
    rf"""
      (?P<space>[ \t\r\n\f\v]+)
    | (?P<word>(?<![a-zA-Z0-9_']\.){_WORD}) (?P<qualified>(?:\.{_WORD})*\.{_SYMBOL})?
    | (?P<field>{_WORD})
    | (?P<doc>--[ ]\|[^\n]*(?:\n[ \t\f\v]*--[^\n]*)*)
    | (?P<comment>--[^\n]*)
    | (?P<number>
        0[xX][0-9a-fA-F][0-9a-fA-F_]*
          (?: \.[0-9a-fA-F][0-9a-fA-F_]*[pP][+-]?[0-9][0-9_]*{_FLOAT_SUFFIX}
            | {_INTEGER_SUFFIX})
      | 0[bB][01][01_]*{_INTEGER_SUFFIX}
      | 0[rR][IVXLCDM][IVXLCDM_]*{_INTEGER_SUFFIX}
      | [0-9][0-9_]*[iu](?:8|16|32|64)
      | (?<!\.)[0-9][0-9_]*
          (?: \.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?{_FLOAT_SUFFIX}
            | [eE][+-]?[0-9]+{_FLOAT_SUFFIX}
            | f(?:16|32|64)))
    | (?P<natural>[0-9][0-9_]*)
    | (?P<operator>{_SYMBOL})
    | (?P<index>(?<=[a-zA-Z0-9_')\]])\[)
    | (?P<character>'(?:[^'\\\n]|\\(?:[0-9]+|[^\n]))')
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<constructor>\#{_WORD})
    | (?P<fixed>\?\?\?|\.\.\.|\.\.<|\.\.>|\.\.|:>|\#\[|'\^|'~|[][(){{}},_?:\\~'`.])
    """,
    re.VERBOSE,
)

_KINDS = {
    "number": "NUMBER",
    "natural": "NATURAL",
    "index": "INDEX",
    "character": "CHAR",
    "string": "STRING",
    "constructor": "CONSTRUCTOR",
    "doc": "DOC",
}


@mutable
class TokenTable:
    """The tokens of a source, one list per property; the last is the end marker.

    Lines and columns count from 1; `ends` holds the column behind the token. Only a
    documentation comment has several lines, and its end is not examined.
    """

    source: Source
    kinds: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def location(self, first: int, last: int) -> Location:
        """From the start of token `first` to the end of token `last`."""
        return Location(
            self.source,
            self.lines[first],
            self.columns[first],
            self.lines[last],
            self.ends[last],
        )


def tokenize(source: Source) -> TokenTable:
    """The tokens of a text. Raises CompileError at what is no token."""
    text = source.text
    tokens = TokenTable(source)
    add_kind, add_text = tokens.kinds.append, tokens.texts.append
    add_line, add_column = tokens.lines.append, tokens.columns.append
    add_end = tokens.ends.append
    match_token, size = _TOKEN.match, len(text)
    position, line, line_start = 0, 1, 0
    previous = ""
    while position < size:
        match = match_token(text, position)
        if match is None:
            raise _no_token(source, line, position - line_start + 1, text, position)
        group = match.lastgroup
        end = match.end()
        if group == "space":
            newlines = text.count("\n", position, end)
            if newlines:
                line += newlines
                line_start = text.rindex("\n", position, end) + 1
            position = end
            continue
        if group == "comment":
            position = end
            continue
        lexeme = match.group()
        if group == "word" or group == "field":
            kind = lexeme if lexeme in KEYWORDS else "ID"
        elif group == "fixed":
            kind = lexeme
        elif group == "operator":
            kind = lexeme if lexeme in SPECIAL_OPERATORS else "OPERATOR"
        elif group == "qualified":
            kind = "OPERATOR"
        elif group == "index" and previous in KEYWORDS:
            kind = "["
        else:
            kind = _KINDS[group or ""]
        column = position - line_start + 1
        add_kind(kind)
        add_text(lexeme)
        add_line(line)
        add_column(column)
        add_end(column + end - position)
        if group == "doc":
            newlines = lexeme.count("\n")
            if newlines:
                line += newlines
                line_start = text.rindex("\n", position, end) + 1
        previous = kind
        position = end
    add_kind(END)
    add_text("")
    add_line(line)
    add_column(size - line_start + 1)
    add_end(size - line_start + 1)
    return tokens


_ODD_CHARACTERS = {
    "$": "to apply a function to all that follows, write `<|`",
    ";": "definitions and bindings need no semicolon; remove it",
    "@": "an attribute is written `#[name]`",
    "\u00a0": "this is a no-break space; write an ordinary space",
    "\ufeff": "save the file without a byte order mark",
    "\u2018": "this is a typographic quote; write '",
    "\u2019": "this is a typographic quote; write '",
    "\u201c": 'this is a typographic quote; write "',
    "\u201d": 'this is a typographic quote; write "',
    "\u2212": "this is a typographic minus; write -",
    "\u2013": "this is a typographic dash; write -",
    "\u00d7": "write * to multiply",
    "\u03bb": "write \\ for a lambda",
    "\u2192": "write -> for an arrow",
}


def _no_token(
    source: Source, line: int, column: int, text: str, position: int
) -> CompileError:
    character = text[position]
    at = Location(source, line, column, line, column + 1)
    if character == '"':
        return error(
            at,
            "this string is not closed on its line",
            "syntax-error",
            'close it with ", and write a newline inside a string as \\n',
        )
    if character == "#":
        return error(
            at,
            "a # stands alone",
            "syntax-error",
            "a constructor is written #name, without a space; an attribute #[name]; "
            "a comment begins with --",
        )
    name = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
    hint = _ODD_CHARACTERS.get(character)
    if hint is None and character.isalpha():
        hint = "names are made of the letters a-z and A-Z, digits, _ and '"
    return error(at, f"the character {name} has no meaning here", "syntax-error", hint)
