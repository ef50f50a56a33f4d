"""Unification of sizes.

Types are known to agree in structure. `bound` holds names (and metas) bound inside of
the types being unified; a size from outside must not be linked to them, but may absorb
them (see `sizing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from minifut.frontend.check.messages import Mismatch, quote
from minifut.frontend.check.sizing.state import Rigid, SizeInfo, Sizing, Usage
from minifut.frontend.check.witnesses import free_in_size
from minifut.frontend.types import (
    Array,
    Arrow,
    Named,
    Record,
    Scalar,
    SizeApply,
    SizeMeta,
    SizeOpaque,
    SizeVar,
    Sum,
    has_unique,
    is_size,
    substitute,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from minifut.frontend.types import Size, Type
    from minifut.names import Name

Bound: TypeAlias = "frozenset[Name | int]"
Path: TypeAlias = tuple[str, ...]


def unify(state: Sizing, usage: Usage, left: Type, right: Type) -> None:
    """Make the sizes of two types equal, or raise `Mismatch`."""

    def sizes(path: Path, bound: Bound, one: Size, other: Size) -> None:
        unify_sizes(state, usage, path, bound, one, other)

    _Unifier(state, usage, sizes).types(False, frozenset(), (), left, right)


class _Unifier:
    """One unification; `on_sizes` says what to do where two sizes meet."""

    def __init__(
        self,
        state: Sizing,
        usage: Usage,
        on_sizes: Callable[[Path, Bound, Size, Size], None],
    ) -> None:
        self.state = state
        self.usage = usage
        self.on_sizes = on_sizes

    def types(
        self, swapped: bool, bound: Bound, path: Path, left: Type, right: Type
    ) -> None:
        if left is right:
            return
        match left, right:
            case Scalar(one), Scalar(other) if one == other:
                pass
            case Array(one, a), Array(other, b):
                self.sizes(swapped, bound, path, one, other)
                self.types(swapped, bound, path, a, b)
            case Record(ones), Record(others):
                for (name, a), (_, b) in zip(ones, others, strict=True):
                    self.types(swapped, bound, (*path, f"field '{name}'"), a, b)
            case Sum(ones), Sum(others):
                for (name, aa), (_, bb) in zip(ones, others, strict=True):
                    inner = (*path, f"constructor #{name}")
                    for a, b in zip(aa, bb, strict=True):
                        self.types(swapped, bound, inner, a, b)
            case Named(one, aa), Named(other, bb) if one == other:
                for a, b in zip(aa, bb, strict=True):
                    if is_size(a):
                        self.sizes(swapped, bound, path, a, b)  # type: ignore[arg-type]
                    else:
                        inner = (*path, "type arguments")
                        self.types(swapped, bound, inner, a, b)
            case Arrow(), Arrow():
                self.arrows(swapped, bound, path, left, right)
            case _:
                raise Mismatch(left, right, path)

    def sizes(
        self, swapped: bool, bound: Bound, path: Path, one: Size, other: Size
    ) -> None:
        if swapped:
            one, other = other, one
        one, other = self.state.normal(one), self.state.normal(other)
        self.on_sizes(path, bound, one, other)

    def arrows(
        self, swapped: bool, bound: Bound, path: Path, left: Arrow, right: Arrow
    ) -> None:
        state = self.state
        self._consumption(swapped, path, left, right)
        before = dict.fromkeys((*left.exts, *right.exts))
        rigid_before: dict[Name, Rigid | None] = {n: state.rigid.get(n) for n in before}
        flexible: list[tuple[Name, SizeMeta]] = []
        # The unknown sizes of the side that is given are rigid, those of the side
        # that is wanted are found; parameters turn the sides around.
        loose, fixed = (right, left) if swapped else (left, right)
        mapping: dict[Name, Size] = {}
        for ext in loose.exts:
            meta = state.fresh(None)
            mapping[ext] = meta
            flexible.append((ext, meta))
        for ext in fixed.exts:
            state.rigid[ext] = Rigid(state.level, False, None)
        loose_result = substitute(loose.result, mapping) if mapping else loose.result
        a, b = (fixed.result, loose_result) if swapped else (loose_result, fixed.result)
        if left.parameter is not None and right.parameter is not None:
            b = substitute(b, {right.parameter: SizeVar(left.parameter)})
        parameters = {p for p in (left.parameter, right.parameter) if p is not None}
        more = bound | parameters | set(fixed.exts) | {m.id for _, m in flexible}
        self.types(
            not swapped,
            bound,
            (*path, "parameter types"),
            left.argument,
            right.argument,
        )
        self.types(swapped, more, (*path, "return types"), a, b)
        for ext, meta in flexible:
            self._absorb_bound(ext, meta, rigid_before[ext])
            state.metas[meta.id].kind = "closed"
        for ext in fixed.exts:
            old = rigid_before[ext]
            if old is None:
                del state.rigid[ext]
            else:
                state.rigid[ext] = old

    def _consumption(
        self, swapped: bool, path: Path, left: Arrow, right: Arrow
    ) -> None:
        one, other = (right, left) if swapped else (left, right)
        if has_unique(other.argument) and not has_unique(one.argument):
            note = (
                f"Parameters\n  {self.state.show(left.argument)}\nand\n"
                f"  {self.state.show(right.argument)}\n"
                "are incompatible regarding consuming their arguments."
            )
            raise Mismatch(left, right, path, note)

    def _absorb_bound(self, ext: Name, meta: SizeMeta, before: Rigid | None) -> None:
        """An unknown size found to be an instantiated one makes that existential."""
        found = self.state.normal(meta)
        if not isinstance(found, SizeMeta) or found == meta:
            return
        info = _canonical(self.state, found.id)
        if info.kind == "instantiated" and info.lifted:
            info.kind = "existential"
            info.key = ext
            if before is not None and not before.is_parameter:
                info.computed_at = before.location or self.usage.location


def _canonical(state: Sizing, number: int) -> SizeInfo:
    info = state.metas[number]
    return state.metas[info.canonical] if info.kind == "copy" else info


def level_if_loose(state: Sizing, size: Size) -> int | None:
    """The level of a size that is a meta and may still be linked."""
    if not isinstance(size, SizeMeta):
        return None
    if _canonical(state, size.id).kind in ("existential", "linked", "closed"):
        return None
    return state.metas[size.id].level


def parts_if_similar(one: Size, other: Size) -> list[tuple[Size, Size]] | None:
    """The pairs of parts that make two sizes equal when they are."""
    if one == other:
        return []
    match one, other:
        case SizeApply(f, aa), SizeApply(g, bb) if f == g and len(aa) == len(bb):
            return list(zip(aa, bb, strict=True))
        case SizeOpaque(key, _, aa), SizeOpaque(other_key, _, bb) if key == other_key:
            return [(a, b) for (_, a), (_, b) in zip(aa, bb, strict=True)]
    return None


def same_size(one: Size, other: Size) -> bool:
    """Are two (normal) sizes the same term?"""
    parts = parts_if_similar(one, other)
    return parts is not None and all(same_size(a, b) for a, b in parts)


def unify_sizes(
    state: Sizing, usage: Usage, path: Path, bound: Bound, one: Size, other: Size
) -> None:
    """Make two sizes equal."""
    parts = parts_if_similar(one, other)
    if parts is not None:
        for a, b in parts:
            a, b = state.normal(a), state.normal(b)
            unify_sizes(state, usage, path, bound, a, b)
        return
    for size, target in ((one, other), (other, one)):
        level = level_if_loose(state, size)
        if level is not None:
            assert isinstance(size, SizeMeta)
            if size.id in bound or not free_in_size(target) & bound:
                link(state, usage, path, size.id, level, target)
                return
    linked = _link_inside(state, bound, one, other)
    linked = _link_inside(state, bound, other, one) or linked
    if linked:
        return
    absorbed = _absorb(state, usage, bound, one, other)
    absorbed = _absorb(state, usage, bound, other, one) or absorbed
    if absorbed:
        return
    note = (
        f"Sizes {quote(state.show_size(one))} and {quote(state.show_size(other))} "
        "do not match."
    )
    if _meets_anonymous(state, bound, one, other) or _meets_anonymous(
        state, bound, other, one
    ):
        note += (
            "\nThis is because a type parameter would be instantiated with a type "
            "containing anonymous sizes."
        )
    more = state.note_on(one, other)
    raise Mismatch(one, other, path, f"{note}\n{more}" if more else note)


def _link_inside(state: Sizing, bound: Bound, size: Size, other: Size) -> bool:
    """Link an instantiated size to binders of the instantiated type itself."""
    mentioned = free_in_size(other) & bound
    if not isinstance(size, SizeMeta) or size.id in bound or not mentioned:
        return False
    info = state.metas[size.id]
    if info.kind not in ("instantiated", "copy"):
        return False
    if not _canonical(state, size.id).in_function:
        return False
    for name in mentioned:
        rigid = state.rigid.get(name) if not isinstance(name, int) else None
        if rigid is None or not rigid.is_parameter:
            return False
    info.kind, info.link = "linked", other
    return True


def _absorb(state: Sizing, usage: Usage, bound: Bound, size: Size, other: Size) -> bool:
    """An instantiated size that meets one bound inside a type is existential."""
    if not isinstance(size, SizeMeta) or size.id in bound:
        return False
    names = free_in_size(other)
    if not names & bound:
        return False
    info = _canonical(state, size.id)
    if info.kind == "existential":
        return True
    if info.kind != "instantiated" or not info.lifted:
        return False
    info.kind = "existential"
    info.key = other.name if isinstance(other, SizeVar) else None
    for name in names:
        rigid = state.rigid.get(name) if not isinstance(name, int) else None
        if rigid is not None and not rigid.is_parameter:
            info.computed_at = rigid.location or usage.location
    return True


def _meets_anonymous(state: Sizing, bound: Bound, size: Size, other: Size) -> bool:
    return (
        isinstance(size, SizeMeta)
        and state.metas[size.id].kind in ("instantiated", "copy", "existential")
        and bool(free_in_size(other) & bound)
    )


def link(
    state: Sizing, usage: Usage, path: Path, number: int, level: int, target: Size
) -> None:
    """Let a meta stand for a size."""
    target = _without_copies(state, target)
    info = state.metas[number]
    if info.kind == "copy":
        number = info.canonical
        info = state.metas[number]
        level = info.level
    if target == SizeMeta(number):
        return
    shown = state.show_size(SizeMeta(number))
    for name in free_in_size(target):
        if name == number:
            note = (
                f"Occurs check: cannot instantiate {quote(shown)} with "
                f"{quote(state.show_size(target))}."
            )
            raise Mismatch(SizeMeta(number), target, path, note)
        entry = state.metas[name] if isinstance(name, int) else state.rigid.get(name)
        if entry is None or entry.level < level:
            continue
        if isinstance(entry, Rigid) and entry.is_parameter:
            assert not isinstance(name, int)
            note = (
                f"Cannot link size {quote(shown)} to "
                f"{quote(state.show_size(target))} (scope violation).\n"
                f"This is because {quote(name.base)} is not in scope when "
                f"{quote(shown)} is introduced."
            )
            fault = Mismatch(SizeMeta(number), target, path, note)
            fault.anchor = "scope-violation"
            raise fault
        entry.level = level
    info.kind, info.link, info.level = "linked", target, level
    info.purpose = usage.purpose


def _without_copies(state: Sizing, size: Size) -> Size:
    match size:
        case SizeMeta(number) if state.metas[number].kind == "copy":
            return SizeMeta(state.metas[number].canonical)
        case SizeApply(function, arguments):
            return SizeApply(
                function, tuple(_without_copies(state, a) for a in arguments)
            )
        case SizeOpaque(key, expression, holes):
            done = tuple((n, _without_copies(state, s)) for n, s in holes)
            return SizeOpaque(key, expression, done)
        case _:
            return size


def unify_most(
    state: Sizing, usage: Usage, left: Type, right: Type
) -> tuple[Type, tuple[Name, ...]]:
    """Unify as far as possible; where sizes differ the result has new unknown ones."""

    def can_link(number: int, level: int, bound: Bound, target: Size) -> bool:
        names = free_in_size(target)
        if names & bound or number in names:
            return False
        for name in names:
            entry = (
                state.metas[name] if isinstance(name, int) else state.rigid.get(name)
            )
            if entry is None:
                continue
            if entry.level > level:
                return False
            if isinstance(entry, Rigid) and entry.is_parameter and entry.level >= level:
                return False
        return True

    def sizes(path: Path, bound: Bound, one: Size, other: Size) -> None:
        parts = parts_if_similar(one, other)
        if parts is not None:
            for a, b in parts:
                sizes(path, bound, state.normal(a), state.normal(b))
            return
        for size, target in ((one, other), (other, one)):
            level = level_if_loose(state, size)
            if level is not None:
                assert isinstance(size, SizeMeta)
                if can_link(size.id, level, bound, target):
                    link(state, usage, path, size.id, level, target)
                    return

    _Unifier(state, usage, sizes).types(False, frozenset(), (), left, right)
    left, right = state.normal_type(left), state.normal_type(right)
    return _differing(state, usage, left, right)


def _differing(
    state: Sizing, usage: Usage, left: Type, right: Type
) -> tuple[Type, tuple[Name, ...]]:
    made: list[tuple[Size, Size, Name]] = []

    def on_size(one: Size, other: Size) -> Size:
        if same_size(one, other):
            return one
        for a, b, name in made:
            if same_size(a, one) and same_size(b, other):
                return SizeVar(name)
        source = (
            "unknown due to a conditional expression whose branches have types "
            f"{state.show(left)} and {state.show(right)}"
        )
        name = state.unknown(usage.location, source, "differ")
        made.append((one, other, name))
        return SizeVar(name)

    type_ = match_sizes(left, right, on_size)
    return type_, tuple(name for _, _, name in made)


def match_sizes(left: Type, right: Type, on_size: Callable[[Size, Size], Size]) -> Type:
    """The left type with each size replaced, given that of the right type there."""

    def go(one: Type, other: Type) -> Type:
        match one, other:
            case Array(a, x, unique), Array(b, y, also):
                return Array(on_size(a, b), go(x, y), unique and also)
            case Record(ones), Record(others):
                return Record(
                    tuple(
                        (name, go(x, y))
                        for (name, x), (_, y) in zip(ones, others, strict=True)
                    )
                )
            case Sum(ones), Sum(others):
                return Sum(
                    tuple(
                        (name, tuple(go(x, y) for x, y in zip(xs, ys, strict=True)))
                        for (name, xs), (_, ys) in zip(ones, others, strict=True)
                    )
                )
            case Named(name, ones, lifted, unique), Named(_, others, _, also):
                arguments = tuple(
                    on_size(x, y) if is_size(x) else go(x, y)  # type: ignore[arg-type]
                    for x, y in zip(ones, others, strict=True)
                )
                return Named(name, arguments, lifted, unique and also)
            case Arrow(p, a, x, exts), Arrow(_, b, y, _):
                return Arrow(p, go(a, b), go(x, y), exts)
            case _:
                return one

    return go(left, right)
