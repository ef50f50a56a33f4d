"""What the fields of IR classes hold, read once per class from their annotations.

    Loop.parameters: tuple[Param, ...]   NODES    Loop.initial: tuple[Atom, ...]   ATOMS
    Iota.length: Size                    SIZE     ScatterDestination.array: Name   ATOM
    Branch.otherwise: Block | None       OPTIONAL

`parts(cls)` lists only the fields in which a name or a node can occur, each with its
kind; annotations that fit no simple kind are examined value by value: MIXED, or
NAMES if no node can occur in them.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from minifut.errors import Location
from minifut.ir import core, scalars, sizes
from minifut.ir.types import AccType, ArrayType, ScalarType
from minifut.names import Name

NODE, NODES, OPTIONAL, MIXED, ATOM, ATOMS, SIZE, SIZES, TYPE, TYPES, NAMES = range(11)
HOLDING_NODES = (NODE, NODES, OPTIONAL, MIXED)

T = TypeVar("T")

_PLURAL = {NODE: NODES, ATOM: ATOMS, SIZE: SIZES, TYPE: TYPES}
_PLAIN = (int, float, bool, str, type(None), scalars.Operator, Location, ScalarType)


class _PerClass(dict[type, T]):
    """Results, computed at the first query."""

    def __init__(self, compute: Callable[[type], T]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, cls: type) -> T:
        found = self[cls] = self.compute(cls)
        return found


def per_class(compute: Callable[[type], T]) -> Callable[[type], T]:
    """Caches the result for each class."""
    return _PerClass(compute).__getitem__


@per_class
def is_node(cls: type) -> bool:
    """Whether a class was made by `@node` (and not by `@immutable`)."""
    return dataclasses.is_dataclass(cls) and cls.__eq__ is object.__eq__


@per_class
def parts(cls: type) -> tuple[tuple[str, int], ...]:
    """The fields of a node class that can hold variable names or nodes, with kinds.

    Fields that hold names of functions (`calls`) are not among them.
    """
    hints = typing.get_type_hints(cls, localns={"Location": Location})
    functions = getattr(cls, "calls", ())
    found = []
    for field in dataclasses.fields(cls):
        if field.name not in functions:
            kind = _kind(hints[field.name])
            if kind is not None:
                found.append((field.name, kind))
    return tuple(found)


@per_class
def all_fields(cls: type) -> tuple[str, ...]:
    """The names of all fields, in the order of the constructor."""
    return tuple(field.name for field in dataclasses.fields(cls))


@per_class
def child_fields(cls: type) -> tuple[tuple[str, int], ...]:
    """The fields of a node class that can hold nodes, with kinds."""
    return tuple((n, k) for n, k in parts(cls) if k in HOLDING_NODES)


@per_class
def lister_of(cls: type) -> Callable[[Any], list[Any]] | None:
    """What lists the child nodes of an instance; None if there never are any."""
    return _lister(child_fields(cls))


@per_class
def statements_of(cls: type) -> Callable[[Any], list[Any]] | None:
    """The same for the fields that have other nodes than expressions of kernel code."""
    hints = typing.get_type_hints(cls, localns={"Location": Location})
    return _lister(f for f in child_fields(cls) if not _has_expressions(hints[f[0]]))


def is_expression(cls: type) -> bool:
    """Whether a class is one of expressions of kernel code: below one are no others."""
    return getattr(cls, "is_expression", False)


def _has_expressions(hint: Any) -> bool:
    """Whether an annotation is of expressions, or tuples of them, alone."""
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint is types.NoneType or is_expression(hint)
    options = [a for a in typing.get_args(hint) if a is not Ellipsis]
    return bool(options) and all(map(_has_expressions, options))


def _lister(fields: Iterable[tuple[str, int]]) -> Callable[[Any], list[Any]] | None:
    """What lists the nodes in some fields of an instance, as one display, since walking
    is much of what passes do."""
    display = {
        NODE: "node.{0}",
        NODES: "*node.{0}",
        OPTIONAL: "*(() if node.{0} is None else (node.{0},))",
        MIXED: "*within(node.{0})",
    }
    shown = [display[kind].format(name) for name, kind in fields]
    if not shown:
        return None
    text = f"lambda node: [{', '.join(shown)}]"
    listing: Callable[[Any], list[Any]] = eval(text, {"within": _nodes_within})
    return listing


def _nodes_within(value: object) -> list[Any]:
    if isinstance(value, tuple):
        return [node for part in value for node in _nodes_within(part)]
    return [value] if is_node(type(value)) else []


def rebuilder(
    cls: type, forms: Mapping[str, str], **known: Any
) -> Callable[[Any, Any], Any]:
    """What makes an instance with each of these fields replaced by what its form, a
    Python expression of `node` and `change`, gives; the node itself if all give what
    was there. Compiled once per class, since rebuilding is much of what passes do."""
    every = all_fields(cls)
    parts = ", ".join(f"p_{n}" for n in forms)
    same = " and ".join(f"p_{n} is node.{n}" for n in forms)
    values = ", ".join(f"p_{n}" if n in forms else f"node.{n}" for n in every)
    finish = f"lambda node, {parts}: node if {same} else cls({values})"
    known["finish"] = eval(finish, {"cls": cls})
    shown = ", ".join(form.format(f"node.{n}") for n, form in forms.items())
    made: Callable[[Any, Any], Any]
    made = eval(f"lambda node, change: finish(node, {shown})", known)
    return made


def _kind(hint: Any) -> int | None:
    """The kind of an annotation; None if no name can occur in it."""
    if hint is object:
        return NODE
    if hint in (Name, core.Atom):
        return ATOM
    origin = typing.get_origin(hint)
    if origin is tuple:
        arguments = typing.get_args(hint)
        inner = {_kind(a) for a in arguments if a is not Ellipsis}
        if inner == {None}:
            return None
        if len(arguments) == 2 and arguments[1] is Ellipsis and len(inner) == 1:
            kind = inner.pop()
            return _PLURAL[kind] if kind in _PLURAL else _various({kind})
        return _various(inner)
    if origin in (typing.Union, types.UnionType):
        options = typing.get_args(hint)
        if ArrayType in options and {ScalarType, ArrayType, AccType}.issuperset(
            options
        ):
            return TYPE
        kinds = {_kind(option) for option in options}
        if kinds == {None}:
            return None
        if kinds == {NODE, None} and types.NoneType in options and len(options) == 2:
            return OPTIONAL
        return kinds.pop() if len(kinds) == 1 else _various(kinds)
    if hint is sizes.Size:
        return SIZE
    if hint is ArrayType:
        return TYPE
    if is_node(hint) or is_expression(hint):
        return NODE
    return None


def _various(kinds: set[int | None]) -> int:
    """The kind of what can be of any of several."""
    return NAMES if kinds.isdisjoint(HOLDING_NODES) else MIXED
