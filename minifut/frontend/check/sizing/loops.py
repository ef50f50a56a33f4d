"""Sizes of loops.

A loop is a function from its parameter to its body, applied again and again. Each size
of the initial value may stay the same or vary:

1. the parameter gets the initial value's type with all sizes new metas;
2. the body is checked; a meta is *variant* when the body gives its place another size
   than the initial one (or one copied from a variant place), else it is that one;
3. the body's type must be the parameter's, with variant sizes free;
4. so must the initial value's; the result has new unknown sizes for the variant ones.
"""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.check.environment import plain
from minifut.frontend.check.messages import quote
from minifut.frontend.check.mismatches import LOOP_BODY, LOOP_START
from minifut.frontend.check.sizing.expressions import RULES, expect, size
from minifut.frontend.check.sizing.pairwise import match_sizes
from minifut.frontend.check.sizing.patterns import bind_names, size_pattern
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unify import may_be_equal, same_size
from minifut.frontend.check.witnesses import free_sizes
from minifut.frontend.sizes import free_in_size
from minifut.frontend.syntax.traverse import binders
from minifut.frontend.types import Type
from minifut.names import Name


def _loop(state: Sizing, node: syntax.Loop) -> Type:
    assert node.initial is not None
    initial = state.normal_type(size(state, node.initial))
    level = state.level
    work = _Loop(state, node, initial)
    match node.form:
        case syntax.ForLess():
            bound = size(state, node.form.bound)
            name = node.form.name_resolved
            assert name is not None
            state.values[name] = types.Scheme((), bound)
            state.bind_size_like(name, node.form.location)
            work.enter()
        case syntax.ForIn(_, pattern, array):
            type_ = state.normal_type(size(state, array))
            assert isinstance(type_, types.Array)
            size_pattern(state, pattern, type_.element)
            bind_names(state, pattern)
            work.enter()
        case syntax.While(_, condition):
            work.enter()
            size(state, condition)
    body = state.normal_type(size(state, node.body))
    work.settle(body)
    state.level = level
    return work.leave()


