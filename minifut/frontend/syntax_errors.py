"""Why a text is not Futhark, in the user's words.

The message says what was found and what could have come instead, by kind ("an
expression") rather than token by token; the hint names the usual mistake, found by
looking at the tokens before.
"""

from __future__ import annotations

from minifut.errors import CompileError, Location, error
from minifut.frontend.lexer import END, KEYWORDS, TokenTable
from minifut.frontend.tables import RULE, Table

_OPENERS = {"(": ")", "[": "]", "INDEX": "]", "#[": "]", "{": "}"}
_CLOSERS = frozenset([")", "]", "}"])

_ATOM = frozenset(
    "ID NATURAL NUMBER CHAR STRING CONSTRUCTOR true false ( [ { ???".split()  # noqa: SIM905
)
_EXPRESSION = _ATOM | {"-", "!", "\\", "if", "let", "loop", "match", "assert", "#["}
_OPERATOR = frozenset(
    "OPERATOR - * < ^ | ` .. ... ..< ..> with . INDEX".split()  # noqa: SIM905
)
_DECLARATION = frozenset(
    "def let entry type module open import local #[ DOC val include".split()  # noqa: SIM905
)
_TYPE = frozenset(["ID", "(", "[", "INDEX", "{", "*", "?", "CONSTRUCTOR"])
_PATTERN = _ATOM - {"STRING", "[", "???"} | {"_", "-", "#["}
_TYPE_PARAMETER = frozenset(["'", "'~", "'^", "[", "INDEX"])

# A kind is expected when its mark is; it then stands for all of its tokens.
_GROUPS = (
    ("if", _EXPRESSION, "an expression"),
    ("def", _DECLARATION, "a declaration"),
    ("val", _DECLARATION, "a declaration"),
    ("?", _TYPE, "a type"),
    ("'", _TYPE_PARAMETER, "a type parameter"),
    ("_", _PATTERN, "a pattern"),
    ("\\", _ATOM | {"\\"}, "an argument"),
    ("OPERATOR", _OPERATOR, "an operator"),
)

_WORDS = {
    "ID": "a name",
    "CONSTRUCTOR": "a constructor `#name`",
    "NATURAL": "a number",
    "NUMBER": "a number",
    "CHAR": "a character",
    "STRING": "a string",
    "OPERATOR": "an operator",
    "INDEX": "`[`",
    "DOC": "a documentation comment",
    END: "the end of the text",
}


def unexpected_token(
    table: Table, states: list[int], tokens: TokenTable, place: int
) -> CompileError:
    """The error for the token at `place`, which the parser in `states` cannot take."""
    at = tokens.location(place, place)
    if (
        tokens.kinds[place] == END and place and tokens.kinds[place - 1] != "DOC"
    ):  # where the text stops, not the file
        line, column = tokens.lines[place - 1], tokens.ends[place - 1]
        if line != at.line:
            at = Location(tokens.source, line, column, line, column)
    expected = _expected(table, states)
    message = f"Unexpected {_found(tokens, place)}"
    likely = _in_words(expected)
    if likely:
        message += f"; expected {likely}"
    return error(at, message, "syntax-error", _hint(tokens, place, expected))


def _found(tokens: TokenTable, place: int) -> str:
    kind, text = tokens.kinds[place], tokens.texts[place]
    if kind == END:
        return "end of file"
    if kind == "DOC":
        return "documentation comment"
    if kind in KEYWORDS:
        return f'"{text}"'
    shown = text if len(text) <= 40 else text[:37] + "..."
    return f"token: '{shown}'"


def _expected(table: Table, states: list[int]) -> set[str]:
    """The token kinds that the parser could take next."""
    return {
        kind
        for kind in table.rows[states[-1]]
        if not kind.startswith(RULE) and _accepts(table, states, kind)
    }


def _accepts(table: Table, states: list[int], kind: str) -> bool:
    """Whether the parser would come to shift `kind`, once it has reduced."""
    kept = len(states)
    added: list[int] = []
    while True:
        state = added[-1] if added else states[kept - 1]
        action = table.rows[state].get(kind)
        if action is None:
            return False
        if action >= 0:
            return True
        rule = table.rules[-action - 1]
        for _ in range(rule.size):
            if added:
                added.pop()
            else:
                kept -= 1
        state = added[-1] if added else states[kept - 1]
        added.append(table.rows[state][rule.origin])


def _in_words(expected: set[str]) -> str:
    """A list such as "an operator, `)` or `,`"; "" if it would be long."""
    left = set(expected)
    words: list[str] = []
    for mark, group, name in _GROUPS:
        if mark in left:
            if name not in words:
                words.append(name)
            left -= group
    if "\\" in expected and "an expression" not in words and "an argument" in words:
        words.remove("an argument")  # it can always come, and is seldom what is missing
    words += sorted({_WORDS.get(kind, f"`{kind}`") for kind in left})
    if len(words) > 7:
        return ""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# --- hints ------------------------------------------------------------------


