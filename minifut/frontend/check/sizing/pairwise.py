"""Two types of one structure, walked together.

`Pairwise` unifies the sizes of both in turn, aware of what function types bind, for
unification and joins; `match_sizes` rebuilds one type from the sizes of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minifut.frontend.check.messages import Mismatch
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unknowns import Rigid, Usage
from minifut.frontend.types import (
    Array,
    Arrow,
    Named,
    Record,
    Scalar,
    Size,
    SizeMeta,
    SizeVar,
    Sum,
    Type,
    as_size,
    as_type,
    has_unique,
    is_size,
    substitute,
)
from minifut.names import Name

BoundSizes: TypeAlias = "frozenset[Name | int]"
Path: TypeAlias = tuple[str, ...]


class Pairwise:
    """One unification; `on_sizes` says what to do where two sizes are unified."""

    def __init__(
        self,
        state: Sizing,
        usage: Usage,
        on_sizes: Callable[[Path, BoundSizes, Size, Size], None],
    ) -> None:
        self.state = state
        self.usage = usage
        self.on_sizes = on_sizes

    def types(
        self, swapped: bool, bound: BoundSizes, path: Path, left: Type, right: Type
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
                        self.sizes(swapped, bound, path, a, b)
                    else:
                        inner = (*path, "type arguments")
                        self.types(swapped, bound, inner, a, b)
            case Arrow(), Arrow():
                self.arrows(swapped, bound, path, left, right)
            case _:
                raise Mismatch(left, right, path)

    def sizes(
        self, swapped: bool, bound: BoundSizes, path: Path, one: Size, other: Size
    ) -> None:
        if swapped:
            one, other = other, one
        one, other = self.state.normal(one), self.state.normal(other)
        self.on_sizes(path, bound, one, other)

    def arrows(
        self, swapped: bool, bound: BoundSizes, path: Path, left: Arrow, right: Arrow
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
            fault = Mismatch(left, right, path, note)
            fault.anchor = "consuming-argument"
            raise fault

    def _absorb_bound(self, ext: Name, meta: SizeMeta, before: Rigid | None) -> None:
        """An unknown size found to be an instantiated one makes that existential."""
        found = self.state.normal(meta)
        if not isinstance(found, SizeMeta) or found == meta:
            return
        info = self.state.canonical(found.id)
        if info.kind == "instantiated" and info.lifted:
            use = self.usage.location
            info.absorb(ext, None if before is None else before.computed_at(use))


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
                    on_size(x, as_size(y)) if is_size(x) else go(x, as_type(y))
                    for x, y in zip(ones, others, strict=True)
                )
                return Named(name, arguments, lifted, unique and also)
            case Arrow(p, a, x, exts), Arrow(_, b, y, _):
                return Arrow(p, go(a, b), go(x, y), exts)
            case _:
                return one

    return go(left, right)
