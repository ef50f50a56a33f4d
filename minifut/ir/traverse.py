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
from typing import Any, TypeAlias, TypeVar

from minifut.errors import InternalError
from minifut.ir import fields
from minifut.ir.core import Atom, Body, Constant, ForLoop, Param, Stm
from minifut.ir.fields import ATOM, ATOMS, MIXED, NODE, NODES, OPTIONAL, SIZE, TYPE
from minifut.ir.kernels import KernelBody, SegSpace
from minifut.ir.sizes import Size
from minifut.ir.types import I64, AccType, ArrayType, ScalarType, Type
from minifut.names import Name, NameSource

T = TypeVar("T")
Below: TypeAlias = tuple[frozenset[Name], dict[Name, Type]]
NO_NAMES: frozenset[Name] = frozenset()
BODIES = frozenset((Body, KernelBody))
KEEPING = BODIES | {Stm}
BINDERS = frozenset((Param, ForLoop, SegSpace))


# --- nodes -----------------------------------------------------------------------


def children(node: object) -> list[Any]:
    """The direct child nodes, in the order of the fields."""
    children_of = fields.lister_of(type(node))
    return [] if children_of is None else children_of(node)


def is_leaf(node: object) -> bool:
    """Whether there are no nodes below nodes of this class."""
    return fields.lister_of(type(node)) is None


@fields.per_class
def _map_children_of(cls: type) -> Callable[[Any, Any], Any] | None:
    form = {
        NODE: "change({0})",
        NODES: "each({0}, change)",
        OPTIONAL: "(None if {0} is None else change({0}))",
        MIXED: "within({0}, change)",
    }
    forms = {name: form[kind] for name, kind in fields.child_fields(cls)}
    if not forms:
        return None
    return fields.rebuilder(cls, forms, each=_map_tuple, within=_map_nodes_within)


