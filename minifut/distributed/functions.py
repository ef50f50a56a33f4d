"""The functions of a plan: what each phase runs, as entry points of one program.

    phase 0 on chunks: let reduced = redomap(n, (xs), reduce(+), f)
    -->
    entry chunk_0 (n_chunk: i64, xs: [n_chunk]f32) -> reduced: f32

Parameters are what the statements need, sizes and scalars first; results are what
others need of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from minifut.distributed.chunked import ChunkedSizes
from minifut.distributed.folds import Combination, lifted
from minifut.distributed.phases import HostLoop, Phase, Prefix
from minifut.distributed.plan import FromTheLeft, Once, OnChunks, PlanStep, Repeat, Tree
from minifut.ir import core, traverse
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Constant, Function, Param, Stm
from minifut.ir.entries import Entry, EntryType
from minifut.ir.node import divided, replace
from minifut.ir.scalars import convert
from minifut.ir.scope import add_parameters, scope_of
from minifut.ir.types import I64, Type, element_of, shape_of
from minifut.names import Name, NameSource


@dataclass(slots=True)
class Functions:
    """Makes functions; `made` are those so far, with their entry points."""

    chunked: ChunkedSizes
    names: NameSource
    constants: frozenset[Name]
    chunk_start: Name
    made: list[tuple[Function, Entry]] = field(default_factory=list)

    def steps(self, phases: Sequence[Phase], wanted: Iterable[Name]) -> list[PlanStep]:
        """The steps of phases, which give at least the names that are wanted."""
        groups = _groups(phases)
        needs = [_needs(group, self.chunked) for group in groups]
        steps: list[PlanStep] = []
        known = set(wanted)
        for at, group in enumerate(groups):
            later = known.union(*needs[:at], *needs[at + 1 :])
            steps += self._steps(group, later)
        return steps

    def _steps(self, group: object, needed: set[Name]) -> list[PlanStep]:
        match group:
            case _Statements(statements, True):
                found = self._function("chunk", statements, needed, on_chunk=True)
                return [] if found is None else [OnChunks(*found)]
            case _Statements(statements, False):
                found = self._function("once", statements, needed, on_chunk=False)
                return [] if found is None else [Once(*found)]
            case tuple() as combinations:
                name, arguments = self._combine(combinations)
                names = (str(n) for made in combinations for n in made.names)
                return [Tree(name, arguments, tuple(names))]
            case Prefix(combination, start, offsets):
                name, arguments = self._combine([combination])
                texts = [tuple(map(str, part)) for part in (start, offsets)]
                totals = tuple(map(str, combination.names))
                return [FromTheLeft(name, arguments, totals, texts[0], texts[1])]
            case HostLoop():
                return [self._repeat(group)]
        raise TypeError(type(group).__name__)

    def _repeat(self, loop: HostLoop) -> Repeat:
        form = loop.loop.form
        index = str(form.index) if isinstance(form, core.ForLoop) else None
        bound: str | int | None = None
        if isinstance(form, core.ForLoop):
            fixed = isinstance(form.bound, Constant)
            bound = int(form.bound.value) if fixed else str(form.bound)  # type: ignore[union-attr]
        condition = None if isinstance(form, core.ForLoop) else str(form.condition)
        return Repeat(
            tuple(str(p.name) for p in loop.loop.parameters),
            tuple(map(str, loop.initial)),
            index,
            bound,
            condition,
            tuple(self.steps(loop.body, loop.results)),
            tuple(map(str, loop.results)),
            tuple(map(str, loop.pattern)),
        )

    # --- functions ---

    def _function(
        self, kind: str, statements: Sequence[Stm], needed: set[Name], on_chunk: bool
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        bound = [p.name for s in statements for p in s.pattern]
        results = [name for name in bound if name in needed]
        if not results and not any(not s.pattern for s in statements):
            return None
        body: object = Body(tuple(statements), tuple(results))
        scope = dict(self.chunked.scope)
        if on_chunk:
            statements = self._shifted(statements)
            body = self.chunked.on_chunk(Body(tuple(statements), tuple(results)))
            scope = {
                name: self.chunked.on_chunk(type_) for name, type_ in scope.items()
            }
            scope.update(scope_of(body))
        assert isinstance(body, Body)
        name = f"{kind}_{len(self.made)}"
        arguments = self._enter(name, body, results, scope)
        return name, tuple(map(str, arguments)), tuple(map(str, results))

    def _combine(
        self, combinations: Sequence[Combination]
    ) -> tuple[str, tuple[str, ...]]:
        """The function of two partial results of each, first all of the left and then
        all of the right, and what it needs."""
        scope = self.chunked.scope
        build = Builder(self.names, scope)
        right = [name for made in combinations for name in made.names]
        left = [Param(self.names.like(name), scope[name]) for name in right]
        add_parameters(scope, left)
        names = [p.name for p in left]
        groups = divided(names, [len(made.names) for made in combinations])
        atoms = [
            atom
            for made, own in zip(combinations, groups, strict=True)
            for atom in lifted(build, made.operator, made.widths, own, made.names)
        ]
        last = (*names, *right)
        results = []
        for atom, parameter in zip(atoms, left, strict=True):
            if isinstance(atom, Constant) or atom in last:
                results.append(build.let(core.Copy(atom), "combined", parameter.type))
            else:
                results.append(atom)
        body = build.finish(*results)
        name = f"combine_{len(self.made)}"
        arguments = self._enter(name, body, results, scope, last)
        return name, tuple(map(str, arguments[: len(arguments) - len(last)]))

    def _enter(
        self,
        name: str,
        body: Body,
        results: Sequence[Name],
        scope: dict[Name, Type],
        last: Sequence[Name] = (),
    ) -> list[Name]:
        """A function of this body; the names of its parameters, `last` at the end."""
        types = [scope[result] for result in results]
        bound = set(traverse.bound_names(body))
        arguments = self._arguments(body, types, bound, scope, last)
        parameters = tuple(Param(argument, scope[argument]) for argument in arguments)
        sizes = (size for type_ in types for size in traverse.size_names(type_))
        unknown = list(dict.fromkeys(size for size in sizes if size in bound))
        fresh = {size: self.names.like(size) for size in unknown}
        outside = (
            *(Param(fresh[size], I64) for size in unknown),
            *(
                Param(self.names.like(result), traverse.substitute(type_, fresh))
                for result, type_ in zip(results, types, strict=True)
            ),
        )
        whole = replace(body, result=(*unknown, *body.result))
        label = self.names.fresh(name)
        function = traverse.rename(
            Function(label, parameters, outside, whole), self.names
        )
        entry = Entry(
            name,
            label,
            0,
            tuple(_outside(p) for p in parameters),
            tuple(_outside(p) for p in outside[len(unknown) :]),
        )
        self.made.append((function, entry))
        return arguments

    def _arguments(
        self,
        body: Body,
        types: Sequence[Type],
        bound: set[Name],
        scope: dict[Name, Type],
        last: Sequence[Name],
    ) -> list[Name]:
        needed = set(traverse.free_names(body))
        needed.update(*map(traverse.size_names, types))
        waiting = [*needed, *last]
        while waiting:
            sizes = traverse.size_names(scope[waiting.pop()]) - needed
            needed |= sizes
            waiting += sizes
        needed -= bound | set(last) | self.constants
        ordered = sorted(needed, key=lambda n: (len(shape_of(scope[n])) > 0, n.tag))
        return [*ordered, *last]

    def _shifted(self, statements: Sequence[Stm]) -> tuple[Stm, ...]:
        """The statements with positions counted from the start of the whole."""
        made: list[Stm] = []
        for statement in statements:
            exp = traverse.map_children(statement.exp, self._shift_inside)
            if isinstance(exp, core.Iota) and self.chunked.factors(exp.length):
                build = Builder(self.names, self.chunked.scope, statement.location)
                build.append(replace(statement, exp=self._shift(build, exp)))
                made += build.statements
            else:
                made.append(replace(statement, exp=exp))
        return tuple(made)

    def _shift_inside(self, node: object) -> object:
        if isinstance(node, Body):
            return replace(node, statements=self._shifted(node.statements))
        return traverse.map_children(node, self._shift_inside)

    def _shift(self, build: Builder, exp: core.Iota) -> core.Iota:
        factors = self.chunked.factors(exp.length)
        assert factors is not None
        start = build.mul(self.chunk_start, build.size_atom(factors[1]))
        first: object = start
        if exp.element != I64:
            first = build.let(
                core.ScalarOp(convert(I64, exp.element), (start,)), "start"
            )
        assert isinstance(first, Name)
        moved = build.add(exp.start, build.mul(first, exp.stride))
        return replace(exp, start=moved)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements of a phase that run once, or on each chunk."""

    statements: Sequence[Stm]
    on_chunk: bool


