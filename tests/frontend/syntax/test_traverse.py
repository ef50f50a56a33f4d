"""The traversal of the syntax visits all that is written, from left to right."""

from __future__ import annotations

import pytest

from minifut import stages
from minifut.errors import Source
from minifut.frontend import syntax
from minifut.frontend.syntax.traverse import (
    binders,
    children,
    sub_patterns,
    subexpressions,
    uses,
    walk,
)
from tests.frontend.parsing import parse_expression


def parsed(text: str) -> syntax.Exp:
    return parse_expression(Source("a.fut", text))


def texts(nodes: list[syntax.Exp]) -> list[str]:
    return [node.location.text() for node in nodes]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a[i, j:k:l]", ["a", "i", "j", "k", "l"]),
        ("xs with [i] = v", ["xs", "i", "v"]),
        ("x..y...z", ["x", "y", "z"]),
        ("if c then t else e", ["c", "t", "e"]),
        ("let (a, b) = v in r", ["v", "r"]),
        ("[p, (q, s)]", ["p", "(q, s)"]),
    ],
)
def test_subexpressions_come_from_left_to_right(text: str, parts: list[str]) -> None:
    assert texts(subexpressions(parsed(text))) == parts


def test_types_of_ascriptions_are_visited_but_are_no_subexpressions() -> None:
    exp = parsed("xs :> [n + 1]t")
    assert texts(subexpressions(exp)) == ["xs"]
    assert [path for path, _ in uses(exp)] == [("xs",), ("+",), ("n",)]


def test_each_node_comes_before_those_below_it() -> None:
    exp = parsed("f (\\x -> x + 1) (match y case #c z -> z)")
    seen: set[int] = set()
    for node in walk(exp):
        assert not seen & {id(child) for child in children(node)}
        seen.add(id(node))
    assert len(seen) > 10


def test_binders_and_parts_of_patterns() -> None:
    exp = parsed("\\(a, {x = b, y}) ((#c d _): t) -> a")
    assert isinstance(exp, syntax.Lambda)
    first, second = exp.parameters
    assert [b.name for b in binders(first)] == ["a", "b", "y"]
    assert [b.name for b in binders(second)] == ["d"]
    inner = first.inner if isinstance(first, syntax.ParensPattern) else first
    assert [key for key, _ in sub_patterns(inner)] == ["0", "1"]
    [(_, record)] = sub_patterns(inner)[1:]
    assert [key for key, _ in sub_patterns(record)] == ["x", "y"]


def test_uses_name_records_and_updated_arrays_once_the_checker_was_there() -> None:
    source = """
      def f (r: {x: {y: i64}}) (xs: *[3]i64) (i: i64) =
        let xs[i] = r.x.y in xs
    """
    checked = stages.check(Source("a.fut", source))
    [definition] = checked.program.declarations
    assert isinstance(definition, syntax.ValueDeclaration)
    paths = [path for path, name in uses(definition.body) if name is not None]
    assert sorted(paths) == [("i",), ("r",), ("xs",), ("xs",)]