def walk(node: object) -> Iterator[Any]:
    """The node and all below it, parents before children, in order."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        children_of = fields.lister_of(type(current))
        if children_of is not None:
            below = children_of(current)
            below.reverse()
            waiting += below


def map_children(node: T, function: Callable[[Any], Any]) -> T:
    """The node with `function` applied to its direct children; the same object if all
    come back unchanged."""
    rebuild = _map_children_of(type(node))
    return node if rebuild is None else rebuild(node, function)


def _map_tuple(old: tuple[Any, ...], function: Callable[[Any], Any]) -> tuple[Any, ...]:
    new = tuple(map(function, old))
    return old if new == old else new


def _map_nodes_within(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return _map_tuple(value, lambda part: _map_nodes_within(part, function))
    return function(value) if fields.is_node(type(value)) else value


# --- names -----------------------------------------------------------------------


def size_names(type_: Type) -> frozenset[Name]:
    """The names in a type."""
    if not isinstance(type_, AccType | ArrayType):
        return NO_NAMES
    found = NO_NAMES.union(*[size.names() for size in type_.shape])
    if isinstance(type_, AccType):
        found = found.union((type_.root,), *map(size_names, type_.elements))
    return found


def bound_names(node: object) -> list[Name]:
    """The names bound anywhere inside, in order."""
    found: list[Name] = []
    for current in walk(node):
        for name in getattr(type(current), "introduces", ()):
            value = getattr(current, name)
            found.extend(value if isinstance(value, tuple) else (value,))
    return found


def used_names(node: object) -> set[Name]:
    """The names that occur inside other than where they are bound."""
    found: set[Name] = set()
    _collect([node], found, {})
    return found


def names_in(node: Body | KernelBody | Stm) -> frozenset[Name]:
    """The same of what keeps them."""
    return _below(node)[0]


def free_names(node: object) -> set[Name]:
    """The variables that a node, or an atom, needs from outside. Functions do not
    count."""
    if isinstance(node, Name):
        return {node}
    found: set[Name] = set()
    bound: dict[Name, Type] = {}
    _collect([node], found, bound)
    return found.difference(bound)


def bound_types(nodes: Iterable[object]) -> dict[Name, Type]:
    """The types of all names bound anywhere in the nodes."""
    bound: dict[Name, Type] = {}
    _collect(list(nodes), set(), bound)
    return bound


def _below(node: Any) -> Below:
    """The names that occur in a node, and those bound there with their types.
    Statements and bodies keep them: passes query it again and again, also for each
    body that a statement becomes part of."""
    found: Below | None = getattr(node, "below", None)
    if found is None:
        used: set[Name] = set()
        bound: dict[Name, Type] = {}
        own_names(node, used)
        _collect(children(node), used, bound)
        found = frozenset(used), bound
        object.__setattr__(node, "below", found)
    return found


def _collect(waiting: list[Any], used: set[Name], bound: dict[Name, Type]) -> None:
    """Add the names that occur in and below these nodes, and those bound there."""
    while waiting:
        current = waiting.pop()
        cls = type(current)
        if cls in KEEPING:
            below = _below(current)
            used |= below[0]
            bound |= below[1]
            continue
        uses_of = _uses_of(cls)
        if uses_of is not None:
            used.update([atom for atom in uses_of(current) if type(atom) is Name])
        if cls is Param:
            bound[current.name] = current.type
        elif cls in BINDERS:
            add_bound(bound, current)
        children_of = fields.lister_of(cls)
        if children_of is not None:
            waiting += children_of(current)


def add_bound(scope: dict[Name, Type], node: object) -> None:
    """Enter what this very node binds (a parameter, a loop's index, a space)."""
    match node:
        case Param(name, type_):
            scope[name] = type_
        case ForLoop(index, _, type_):
            scope[index] = type_
        case SegSpace(indices, _):
            scope.update(dict.fromkeys(indices, I64))


@fields.per_class
def _free_fields(cls: type) -> tuple[tuple[str, int], ...]:
    """All fields but those that bind names."""
    introduced = getattr(cls, "introduces", ())
    return tuple((n, k) for n, k in fields.parts(cls) if n not in introduced)


@fields.per_class
def _use_fields(cls: type) -> tuple[tuple[str, int], ...]:
    """Fields with uses of names in this very node."""
    return tuple(
        (n, k) for n, k in _free_fields(cls) if k not in (NODE, NODES, OPTIONAL)
    )


@fields.per_class
def _uses_of(cls: type) -> Callable[[Any], list[Any]] | None:
    """What lists the atoms in the uses of an instance, as one display of its fields;
    None if there never are any."""
    display = {
        ATOM: "node.{0}",
        ATOMS: "*node.{0}",
        SIZE: "*node.{0}.names()",
        TYPE: "*(() if type(node.{0}) is ScalarType else of_type(node.{0}))",
    }
    shown = [
        display.get(kind, "*within(node.{0})").format(name)
        for name, kind in _use_fields(cls)
    ]
    if not shown:
        return None
    text = f"lambda node: [{', '.join(shown)}]"
    known = {"of_type": size_names, "within": _names_within, "ScalarType": ScalarType}
    listing: Callable[[Any], list[Any]] = eval(text, known)
    return listing


def own_names(node: object, found: set[Name]) -> None:
    """Add the names that this very node uses, not those of its children."""
    uses_of = _uses_of(type(node))
    if uses_of is not None:
        found.update([atom for atom in uses_of(node) if type(atom) is Name])


def _names_within(value: object) -> Iterable[Name]:
    match value:
        case tuple():
            return [name for part in value for name in _names_within(part)]
        case Name():
            return (value,)
        case Size():
            return value.names()
        case ArrayType() | AccType():
            return size_names(value)
    return ()


# --- replacing names ---------------------------------------------------------------


class Replacer:
    """Replaces names by `mapping`, where they are bound too if `binders`."""

    __slots__ = ("atoms", "binders", "sizes")

    def __init__(self, mapping: Mapping[Name, Atom], binders: bool) -> None:
        self.atoms: dict[Name, Atom] = {}
        self.binders = binders
        self.sizes: dict[Name, Size] = {}
        for name, atom in mapping.items():
            self.equate(name, atom)

    def equate(self, name: Name, atom: Atom) -> None:
        """From here on `name` is replaced by `atom`."""
        self.atoms[name] = atom
        if isinstance(atom, Name):
            self.sizes[name] = Size.of(atom)
        elif isinstance(atom.value, int) and not isinstance(atom.value, bool):
            self.sizes[name] = Size.constant(atom.value)

    def node(self, node: Any) -> Any:
        rebuild = (_replace_all_in if self.binders else _replace_in)(type(node))
        return node if rebuild is None else rebuild(node, self)

    def atom(self, old: Atom) -> Atom:
        return self.atoms.get(old, old) if type(old) is Name else old

    def operands(self, old: tuple[Atom, ...]) -> tuple[Atom, ...]:
        known = self.atoms.get
        new = tuple([known(a, a) if type(a) is Name else a for a in old])
        return old if new == old else new

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


_REPLACED = {
    ATOM: "change.atom({0})",
    ATOMS: "change.operands({0})",
    NODE: "change.node({0})",
    NODES: "map_tuple({0}, change.node)",
    OPTIONAL: "(None if {0} is None else change.node({0}))",
    TYPE: "({0} if type({0}) is ScalarType else change.type({0}))",
    SIZE: "{0}.substitute(change.sizes)",
}


def _replacing(
    cls: type, parts: tuple[tuple[str, int], ...]
) -> Callable[[Any, Replacer], Any] | None:
    forms = {name: _REPLACED.get(kind, "change.mixed({0})") for name, kind in parts}
    known = {"map_tuple": _map_tuple, "ScalarType": ScalarType}
    return fields.rebuilder(cls, forms, **known) if forms else None


@fields.per_class
def _replace_in(cls: type) -> Callable[[Any, Replacer], Any] | None:
    return _replacing(cls, _free_fields(cls))


@fields.per_class
def _replace_all_in(cls: type) -> Callable[[Any, Replacer], Any] | None:
    return _replacing(cls, fields.parts(cls))


def substitute(node: T, mapping: Mapping[Name, Atom]) -> T:
    """The node, type, size, atom or tuple with free names replaced by atoms.

    In sizes an integer constant becomes a constant size. Where only a name may stand
    (`Index.array`) the mapping must give one; the verifier checks it.
    """
    return Replacer(mapping, binders=False).mixed(node) if mapping else node


def substitute_sizes(node: T, mapping: Mapping[Name, Size]) -> T:
    """As `substitute`, but only in sizes and types, where any size may be used."""
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
