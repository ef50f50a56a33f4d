"""Joining types: the type of a value that comes from one of two places.

Branches of `if` and cases of `match` are joined here only:

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

from minifut.frontend.check.sizing.pairwise import (
    BoundSizes,
    Pairwise,
    Path,
    match_sizes,
)
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unify import (
    level_if_loose,
    link,
    parts_if_similar,
    same_size,
)
from minifut.frontend.check.sizing.unknowns import Rigid, Usage
from minifut.frontend.sizes import free_in_size
from minifut.frontend.types import Size, SizeMeta, SizeVar, Type
from minifut.names import Name


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
