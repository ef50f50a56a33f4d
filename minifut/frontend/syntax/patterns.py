"""Patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend.syntax.node import Node, checked, syntax_node

if TYPE_CHECKING:
    from minifut.frontend.syntax.expressions import Literal
    from minifut.frontend.syntax.node import Attribute
    from minifut.frontend.syntax.types import TypeExp
    from minifut.frontend.types import Type
    from minifut.names import Name


@syntax_node
class Pattern(Node):
    """*checked*: the type of what it is matched with."""

    type: Type | None = checked()


@syntax_node
class NamePattern(Pattern):
    name: str
    name_resolved: Name | None = checked()


@syntax_node
class WildcardPattern(Pattern):
    """`_`."""


@syntax_node
class ParensPattern(Pattern):
    inner: Pattern


@syntax_node
class TuplePattern(Pattern):
    elements: tuple[Pattern, ...]


@syntax_node
class RecordPattern(Pattern):
    """`{x = p, y}`: `{y}` is given as ("y", NamePattern y)."""

    fields: tuple[tuple[str, Pattern], ...]


@syntax_node
class AscribedPattern(Pattern):
    inner: Pattern
    ascription: TypeExp


@syntax_node
class LiteralPattern(Pattern):
    """A number, character or boolean; the sign belongs to the literal."""

    literal: Literal


@syntax_node
class ConstructorPattern(Pattern):
    """`#c p q`."""

    constructor: str
    arguments: tuple[Pattern, ...]


@syntax_node
class AttributedPattern(Pattern):
    attribute: Attribute
    inner: Pattern
