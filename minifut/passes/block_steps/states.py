"""Loops that apply one map again and again, as a machine that goes from step to step.

    loop xs for i < d do             state    i, j
      loop xs for j < i + 1 do       values   bit = 1 << (i - j)
        let bit = 1 << (i - j)       next     i, j + 1 if j + 1 < i + 1, else i + 1, 0
        in map (.. bit ..)           goes on  if j + 1 < i + 1 or i + 1 < d

The state is the counters and what else of scalars the innermost loop carries. All that
the map needs of a step is computed from it, by the host or in a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from minifut.analysis.facts import Facts
from minifut.ir import core
from minifut.ir.builder import Builder, constant
from minifut.ir.core import Atom, Body, Param, Stm
from minifut.ir.kernels import GRID, AtLeast, Returns, SegMap
from minifut.ir.node import immutable, replace
from minifut.ir.traverse import bound_names, free_names, rename_to
from minifut.ir.types import ArrayType, ScalarType
from minifut.names import Name
from minifut.rewrite.rule import Declined

Renaming = dict[Name, Name]


@immutable
class LoopLevel:
    """A loop: its counter, and the statements of scalars before what it repeats, with
    checks of them."""

    form: core.ForLoop
    before: tuple[Stm, ...]


@immutable
class RepeatedMap:
    """The levels, outermost first, of loops around one map; `arrays` are what the map
    makes anew, `carried` further scalars of the innermost loop, which become `results`
    by the statements `after`. Positions are those among the loop's parameters."""

    levels: tuple[LoopLevel, ...]
    map: Stm
    arrays: tuple[Param, ...]
    first: tuple[Atom, ...]
    """the arrays before the first step"""
    carried: tuple[Param, ...]
    initial: tuple[Atom, ...]
    after: tuple[Stm, ...]
    results: tuple[Atom, ...]
    order: tuple[int, ...]
    """the positions of the arrays and of the carried scalars"""

    @property
    def state(self) -> tuple[Param, ...]:
        """The scalars that tell the steps apart."""
        counters = [Param(at.form.index, at.form.type) for at in self.levels]
        return (*counters, *self.carried)

    def start(self) -> tuple[Atom, ...]:
        """The state of the first step."""
        return (*[constant(0, at.form.type) for at in self.levels], *self.initial)

    def values(self, build: Builder, names: Renaming, *, checks: bool = False) -> None:
        """Compute what a step needs besides its state, of which names are known; with
        the checks of the host, or without."""
        for level in self.levels:
            for statement in level.before:
                if checks or not isinstance(statement.exp, core.Assert):
                    copy_statements(build, (statement,), names)

    def computed(self, names: Set[Name]) -> list[Name]:
        """Those of the names that a step computes besides its state."""
        statements = [s for level in self.levels for s in level.before]
        bound = [bound.name for s in statements for bound in s.pattern]
        return [name for name in bound if name in names]

    def following(
        self, build: Builder, names: Renaming
    ) -> tuple[tuple[Atom, ...], Name]:
        """The state after a step whose values are there, and whether there is a step
        with it."""
        copy_statements(build, self.after, names)
        carried = tuple(_named(atom, names) for atom in self.results)
        *outer, inner = self.levels
        count, more = _one_more(build, inner, names)
        if not outer:
            return (count, *carried), more
        ((level, again),) = ((at, _one_more(build, at, names)) for at in outer)
        now, zero = names[level.form.index], constant(0, inner.form.type)
        rounds: list[tuple[Atom, Atom]] = [(now, again[0]), (count, zero)]
        rounds += zip(carried, self.initial, strict=True)
        state = tuple(_choice(build, more, *pair) for pair in rounds)
        return state, build.op("or", more, again[1], base="going")

    def is_any(self, build: Builder) -> Name:
        """Whether there is a first step."""
        form = self.levels[0].form
        return build.op("lt", constant(0, form.type), form.bound, base="going")


def _one_more(build: Builder, level: LoopLevel, names: Renaming) -> tuple[Name, Name]:
    form = level.form
    counter = build.op("add", names[form.index], constant(1, form.type), base="next")
    return counter, build.op("lt", counter, _named(form.bound, names), base="more")


def _choice(build: Builder, condition: Atom, then: Atom, otherwise: Atom) -> Atom:
    if then == otherwise:
        return then
    choice = core.If(condition, Body((), (then,)), Body((), (otherwise,)))
    return build.let(choice, "next")


def _named(atom: Atom, names: Renaming) -> Atom:
    return names.get(atom, atom) if isinstance(atom, Name) else atom


def copy_statements(build: Builder, statements: Iterable[Stm], names: Renaming) -> None:
    """The statements with the names, to which those are added that they bind."""
    for statement in statements:
        own = {name: build.names.like(name) for name in bound_names(statement)}
        names |= own
        build.append(rename_to(statement, names))


# --- finding them ---------------------------------------------------------------------


