"""Nodes of some classes, without a walk through what cannot have them.

    nodes_of(kinds, *nodes)   those at and below the nodes, parents first, in order
    contains(node, kinds)     whether there is one
    count_of(kinds, *nodes)   how many there are
    classes_in(node)          the classes of all nodes below, which the node keeps

Two facts make most of a program not worth a look: below an expression of kernel code
there are only expressions, and statements, bodies and blocks keep the classes of what
is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, TypeVar, get_args, overload

from minifut.ir import fields
from minifut.ir.marks import WithBelow, WithClasses
from minifut.ir.traverse import children

T = TypeVar("T")
_SETS: dict[frozenset[type], frozenset[type]] = {}
"""one object for all nodes that have the same classes below"""
_LEAVES: dict[tuple[type, ...], frozenset[type]] = {}
"""those below nodes whose children have none, by their classes"""
Lister: TypeAlias = Callable[[Any], list[Any]]
Kinds: TypeAlias = "type | UnionType | tuple[type, ...]"


@overload
def nodes_of(kinds: type[T], *nodes: object) -> Iterator[T]: ...


@overload
def nodes_of(kinds: UnionType | tuple[type, ...], *nodes: object) -> Iterator[Any]: ...


def nodes_of(kinds: Any, *nodes: object) -> Iterator[Any]:
    """The nodes of a class (or of a union or tuple) at and below these nodes, parents
    before children, in order."""
    visits = _visits(kinds)
    waiting: list[Any] = [*nodes]
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        wanted, children_of, keeps_classes = visits[type(node)]
        if wanted:
            yield node
        if children_of is None:
            continue
        if keeps_classes and not visits.among(classes_in(node)):
            continue
        below = children_of(node)
        below.reverse()
        waiting += below


def contains(node: object, kinds: Kinds) -> bool:
    """Whether the node or one below it is of a class (or of a union or tuple)."""
    visits = _visits(kinds)
    waiting: list[Any] = [node]
    for current in waiting:
        wanted, children_of, keeps_classes = visits[type(current)]
        if wanted:
            return True
        if keeps_classes:
            if visits.among(classes_in(current)):
                return True
        elif children_of is not None:
            waiting += children_of(current)
    return False


def count_of(kinds: Kinds, *nodes: object) -> int:
    """How many nodes of a class (or of a union or tuple) are at and below these."""
    return sum(1 for _ in nodes_of(kinds, *nodes))


def classes_in(node: WithBelow | WithClasses) -> frozenset[type]:
    """The classes of the nodes below a statement or body, or a block of kernel code,
    which keeps them: passes query it again and again for what most do not have."""
    known: frozenset[type] | None = getattr(node, "classes", None)
    if known is None:
        below = children(node)
        classes = tuple(map(type, below))
        known = _LEAVES.get(classes)
        if known is None:
            found = set(classes)
            for current in below:
                cls = type(current)
                if hasattr(cls, "classes"):
                    found |= classes_in(current)
                elif (children_of := fields.lister_of(cls)) is not None:
                    inner = children_of(current)
                    found.update(map(type, inner))
                    below += inner
            known = frozenset(found)
            known = _SETS.setdefault(known, known)
            if not any(
                hasattr(cls, "classes") or fields.lister_of(cls) for cls in classes
            ):
                _LEAVES[classes] = known
        object.__setattr__(node, "classes", known)
    return known


class _Visits(dict[type, tuple[bool, "Lister | None", bool]]):
    """What to do at a node, by its class: whether it is one of those wanted, what gives
    the nodes below it if they may have some, and whether it keeps their classes."""

    def __init__(self, kinds: Any) -> None:
        super().__init__()
        self.kinds = kinds
        self.known: dict[frozenset[type], bool] = {}
        # a base class may be one of expressions
        self.in_expressions = any(
            fields.is_expression(cls) or not fields.is_node(cls)
            for cls in _classes_of(kinds)
        )

    def among(self, classes: frozenset[type]) -> bool:
        """Whether one of the classes is wanted."""
        found = self.known.get(classes)
        if found is None:
            found = self.known[classes] = any(self[cls][0] for cls in classes)
        return found

    def __missing__(self, cls: type) -> tuple[bool, Lister | None, bool]:
        lister_of = fields.lister_of if self.in_expressions else fields.statements_of
        # a walk over statements alone is quicker than to find all classes
        quick = issubclass(cls, WithClasses) and not self.in_expressions
        keeps_classes = hasattr(cls, "classes") and not quick
        found = self[cls] = issubclass(cls, self.kinds), lister_of(cls), keeps_classes
        return found


_visits = cache(_Visits)


def _classes_of(kinds: Any) -> list[type]:
    if isinstance(kinds, type):
        return [kinds]
    options = kinds if isinstance(kinds, tuple) else get_args(kinds)
    return [cls for option in options for cls in _classes_of(option)]
