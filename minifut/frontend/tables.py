"""LALR(1) tables: made by Lark from a grammar, kept as JSON in minifut's cache.

Lark does the hard part, the analysis of the grammar, but is not even imported when the
cached table is there. A state's row maps a token kind or a rule to what to do: `n >= 0`
go to state n, `n < 0` reduce by rule `-n - 1`. The end marker is never shifted: a row
that has a state for it accepts the text.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from minifut.cache import load_bytes, store_bytes
from minifut.ir.node import immutable
from minifut.resources import grammar_text

RULE = "rule "
"""Before the name of a rule in a row, as a keyword may have the same name."""


@immutable
class GrammarRule:
    """How to reduce: `size` entries leave the stack, `origin` is found.

    `action` names the function that builds the node; "" if the one kept entry stands
    for the whole. `kept` has the offsets of its arguments from the top of the stack
    (-1 is the top); 0 stands for an absent optional part, given as None.
    """

    origin: str
    action: str
    size: int
    kept: tuple[int, ...]


@immutable
class Table:
    """The rows by state, the rules, and the state to start from for each start rule."""

    rows: list[dict[str, int]]
    rules: list[GrammarRule]
    starts: dict[str, int]


def load_table(grammar: str, starts: tuple[str, ...]) -> Table:
    """The table of the grammar file `grammar` for the given start rules."""
    text = grammar_text(grammar)
    key = "\n".join([_lark_identity(), _own_identity(), *starts, text])
    stored = load_bytes("grammar", key)
    if stored is not None:
        return _from_json(json.loads(stored))
    content = analyse(text, starts)
    store_bytes("grammar", key, json.dumps(content).encode())
    return _from_json(content)


def _from_json(content: dict[str, Any]) -> Table:
    rules = [
        GrammarRule(origin, action, size, tuple(kept))
        for origin, action, size, kept in content["rules"]
    ]
    return Table(content["rows"], rules, content["starts"])


def _lark_identity() -> str:
    """The text of Lark's `__init__.py`, which states its version, unimported."""
    found = importlib.util.find_spec("lark")
    if found is None or found.origin is None:
        return "absent"
    try:
        return Path(found.origin).read_text(encoding="utf-8")
    except OSError:
        return "unreadable"


def _own_identity() -> str:
    """This file: another version of it may store tables in another form."""
    return Path(__file__).read_text(encoding="utf-8")


# --- analysis, by Lark ------------------------------------------------------


def analyse(text: str, starts: tuple[str, ...]) -> dict[str, Any]:
    """The table of a grammar as plain lists and dictionaries.

    A terminal is named by its text; without one by its name, a `_` in front removed.
    """
    from lark import Lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class NoLexer(Lexer):
        """Stands in for the lexer, which is not Lark's."""

        def __init__(self, conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Any:
            return iter(())

    lark: Any = Lark(
        text, parser="lalr", lexer=NoLexer, start=list(starts), maybe_placeholders=True
    )
    spelling = {
        terminal.name: terminal.pattern.value
        for terminal in lark.terminals
        if terminal.pattern is not None
    }
    parse_table = lark.parser.parser._parse_table
    numbering: dict[Any, int] = {}
    rules: list[list[Any]] = []
    rows: list[dict[str, int]] = []
    for state in range(len(parse_table.states)):
        row = {}
        for symbol, (action, argument) in parse_table.states[state].items():
            name = spelling.get(symbol) or _plain_name(symbol)
            if action is Shift:
                row[name] = argument
                continue
            if argument not in numbering:
                numbering[argument] = len(rules)
                rules.append(_rule(argument))
            row[name] = -numbering[argument] - 1
        rows.append(row)
    for end_state in parse_table.end_states.values():
        rows[end_state]["$END"] = 0
    return {"rows": rows, "rules": rules, "starts": parse_table.start_states}


def _plain_name(symbol: str) -> str:
    """The key of a rule, or of a terminal without a text."""
    is_terminal = symbol.isupper() or symbol.startswith("$")
    return symbol.lstrip("_") if is_terminal else RULE + symbol


def _rule(rule: Any) -> list[Any]:
    """A Lark rule as the fields of `GrammarRule`."""
    size = len(rule.expansion)
    present = iter(range(size))
    empty = rule.options.empty_indices or (False,) * size
    kept: list[int] = []
    for absent in empty:
        if absent:
            kept.append(0)
            continue
        position = next(present)
        symbol = rule.expansion[position]
        if not (symbol.is_term and symbol.filter_out):
            kept.append(position - size)
    origin = str(rule.origin.name)
    action = str(rule.alias or origin)
    if rule.options.expand1 and not rule.alias and len(kept) == 1:
        action = ""
    return [RULE + origin, action, size, kept]
