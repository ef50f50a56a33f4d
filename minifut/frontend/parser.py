"""From Futhark text to syntax: the engine that runs the LALR table.

The parser keeps states, values and depths on stacks, so nesting never reaches Python's
recursion limit here; text nested deeper than `NESTING_LIMIT` is refused, as later
stages do recurse. A sequence of `let ... in` is not nesting.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from minifut.errors import Source, error
from minifut.frontend.build_declarations import DECLARATIONS
from minifut.frontend.build_expressions import EXPRESSIONS
from minifut.frontend.build_lists import LISTS, node
from minifut.frontend.build_types import TYPES
from minifut.frontend.lexer import TokenTable, tokenize
from minifut.frontend.syntax import Program
from minifut.frontend.syntax_errors import unexpected_token
from minifut.frontend.tables import STARTS, Table, load_table

NESTING_LIMIT = 800
"""How deep syntax may be: every operator of a chain counts, as does every bracket."""

BUILDERS: dict[str, Any] = {**DECLARATIONS, **EXPRESSIONS, **TYPES}

# These make an expression deeper by each of their parts, though they build no node.
DEEPENING = frozenset(["chain_start", "chain_more"])


def parse_program(source: Source) -> Program:
    """The declarations of a file. Raises CompileError."""
    program: Program = parse(source, "program")
    return program


@lru_cache(maxsize=1)
def futhark_table() -> tuple[Table, list[tuple[Any, ...]]]:
    """The table, and per rule: origin, size, kept, function, has location, weight."""
    table = load_table("futhark.lark", STARTS)
    prepared = []
    for rule in table.rules:
        name = rule.action
        builder = BUILDERS.get(name) if name else None
        located = builder is not None
        if name and builder is None:
            builder = LISTS[name]
        elif isinstance(builder, type):
            builder = node(builder)
        weight = 1 if located or name in DEEPENING else 0
        prepared.append((rule.origin, rule.size, rule.kept, builder, located, weight))
    return table, prepared


def parse(source: Source, start: str) -> Any:
    """What a start rule of the grammar describes. Raises CompileError."""
    table, rules = futhark_table()
    return _run(table, rules, tokenize(source), table.starts[start])


def _run(
    table: Table, rules: list[tuple[Any, ...]], tokens: TokenTable, state: int
) -> Any:
    """Shift and reduce until the end marker is accepted."""
    rows = table.rows
    kinds, texts = tokens.kinds, tokens.texts
    states = [state]
    values: list[Any] = [None]  # a bottom, so that offsets from the top never wrap
    starts = [0]
    depths = [0]
    last = len(kinds) - 1
    place = 0
    kind = kinds[0]
    row = rows[state]
    while True:
        action = row.get(kind)
        if action is None:
            raise unexpected_token(table, states, tokens, place)
        if action >= 0:
            if place == last:
                return values[-1]
            states.append(action)
            values.append(texts[place])
            starts.append(place)
            depths.append(0)
            place += 1
            kind = kinds[place]
            row = rows[action]
            continue
        origin, size, kept, builder, located, weight = rules[-action - 1]
        if builder is None and size == 1:
            state = rows[states[-2]][origin]
            states[-1] = state
            row = rows[state]
            continue
        first = starts[-size] if size else place
        if builder is None:
            value = values[kept[0]]
        else:
            arguments = [values[offset] if offset else None for offset in kept]
            if located:
                at = tokens.location(first, place - 1 if place > first else first)
                value = builder(at, *arguments)
            else:
                value = builder(*arguments)
        if size == 1:
            depth = depths[-1] + weight
            states.pop()
            values[-1] = value
            depths[-1] = depth
        else:
            depth = weight
            if size:
                depth += max(depths[-size:])
                del states[-size:], values[-size:], starts[-size:], depths[-size:]
            values.append(value)
            starts.append(first)
            depths.append(depth)
        if depth > NESTING_LIMIT:
            raise error(
                tokens.location(first, first),
                f"what starts here is nested more than {NESTING_LIMIT} levels deep",
                "nested-too-deeply",
                "give parts of it names with `let` or `def`",
            )
        state = rows[states[-1]][origin]
        states.append(state)
        row = rows[state]