def find_steps(loop: core.Loop, facts: Facts) -> RepeatedMap | Declined | None:
    """The steps of a loop or of two nested ones; None if it is no loop of one map."""
    steps = steps_of_level(loop)
    if steps is not None or not isinstance(loop.form, core.ForLoop):
        return steps
    if not loop.body.statements:
        return None
    *others, last = loop.body.statements
    versions = [s for s in others if isinstance(s.exp, AtLeast)]
    before = [s for s in others if s not in versions]
    inner = _repeated(last, versions, facts)
    if inner is None or not all(map(_is_of_host, before)):
        return None
    steps = steps_of_level(inner)
    if not isinstance(steps, RepeatedMap):
        return steps
    whole = tuple(p.name for p in last.pattern) == loop.body.result
    if not whole or inner.initial != tuple(p.name for p in loop.parameters):
        return None
    if steps.carried:
        return Declined("the inner loop carries scalars")
    if not free_names(inner.body).isdisjoint(p.name for p in loop.parameters):
        return None
    with facts.inner():
        facts.run_over(loop.form.index, facts.form(loop.form.bound), "the loop")
        for statement in before:
            facts.execute(statement)
        (level,) = steps.levels
        if facts.below(constant(0, level.form.type), level.form.bound) is None:
            return Declined("the inner loop may have no step")
    outer = LoopLevel(loop.form, tuple(before))
    first = tuple(loop.initial[at] for at in steps.order)
    return replace(steps, levels=(outer, *steps.levels), first=first)


def _repeated(statement: Stm, versions: list[Stm], facts: Facts) -> core.Loop | None:
    """The loop that a statement is, or the first of the versions of one."""
    match statement.exp:
        case core.Loop() as loop:
            return loop
        case core.If(condition, Body((Stm(pattern, core.Loop() as loop),), result), _):
            chooses = isinstance(facts.definition(condition), AtLeast) or any(
                s.pattern[0].name == condition for s in versions
            )
            whole = tuple(p.name for p in pattern) == result
            return loop if chooses and whole else None
    return None


def _is_scalar(statement: Stm) -> bool:
    """Whether this computes scalars alone."""
    return isinstance(statement.exp, core.ScalarOp | core.SizeExp | core.Copy) and all(
        isinstance(bound.type, ScalarType) for bound in statement.pattern
    )


def _is_of_host(statement: Stm) -> bool:
    """Whether this computes or checks scalars alone."""
    return isinstance(statement.exp, core.Assert) or _is_scalar(statement)


def steps_of_level(loop: core.Loop) -> RepeatedMap | None:
    """The steps of a loop of one map, if it is one."""
    statements, form = loop.body.statements, loop.form
    maps = [s for s in statements if isinstance(s.exp, SegMap)]
    if not isinstance(form, core.ForLoop) or len(maps) != 1:
        return None
    (made,) = maps
    others = [s for s in statements if s is not made]
    exp = made.exp
    assert isinstance(exp, SegMap)
    if exp.level != GRID or exp.scan is not None or exp.steps is not None:
        return None
    if not all(map(_is_of_host, others)) or len(exp.space.indices) != 1:
        return None
    own = {p.name: at for at, p in enumerate(made.pattern)}
    places = {own[r]: at for at, r in enumerate(loop.body.result) if r in own}
    if len(places) != len(own) or not own:
        return None
    order = [places[at] for at in range(len(own))]
    rest = [at for at in range(len(loop.parameters)) if at not in order]
    arrays = tuple(loop.parameters[at] for at in order)
    carried = tuple(loop.parameters[at] for at in rest)
    scalars = all(isinstance(p.type, ScalarType) for p in carried)
    fits = all(
        isinstance(p.type, ArrayType)
        and p.type.shape == exp.space.sizes
        and isinstance(result, Returns)
        for p, result in zip(arrays, exp.body.result, strict=True)
    )
    if not scalars or not fits:
        return None
    before, point = _invariant(exp)
    results = tuple(loop.body.result[at] for at in rest)
    after = tuple(s for s in others if statements.index(s) > statements.index(made))
    if not all(map(_is_scalar, after)):
        return None
    before = (*[s for s in others if s not in after], *before)
    return RepeatedMap(
        (LoopLevel(form, before),),
        replace(made, exp=replace(exp, body=replace(exp.body, statements=point))),
        arrays,
        tuple(loop.initial[at] for at in order),
        carried,
        tuple(loop.initial[at] for at in rest),
        after,
        results,
        (*order, *rest),
    )


def _invariant(exp: SegMap) -> tuple[tuple[Stm, ...], tuple[Stm, ...]]:
    """The statements of a map that compute the same scalars at all points, and the
    others."""
    varying = set(exp.space.indices)
    same: list[Stm] = []
    point: list[Stm] = []
    for statement in exp.body.statements:
        fixed = _is_scalar(statement) and varying.isdisjoint(free_names(statement))
        (same if fixed else point).append(statement)
        if not fixed:
            varying.update(bound.name for bound in statement.pattern)
    return tuple(same), tuple(point)
