"""Printed IR as tokens: texts in quotes, numbers with types, words, signs.

White space and what follows `--` in a line are between them.
"""

from __future__ import annotations

import re

from minifut.errors import UsageError

SCALAR = "i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool"
_TOKEN = re.compile(
    rf"""(?:\s|--[^\n]*)*(?:
    (?P<string>"(?:\\.|[^"\\])*")
  | (?P<number>-?(?:\d[\d.]*(?:e[-+]?\d+)?(?:{SCALAR})(?:x\d+)?
               | (?:{SCALAR})(?:x\d+)?\.(?:inf|nan|true|false))(?![\w']))
  | (?P<int>\d+)
  | (?P<word>[A-Za-z_][\w']*)
  | (?P<sign><<|>>|<=|>=|==|!=|&&|\|\||->|\S)
  | (?P<end>$))""",
    re.VERBOSE,
)


class Tokens:
    """Reads on from one token; `kind` and `token` are the next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self.advance()

    def advance(self) -> str:
        """Go to the next token; gives the one before."""
        previous = getattr(self, "token", "")
        found = _TOKEN.match(self.text, self.end)
        assert found is not None and found.lastgroup is not None
        self.kind, self.token = found.lastgroup, found[found.lastgroup]
        self.begin, self.end = found.start(found.lastgroup), found.end()
        return previous

    def fault(self, wanted: str) -> UsageError:
        line = self.text.count("\n", 0, self.begin) + 1
        column = self.begin - (self.text.rfind("\n", 0, self.begin) + 1) + 1
        shown = self.text.splitlines()[line - 1] if self.token else "the end"
        message = f"this is not printed IR (line {line}, column {column})"
        return UsageError(f"{message}, {wanted} was expected:\n{shown}")

    def take(self, token: str) -> bool:
        """Whether the next token is this one, which is passed then."""
        if self.token != token or self.kind in ("string", "end"):
            return False
        self.advance()
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.fault(f"'{token}'")

    def of_kind(self, kind: str, wanted: str) -> str:
        if self.kind != kind:
            raise self.fault(wanted)
        return self.advance()

    def follows(self, sign: str) -> bool:
        """Whether the token after the next one is this one."""
        found = _TOKEN.match(self.text, self.end)
        return found is not None and found[found.lastgroup or 0] == sign

    def cut(self, end: int) -> str:
        """The text from the next token up to a position."""
        text = self.text[self.begin : end]
        self.end = end
        self.advance()
        return text