def _groups(phases: Sequence[Phase]) -> list[object]:
    """What becomes steps, in order."""
    found: list[object] = []
    for phase in phases:
        if phase.once:
            found.append(_Statements(phase.once, False))
        if phase.chunks:
            found.append(_Statements(phase.chunks, True))
        if phase.combinations:
            found.append(tuple(phase.combinations))
        found += [*phase.prefixes, *phase.loops]
    return found


def _needs(group: object, chunked: ChunkedSizes) -> set[Name]:
    """The names that a step takes from others."""
    match group:
        case _Statements(statements, on_chunk):
            body = Body(tuple(statements), ())
            return traverse.free_names(chunked.on_chunk(body) if on_chunk else body)
        case tuple() as combinations:
            needed: set[Name] = set()
            for made in combinations:
                needed.update(made.names, traverse.free_names(made.operator))
                needed.update(*(size.names() for size in made.widths))
            return needed
        case Prefix(combination, start, _):
            return {*_needs((combination,), chunked), *start}
        case HostLoop(loop, initial, body, results, _):
            inner = [_needs(part, chunked) for part in _groups(body)]
            form = loop.form
            needed = {*initial, *results}.union(*inner)
            if isinstance(form, core.ForLoop) and isinstance(form.bound, Name):
                needed.add(form.bound)
            return needed
    raise TypeError(type(group).__name__)


def _outside(parameter: Param) -> EntryType:
    """An array or scalar as users of the entry point see it."""
    type_ = parameter.type
    rank = len(shape_of(type_))
    text = f"{'[]' * rank}{element_of(type_)}"
    return EntryType(str(parameter.name), text, "array", 1)
