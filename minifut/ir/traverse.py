"""Everything that walks a program, derived from field annotations and `binds`.

    walk(node)                    all nodes below, itself first
    map_children(node, f)         the node with f applied to its direct child nodes
    bound_names(node)             names bound anywhere inside
    used_names(node)              names that occur anywhere inside other than bound
    free_names(node)              used but not bound inside; types and sizes included
    substitute(node, mapping)     free names replaced by atoms
    rename(node, names)           all bound names fresh

Since names are unique in a program, nothing can be captured, so that substitution and
renaming are one sweep. What does not change is returned as the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from minifut.errors import InternalError
from minifut.ir import fields
from minifut.ir.core import Atom, Body, Constant, If, Loop, Match, Stm
from minifut.ir.fields import ATOM, ATOMS, MIXED, NODE, NODES, SIZE, TYPE
from minifut.ir.kernels import KernelBody
from minifut.ir.sizes import Size
from minifut.ir.types import AccType, ArrayType, ScalarType, Type
from minifut.names import Name, NameSource

T = TypeVar("T")
NO_NAMES: frozenset[Name] = frozenset()
BODIES = frozenset((Body, KernelBody))


# --- nodes -----------------------------------------------------------------------


@fields.per_class
def _child_fields(cls: type) -> tuple[tuple[str, int], ...]:
    wanted = (NODE, NODES, MIXED)
    return tuple((n, k) for n, k in fields.parts(cls) if k in wanted)


@fields.per_class
def _children_of(cls: type) -> Callable[[Any], list[Any]] | None:
    """What lists the child nodes of an instance, as one display of its fields, since
    walking is much of what passes do; None if there never are any."""
    display = {NODE: "node.{}", NODES: "*node.{}", MIXED: "*within(node.{})"}
    shown = [display[kind].format(name) for name, kind in _child_fields(cls)]
    if not shown:
        return None
    text = f"lambda node: [{', '.join(shown)}]"
    listing: Callable[[Any], list[Any]] = eval(text, {"within": _nodes_within})
    return listing


def children(node: object) -> list[Any]:
    """The direct child nodes, in the order of the fields."""
    children_of = _children_of(type(node))
    return [] if children_of is None else children_of(node)


def _nodes_within(held: object) -> list[Any]:
    if isinstance(held, tuple):
        return [node for part in held for node in _nodes_within(part)]
    return [held] if fields.is_node(type(held)) else []


def walk(node: object) -> Iterator[Any]:
    """The node and all below it, parents before children, in order."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        children_of = _children_of(type(current))
        if children_of is not None:
            below = children_of(current)
            below.reverse()
            waiting += below


def map_children(node: T, function: Callable[[Any], Any]) -> T:
    """The node with `function` applied to its direct children; the same object if all
    come back unchanged."""
    changes: dict[str, Any] = {}
    for name, kind in _child_fields(type(node)):
        old = getattr(node, name)
        if kind == NODE:
            new = function(old)
        elif kind == NODES:
            new = _map_tuple(old, function)
        else:
            new = _map_nodes_within(old, function)
        if new is not old:
            changes[name] = new
    return _rebuilt(node, changes) if changes else node


def _rebuilt(node: T, changes: dict[str, Any]) -> T:
    cls = type(node)
    held = [
        changes[name] if name in changes else getattr(node, name)
        for name in fields.all_fields(cls)
    ]
    return cls(*held)


def _map_tuple(old: tuple[Any, ...], function: Callable[[Any], Any]) -> tuple[Any, ...]:
    new = tuple([function(part) for part in old])
    for before, after in zip(old, new, strict=True):
        if before is not after:
            return new
    return old


