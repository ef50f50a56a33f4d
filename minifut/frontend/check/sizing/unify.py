"""Unification of sizes.

Types are known to agree in structure. `bound` holds names (and metas) bound inside of
the types being unified; a size from outside must not be linked to them, but may absorb
them (see `sizing`).

The types of branches of `if` and cases of `match` are joined:

    if c then a else b      a: [n]t, b: [m]t        →   [k]t, with k unknown
    if c then a else []     the size of [] is open  →   it is that of a

A size that is still open because it belongs to a parameter (`[]`, or no annotation) is
not found by a join: the caller chooses it, and a join must not restrict the choice.
The unknown size remembers the two that were joined. Where it would not do because a
certain size is needed, as in the result of an operator of `map`, the two are made equal
after all (`equate`); so whatever can be checked with equal sizes still can.

See "Branches of `if` return arrays of different sizes" in the language reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from minifut.frontend.check.messages import Mismatch, quote
from minifut.frontend.check.sizing.pairwise import (
    BoundSizes,
    Pairwise,
    Path,
    match_sizes,
)
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unknowns import Rigid, Usage
from minifut.frontend.sizes import free_in_size, has_metas, map_size_parts
from minifut.frontend.types import Size, SizeApply, SizeMeta, SizeOpaque, SizeVar, Type
from minifut.names import Name


def unify(state: Sizing, usage: Usage, left: Type, right: Type) -> None:
    """Make the sizes of two types equal, or raise `Mismatch`."""

    def sizes(path: Path, bound: BoundSizes, one: Size, other: Size) -> None:
        unify_sizes(state, usage, path, bound, one, other)

    Pairwise(state, usage, sizes).types(False, frozenset(), (), left, right)


def level_if_loose(state: Sizing, size: Size) -> int | None:
    """The level of a size that is a meta and may still be linked."""
    if not isinstance(size, SizeMeta):
        return None
    if state.canonical(size.id).kind in ("existential", "linked", "closed"):
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
    state: Sizing, usage: Usage, path: Path, bound: BoundSizes, one: Size, other: Size
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
    names = free_in_size(one) | free_in_size(other)
    if _meets_size_parameter(state, one, other) and equate(state, usage, names):
        one, other = state.normal(one), state.normal(other)
        unify_sizes(state, usage, path, bound, one, other)
        return
    absorbed = _absorb(state, usage, bound, one, other)
    absorbed = _absorb(state, usage, bound, other, one) or absorbed
    if absorbed:
        return
    if equate(state, usage, names):
        one, other = state.normal(one), state.normal(other)
        unify_sizes(state, usage, path, bound, one, other)
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


def equate(state: Sizing, usage: Usage, names: Iterable[Name | int]) -> bool:
    """Make the sizes equal that were joined, where one of `names` is its unknown
    size; False if none is, or if they cannot be equal."""
    for name in names:
        met = state.joined.pop(name, None) if isinstance(name, Name) else None
        if met is None:
            continue
        assert isinstance(name, Name)
        first = state.normal(met[0])
        try:
            for other in met[1:]:
                unify_sizes(state, usage, (), frozenset(), first, state.normal(other))
        except Mismatch:
            continue
        state.equated[name] = first
        return True
    return False


def _depends_on(state: Sizing, size: Size, number: int) -> bool:
    """Does an open size occur in another, or in what was joined to make that?"""
    return any(
        name == number
        or (
            isinstance(name, Name)
            and any(_depends_on(state, s, number) for s in state.joined.get(name, ()))
        )
        for name in free_in_size(state.normal(size))
    )


def _joined_too_late(
    state: Sizing, number: int, level: int, target: Size
) -> list[Name]:
    """The joins in a size that an open size cannot be linked to: those that it is
    itself joined in and, for that of a parameter, those inside of the function."""
    late = []
    for name in free_in_size(target):
        if not isinstance(name, Name) or name not in state.joined:
            continue
        rigid = state.rigid.get(name)
        inside = rigid is not None and rigid.level > level
        if _depends_on(state, SizeVar(name), number) or (
            inside and state.metas[number].of_parameter
        ):
            late.append(name)
    return late


def _link_inside(state: Sizing, bound: BoundSizes, size: Size, other: Size) -> bool:
    """Link an instantiated size to binders of the instantiated type itself."""
    mentioned = free_in_size(other) & bound
    if not isinstance(size, SizeMeta) or size.id in bound or not mentioned:
        return False
    info = state.metas[size.id]
    if info.kind not in ("instantiated", "copy"):
        return False
    if not state.canonical(size.id).in_function:
        return False
    for name in mentioned:
        rigid = state.rigid.get(name) if not isinstance(name, int) else None
        if rigid is None or not rigid.is_parameter:
            return False
    info.kind, info.link = "linked", other
    return True


def _meets_size_parameter(state: Sizing, *sizes: Size) -> bool:
    """Is one of them a size parameter of a function, which is best a known size?"""
    infos = [state.canonical(s.id) for s in sizes if isinstance(s, SizeMeta)]
    return any(i.kind == "instantiated" and i.lifted == "size" for i in infos)


def _absorb(
    state: Sizing, usage: Usage, bound: BoundSizes, size: Size, other: Size
) -> bool:
    """An instantiated size that is unified with one bound inside a type is
    existential."""
    if not isinstance(size, SizeMeta) or size.id in bound:
        return False
    names = free_in_size(other)
    if not names & bound:
        return False
    info = state.canonical(size.id)
    if info.kind == "existential":
        return True
    if info.kind != "instantiated" or not info.lifted:
        return False
    rigid = [state.rigid[name] for name in names if name in state.rigid]
    places = [place for r in rigid if (place := r.computed_at(usage.location))]
    key = other.name if isinstance(other, SizeVar) else None
    info.absorb(key, places[-1] if places else None)
    return True


def _meets_anonymous(state: Sizing, bound: BoundSizes, size: Size, other: Size) -> bool:
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
    if equate(state, usage, _joined_too_late(state, number, level, target)):
        one, other = state.normal(SizeMeta(number)), state.normal(target)
        unify_sizes(state, usage, path, frozenset(), one, other)
        return
    for name in free_in_size(target):
        if name == number:
            shown = state.show_size(SizeMeta(number))
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
            shown = state.show_size(SizeMeta(number))
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
    if info.of_parameter and isinstance(target, SizeMeta):
        state.metas[target.id].of_parameter = True
    info.origin = replace(info.origin, purpose=usage.purpose)


def _without_copies(state: Sizing, size: Size) -> Size:
    match size:
        case SizeMeta(number) if state.metas[number].kind == "copy":
            return SizeMeta(state.metas[number].canonical)
        case _ if has_metas(free_in_size(size)):
            return map_size_parts(size, lambda part: _without_copies(state, part))
        case _:
            return size


def join(
    state: Sizing, usage: Usage, left: Type, right: Type
) -> tuple[Type, tuple[Name, ...]]:
    """The type of either value, and its unknown sizes, made where sizes differ.

    Raises `Mismatch` where the types differ in more than sizes.
    """

    def sizes(path: Path, bound: BoundSizes, one: Size, other: Size) -> None:
        parts = parts_if_similar(one, other)
        if parts is not None:
            for a, b in parts:
                sizes(path, bound, state.normal(a), state.normal(b))
            return
        for size, target in ((one, other), (other, one)):
            level = level_if_loose(state, size)
            if level is None or not _can_link(state, size, level, bound, target):
                continue
            assert isinstance(size, SizeMeta)
            if not _is_choice_of_caller(state, size, target):
                link(state, usage, path, size.id, level, target)
                return

    Pairwise(state, usage, sizes).types(False, frozenset(), (), left, right)
    return _with_unknown(
        state, usage, state.normal_type(left), state.normal_type(right)
    )


def _can_link(
    state: Sizing, size: Size, level: int, bound: BoundSizes, target: Size
) -> bool:
    """Is all of `target` known where the open size comes from?"""
    assert isinstance(size, SizeMeta)
    names = free_in_size(target)
    if names & bound or size.id in names:
        return False
    for name in names:
        entry = state.metas[name] if isinstance(name, int) else state.rigid.get(name)
        if entry is None:
            continue
        if entry.level > level:
            return False
        if isinstance(entry, Rigid) and entry.is_parameter and entry.level >= level:
            return False
    return True


def _is_choice_of_caller(state: Sizing, size: SizeMeta, target: Size) -> bool:
    """Would linking restrict a parameter? That of a loop may be what it starts as."""
    info = state.canonical(size.id)
    if not info.of_parameter:
        return False
    if info.start is None:
        return True
    start = state.normal(info.start)
    if same_size(start, target):
        return False
    if level_if_loose(state, start) is None:
        return True
    assert isinstance(start, SizeMeta)
    return state.canonical(start.id).of_parameter


def _with_unknown(
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
        if may_be_equal(state, one, other):
            state.joined[name] = (one, other)
        made.append((one, other, name))
        return SizeVar(name)

    type_ = match_sizes(left, right, on_size)
    return type_, tuple(name for _, _, name in made)


def may_be_equal(state: Sizing, one: Size, other: Size) -> bool:
    """Could linking open sizes, and equating what was joined, make the two equal?"""
    one, other = state.normal(one), state.normal(other)
    parts = parts_if_similar(one, other)
    if parts is not None:
        return all(may_be_equal(state, a, b) for a, b in parts)
    for size, target in ((one, other), (other, one)):
        if isinstance(size, SizeVar) and size.name in state.joined:
            return all(may_be_equal(state, s, target) for s in state.joined[size.name])
    for size, target in ((one, other), (other, one)):
        level = level_if_loose(state, size)
        if level is not None and _can_link(state, size, level, frozenset(), target):
            return True
    return False
