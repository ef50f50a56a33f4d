"""What names mean during elaboration.

A frame maps names as written to values and modules (a functor's body is evaluated anew
for each application, so names as written are the right key), and the checker's unique
names to what their sizes and types stand for. Frames are chained; the frame of a chain
of `let` is extended in place as long as no closure has captured it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from minifut.frontend import syntax
from minifut.frontend.check.matching import FunctorBindings, ModuleBindings
from minifut.frontend.elaborate.values import Closure, Value
from minifut.frontend.types import Size, Type
from minifut.immutables import quick_dataclass
from minifut.ir.node import immutable
from minifut.names import Name


@quick_dataclass
class Thunk:
    """Something of the checker's (a type or size) to be resolved in another
    environment when it is needed."""

    term: Type | Size | TypeFunction
    env: Environment


@immutable
class TypeFunction:
    """What an abstract type, perhaps with parameters, stands for."""

    parameters: tuple[tuple[Name, str], ...]
    body: Type


@quick_dataclass
class Deferred:
    """A definition at top level, evaluated when it is first used."""

    evaluate: Callable[[], Value]


@quick_dataclass
class SizeParameter:
    """A size parameter used as a variable: it is what its name stands for."""

    name: Name
    env: Environment


@quick_dataclass
class Sealed:
    """A polymorphic function seen through a specification (perhaps of another such
    view, `inner`): what its parameters are in terms of those of the specification."""

    value: Closure
    spec: Type
    parameters: frozenset[Name]
    env: Environment
    inner: Sealed | None
    mapping: dict[Name, Type | Size] | None = None


@quick_dataclass
class Module:
    """A structure: what it exports."""

    terms: dict[str, Term] = field(default_factory=dict)
    names: dict[Name, object] = field(default_factory=dict)
    signatures: dict[str, SignatureTerm] = field(default_factory=dict)


@quick_dataclass
class ElaboratedFunctor:
    """A parametric module: code and environment. One that is the result of applying
    another also has the names that each such application gave it."""

    parameter: syntax.ModuleParam
    signature: syntax.ModuleTypeExp | None
    bindings: ModuleBindings | None
    body: syntax.ModuleExp
    env: Environment
    renamed: tuple[FunctorBindings, ...] = ()


Term: TypeAlias = (
    "Value | Module | ElaboratedFunctor | Deferred | SizeParameter | Sealed"
)
SignatureTerm: TypeAlias = "tuple[syntax.ModuleTypeExp, Environment]"


class Environment:
    """A frame; see the module."""

    __slots__ = ("captured", "names", "outer", "signatures", "terms")

    def __init__(self, outer: Environment | None = None) -> None:
        self.terms: dict[str, Term] = {}
        self.names: dict[Name, object] = {}
        self.signatures: dict[str, SignatureTerm] = {}
        self.outer = outer
        self.captured = False

    def child(self) -> Environment:
        """A frame inside this one."""
        return Environment(self)

    def extendable(self) -> Environment:
        """This frame if it may be extended in place, else one inside it."""
        return Environment(self) if self.captured else self

    def capture(self) -> Environment:
        """This frame, never to be changed by `let` any more."""
        frame: Environment | None = self
        while frame is not None and not frame.captured:
            frame.captured = True
            frame = frame.outer
        return self

    def term(self, name: str) -> Term | None:
        """The value or module of that name."""
        frame: Environment | None = self
        while frame is not None:
            found = frame.terms.get(name)
            if found is not None:
                return found
            frame = frame.outer
        return None

    def is_bound(self, name: str) -> bool:
        """Does the name mean anything already? Then code seen before may refer to
        it, and it must not be bound anew in the same frame."""
        return self.term(name) is not None

    def meaning(self, name: Name) -> object | None:
        """What a unique name stands for: a size, a value, a static type, a thunk."""
        frame: Environment | None = self
        while frame is not None:
            found = frame.names.get(name)
            if found is not None:
                return found
            frame = frame.outer
        return None

    def signature(self, name: str) -> SignatureTerm | None:
        """The module type of that name."""
        frame: Environment | None = self
        while frame is not None:
            found = frame.signatures.get(name)
            if found is not None:
                return found
            frame = frame.outer
        return None

    def bind(self, name: str, resolved: Name | None, value: Term) -> None:
        """Bind a value in this very frame."""
        self.terms[name] = value
        if resolved is not None:
            self.names[resolved] = value
