"""LALR(1) tables: made by Lark from a grammar, kept beside it.

    python -m minifut.frontend.tables       after each change to a grammar

Lark does the hard part, the analysis of the grammar, in half a second; the result is
`grammar/futhark.json`, so that Lark is not even imported unless the grammar is another
one than that of the file. A state's row maps a token kind or a rule to what to do:
`n >= 0` go to state n, `n < 0` reduce by rule `-n - 1`. The end marker is never
shifted: a row that has a state for it accepts the text.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from minifut.ir.node import immutable
from minifut.resources import grammar_file

STARTS = ("program", "exp", "type")
"""The start rules of the grammar of Futhark."""
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
    path = grammar_file(grammar)
    text = path.read_text(encoding="utf-8")
    kept = _kept_for(path)
    if kept.exists():
        content = json.loads(kept.read_text(encoding="utf-8"))
        if content["key"] == _key(text, starts):
            return _from_json(content)
    return _from_json(analyse(text, starts))


def write_table(grammar: str, starts: tuple[str, ...]) -> Path:
    """Keep the table of a grammar for `load_table`; the file has a line for each state
    and each rule."""
    path = grammar_file(grammar)
    text = path.read_text(encoding="utf-8")
    content = {"key": _key(text, starts), **analyse(text, starts)}
    parts = []
    for name, value in content.items():
        lines = ",\n".join(map(json.dumps, value)) if isinstance(value, list) else ""
        parts.append(f'"{name}": ' + (f"[\n{lines}\n]" if lines else json.dumps(value)))
    kept = _kept_for(path)
    kept.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    return kept


def _kept_for(grammar: Path) -> Path:
    return grammar.with_suffix(".json")


def _key(text: str, starts: tuple[str, ...]) -> str:
    return sha256("\n".join([*starts, text]).encode()).hexdigest()


def _from_json(content: dict[str, Any]) -> Table:
    rules = [
        GrammarRule(origin, action, size, tuple(kept))
        for origin, action, size, kept in content["rules"]
    ]
    return Table(content["rows"], rules, content["starts"])


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
    numbering = _in_order(parse_table)
    rules: dict[Any, int] = {}
    rows: list[dict[str, int]] = [{} for _ in numbering]
    for state, number in numbering.items():
        for symbol, (action, argument) in sorted(parse_table.states[state].items()):
            name = spelling.get(symbol) or _plain_name(symbol)
            if action is Shift:
                rows[number][name] = numbering[argument]
            else:
                rows[number][name] = -rules.setdefault(argument, len(rules)) - 1
    for end_state in parse_table.end_states.values():
        rows[numbering[end_state]]["$END"] = 0
    first = parse_table.start_states
    return {
        "starts": {start: numbering[first[start]] for start in starts},
        "rules": [_rule(rule) for rule in rules],
        "rows": rows,
    }


def _in_order(parse_table: Any) -> dict[int, int]:
    """The number of each state: in the order in which a walk from the start states
    finds them, symbols by name, so that each analysis gives the same table."""
    numbering: dict[int, int] = {}
    waiting = [state for _, state in sorted(parse_table.start_states.items())]
    for state in waiting:
        if state in numbering:
            continue
        numbering[state] = len(numbering)
        row = parse_table.states[state].items()
        waiting += [to for _, (action, to) in sorted(row) if action.name == "Shift"]
    return numbering


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


if __name__ == "__main__":
    print(write_table("futhark.lark", STARTS))