def _map_nodes_within(held: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(held, tuple):
        return _map_tuple(held, lambda part: _map_nodes_within(part, function))
    return function(held) if fields.is_node(type(held)) else held


def map_bodies(node: Any, change: Callable[[Body], Body]) -> Any:
    """Apply `change` to the outermost bodies inside a node of host code; kernels' own
    bodies stay as they are."""
    if isinstance(node, Body):
        return change(node)
    if isinstance(node, KernelBody):
        return node
    return map_children(node, lambda child: map_bodies(child, change))


def host_bodies(exp: object) -> tuple[Body, ...]:
    """The bodies of a branch or loop; none of other expressions."""
    match exp:
        case If() | Match():
            return exp.branches
        case Loop():
            return (exp.body,)
    return ()


def host_statements(statements: Iterable[Stm]) -> Iterator[Stm]:
    """The statements and those of loops and branches in them."""
    for statement in statements:
        yield statement
        for body in host_bodies(statement.exp):
            yield from host_statements(body.statements)


# --- names -----------------------------------------------------------------------


def size_names(type_: Type) -> frozenset[Name]:
    """The names in a type."""
    if isinstance(type_, AccType):
        inner = [size_names(element) for element in type_.elements]
        shape = [size.names() for size in type_.shape]
        return frozenset((type_.root,)).union(*shape, *inner)
    if not isinstance(type_, ArrayType):
        return NO_NAMES
    return NO_NAMES.union(*[size.names() for size in type_.shape])


def bound_names(node: object) -> list[Name]:
    """The names bound anywhere inside, in order."""
    found: list[Name] = []
    for current in walk(node):
        for name in getattr(current, "introduces", ()):
            held = getattr(current, name)
            found.extend(held if isinstance(held, tuple) else (held,))
    return found


def used_names(node: object) -> set[Name]:
    """The names that occur inside other than where they are bound."""
    found: set[Name] = set()
    _collect([node], found, set())
    return found


def free_names(node: object) -> set[Name]:
    """The variables that a node, or an atom, needs from outside. Functions do not
    count."""
    if isinstance(node, Name):
        return {node}
    found: set[Name] = set()
    bound: set[Name] = set()
    _collect([node], found, bound)
    return found - bound


def _collect(waiting: list[Any], used: set[Name], bound: set[Name]) -> None:
    """Add the names that occur in and below these nodes, and those bound there.

    What is below a body is kept with it, since passes ask for the names of the same
    nested statements again and again, and for each body around them.
    """
    while waiting:
        current = waiting.pop()
        if type(current) in BODIES:
            below = getattr(current, "names_below", None)
            if below is None:
                inner: tuple[set[Name], set[Name]] = set(), set()
                own_names(current, inner[0])
                _collect(children(current), *inner)
                below = frozenset(inner[0]), frozenset(inner[1])
                object.__setattr__(current, "names_below", below)
            used |= below[0]
            bound |= below[1]
            continue
        own_names(current, used)
        for name in getattr(current, "introduces", ()):
            held = getattr(current, name)
            bound.update(held if isinstance(held, tuple) else (held,))
        children_of = _children_of(type(current))
        if children_of is not None:
            waiting += children_of(current)


@fields.per_class
def _free_fields(cls: type) -> tuple[tuple[str, int], ...]:
    """All fields but those that bind names."""
    introduced = getattr(cls, "introduces", ())
    return tuple((n, k) for n, k in fields.parts(cls) if n not in introduced)


@fields.per_class
def _use_fields(cls: type) -> tuple[tuple[str, int], ...]:
    """Fields with uses of names in this very node."""
    return tuple((n, k) for n, k in _free_fields(cls) if k not in (NODE, NODES))


@fields.per_class
def _uses_of(cls: type) -> Callable[[Any], list[Any]] | None:
    """What lists the atoms in the uses of an instance, as one display of its fields;
    None if there never are any."""
    display = {ATOM: "node.{}", ATOMS: "*node.{}", TYPE: "*of_type(node.{})"}
    shown = [
        display.get(kind, "*within(node.{})").format(name)
        for name, kind in _use_fields(cls)
    ]
    if not shown:
        return None
    text = f"lambda node: [{', '.join(shown)}]"
    known = {"of_type": size_names, "within": _names_within}
    listing: Callable[[Any], list[Any]] = eval(text, known)
    return listing


def own_names(node: object, found: set[Name]) -> None:
    """Add the names that this very node uses, not those of its children."""
    uses_of = _uses_of(type(node))
    if uses_of is not None:
        found.update([atom for atom in uses_of(node) if type(atom) is Name])


def _names_within(held: object) -> Iterable[Name]:
    match held:
        case tuple():
            return [name for part in held for name in _names_within(part)]
        case Name():
            return (held,)
        case Size():
            return held.names()
        case ArrayType() | AccType():
            return size_names(held)
    return ()


# --- replacing names ---------------------------------------------------------------


class Replacer:
    """Replaces names by `mapping`, where they are bound too if `binders`."""

    __slots__ = ("atoms", "binders", "sizes")

    def __init__(self, mapping: Mapping[Name, Atom], binders: bool) -> None:
        self.atoms = mapping
        self.binders = binders
        self.sizes: dict[Name, Size] = {}
        for name, atom in mapping.items():
            if isinstance(atom, Name):
                self.sizes[name] = Size.of(atom)
            elif isinstance(atom.value, int) and not isinstance(atom.value, bool):
                self.sizes[name] = Size.constant(atom.value)

    def node(self, node: Any) -> Any:
        changes: dict[str, Any] = {}
        cls = type(node)
        for name, kind in fields.parts(cls) if self.binders else _free_fields(cls):
            old = getattr(node, name)
            new: Any
            if kind == ATOMS:
                new = _map_tuple(old, self.atom)
            elif kind == NODE:
                new = self.node(old)
            elif kind == TYPE:
                new = old if type(old) is ScalarType else self.type(old)
            elif kind == NODES:
                new = _map_tuple(old, self.node)
            elif kind == ATOM:
                new = self.atom(old)
            elif kind == SIZE:
                new = old.substitute(self.sizes)
            else:
                new = self.mixed(old)
            if new is not old:
                changes[name] = new
        return _rebuilt(node, changes) if changes else node

    def atom(self, old: Atom) -> Atom:
        return self.atoms.get(old, old) if type(old) is Name else old

    def type(self, old: Type) -> Type:
        if isinstance(old, AccType):
            return self.accumulator(old)
        if type(old) is not ArrayType:
            return old
        shape = _map_tuple(old.shape, lambda size: size.substitute(self.sizes))
        return old if shape is old.shape else ArrayType(old.element, shape)

    def accumulator(self, old: AccType) -> AccType:
        if self.sizes.keys().isdisjoint(size_names(old)):
            return old
        root = self.atoms.get(old.root, old.root)
        shape, elements = self.mixed(old.shape), self.mixed(old.elements)
        assert isinstance(root, Name)
        return AccType(root, shape, elements)

    def mixed(self, old: Any) -> Any:
        match old:
            case tuple():
                return _map_tuple(old, self.mixed)
            case Name():
                return self.atoms.get(old, old)
            case Size():
                return old.substitute(self.sizes)
            case ArrayType() | AccType():
                return self.type(old)
        return self.node(old) if fields.is_node(type(old)) else old


def substitute(node: T, mapping: Mapping[Name, Atom]) -> T:
    """The node, type, size, atom or tuple with free names replaced by atoms.

    In sizes an integer constant becomes a constant size. Where only a name may stand
    (`Index.array`) the mapping must give one; the verifier tells.
    """
    return Replacer(mapping, binders=False).mixed(node) if mapping else node


def substitute_sizes(node: T, mapping: Mapping[Name, Size]) -> T:
    """As `substitute`, but only in sizes and types, where any size may stand in."""
    if not mapping:
        return node
    replacer = Replacer({}, binders=False)
    replacer.sizes = dict(mapping)
    made: T = replacer.mixed(node)
    return made


def rename(node: T, names: NameSource, free: Mapping[Name, Atom] | None = None) -> T:
    """The node with fresh names for what it binds, and these atoms for free names."""
    mapping: dict[Name, Atom] = {name: names.like(name) for name in bound_names(node)}
    mapping.update(free or {})
    return Replacer(mapping, binders=True).mixed(node) if mapping else node


def rename_to(node: T, mapping: Mapping[Name, Name]) -> T:
    """The node with names replaced everywhere, also where they are bound."""
    return Replacer(mapping, binders=True).mixed(node) if mapping else node


def atom_size(atom: Atom) -> Size:
    """An i64 atom as a size."""
    match atom:
        case Constant(number, _):
            return Size.constant(int(number))
        case Name():
            return Size.of(atom)
    raise InternalError("ir.traverse", f"{atom!r} is not an atom")
