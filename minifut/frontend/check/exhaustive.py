"""Which values do the patterns of a `match` leave out?

Maranget's algorithm ("Warnings for pattern matching", 2007): a matrix of patterns is
specialised constructor by constructor; what remains unmatched is given as examples.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.frontend import syntax
from minifut.frontend.types import Record, Scalar, Sum, Type
from minifut.ir.node import immutable

_LIMIT = 20


@immutable
class Shape:
    """A pattern reduced to its head: a constructor with sub-patterns, or `_`.

    `head` is None for `_`, ("#", name), ("record", names) or ("literal", value).
    """

    head: tuple[str, object] | None
    parts: tuple[Shape, ...]
    type: Type | None

    @property
    def matches_all(self) -> bool:
        """Whether it matches every value of its type."""
        return self.head is None or (
            self.head[0] == "record" and all(p.matches_all for p in self.parts)
        )

    def __str__(self) -> str:
        if self.head is None:
            return "_"
        kind, what = self.head
        if kind == "#":
            inner = "".join(f" {_atom(p)}" for p in self.parts)
            return f"#{what}{inner}"
        if kind == "record":
            assert isinstance(what, tuple)
            names: tuple[str, ...] = what
            if all(n == str(i) for i, n in enumerate(names)):
                return f"({', '.join(map(str, self.parts))})"
            pairs = zip(names, self.parts, strict=True)
            return "{" + ", ".join(f"{n}={p}" for n, p in pairs) + "}"
        return str(what).lower() if isinstance(what, bool) else str(what)


def _atom(shape: Shape) -> str:
    return (
        f"({shape})"
        if shape.head and shape.head[0] == "#" and shape.parts
        else str(shape)
    )


def unmatched(patterns: Sequence[syntax.Pattern]) -> list[str]:
    """Examples of values that no pattern matches."""
    rows: list[tuple[Shape, ...]] = [(shape_of(p),) for p in patterns]
    found = _search(rows, (patterns[0].type,))
    return list(dict.fromkeys(str(case[0]) for case in found))


def shape_of(pattern: syntax.Pattern) -> Shape:
    """A pattern without names and ascriptions."""
    match pattern:
        case (
            syntax.ParensPattern(_, inner)
            | syntax.AscribedPattern(_, inner, _)
            | syntax.AttributedPattern(_, _, inner)
        ):
            return shape_of(inner)
        case syntax.TuplePattern(_, elements):
            names = tuple(str(i) for i in range(len(elements)))
            parts = tuple(shape_of(e) for e in elements)
            return Shape(("record", names), parts, pattern.type)
        case syntax.RecordPattern(_, fields):
            inner_of = dict(fields)
            names = (
                tuple(n for n, _ in pattern.type.fields)
                if isinstance(pattern.type, Record)
                else tuple(inner_of)
            )
            parts = tuple(shape_of(inner_of[n]) for n in names)
            return Shape(("record", names), parts, pattern.type)
        case syntax.LiteralPattern(_, literal):
            return Shape(("literal", literal.value), (), pattern.type)
        case syntax.ConstructorPattern(_, name, arguments):
            parts = tuple(shape_of(a) for a in arguments)
            return Shape(("#", name), parts, pattern.type)
        case _:
            return Shape(None, (), pattern.type)


def _part_types(head: tuple[str, object], type_: Type | None) -> tuple[Type, ...]:
    kind, what = head
    if kind == "#" and isinstance(type_, Sum):
        assert isinstance(what, str)
        return dict(type_.constructors)[what]
    if kind == "record" and isinstance(type_, Record):
        return tuple(t for _, t in type_.fields)
    return ()


def _search(
    rows: list[tuple[Shape, ...]], types: tuple[Type | None, ...]
) -> list[tuple[Shape, ...]]:
    """Vectors of shapes that no row matches."""
    if not rows:
        return [tuple(Shape(None, (), t) for t in types)]
    if any(all(shape.matches_all for shape in row) for row in rows):
        return []
    type_ = types[0]
    heads = list(dict.fromkeys(row[0].head for row in rows if row[0].head))
    missing = _missing(heads, type_)
    found: list[tuple[Shape, ...]] = []
    for head in heads:
        if len(found) >= _LIMIT:
            break
        part_types = _part_types(head, type_)
        count = len(part_types)
        inner = [
            specialised
            for row in rows
            if (specialised := _specialise(row, head, part_types)) is not None
        ]
        for case in _search(inner, (*part_types, *types[1:])):
            found.append((Shape(head, case[:count], type_), *case[count:]))
    if missing and len(found) < _LIMIT:
        default = [row[1:] for row in rows if row[0].head is None]
        rest = _search(default, types[1:])
        found += [(shape, *case) for shape in missing for case in rest]
    return found


def _specialise(
    row: tuple[Shape, ...], head: tuple[str, object], types: tuple[Type, ...]
) -> tuple[Shape, ...] | None:
    first, *others = row
    if first.head is None:
        return (*(Shape(None, (), t) for t in types), *others)
    if first.head == head and isinstance(first.head[1], bool) == isinstance(
        head[1], bool
    ):
        return (*first.parts, *others)
    return None


def _missing(heads: list[tuple[str, object]], type_: Type | None) -> list[Shape]:
    """What the heads of a column leave out, as shapes."""
    if any(kind == "record" for kind, _ in heads):
        return []
    if not heads:
        return [Shape(None, (), type_)]
    if isinstance(type_, Sum):
        present = {what for _, what in heads}
        return [
            Shape(("#", name), tuple(Shape(None, (), t) for t in payload), type_)
            for name, payload in type_.constructors
            if name not in present
        ]
    if type_ == Scalar("bool"):
        present = {what for _, what in heads}
        return [
            Shape(("literal", value), (), type_)
            for value in (True, False)
            if value not in present
        ]
    return [Shape(None, (), type_)]
