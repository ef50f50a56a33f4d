"""One traversal of the syntax, from the declarations of its classes.

    children(node)           the nodes right below a node, from left to right
    walk(node)               it and all below
    subexpressions(exp)      the expressions right below, those of indices included
    sub_patterns(pattern)    the patterns right below, with what they are a part of
    binders(pattern)         what binds names in a pattern, from left to right
    uses(node)               the variables that are mentioned anywhere below

What the checker finds (types, instances) is no syntax and not visited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

from minifut.frontend.syntax import patterns
from minifut.frontend.syntax.expressions import Exp, LetUpdate, SliceIndex, Var
from minifut.frontend.syntax.node import Node
from minifut.names import Name

BindingKey: TypeAlias = str | tuple[str, int]
"""of a part of a value: a field, or an argument of a constructor"""


_PLAIN = {"str", "int", "float", "bool", "None", "tuple"}
_words = re.compile(r"\w+").findall


@cache
def _contents_of(cls: Any) -> Callable[[Node], tuple[object, ...]] | None:
    """What gives the fields of a class that may hold syntax, if it has some."""
    names = [
        f.name
        for f in fields(cls)
        if f.init
        and f.name != "location"
        and not _PLAIN.issuperset(_words(str(f.type)))
    ]
    if not names:
        return None
    get: Callable[[Node], Any] = attrgetter(*names)
    return get if len(names) > 1 else lambda node: (get(node),)


def children(node: Node) -> list[Node]:
    """The nodes right below a node, from left to right."""
    found: list[Node] = []
    kind: Any = type(node)
    contents = _contents_of(kind)
    if contents is not None:
        _add_nodes(contents(node), found)
    return found


def _add_nodes(items: tuple[object, ...], found: list[Node]) -> None:
    """Add the nodes among the items, and among those of tuples of them."""
    for item in items:
        if isinstance(item, Node):
            found.append(item)
        elif isinstance(item, tuple):
            _add_nodes(item, found)


def walk(root: Node) -> Iterator[Node]:
    """The node and all below it, each before those below it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def subexpressions(exp: Exp) -> list[Exp]:
    """The expressions right below, those of indices included."""
    found: list[Exp] = []
    for child in children(exp):
        if isinstance(child, Exp):
            found.append(child)
        elif isinstance(child, SliceIndex):
            found += [part for part in children(child) if isinstance(part, Exp)]
    return found


def sub_patterns(
    pattern: patterns.Pattern,
) -> list[tuple[BindingKey | None, patterns.Pattern]]:
    """The patterns right below, with the part of the value that each is matched with;
    None is the whole value."""
    match pattern:
        case (
            patterns.ParensPattern(inner=inner)
            | patterns.AscribedPattern(inner=inner)
            | patterns.AttributedPattern(inner=inner)
        ):
            return [(None, inner)]
        case patterns.TuplePattern(elements=elements):
            return [(str(i), element) for i, element in enumerate(elements)]
        case patterns.RecordPattern(fields=parts):
            return list(parts)
        case patterns.ConstructorPattern(constructor=name, arguments=arguments):
            return [((name, i), argument) for i, argument in enumerate(arguments)]
        case _:
            return []


def binders(pattern: patterns.Pattern) -> list[patterns.NamePattern]:
    """What binds names in a pattern, from left to right."""
    if isinstance(pattern, patterns.NamePattern):
        return [pattern]
    found = []
    waiting = [pattern]
    while waiting:
        item = waiting.pop()
        if isinstance(item, patterns.NamePattern):
            found.append(item)
        waiting += [inner for _, inner in reversed(sub_patterns(item))]
    return found


def uses(root: Node) -> Iterator[tuple[tuple[str, ...], Name | None]]:
    """The variables that are mentioned: as written, with modules before the name but
    without fields behind it, and by unique names where the checker was. Those that are
    bound inside are among them."""
    for node in walk(root):
        if isinstance(node, Var):
            written = (*node.name.qualifiers, node.name.name)
            yield written[: len(written) - len(node.fields)], node.name_resolved
        elif isinstance(node, LetUpdate):
            yield (node.name,), node.source_resolved