class _Loop:
    """The sizes of one loop on their way through the four steps."""

    def __init__(self, state: Sizing, node: syntax.Loop, initial: Type) -> None:
        self.state = state
        self.node = node
        self.initial = initial
        self.first = len(state.metas)
        """metas from here on are new"""
        self.begin = state.context.names.fresh("loop").tag
        self.start: dict[int, types.Size] = {}
        self.type = state.freshen(
            initial,
            node.location,
            purpose="loop parameter type inference",
            base="loop_d",
            replaced=self.start,
        )
        for number, begun in self.start.items():
            info = state.metas[number]
            info.of_parameter, info.start = True, begun
        self.given: dict[int, types.Size] = {}
        """what the body gives for each size that varies"""
        self.ends: dict[Name, tuple[types.Size, types.Size | None]] = {}
        """what each size bound by the loop starts as, and what the body gives"""
        self.levels = {n: state.metas[n].level for n in self.start}

    def enter(self) -> None:
        """Bind the loop's parameter; the body comes next."""
        size_pattern(self.state, self.node.pattern, self.type)
        bind_names(self.state, self.node.pattern)
        self.state.level += 1

    def settle(self, body: Type) -> None:
        """Step 2: which sizes vary."""
        state, node = self.state, self.node
        assert node.pattern.type is not None
        pattern = state.normal_type(node.pattern.type)
        self._refuse_inner(pattern)
        self._follow_links()

        def loosened(target: types.Size) -> types.Size:
            """A size of the parameter that may yet vary, as one to be found."""
            if isinstance(target, types.SizeMeta) and target.id in self.start:
                return state.fresh(node.location, None, "loop")
            return target

        loose = types.map_type(plain(pattern), _keep, loosened)
        purpose = "matching loop body to loop pattern"
        expect(state, node.body.location, purpose, loose, body, LOOP_BODY)
        variant = self._variant(state.normal_type(self.type), state.normal_type(body))
        for number in variant:
            if state.metas[number].level < self.levels.get(number, 0):
                raise error(
                    node.location,
                    "Loop-variant size has escaped into type that occurs outside of "
                    "loop.\nThis is likely because the loop body uses a variable whose "
                    "type depends on the loop parameter.",
                    "loop-variant-escape",
                )
        self._close(variant)
        again = types.map_type(plain(node.pattern.type), _keep, self._loosened_names)
        purpose = "matching loop body to pattern"
        expect(state, node.body.location, purpose, again, body, LOOP_BODY)

    def _follow_links(self) -> None:
        """Know the sizes of the parameter by the metas that now stand for them."""
        roots: dict[int, types.Size] = {}
        for number, begun in self.start.items():
            root = self.state.normal(types.SizeMeta(number))
            if isinstance(root, types.SizeMeta):
                roots.setdefault(root.id, begun)
        self.start = roots

    def _loosened_names(self, target: types.Size) -> types.Size:
        if isinstance(target, types.SizeVar) and target.name in self.node.sizes:
            made = self.again.get(target.name)
            if made is None:
                made = self.state.fresh(self.node.location, None, "loop")
                self.again[target.name] = made
            return made
        return target

    def _refuse_inner(self, pattern: Type) -> None:
        for name in free_sizes(pattern):
            if isinstance(name, int):
                continue
            rigid = self.state.rigid.get(name)
            if rigid is None or rigid.is_parameter or name.tag < self.begin:
                continue
            where = rigid.location
            place = f" at {where.line}:{where.column}" if where else ""
            raise error(
                self.node.pattern.location,
                "Inferred type for loop parameter is\n"
                f"  {self.state.show(pattern)}\n"
                f"but {quote(name.base)} is an existential "
                f"size created inside the loop body{place}.",
                "loop-size-inside",
            )

    def _variant(self, loop: Type, body: Type) -> list[int]:
        fresh: set[int] = set()
        copies: dict[int, int] = {}
        stays: set[int] = set()
        state = self.state

        def look(mine: types.Size, given: types.Size) -> types.Size:
            if same_size(mine, given):
                return mine
            for atom in free_in_size(mine):
                if not isinstance(atom, int) or atom not in self.start:
                    continue
                begun = state.normal(self.start[atom])
                if same_size(begun, given):
                    stays.add(atom)
                    continue
                other = given.id if isinstance(given, types.SizeMeta) else None
                if other in self.start and same_size(
                    state.normal(self.start[other]), begun
                ):
                    copies[atom] = other
                elif atom >= self.first:
                    fresh.add(atom)
                    self.given[atom] = given
            return mine

        match_sizes(loop, body, look)
        grown = True
        while grown:
            grown = False
            for number, source in copies.items():
                if source in fresh and number not in fresh:
                    fresh.add(number)
                    grown = True
        self.stays = (stays | copies.keys()) - fresh
        return sorted(fresh)

    def _close(self, variant: list[int]) -> None:
        """Variant sizes become names bound by the loop, others the initial sizes."""
        state, node = self.state, self.node
        names = []
        for number in variant:
            info = state.metas[number]
            name = state.context.names.fresh("size")
            info.kind, info.link = "linked", types.SizeVar(name)
            names.append(name)
            self.ends[name] = (self.start[number], self.given.get(number))
        node.sizes = tuple(names)
        self.again: dict[Name, types.SizeMeta] = {}
        for number in self.stays:
            info = state.metas[number]
            if info.kind == "flexible":
                info.kind, info.link = "linked", self.start[number]
        for part in (node.pattern, *binders(node.pattern)):
            assert part.type is not None
            part.type = state.normal_type(part.type)

    def leave(self) -> Type:
        """Steps 3 and 4: the initial value, and the type of the whole."""
        state, node = self.state, self.node
        assert node.pattern.type is not None and node.initial is not None
        whole = plain(state.normal_type(node.pattern.type))
        self.again = {}
        wanted = types.map_type(
            whole, _keep, lambda s: types.map_size(s, self._loosened_names)
        )
        expect(
            state,
            node.initial.location,
            "matching initial loop values to pattern",
            wanted,
            self.initial,
            LOOP_START,
        )
        exts = tuple(
            state.unknown(node.location, "unknown size of value returned", "loop")
            for _ in node.sizes
        )
        mapping = {n: types.SizeVar(e) for n, e in zip(node.sizes, exts, strict=True)}
        self._join_with_starts(exts)
        result = types.substitute(whole, mapping) if mapping else whole
        free = free_sizes(result)
        node.exts = tuple(e for e in exts if e in free)
        return result

    def _join_with_starts(self, exts: tuple[Name, ...]) -> None:
        """Let sizes that vary be equated with the initial ones, if they only vary
        because these, or what they are joined with, are those of parameters."""
        joined = self.state.joined
        for name, (begun, _) in self.ends.items():
            joined[name] = (begun, begun)
        for ext, (name, (begun, given)) in zip(exts, self.ends.items(), strict=True):
            if given is not None and may_be_equal(self.state, begun, given):
                joined[ext] = (types.SizeVar(name), given)


def _keep(_: Type) -> Type | None:
    return None


RULES[syntax.Loop] = _loop
