"""Type expressions, and the parameters of definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from minifut.frontend.syntax.node import Node, checked, syntax_node

if TYPE_CHECKING:
    from minifut.frontend.syntax.expressions import Exp
    from minifut.frontend.syntax.node import QualName
    from minifut.frontend.types import Type
    from minifut.names import Name


@syntax_node
class TypeExp(Node):
    """A type as written. *checked*: the type it stands for."""

    type: Type | None = checked()


@syntax_node
class TypeRef(TypeExp):
    """A named type, possibly qualified."""

    name: QualName


@syntax_node
class TypeParens(TypeExp):
    inner: TypeExp


@syntax_node
class TypeTuple(TypeExp):
    """`(a, b)`; `()` when empty."""

    elements: tuple[TypeExp, ...]


@syntax_node
class TypeRecord(TypeExp):
    """`{x: a, y: b}`."""

    fields: tuple[tuple[str, TypeExp], ...]


@syntax_node
class TypeArray(TypeExp):
    """`[size]element`; `[]element` has size None."""

    size: Exp | None
    element: TypeExp


@syntax_node
class TypeUnique(TypeExp):
    """`*t`."""

    inner: TypeExp


@syntax_node
class TypeApply(TypeExp):
    """`t arguments`: an argument is a type, or a size `[e]` / `[]`."""

    function: TypeExp
    arguments: tuple[TypeExp | SizeArgument, ...]


@syntax_node
class SizeArgument(Node):
    """`[e]` (or `[]`: None) as an argument of a type."""

    size: Exp | None


@syntax_node
class TypeArrow(TypeExp):
    """`a -> b` or `(x: a) -> b`. *checked*: the name of x."""

    parameter: str | None
    argument: TypeExp
    result: TypeExp
    name_resolved: Name | None = checked()


@syntax_node
class TypeSum(TypeExp):
    """`#a t | #b`."""

    constructors: tuple[tuple[str, tuple[TypeExp, ...]], ...]


@syntax_node
class TypeExistential(TypeExp):
    """`?[n][m].t`."""

    sizes: tuple[str, ...]
    body: TypeExp
    names_resolved: tuple[Name, ...] = checked(())


@syntax_node
class SizeParam(Node):
    """`[n]`."""

    name: str
    name_resolved: Name | None = checked()


@syntax_node
class TypeParam(Node):
    """`'t`, `'~t`, `'^t`: `lifted` is "", "~" or "^"."""

    name: str
    lifted: str = ""
    name_resolved: Name | None = checked()


TypeParameter: TypeAlias = SizeParam | TypeParam