def _hint(tokens: TokenTable, place: int, expected: set[str]) -> str | None:
    """What to do, from the token found and those before it."""
    kind, text = tokens.kinds[place], tokens.texts[place]
    brackets = _bracket_hint(tokens, place, expected)
    if brackets:
        return brackets
    if kind == "OPERATOR" and text not in ("==", "=>"):
        for start in ("=", "->"):
            if text.startswith(start) and start in expected:
                return f"`{text}` is read as one operator; put a space behind `{start}`"
    if "in" in expected and (kind == END or kind in _DECLARATION):
        return "a `let` needs `in` and a result behind it; is `in` missing?"
    if "else" in expected:
        if "elif" in tokens.texts[:place]:
            return "another condition follows `else if`"
        return "an `if` needs both `then` and `else`"
    if "do" in expected:
        return "a loop is written `loop x = start for i < n do e`; is `do` missing?"
    if kind in ("in", "then", "else", "do", "case") and expected & _CLOSERS:
        return _unclosed(tokens, place)
    if kind == "=":
        return _equals_hint(tokens, place, expected)
    if "val" in expected and kind in ("def", "let", "entry"):
        return "in a module type, a value is declared by `val name : type`"
    if kind in ("def", "entry") and "def" not in expected:
        return (
            f"`{kind}` stands at the top level or in a module only; is the definition "
            "before it unfinished? Inside an expression use `let ... in`"
        )
    if "def" in expected and kind in ("ID", "val"):
        return "a definition begins with `def`"
    if kind in _CONTROL and "if" in expected:
        return _CONTROL[kind]
    if kind in KEYWORDS and "ID" in expected:
        return f"`{text}` is a reserved word and cannot be a name"
    if kind == ":" and {"=", "}"} <= expected:
        return "the fields of a record have values behind `=`, as in `{x = 1}`"
    if kind == "->" and {"=", ":"} <= expected:
        return "the type of a result is written behind `:`, before the `=`"
    if "lambda" in tokens.texts[max(0, place - 4) : place]:
        return _TOKEN_HINTS["->"]
    if kind == "'" and "if" in expected:
        return 'a string is written with double quotes, as in "text"'
    return _TOKEN_HINTS.get(text if kind != "DOC" else kind)


_LOOP = "a loop is written `loop x = start for i < n do e`"
_CONTROL = {"for": _LOOP, "while": _LOOP, "do": _LOOP}
_CONTROL["case"] = "a choice by cases is written `match x case 1 -> a case _ -> b`"

_TOKEN_HINTS = {
    "DOC": "a comment `-- |` documents a declaration; write `--` elsewhere",
    "=>": "an arrow is written `->`",
    "->": "a function without a name begins with a backslash: `\\x -> x + 1`",
    "//": "a comment begins with `--`",
    "/*": "a comment begins with `--`",
    "%=": "values do not change: give the new one a name with `let`",
    "+=": "values do not change: give the new one a name with `let`",
    "-=": "values do not change: give the new one a name with `let`",
    "!": "`!` is a prefix operator and cannot be used as infix; unequal is `!=`",
}


def _equals_hint(tokens: TokenTable, place: int, expected: set[str]) -> str | None:
    """Why a `=` is not in place."""
    if _binds_pattern(tokens, place):
        return (
            "a top-level definition binds one name; bind the whole to a name, then "
            "define each part, as `def x = whole.0`"
        )
    if tokens.kinds[place - 1] == "]" and "with" in expected:
        return (
            "values do not change: the array with another element is `xs with [i] = e`;"
            " to compare, write `==`"
        )
    if "|" in expected:
        return "`=` gives a name its meaning; to compare, write `==`"
    return None


def _bracket_hint(tokens: TokenTable, place: int, expected: set[str]) -> str | None:
    """Which bracket before `place` the found token does not fit, if any."""
    kind = tokens.kinds[place]
    ends = kind in (END, "def", "entry") or (kind == "=" and ")" in expected)
    if not ends and kind not in _CLOSERS:
        return None
    open_places = _open_brackets(tokens, place)
    if not open_places:
        return (
            f"no bracket is open here; remove the `{kind}`"
            if kind in _CLOSERS
            else None
        )
    opener = open_places[-1]
    if kind in _CLOSERS and _OPENERS[tokens.kinds[opener]] == kind:
        return None
    if kind in ("def", "entry") and tokens.kinds[opener] == "{":
        return None
    return _unclosed(tokens, place)


def _open_brackets(tokens: TokenTable, place: int) -> list[int]:
    """The brackets before `place` that are open there."""
    found: list[int] = []
    for earlier in range(place):
        kind = tokens.kinds[earlier]
        if kind in _OPENERS:
            found.append(earlier)
        elif kind in _CLOSERS and found:
            found.pop()
    return found


def _unclosed(tokens: TokenTable, place: int) -> str | None:
    """The innermost bracket that is open at `place`."""
    found = _open_brackets(tokens, place)
    if not found:
        return None
    line, column = tokens.lines[found[-1]], tokens.columns[found[-1]]
    return f"the `{tokens.texts[found[-1]]}` at {line}:{column} is not closed"


def _binds_pattern(tokens: TokenTable, place: int) -> bool:
    """Whether the `=` at `place` follows `def (...)` or `let {...}`."""
    depth = 0
    for earlier in range(place - 1, 0, -1):
        kind = tokens.kinds[earlier]
        if kind in _CLOSERS:
            depth += 1
        elif kind in _OPENERS:
            depth -= 1
            if depth == 0:
                return tokens.kinds[earlier - 1] in ("def", "let", "entry")
        elif depth == 0:
            return False
    return False
