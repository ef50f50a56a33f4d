"""What names mean: values, types, modules and module types in scope.

A `Scope` maps the names as written; it is one dictionary per name space with a trail,
so that binding and leaving a block cost what was bound there, however deep the nest.
The types of values, by unique `Name`, are in `Checking`, program-wide.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from minifut.frontend.check.consumption import ConsumptionChecker
from minifut.frontend.types import (
    Arrow,
    Named,
    Scheme,
    SizeVar,
    has_unique,
    is_size,
    map_type,
    strip_unique,
)
from minifut.immutables import quick_dataclass
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.frontend.check.prelude import Prelude
    from minifut.frontend.types import Size, Type
    from minifut.names import NameSource

Parameters: TypeAlias = "tuple[tuple[Name, str], ...]"


@quick_dataclass
class TypeBinding:
    """`type name parameters = ?exts. type`; an abstract type stands for itself."""

    name: Name
    parameters: Parameters
    type: Type
    exts: tuple[Name, ...]
    lifted: str


def abstract_type(name: Name, parameters: Parameters, lifted: str) -> TypeBinding:
    """A type of which nothing is known but its name."""
    arguments = tuple(
        SizeVar(p) if kind == "size" else Named(p, (), kind) for p, kind in parameters
    )
    return TypeBinding(name, parameters, Named(name, arguments, lifted), (), lifted)


@quick_dataclass
class Structure:
    """The contents of a module."""

    values: dict[str, Name] = field(default_factory=dict)
    types: dict[str, TypeBinding] = field(default_factory=dict)
    modules: dict[str, CheckedModule] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)

    def value(self, name: str) -> Name | None:
        """The unique name of a value; modules of the prelude make it on demand."""
        return self.values.get(name)

    def complete(self) -> Structure:
        """The same with all values present."""
        return self

    def add(self, more: Structure) -> None:
        """Enter the contents of another."""
        self.values.update(more.values)
        self.types.update(more.types)
        self.modules.update(more.modules)
        self.signatures.update(more.signatures)


@quick_dataclass
class Signature:
    """A module type: the contents, and where in them the abstract types stand."""

    abstract: dict[Name, tuple[tuple[str, ...], str]]
    """abstract type to its path from the top of the module, and its liftedness"""
    module: CheckedModule


@quick_dataclass
class Functor:
    """A parametric module."""

    parameter: Signature
    result: Signature
    name: str = ""


CheckedModule: TypeAlias = Structure | Functor


class Scope:
    """Names as written, with what they mean here."""

    __slots__ = ("_trail", "prelude", "signatures", "terms", "types")

    def __init__(self, prelude: Prelude) -> None:
        self.terms: dict[str, Name | CheckedModule] = {}
        self.types: dict[str, TypeBinding] = {}
        self.signatures: dict[str, Signature] = {}
        self._trail: list[tuple[dict[str, Any], str, object]] = []
        self.prelude = prelude

    def mark(self) -> int:
        """A point to return to."""
        return len(self._trail)

    def restore(self, mark: int) -> None:
        """Remove all that was bound since `mark`."""
        trail = self._trail
        while len(trail) > mark:
            table, key, old = trail.pop()
            if old is None:
                del table[key]
            else:
                table[key] = old

    def _bind(self, table: dict[str, Any], key: str, value: object) -> None:
        self._trail.append((table, key, table.get(key)))
        table[key] = value

    def bind_value(self, name: str, resolved: Name) -> None:
        self._bind(self.terms, name, resolved)

    def bind_module(self, name: str, module: CheckedModule) -> None:
        self._bind(self.terms, name, module)

    def bind_type(self, name: str, binding: TypeBinding) -> None:
        self._bind(self.types, name, binding)

    def bind_signature(self, name: str, signature: Signature) -> None:
        self._bind(self.signatures, name, signature)

    def open(self, structure: Structure) -> None:
        """Bind all that a module holds."""
        whole = structure.complete()
        for name, value in whole.values.items():
            self.bind_value(name, value)
        for name, binding in whole.types.items():
            self.bind_type(name, binding)
        for name, module in whole.modules.items():
            self.bind_module(name, module)
        for name, signature in whole.signatures.items():
            self.bind_signature(name, signature)

    def term(self, name: str) -> Name | CheckedModule | None:
        """A value or module by its name alone."""
        found = self.terms.get(name)
        return self.prelude.term(name) if found is None else found

    def type(self, name: str) -> TypeBinding | None:
        found = self.types.get(name)
        return self.prelude.type(name) if found is None else found

    def signature(self, name: str) -> Signature | None:
        found = self.signatures.get(name)
        return self.prelude.signature(name) if found is None else found


@quick_dataclass
class Checking:
    """What is known of the whole program."""

    names: NameSource
    values: dict[Name, Scheme] = field(default_factory=dict)
    """the type of every value bound outside of expressions"""
    overloads: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    """type parameters of built-in operators: which scalar types they range over"""
    joined: dict[Name, tuple[Size, ...]] = field(default_factory=dict)
    """unknown sizes of results of functions that join sizes of the parameters"""
    warnings: list[str] = field(default_factory=list)
    consumption: ConsumptionChecker = field(default_factory=ConsumptionChecker)

    paths: dict[Name, str] = field(default_factory=dict)
    """how to write an abstract type outside of its module: `m.t`"""

    def note_paths(self, module: str, found: Signature) -> None:
        """The abstract types of a module get the names that they have outside."""
        for name, (path, _) in found.abstract.items():
            self.paths.setdefault(name, ".".join((module, *path)))

    def readable(self, type_: Type) -> Type:
        """A type whose abstract types show from which module they are."""
        if not self.paths:
            return type_

        def on_type(term: Type) -> Type | None:
            if isinstance(term, Named) and term.name in self.paths:
                path = Name(self.paths[term.name], term.name.tag)
                arguments = tuple(
                    a if is_size(a) else self.readable(a) for a in term.arguments
                )
                return Named(path, arguments, term.lifted, term.unique)
            return None

        return map_type(type_, on_type, lambda size: size)

    def warn(self, location: Location, message: str) -> None:
        """Note something dubious."""
        text = f"{location}: warning: {message}\n{location.excerpt()}"
        if text not in self.warnings:
            self.warnings.append(text)


def parameters_of(type_: Type) -> tuple[list[Arrow], Type]:
    """`a -> b -> c` as its arrows [a, b] and c."""
    arrows = []
    while isinstance(type_, Arrow):
        arrows.append(type_)
        type_ = type_.result
    return arrows, type_


def plain(type_: Type) -> Type:
    """The type of a value as such: no `*` outside of functions."""
    return strip_unique(type_, functions=False) if has_unique(type_) else type_
