"""The state of the first pass over one definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import error
from minifut.frontend import types
from minifut.frontend.check import hints, solver
from minifut.frontend.check.environment import Functor, Structure
from minifut.frontend.check.messages import Mismatch, quote, show
from minifut.frontend.check.mismatches import type_mismatch
from minifut.names import Name

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from minifut.errors import CompileError, Location
    from minifut.frontend import syntax
    from minifut.frontend.check.environment import (
        CheckedModule,
        Checking,
        Scope,
        TypeBinding,
    )
    from minifut.frontend.types import Type

SIGNED = ("i8", "i16", "i32", "i64")
INTEGERS = (*SIGNED, "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")
NUMBERS = (*INTEGERS, *FLOATS)
_KINDS = {
    SIGNED: "signed integer",
    INTEGERS: "integer",
    FLOATS: "float",
    NUMBERS: "number",
}


class Inference:
    """One definition (or type) being inferred."""

    def __init__(self, context: Checking, scope: Scope) -> None:
        self.context = context
        self.scope = scope
        self.solver = solver.Solver()
        self.level = 0
        self.types: dict[Name, types.Scheme] = {}
        """the values bound inside of the definition"""
        self.anonymous: dict[syntax.TypeExp, tuple[Name, ...]] = {}
        """the unknown sizes of type expressions: `[]`, `?[n].`"""
        self.instantiations: list[tuple[Location, str, str, types.Meta]] = []
        self._letters: dict[int, str] = {}
        """how messages call the types that are not known yet"""

    # --- types to be found ------------------------------------------------------

    def free(self, location: Location, lifted: str = "^") -> types.Meta:
        return self.solver.fresh(solver.Free(lifted), self.level, location)

    def one_of(self, names: tuple[str, ...], location: Location) -> types.Meta:
        return self.solver.fresh(solver.OneOf(names), self.level, location)

    def with_field(self, field: str, type_: Type, location: Location) -> types.Meta:
        return self.solver.fresh(solver.HasFields({field: type_}), self.level, location)

    def with_constructor(
        self, name: str, payload: tuple[Type, ...], location: Location
    ) -> types.Meta:
        wanted = solver.HasConstructors({name: payload})
        return self.solver.fresh(wanted, self.level, location)

    def literal(self, node: syntax.Literal) -> Type:
        """The type of a number or a boolean, which may be open."""
        if isinstance(node.value, bool):
            return types.BOOL
        if node.suffix:
            return types.Scalar(node.suffix)
        kinds = FLOATS if isinstance(node.value, float) else NUMBERS
        return self.one_of(kinds, node.location)

    def finish(self, type_: Type) -> Type:
        return self.solver.finish(type_)

    def show(self, type_: Type) -> str:
        return show(type_, self.in_words)

    def in_words(self, type_: Type) -> Type:
        """A type as messages show it: what is not known yet has a letter, or the kind
        of number that it must be."""

        def on_type(term: Type) -> Type | None:
            if not isinstance(term, types.Meta):
                return None
            demand = self.solver.demand(term)
            word = (
                _KINDS.get(demand.names) if isinstance(demand, solver.OneOf) else None
            )
            return types.Named(Name(word or self._letter(term.id), 0))

        known = self.context.readable(self.solver.finish(type_))
        return types.map_type(known, on_type, lambda size: size)

    def _letter(self, number: int) -> str:
        """How messages call a type that is not known yet; not as the user's own."""
        if number not in self._letters:
            used = {*self.scope.types, *self._letters.values()}
            letters = (c + "'" * i for i in range(len(used) + 1) for c in "abcdefgh")
            self._letters[number] = next(c for c in letters if c not in used)
        return self._letters[number]

    # --- equality of types ------------------------------------------------------

    def unify(
        self,
        location: Location,
        left: Type,
        right: Type,
        headline: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Make two types equal; `headline` says what for, `hint` what to do if not."""
        try:
            self.solver.unify(left, right)
        except Mismatch as fault:
            text = f"{headline or 'Cannot unify'}\n  {self.show(left)}\nwith\n  "
            text += self.show(right)
            raise type_mismatch(
                self, location, fault, text, fault.anchor, hint
            ) from None

    # --- names --------------------------------------------------------------------

    def bind(self, written: str, type_: Type) -> Name:
        """Bring a value of one type into scope."""
        name = self.context.names.fresh(written)
        self.scope.bind_value(written, name)
        self.types[name] = types.Scheme((), type_)
        return name

    def scheme(self, name: Name) -> types.Scheme:
        found = self.types.get(name)
        return self.context.values[name] if found is None else found

    def instantiate(
        self, name: Name, location: Location, written: str
    ) -> tuple[Type, dict[Name, Type]]:
        """The type of a value at one use, and what its parameters stand for there."""
        scheme = self.scheme(name)
        if not scheme.parameters:
            return scheme.type, {}
        mapping: dict[Name, Type] = {}
        overloads = self.context.overloads
        for parameter, kind in scheme.parameters:
            if kind == "size":
                continue
            if parameter in overloads:
                meta = self.one_of(overloads[parameter], location)
            else:
                meta = self.free(location, kind)
                if self.scope.prelude.operator_symbol(name) is None:
                    self.instantiations.append((location, written, kind, meta))
            mapping[parameter] = meta
        if not mapping:
            return scheme.type, {}
        return types.substitute(scheme.type, mapping), mapping

    def resolve(self, name: syntax.QualName) -> tuple[Name, tuple[str, ...]]:
        """The value that `m.n.x.f.g` names, and the fields f, g that follow it."""
        parts = (*name.qualifiers, name.name)
        if len(parts) == 1 and parts[0].startswith("_") and len(parts[0]) > 1:
            raise error(
                name.location,
                f"Use of {quote(parts[0])}: names that begin with an underscore "
                "may not be used.",
                "underscore-use",
            )
        found: Name | CheckedModule | None = self.scope.term(parts[0])
        for position, part in enumerate(parts[1:], 1):
            match found:
                case Structure():
                    found = found.value(part) or found.modules.get(part)
                    if found is None:
                        self.refuse_intrinsic(name)
                        raise self.unknown(name, parts[: position + 1])
                case None:
                    raise self.unknown(name, parts[:position])
                case _ if is_module(found):
                    raise parametric(name, parts[:position])
                case _:
                    return found, parts[position:]
        if found is None:
            raise self.unknown(name, parts)
        if is_module(found):
            raise error(
                name.location,
                f"{quote(str(name))} is a module, not a value.",
                "unknown-name",
            )
        return found, ()

    def unknown(self, name: syntax.QualName, parts: tuple[str, ...]) -> CompileError:
        inside = self.scope.term(parts[0]) if len(parts) == 2 else None
        if isinstance(inside, Structure):
            values = inside.complete().values
            hint = hints.nearest(parts[1], (*values, *inside.modules), f"{parts[0]}.")
        else:
            known = {**self.scope.prelude.listing(), **self.scope.terms}
            have_it = self.scope.prelude.numeric_modules(parts[-1])
            modules = have_it if len(parts) == 1 else ()
            hint = hints.unknown_value(parts[-1], known, modules)
        text = f"Unknown name {quote('.'.join(parts))}"
        return error(name.location, text, "unknown-name", hint)

    def refuse_intrinsic(self, name: syntax.QualName) -> None:
        """The built-in functions that Futhark's own prelude is written with are there
        only as far as ours needs them too."""
        first = name.qualifiers[0] if name.qualifiers else None
        if first == "intrinsics" and first not in self.scope.terms:
            raise error(
                name.location,
                f"{quote(str(name))} is not supported.",
                "not-supported",
                "use the functions of the prelude instead",
            )

    def resolve_module(self, name: syntax.QualName) -> CheckedModule:
        """The module that a qualified name stands for."""
        parts = (*name.qualifiers, name.name)
        found: Name | CheckedModule | None = self.scope.term(parts[0])
        for part in parts[1:]:
            found = found.modules.get(part) if isinstance(found, Structure) else None
        if found is None or not is_module(found):
            text = f"Unknown module {quote(str(name))}"
            raise error(
                name.location,
                text,
                "unknown-name",
                hints.nearest(parts[0], self.scope.terms),
            )
        return found

    def resolve_type(self, name: syntax.QualName) -> TypeBinding:
        """The type that a qualified name stands for."""
        found: TypeBinding | None
        if not name.qualifiers:
            found = self.scope.type(name.name)
        else:
            module: Name | CheckedModule | None = self.scope.term(name.qualifiers[0])
            for part in name.qualifiers[1:]:
                module = (
                    module.modules.get(part) if isinstance(module, Structure) else None
                )
            if isinstance(module, Functor):
                raise parametric(name, name.qualifiers)
            found = (
                module.types.get(name.name) if isinstance(module, Structure) else None
            )
        if found is None:
            self.refuse_intrinsic(name)
            known = {**dict.fromkeys(NUMBERS), **self.scope.types}
            hint = hints.unknown_type(name.name, known)
            raise error(
                name.location, f"Unknown type {quote(str(name))}", "unknown-name", hint
            )
        return found


def is_module(found: object) -> TypeIs[CheckedModule]:
    """Distinguish modules from values among terms."""
    return isinstance(found, (Structure, Functor))


def parametric(name: syntax.QualName, parts: tuple[str, ...]) -> CompileError:
    """The error for looking into a parametric module."""
    return error(
        name.location,
        f"Module {quote('.'.join(parts))} is a parametric module.",
        "module-is-parametric",
        "apply it to an argument first: module m = f(x)",
    )


def scalar(name: str) -> types.Scalar:
    """A scalar type by name."""
    return types.Scalar(name)
