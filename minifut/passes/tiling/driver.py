r"""The pass `tile`: kernels whose threads read the same elements get tiled versions.

Each kernel of the host with a reduction in its threads is named after its function and
nest (`main.map_map_redomap`), the rules are tried in the order of `composition`, and
what they make is kept beside the kernel as a version (`versions`).

Flattening has often made the kernel one branch of a choice: one thread for each point,
or all parallelism in a segmented reduction. The tiled version is better than both, so
it is tested first:

    if outer then <kernel> else <segred>
  →
    if tiled && fits then <tiled kernel> else if outer then <kernel> else <segred>
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from minifut.ir import host_bodies, traverse, types
from minifut.ir.core import Atom, Body, Function, If, Iota, Param, Program, Stm
from minifut.ir.kernels import GRID, AtLeast, SegMap
from minifut.ir.node import immutable, mutable, replace
from minifut.ir.scope import Scope, fresh_copy, scope_of
from minifut.ir.sizes import ONE, Size, maximum, minimum, product
from minifut.names import Name, NameSource
from minifut.passes.tiling import versions
from minifut.passes.tiling.composition import BLOCK_AND_REGISTER, RECOGNISE, SPLIT
from minifut.passes.tiling.marks import TILE, Mark, mark_of, marked
from minifut.passes.tiling.nest import Variance, iotas_of, operands_of, redomaps_of
from minifut.rewrite.strategy import Rewriting, Strategy
from minifut.rewrite.trace import Trace

MOST_REDOMAPS = 4


def tile(program: Program, names: NameSource, trace: Trace | None = None) -> Program:
    """Offer versions of kernels whose groups work on tiles."""
    tiler = _Tiler(names, scope_of(program), trace or Trace())
    constants = tiler.node(program.constants)
    functions = tuple(tiler.function(function) for function in program.functions)
    return replace(program, constants=constants, functions=functions)


@mutable
class _Tiler:
    names: NameSource
    scope: Scope
    trace: Trace
    name: str = "main"
    taken: dict[str, int] = field(default_factory=dict)
    definitions: dict[Name, Stm] = field(default_factory=dict)

    def function(self, function: Function) -> Function:
        self.name = function.name.base
        tiled: Function = self.node(function)
        return tiled

    def node(self, node: Any) -> Any:
        """Host code: bodies statement by statement, other nodes part by part."""
        return host_bodies.map_statements(node, self.statement)

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        made = self.tiled(statement)
        self.definitions.update((bound.name, statement) for bound in statement.pattern)
        return made

    def tiled(self, statement: Stm) -> tuple[Stm, ...]:
        exp = statement.exp
        if isinstance(exp, SegMap):
            version = self.version(statement)
            if version is None:
                return (statement,)
            return self.chosen(version, version.body, statement)
        if isinstance(exp, If) and self.is_choice(exp):
            return self.choice(statement, exp)
        return (traverse.map_children(statement, self.node),)

    def is_choice(self, exp: If) -> bool:
        """Whether flattening made the branch."""
        known = (
            self.definitions.get(exp.condition)
            if isinstance(exp.condition, Name)
            else None
        )
        return known is not None and isinstance(known.exp, AtLeast)

    def choice(self, statement: Stm, exp: If) -> tuple[Stm, ...]:
        """A choice of versions: the tiled one of its first branch comes before it."""
        otherwise = self.node(exp.otherwise)
        local: set[Name] = set()
        for at, inner in enumerate(exp.then.statements):
            if isinstance(inner.exp, SegMap):
                version = self.version(inner)
                if version is not None and local.isdisjoint(version.needs()):
                    body = self.within(exp.then, at, version)
                    rest = replace(exp, otherwise=otherwise)
                    return self.chosen(version, body, replace(statement, exp=rest))
            local.update(p.name for p in inner.pattern)
        then = self.node(exp.then)
        return (replace(statement, exp=replace(exp, then=then, otherwise=otherwise)),)

    def within(self, whole: Body, at: int, version: TiledVersion) -> Body:
        """A body with the version in place of its statement `at`."""
        above, below = whole.statements[:at], whole.statements[at + 1 :]
        results = dict(
            zip(
                (p.name for p in whole.statements[at].pattern),
                version.body.result,
                strict=True,
            )
        )
        rest = traverse.substitute(Body((*above, *below), whole.result), results)
        rest = fresh_copy(rest, self.names, self.scope)
        middle = version.body.statements
        return Body(
            (*rest.statements[:at], *middle, *rest.statements[at:]), rest.result
        )

    def chosen(
        self, version: TiledVersion, body: Body, statement: Stm
    ) -> tuple[Stm, ...]:
        """What takes `body` if the version's tests hold, else does the statement."""
        pattern = tuple(
            Param(self.names.like(p.name), p.type) for p in statement.pattern
        )
        self.scope.update((p.name, p.type) for p in pattern)
        untiled = Body(
            (replace(statement, pattern=pattern),), tuple(p.name for p in pattern)
        )
        choice = If(version.condition, body, untiled)
        last = Stm(statement.pattern, choice, (), statement.location)
        return (*version.guards, last)

    def version(self, statement: Stm) -> TiledVersion | None:
        """The tiled version of a kernel, if the rules make one."""
        kernel = statement.exp_of(SegMap)
        if kernel.level != GRID or not redomaps_of(kernel):
            return None
        if any(isinstance(type_, types.AccType) for type_ in kernel.types):
            return None  # a tile has elements as results
        stem = self.stem_of(kernel)
        ordinal = self.taken.get(stem, 0)
        nest = f"{stem}_{ordinal + 1}" if ordinal else stem
        inner = fresh_copy(self.with_sequences(statement), self.names, self.scope)
        results = tuple(p.name for p in inner.pattern)
        start = Body((marked(inner, Mark(nest)),), results)
        known = self.derived(start, RECOGNISE)
        target = next((s for s in known.statements if mark_of(s, TILE)), None)
        if target is None:
            return None
        self.taken[stem] = ordinal + 1
        recognised = len(self.trace.steps) - 1
        tiled = self.derived(known, BLOCK_AND_REGISTER)
        mark = mark_of(target, TILE)
        assert mark is not None
        made = versions.divide(tiled, *self.benefit(target), len(mark.dimensions))
        split = None
        if made.rank == 2 and made.shares:
            split = self.split(known, target, made)
        guards = versions.guards_of(self.names, self.scope, nest, made, split)
        self.govern(recognised, guards)
        body = made.body
        if split is not None and guards.split is not None:
            body = self.either(guards.split, split.body, body, target)
        return TiledVersion(guards.statements, guards.tiled, body)

    def govern(self, at: int, guards: versions.Guards) -> None:
        """Note with a step the thresholds of the version that it led to."""
        thresholds = [
            s.exp.threshold for s in guards.statements if isinstance(s.exp, AtLeast)
        ]
        step = self.trace.steps[at]
        self.trace.steps[at] = replace(step, parameters=tuple(thresholds))

    def split(
        self, known: Body, target: Stm, made: versions.Tiled
    ) -> versions.Split | None:
        """The version that splits the common dimension, if the rule makes one."""
        whole = fresh_copy(known, self.names, self.scope)
        divided = self.derived(whole, SPLIT)
        if len(divided.statements) == len(whole.statements):
            return None
        kernel, mark = target.exp, mark_of(target, TILE)
        assert isinstance(kernel, SegMap) and mark is not None
        ((_, redomap),) = redomaps_of(kernel)
        body = self.derived(divided, BLOCK_AND_REGISTER)
        points = tuple(kernel.space.sizes[d] for d in mark.dimensions)
        return versions.Split(
            versions.share_parameters(body, made.parameters), redomap.width, points
        )

    def either(self, test: Atom, then: Body, otherwise: Body, target: Stm) -> Body:
        """One of two bodies with the same results."""
        pattern = tuple(
            Param(self.names.like(name), self.scope[name])
            for name in otherwise.result
            if isinstance(name, Name)
        )
        self.scope.update((p.name, p.type) for p in pattern)
        choice = Stm(pattern, If(test, then, otherwise), (), target.location)
        return Body((choice,), tuple(p.name for p in pattern))

    def derived(self, body: Body, steps: tuple[Strategy, ...]) -> Body:
        """The body after these steps; each reason that remained is
        noted."""
        own = Trace(declined=self.trace.declined, stage=self.trace.stage)
        rewriting = Rewriting(self.names, self.scope, own)
        for step in steps:
            body = step(body, rewriting)
        last = {
            found.rule.name: at for at, found in enumerate(own.steps) if found.fired
        }
        recorded: set[tuple[str, str]] = set()
        for at, found in enumerate(own.steps):
            key = (found.rule.name, found.reason)
            stood = at > last.get(found.rule.name, -1) and key not in recorded
            if found.fired or stood:
                self.trace.steps.append(found)
            recorded.add(key)
        return body

    def benefit(self, target: Stm) -> tuple[Size, bool]:
        """The steps of the points that share tiles on one block of the common
        dimension, of 16 and more or in rows that fill no vector, and whether all that
        is read is read again."""
        kernel, mark = target.exp, mark_of(target, TILE)
        assert isinstance(kernel, SegMap) and mark is not None
        iotas = iotas_of(kernel, ())
        operands = operands_of(kernel, Variance(kernel), self.scope, iotas)
        tiled = frozenset(mark.dimensions)
        shares = not any(tiled <= operand.dimensions for operand in operands)
        bound = {p.name for s in kernel.body.statements for p in s.pattern}
        bound.update(kernel.space.indices)
        sizes = [kernel.space.sizes[d] for d in mark.dimensions]
        narrow = ONE - minimum(ONE, sizes[-1] // versions.COLUMNS)
        steps = Size.constant(0)
        for _, redomap in redomaps_of(kernel):
            if bound.isdisjoint(redomap.width.names()):
                whole = maximum(
                    redomap.width // versions.FEWEST * versions.FEWEST,
                    narrow * redomap.width,
                )
                steps = steps + minimum(whole, Size.constant(versions.STRETCH))
        return product(tuple(sizes)) * steps, shares

    def with_sequences(self, statement: Stm) -> Stm:
        """The kernel with the sequences of numbers that it reads made in its threads,
        where their elements are known without being read."""
        kernel = statement.exp_of(SegMap)
        found = [
            self.definitions[name]
            for name in sorted(traverse.free_names(kernel), key=lambda name: name.tag)
            if name in self.definitions and isinstance(self.definitions[name].exp, Iota)
        ]
        body = replace(kernel.body, statements=(*found, *kernel.body.statements))
        return replace(statement, exp=replace(kernel, body=body))

    def stem_of(self, kernel: SegMap) -> str:
        """Stable and readable: the function, then what the nest consists of."""
        maps = ["map"] * len(kernel.space.sizes)
        redomaps = ["redomap"] * min(len(redomaps_of(kernel)), MOST_REDOMAPS)
        return ".".join((self.name, "_".join((*maps, *redomaps))))


@immutable
class TiledVersion:
    """A tiled version of a kernel: host statements with the tests that precede it,
    their outcome, and what computes the kernel's results."""

    guards: tuple[Stm, ...]
    condition: Atom
    body: Body

    def needs(self) -> set[Name]:
        """The names that the tests need."""
        found: set[Name] = set()
        for statement in self.guards:
            found |= traverse.free_names(statement)
        return found
