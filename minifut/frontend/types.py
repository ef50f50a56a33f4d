"""Types and sizes of the checked surface language.

A type is a value: frozen, compared by structure. Arrays have one dimension per node, so
that `[n]a` with a := `[m]b` is nested arrays. Sizes are terms (`frontend.sizes`, whose
names are here as well). After checking no meta variables are left.

Uniqueness (`*`) is a mark on arrays and named types that equality ignores in
unification (`strip_unique`) and that the uniqueness analysis reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from minifut.frontend.sizes import NOTHING, Mentions, free_in_size
from minifut.frontend.sizes import Size as Size
from minifut.frontend.sizes import SizeAny as SizeAny
from minifut.frontend.sizes import SizeApply as SizeApply
from minifut.frontend.sizes import SizeConst as SizeConst
from minifut.frontend.sizes import SizeMeta as SizeMeta
from minifut.frontend.sizes import SizeOpaque as SizeOpaque
from minifut.frontend.sizes import SizeVar as SizeVar
from minifut.frontend.sizes import as_size as as_size
from minifut.frontend.sizes import is_size as is_size
from minifut.frontend.sizes import map_size as map_size
from minifut.frontend.sizes import show_size as show_size
from minifut.frontend.sizes import substitute_size as substitute_size
from minifut.ir.node import immutable, same_or
from minifut.names import Name

T = TypeVar("T")

# --- types --------------------------------------------------------------------

SCALAR_NAMES = [
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool",
]  # fmt: skip


@immutable
class Scalar:
    """One of the twelve scalar types, by name."""

    name: str


@immutable
class Array(Mentions):
    """`[size]element`."""

    size: Size
    element: Type
    unique: bool = False


@immutable
class Record(Mentions):
    """Fields sorted by name; a tuple has the fields "0", "1", ... in numeric order."""

    fields: tuple[tuple[str, Type], ...]

    @property
    def is_tuple(self) -> bool:
        """True for tuples; the empty record is the unit tuple, a 1-tuple none."""
        names = [name for name, _ in self.fields]
        return len(names) != 1 and names == [str(i) for i in range(len(names))]


@immutable
class Sum(Mentions):
    """Constructors sorted by name, each with its payload types."""

    constructors: tuple[tuple[str, tuple[Type, ...]], ...]


@immutable
class Arrow(Mentions):
    """`(parameter: argument) -> ?exts. result`.

    `exts` are unknown sizes of the result, bound anew at each full application;
    `parameter` may occur in the sizes of the result. A consumed argument is one whose
    type has `unique` marks.
    """

    parameter: Name | None
    argument: Type
    result: Type
    exts: tuple[Name, ...] = ()


@immutable
class Named(Mentions):
    """A type parameter or an abstract type, with its arguments.

    `lifted` is "", "~" or "^" (may it hold unknown sizes, functions?).
    """

    name: Name
    arguments: tuple[Type | Size, ...] = ()
    lifted: str = ""
    unique: bool = False


@immutable
class Meta:
    """A type to be found by unification (in the checker only)."""

    id: int


Type: TypeAlias = Scalar | Array | Record | Sum | Arrow | Named | Meta
LEAVES = frozenset((Scalar, Meta))
"""types without parts, as most are: tested before all others"""


@immutable
class Scheme:
    """A polymorphic type: `parameters` are type parameters (`Named` names, with
    their liftedness) and size parameters, in the order of declaration.
    """

    parameters: tuple[tuple[Name, str], ...]
    """each with its kind: "size", "", "~" or "^" """
    type: Type


# --- making and taking apart ----------------------------------------------------

BOOL = Scalar("bool")
I32 = Scalar("i32")
I64 = Scalar("i64")
U8 = Scalar("u8")
F64 = Scalar("f64")
UNIT = Record(())


def field_key(name: str) -> tuple[int, int, str]:
    """The order of record fields: numbers numerically, before words."""
    return (0, int(name), "") if name.isdigit() else (1, 0, name)


def record(fields: Mapping[str, Type]) -> Record:
    """A record with its fields in canonical order."""
    return Record(tuple(sorted(fields.items(), key=lambda item: field_key(item[0]))))


def tuple_type(elements: tuple[Type, ...]) -> Record:
    """The tuple of the given element types."""
    return Record(tuple((str(i), t) for i, t in enumerate(elements)))


def array(sizes: tuple[Size, ...], element: Type, unique: bool = False) -> Type:
    """`[s0][s1]...element`."""
    result = element
    for size in reversed(sizes):
        result = Array(size, result, unique)
    return result


def parts(type_: Type) -> list[Type]:
    """The types right below a type, from left to right."""
    if type(type_) in LEAVES:
        return []
    match type_:
        case Array(_, element):
            return [element]
        case Record(fields):
            return [t for _, t in fields]
        case Sum(constructors):
            return [t for _, ts in constructors for t in ts]
        case Arrow(_, argument, result):
            return [argument, result]
        case Named(_, arguments):
            return [a for a in arguments if not is_size(a)]
        case Scalar() | Meta():
            return []


def map_parts(
    type_: Type,
    change: Callable[[Type], Type],
    on_size: Callable[[Size], Size] = lambda size: size,
) -> Type:
    """The type with the types and sizes right below it replaced; the same object if
    all are."""
    if type(type_) in LEAVES:
        return type_
    match type_:
        case Array(size, element, unique):
            length, inner = on_size(size), change(element)
            if length is size and inner is element:
                return type_
            return Array(length, inner, unique)
        case Record(fields):
            old = tuple([t for _, t in fields])
            new = same_or(map(change, old), old)
            return type_ if new is old else Record(_named(fields, new))
        case Sum(constructors):
            payloads = tuple([ts for _, ts in constructors])
            made = [same_or(map(change, ts), ts) for ts in payloads]
            changed = same_or(made, payloads)
            return type_ if changed is payloads else Sum(_named(constructors, changed))
        case Arrow(parameter, argument, result, exts):
            left, right = change(argument), change(result)
            if left is argument and right is result:
                return type_
            return Arrow(parameter, left, right, exts)
        case Named(name, arguments, lifted, unique) if arguments:
            parts = [on_size(a) if is_size(a) else change(a) for a in arguments]
            mapped = same_or(parts, arguments)
            if mapped is arguments:
                return type_
            return Named(name, mapped, lifted, unique)
        case Scalar() | Named() | Meta():
            return type_


def _named(
    known: tuple[tuple[str, T], ...], items: tuple[T, ...]
) -> tuple[tuple[str, T], ...]:
    """Other items under the same names."""
    return tuple(zip([name for name, _ in known], items, strict=True))


def mentioned(type_: Type) -> frozenset[Name | int]:
    """The names of types and sizes that occur in a type, unknown sizes of results too,
    and the numbers of metas."""
    if type(type_) is Scalar:
        return NOTHING
    known: frozenset[Name | int] | None = getattr(type_, "mentioned", None)
    if known is not None:
        return known
    below = map(mentioned, parts(type_))
    match type_:
        case Array(size, element):
            known = free_in_size(size).union(mentioned(element))
        case Arrow(_, _, _, exts):
            known = NOTHING.union(exts, *below)
        case Named(name, arguments):
            sizes = [free_in_size(a) for a in arguments if is_size(a)]
            known = frozenset((name,)).union(*sizes, *below)
        case Record() | Sum():
            known = NOTHING.union(*below)
        case Meta(number):
            return frozenset((number,))
        case Scalar():
            return NOTHING
    object.__setattr__(type_, "mentioned", known)
    return known


def map_type(
    type_: Type,
    on_type: Callable[[Type], Type | None],
    on_size: Callable[[Size], Size] = lambda size: size,
) -> Type:
    """Rebuild a type: `on_type` may replace a whole subterm (None: go inside it),
    `on_size` replaces each size."""

    def change(part: Type) -> Type:
        replaced = on_type(part)
        return map_parts(part, change, on_size) if replaced is None else replaced

    return change(type_)


def as_type(term: Type | Size) -> Type:
    """What is known to be a type."""
    assert not is_size(term)
    return term


def substitute(type_: Type, mapping: Mapping[Name, Type | Size]) -> Type:
    """Replace type parameters (`Named` without arguments) and size names in a type."""
    if mapping.keys().isdisjoint(mentioned(type_)):
        return type_
    sizes = {n: t for n, t in mapping.items() if is_size(t)}

    def on_type(term: Type) -> Type | None:
        if isinstance(term, Named) and not term.arguments:
            to = mapping.get(term.name)
            if to is not None and not is_size(to):
                return mark_unique(to) if term.unique else to
        return None

    return map_type(type_, on_type, lambda size: substitute_size(size, sizes))


def strip_unique(type_: Type, functions: bool = True) -> Type:
    """The same type without `*` marks; those in functions may stay."""

    def on_type(term: Type) -> Type | None:
        match term:
            case Array(size, element, True):
                return Array(size, strip_unique(element, functions))
            case Named(name, arguments, lifted, True):
                return Named(name, arguments, lifted)
            case Arrow() if not functions:
                return term
            case _:
                return None

    return map_type(type_, on_type)


def mark_unique(type_: Type) -> Type:
    """The same type with `*` on every array and named type outside of functions."""

    def on_type(term: Type) -> Type | None:
        match term:
            case Array(size, element, _):
                return Array(size, strip_unique(element), True)
            case Named(name, arguments, lifted, _):
                return Named(name, arguments, lifted, True)
            case Arrow():
                return term
            case _:
                return None

    return map_type(type_, on_type)


def consumes(type_: Type) -> bool:
    """Whether a function of this type consumes an argument."""
    while isinstance(type_, Arrow):
        if has_unique(type_.argument):
            return True
        type_ = type_.result
    return False


def has_unique(type_: Type) -> bool:
    """Is any part of it, outside of functions, marked `*`?"""
    if type(type_) in LEAVES:
        return False
    match type_:
        case Array(_, _, unique) | Named(_, _, _, unique):
            return unique
        case Arrow():
            return False
        case Scalar() | Record() | Sum() | Meta():
            return any(map(has_unique, parts(type_)))


# --- showing ---------------------------------------------------------------------


def show(type_: Type) -> str:
    """A type as the user would write it."""
    match type_:
        case Scalar(name):
            return name
        case Array(size, element, unique):
            inner = show(element)
            if isinstance(element, (Arrow, Sum)):
                inner = f"({inner})"
            return f"{'*' if unique else ''}[{show_size(size)}]{inner.lstrip('*')}"
        case Record(fields) if type_.is_tuple:
            return f"({', '.join(show(t) for _, t in fields)})"
        case Record(fields):
            return "{" + ", ".join(f"{name}: {show(t)}" for name, t in fields) + "}"
        case Sum(constructors):
            return " | ".join(
                " ".join((f"#{c}", *(_show_atom(t) for t in ts)))
                for c, ts in constructors
            )
        case Arrow(parameter, argument, result, exts):
            left = show(argument)
            if parameter is not None:
                left = f"({parameter.base}: {left})"
            elif isinstance(argument, Arrow):
                left = f"({left})"
            bound = "".join(f"[{e.base}]" for e in exts)
            return f"{left} -> {f'?{bound}.' if bound else ''}{show(result)}"
        case Named(name, arguments, _, unique):
            shown = [
                f"[{show_size(a)}]" if is_size(a) else _show_atom(a) for a in arguments
            ]
            return ("*" if unique else "") + " ".join((name.base, *shown))
        case Meta(number):
            return f"t{number}"


def _show_atom(type_: Type) -> str:
    text = show(type_)
    composite = isinstance(type_, (Arrow, Sum)) or " " in text
    bracketed = text.startswith(("(", "{")) and not isinstance(type_, Arrow)
    return f"({text})" if composite and not bracketed else text
