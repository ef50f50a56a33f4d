"""Types without sizes: unification.

The first pass of the checker treats types as if arrays had a rank only; sizes in
them are carried along and never compared. A type to be found is a `Meta`; the solver
records of each what it must be:

    Free(lifted)          anything (that may be stored in an array if lifted is "")
    OneOf(names)          one of these scalar types: numeric literals and operators
    HasFields(fields)     a record with at least these fields
    HasConstructors(...)  a sum with at least these constructors

Metas are linked with path compression, so that the work is linear in the program.
"""

from __future__ import annotations

from typing import Any

from minifut.errors import Location
from minifut.frontend import types
from minifut.frontend.check.environment import plain
from minifut.frontend.check.messages import Mismatch
from minifut.frontend.sizes import has_metas
from minifut.frontend.types import Type
from minifut.ir.node import mutable
from minifut.names import Name


@mutable
class Free:
    """Anything; `lifted` as for type parameters."""

    lifted: str


@mutable
class OneOf:
    names: tuple[str, ...]


@mutable
class HasFields:
    fields: dict[str, Type]


@mutable
class HasConstructors:
    constructors: dict[str, tuple[Type, ...]]


Wanted = Free | OneOf | HasFields | HasConstructors

_LIFTEDNESS = {"": 0, "~": 1, "^": 2}


def show_constructors(constructors: dict[str, tuple[Type, ...]]) -> str:
    """A sum type as far as it is known."""
    return types.show(types.Sum(tuple(sorted(constructors.items()))))


