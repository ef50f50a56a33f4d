"""Which statement runs where and when.

A phase has three parts, in this order: what runs once, what runs on each chunk, and how
results of chunks are combined. A statement goes to the first phase in which what it
needs is there; what was combined is there in the next one.

    let ys = map(n, (xs), f)              phase 0, on chunks
    let s = redomap(n, (ys), reduce(+))   phase 0, on chunks, and combined
    let m = s / f32(n)                    phase 1, once
    let zs = map(n, (ys), \\y -> y - m)    phase 1, on chunks

A scan takes two phases: the chunks' own scans, whose last elements are combined from
left to right, and the same with what precedes each chunk. A loop whose body
needs several phases stays with the host: it runs at the end of a phase, and has phases
of its own inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from minifut.distributed import filters, folds
from minifut.distributed.chunked import ChunkedSizes, Undistributable, located
from minifut.distributed.locality import check_elementwise, check_local, is_local
from minifut.ir import scope, traverse, types
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Assert, Atom, Body, Copy, If, Lambda, Loop, Param, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Screma, operand_count
from minifut.names import Name, NameSource


@dataclass(frozen=True, slots=True)
class Prefix:
    """What precedes each chunk: `offsets` begin as `start` and take up the totals
    of the chunks before, combined from left to right."""

    combination: folds.Combination
    start: tuple[Name, ...]
    offsets: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class HostLoop:
    """A loop whose body has phases. `initial`, `results` and `pattern` belong to its
    parameters in order."""

    loop: Loop
    initial: tuple[Name, ...]
    body: tuple[Phase, ...]
    results: tuple[Name, ...]
    pattern: tuple[Name, ...]


@dataclass(slots=True)
class Phase:
    """Statements that run once and on each chunk, and what follows them."""

    once: list[Stm] = field(default_factory=list)
    chunks: list[Stm] = field(default_factory=list)
    combinations: list[folds.Combination] = field(default_factory=list)
    prefixes: list[Prefix] = field(default_factory=list)
    loops: list[HostLoop] = field(default_factory=list)


class Scheduler:
    """Puts the statements of a body into phases."""

    def __init__(self, chunked: ChunkedSizes, names: NameSource, chunk: Name) -> None:
        self.chunked = chunked
        self.names = names
        self.chunk = chunk
        self.phases: list[Phase] = [Phase()]
        self.ready: dict[Name, int] = {}
        self.checked = 0
        """the phase of the latest check: nothing that follows it goes before it"""

    def body(self, body: Body) -> tuple[Name, ...]:
        """All statements; the names of the results."""
        statements = folds.split_maps(body.statements, self.chunked, self.names)
        found = filters.find_filters(statements, self.chunked)
        last = {id(f.cuts[-1]): f for f in found}
        inside = self._only_in_filters(found, statements, body)
        chunk_sizes = {f.count.pattern[0].name: f for f in found}
        for name in chunk_sizes:
            self.chunked = self.chunked.and_also(
                name, self._number(f"{name.base}_chunk")
            )
        for statement in statements:
            if id(statement) in last:
                self._filter(last[id(statement)])
            if id(statement) not in inside:
                self._statement(statement)
        return tuple(self.as_name(atom) for atom in body.result)

    def as_name(self, atom: Atom) -> Name:
        """A name for an atom: constants are bound to one."""
        if isinstance(atom, Name):
            return atom
        build = self._builder(None)
        name = build.let(Copy(atom), "constant")
        self.once(build.statements, 0)
        return name

    def phase(self, number: int) -> Phase:
        """The phase of a number, made if there is none."""
        while len(self.phases) <= number:
            self.phases.append(Phase())
        return self.phases[number]

    def when(self, node: object) -> int:
        """The first phase in which all that a node needs is there."""
        return max((self.ready.get(n, 0) for n in traverse.free_names(node)), default=0)

    def once(self, statements: Sequence[Stm], number: int) -> None:
        """Statements that run once in a phase."""
        self.phase(number).once.extend(statements)
        self._now_ready(statements, number)

    def on_chunks(self, statements: Sequence[Stm], number: int) -> None:
        """Statements that run on each chunk in a phase. What is not in chunks, though
        they give it, can be used once in the next phase."""
        self.phase(number).chunks.extend(statements)
        self._now_ready(statements, number)
        for statement in statements:
            for parameter in statement.pattern:
                if not self.chunked.is_chunked(parameter.name):
                    self.ready[parameter.name] = number + 1

    def _now_ready(self, statements: Sequence[Stm], number: int) -> None:
        for statement in statements:
            self.chunked.scope.update(scope.scope_of(statement))
            self.ready.update((p.name, number) for p in statement.pattern)

    def _builder(self, statement: Stm | None) -> Builder:
        place = None if statement is None else statement.location
        return Builder(self.names, self.chunked.scope, place)

    def _number(self, base: str) -> Name:
        name = self.names.fresh(base)
        self.chunked.scope[name] = types.I64
        return name

    # --- statements ---

    def _statement(self, statement: Stm) -> None:
        try:
            self._place(statement)
        except Undistributable as problem:
            raise located(problem, statement) from None

    def _place(self, statement: Stm) -> None:
        chunked, exp = self.chunked, statement.exp
        number = max(self.checked, self.when(statement))
        if not chunked.touches(statement):
            self.once((statement,), number)
            if isinstance(exp, Assert):
                self.checked = number
        elif is_local(statement, chunked):
            self.on_chunks((statement,), number)
        elif isinstance(exp, Screma) and exp.scans and chunked.factors(exp.width):
            self._scan(statement, exp, number)
        elif (fold := folds.as_fold(statement, chunked, self.names)) is not None:
            self._fold(fold, number)
        elif isinstance(exp, Loop):
            self._loop(statement, exp, number)
        else:
            check_local(statement, chunked)

    def _fold(self, fold: folds.ChunkFold, number: int) -> None:
        self.on_chunks(fold.on_chunk, number)
        self.phase(number).combinations.extend(fold.combinations)
        for combination in fold.combinations:
            self.ready.update((name, number + 1) for name in combination.names)
        self.once(fold.afterwards, number + 1)

    def _scan(self, statement: Stm, exp: Screma, number: int) -> None:
        """The chunk's own scan, its last element, and the same combined with
        the total before the chunk."""
        check_elementwise(exp.function, self.chunked)
        count = operand_count(exp.scans)
        scanned = statement.pattern[:count]
        own = tuple(Param(self.names.like(p.name), p.type) for p in scanned)
        pattern = (*own, *statement.pattern[count:])
        reduced = replace(statement, pattern=pattern)
        build, start = self._builder(statement), self._builder(statement)
        build.append(reduced)
        after = self._builder(statement)
        at = 0
        prefixes = []
        for scan in exp.scans:
            arrays = [p.name for p in own[at : at + len(scan.neutral)]]
            totals = self._last(build, exp, arrays, scan.neutral)
            begin = [start.let(Copy(atom), "neutral") for atom in scan.neutral]
            offsets = [self.names.fresh("before") for _ in totals]
            scope.add_parameters(
                self.chunked.scope,
                [
                    Param(o, self.chunked.scope[t])
                    for o, t in zip(offsets, totals, strict=True)
                ],
            )
            prefixes.append(
                Prefix(
                    folds.Combination(totals, scan.operator),
                    tuple(begin),
                    tuple(offsets),
                )
            )
            results = _after(after, arrays, scan.operator, offsets)
            for parameter, name in zip(scanned[at:], results, strict=False):
                after.bind((parameter,), Copy(name))
            self.ready.update((name, number + 1) for name in offsets)
            at += len(arrays)
        beside = [p.name for p in statement.pattern[count:]]
        reduces = folds.combinations_of(exp.reduces, beside)
        self.once(start.statements, number)
        self.on_chunks(build.statements, number)
        self.phase(number).prefixes.extend(prefixes)
        self.phase(number).combinations.extend(reduces)
        for combination in reduces:
            self.ready.update((name, number + 1) for name in combination.names)
        self.on_chunks(after.statements, number + 1)

    def _last(
        self,
        build: Builder,
        exp: Screma,
        arrays: Sequence[Name],
        neutral: Sequence[Atom],
    ) -> tuple[Name, ...]:
        """The last row of each array of a chunk; neutral if it has none."""
        size = build.size_atom(self.chunked.on_chunk(exp.width))
        empty = build.op("eq", size, i64(0))
        inner = build.nested()
        last = inner.sub(size, i64(1))
        rows = [inner.index(array, last) for array in arrays]
        branches = If(empty, Body((), tuple(neutral)), inner.finish(*rows))
        return build.let_many(branches, ["total"] * len(arrays))

    def _filter(self, found: filters.Filter) -> None:
        number = max(self.checked, *(self.when(s.exp) for s in found.statements[:1]))
        statements, count = filters.on_chunk(found, self.chunked, self.names)
        whole = found.count.pattern[0].name
        build = self._builder(found.scan)
        build.bind((Param(self.chunked.sizes[whole], build.type(count)),), Copy(count))
        partial = build.let(Copy(count), "kept")
        add = build.function(build.types((count, count)), Builder.add)
        after = self._builder(found.scan)
        after.bind((Param(whole, build.type(count)),), Copy(partial))
        cut = len(found.cuts)
        chunk = (*statements[:-cut], *build.statements, *statements[-cut:])
        fold = folds.ChunkFold(
            chunk, (folds.Combination((partial,), add),), tuple(after.statements)
        )
        self._fold(fold, number)

    def _only_in_filters(
        self, found: Sequence[filters.Filter], statements: Sequence[Stm], body: Body
    ) -> set[int]:
        """Statements that only filters need, which have their own versions of them."""
        inside = {id(s) for f in found for s in f.statements}
        outside = [s for s in statements if id(s) not in inside]
        needed = {atom for atom in body.result if isinstance(atom, Name)}
        for statement in outside:
            needed |= traverse.used_names(statement)
        for each in found:
            if any(p.name in needed for p in each.scan.pattern):
                inside.discard(id(each.scan))
        return inside

    # --- loops ---

    def _loop(self, statement: Stm, exp: Loop, number: int) -> None:
        for parameter in exp.parameters:
            self.chunked.axis(parameter.type)
        inner = Scheduler(self.chunked, self.names, self.chunk)
        results = inner.body(exp.body)
        initial = tuple(self.as_name(atom) for atom in exp.initial)
        pattern = tuple(p.name for p in statement.pattern)
        made = HostLoop(exp, initial, tuple(inner.phases), results, pattern)
        self.phase(number).loops.append(made)
        self.ready.update((name, number + 1) for name in pattern)
        self.phase(number + 1)


def _after(
    build: Builder, arrays: Sequence[Name], operator: Lambda, offsets: Sequence[Name]
) -> Sequence[Atom]:
    """The arrays with the offsets before each element."""
    return build.map(
        arrays,
        lambda inner, *elements: folds.lifted(inner, operator, (), offsets, elements),
    )