class Solver:
    """The metas of one definition."""

    __slots__ = ("_done", "levels", "links", "origins", "parameter_levels", "wanted")

    def __init__(self) -> None:
        self.links: list[Type | None] = []
        self.wanted: list[Wanted] = []
        self.levels: list[int] = []
        self.origins: list[Location | None] = []
        self.parameter_levels: dict[Name, int] = {}
        self._done: dict[int, Type] = {}

    def fresh(self, wanted: Wanted, level: int, origin: Location | None) -> types.Meta:
        """A type to be found."""
        self.links.append(None)
        self.wanted.append(wanted)
        self.levels.append(level)
        self.origins.append(origin)
        return types.Meta(len(self.links) - 1)

    def resolve(self, type_: Type) -> Type:
        """Follow links at the head of a type."""
        links = self.links
        if not isinstance(type_, types.Meta) or links[type_.id] is None:
            return type_
        path = []
        while isinstance(type_, types.Meta) and (to := links[type_.id]) is not None:
            path.append(type_.id)
            type_ = to
        for number in path:
            links[number] = type_
        return type_

    def finish(self, type_: Type) -> Type:
        """The type with all solved metas replaced."""
        if not has_metas(types.mentioned(type_)):
            return type_
        done = self._done

        def on_type(term: Type) -> Type | None:
            if isinstance(term, types.Scalar):
                return term
            if not isinstance(term, types.Meta):
                return None
            head = self.resolve(term)
            if isinstance(head, types.Meta):
                return head
            known = done.get(term.id)
            if known is None:
                known = types.map_type(head, on_type)
                if not _has_meta(known):
                    done[term.id] = known
            return known

        return types.map_type(type_, on_type)

    # --- unification ----------------------------------------------------------

    def unify(self, left: Type, right: Type, path: tuple[str, ...] = ()) -> None:
        """Make two types equal, or raise `Mismatch`."""
        left, right = self.resolve(left), self.resolve(right)
        if left is right:
            return
        match left, right:
            case types.Meta(one), types.Meta(other):
                if one != other:
                    self._join(one, other, path)
            case types.Meta(number), _:
                self._assign(number, right, path)
            case _, types.Meta(number):
                self._assign(number, left, path)
            case types.Scalar(one), types.Scalar(other) if one == other:
                pass
            case types.Array(_, one), types.Array(_, other):
                self.unify(one, other, path)
            case types.Arrow(_, a, b), types.Arrow(_, c, d):
                self.unify(a, c, path)
                self.unify(b, d, path)
            case types.Record(), types.Record():
                self._unify_records(left, right, path)
            case types.Sum(), types.Sum():
                self._unify_sums(left, right, path)
            case types.Named(one, ones), types.Named(other, others) if one == other:
                for x, y in zip(ones, others, strict=False):
                    if not types.is_size(x) and not types.is_size(y):
                        self.unify(x, y, path)
            case _:
                raise Mismatch(left, right, path)

    def _unify_records(
        self, left: types.Record, right: types.Record, path: tuple[str, ...]
    ) -> None:
        ones, others = dict(left.fields), dict(right.fields)
        if ones.keys() != others.keys():
            if left.is_tuple and right.is_tuple:
                note = (
                    f"Tuples have {len(ones)} and {len(others)} elements respectively."
                )
            else:
                unshared = sorted(ones.keys() ^ others.keys())
                note = f"There are unshared fields: {', '.join(unshared)}."
            raise Mismatch(left, right, path, note)
        for name, type_ in ones.items():
            self.unify(type_, others[name], (*path, f"field '{name}'"))

    def _unify_sums(
        self, left: types.Sum, right: types.Sum, path: tuple[str, ...]
    ) -> None:
        ones, others = dict(left.constructors), dict(right.constructors)
        if ones.keys() != others.keys():
            raise Mismatch(left, right, path, _unshared(ones, others))
        self._shared_constructors(ones, others, path)

    def _shared_constructors(
        self,
        ones: dict[str, tuple[Type, ...]],
        others: dict[str, tuple[Type, ...]],
        path: tuple[str, ...],
    ) -> None:
        for name in ones.keys() & others.keys():
            one, other = ones[name], others[name]
            if len(one) != len(other):
                raise Mismatch(
                    types.Sum(((name, one),)),
                    types.Sum(((name, other),)),
                    path,
                    f"Constructors #{name} differ in arity.",
                )
            for a, b in zip(one, other, strict=True):
                self.unify(a, b, (*path, f"constructor #{name}"))

    def demand(self, type_: Type) -> Wanted | None:
        """What must hold of a type that is not known yet."""
        found = self.resolve(type_)
        return self.wanted[found.id] if isinstance(found, types.Meta) else None

    def _assign(self, number: int, type_: Type, path: tuple[str, ...]) -> None:
        type_ = plain(type_)
        self._occurs(number, type_)
        self.links[number] = type_
        try:
            self._satisfy(self.wanted[number], type_, path)
        except Mismatch:
            self.links[number] = None
            raise

    def _satisfy(self, wanted: Wanted, type_: Type, path: tuple[str, ...]) -> None:
        """A type must be what is demanded of the meta it is put in for."""
        match wanted, type_:
            case Free(lifted), _:
                self._lower(lifted, type_)
            case OneOf(names), types.Scalar(name) if name in names:
                pass
            case OneOf(names), _:
                note = f"It must be one of {', '.join(names)}."
                raise Mismatch(OneOf(names), type_, path, note)
            case HasFields(fields), types.Record(others) if (
                fields.keys() <= dict(others).keys()
            ):
                for name, expected in fields.items():
                    found = dict(others)[name]
                    self.unify(expected, found, (*path, f"field '{name}'"))
            case HasFields(fields), _:
                note = "Cannot unify record type with fields"
                raise Mismatch(types.record(fields), type_, path, note)
            case HasConstructors(ones), types.Sum(others) if (
                ones.keys() <= dict(others).keys()
            ):
                self._shared_constructors(ones, dict(others), path)
            case HasConstructors(ones), types.Sum(others):
                known = types.Sum(tuple(sorted(ones.items())))
                raise Mismatch(known, type_, path, _unshared(ones, dict(others)))
            case HasConstructors(ones), _:
                note = "Cannot unify type with constructors"
                raise Mismatch(
                    types.Sum(tuple(sorted(ones.items()))), type_, path, note
                )

    def _join(self, one: int, other: int, path: tuple[str, ...]) -> None:
        a, b = self.wanted[one], self.wanted[other]
        merged: Wanted
        match a, b:
            case Free(x), Free(y):
                merged = Free(min(x, y, key=_LIFTEDNESS.__getitem__))
            case Free(), _:
                merged = b
            case _, Free():
                merged = a
            case OneOf(xs), OneOf(ys):
                both = tuple(x for x in xs if x in ys)
                if not both:
                    note = (
                        f"One must be one of {', '.join(xs)}, "
                        f"the other one of {', '.join(ys)}."
                    )
                    raise Mismatch(a, b, path, note)
                merged = OneOf(both)
            case HasFields(xs), HasFields(ys):
                merged = HasFields({**xs, **ys})
            case HasConstructors(xs), HasConstructors(ys):
                merged = HasConstructors({**xs, **ys})
            case _:
                raise Mismatch(a, b, path, "Cannot unify")
        self.links[other] = types.Meta(one)
        self.wanted[one] = merged
        self.levels[one] = min(self.levels[one], self.levels[other])
        if isinstance(a, HasFields) and isinstance(b, HasFields):
            for name in a.fields.keys() & b.fields.keys():
                self.unify(a.fields[name], b.fields[name], (*path, f"field '{name}'"))
        if isinstance(a, HasConstructors) and isinstance(b, HasConstructors):
            self._shared_constructors(a.constructors, b.constructors, path)

    def _lower(self, lifted: str, type_: Type) -> None:
        """Pass the demand of being storable down to the metas of a type."""
        type_ = self.resolve(type_)
        match type_:
            case types.Meta(number):
                wanted = self.wanted[number]
                if isinstance(wanted, Free) and (
                    _LIFTEDNESS[lifted] < _LIFTEDNESS[wanted.lifted]
                ):
                    self.wanted[number] = Free(lifted)
            case types.Record() | types.Sum():
                for inner in types.parts(type_):
                    self._lower(lifted, inner)

    def _occurs(self, number: int, type_: Type) -> None:
        """Refuse infinite types and types of a deeper scope; lower levels."""
        level = self.levels[number]
        stack = [type_]
        seen: set[int] = set()
        while stack:
            term = self.resolve(stack.pop())
            match term:
                case types.Meta(other):
                    if other == number:
                        raise Mismatch(types.Meta(number), type_, (), "Occurs check")
                    if other in seen:
                        continue
                    seen.add(other)
                    if self.levels[other] > level:
                        self.levels[other] = level
                    wanted = self.wanted[other]
                    if isinstance(wanted, HasFields):
                        stack += wanted.fields.values()
                    elif isinstance(wanted, HasConstructors):
                        stack += [t for ts in wanted.constructors.values() for t in ts]
                case types.Named(name) if self.parameter_levels.get(name, 0) > level:
                    raise Mismatch(types.Meta(number), type_, (), f"Scope {name.base}")
                case _:
                    stack += types.parts(term)


def _has_meta(type_: Type) -> bool:
    return isinstance(type_, types.Meta) or any(map(_has_meta, types.parts(type_)))


def _unshared(ones: dict[str, Any], others: dict[str, Any]) -> str:
    missing = sorted(others.keys() - ones.keys()) + sorted(ones.keys() - others.keys())
    return f"Unshared constructors: {', '.join('#' + c for c in missing)}."
