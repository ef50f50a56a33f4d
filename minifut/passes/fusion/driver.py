"""Where fusion rules are tried: in each body, innermost first, consumers in order.

Fusing moves the producer down to its consumer. So nothing between them may need its
results, and nothing between may update an array that it reads (the update could no
longer be done in place). Views between a map and its consumer are pulled above the map
first; vertical fusion comes next, since it removes arrays, and once more for views that
folds then read; then neighbours are joined, which alone use what one of them could
not have for itself.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from minifut.analysis.in_place import may_overwrite
from minifut.ir.core import Atom, Body, Copy, Program, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.node import replace, same_or
from minifut.ir.scope import Scope, scope_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, soac_of
from minifut.ir.traverse import free_names, substitute
from minifut.names import Name, NameSource
from minifut.passes.fusion import pair
from minifut.passes.fusion.horizontal import MOST_RESULTS, NEIGHBOURS, fuse_neighbours
from minifut.passes.fusion.pull_views import folds_view, pull_views
from minifut.passes.fusion.vertical import rule_for
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Trace


def fuse(program: Program, names: NameSource, trace: Trace | None = None) -> Program:
    """Make one SOAC of producers and consumers."""
    fusing = pair.Fusing(names, scope_of(program), trace or Trace())
    constants = _Fuser(fusing, program.constants, ()).run()
    functions = tuple(
        map_bodies(function, partial(_fused, fusing)) for function in program.functions
    )
    return replace(program, constants=constants, functions=functions)


def fuse_in_thread(body: Body, names: NameSource, scope: Scope) -> Body:
    """The body of a thread with the SOACs in it fused, those that copies name, too."""
    names_of: dict[Name, Atom] = {}
    statements: list[Stm] = []
    for statement in body.statements:
        statement = substitute(statement, names_of)
        if isinstance(statement.exp, Copy):
            names_of[statement.pattern[0].name] = statement.exp.atom
        else:
            statements.append(statement)
    result = tuple(substitute(atom, names_of) for atom in body.result)
    return _fused(pair.Fusing(names, scope, Trace()), Body(tuple(statements), result))


def _fused(fusing: pair.Fusing, body: Body) -> Body:
    return replace(body, statements=_Fuser(fusing, body.statements, body.result).run())


class _Fuser:
    """One body: statements in slots (None once fused away), and what uses what."""

    def __init__(
        self, fusing: pair.Fusing, statements: tuple[Stm, ...], result: tuple[Atom, ...]
    ) -> None:
        self.fusing = fusing
        self.before = statements
        self.result = result
        self.slots: list[Stm | None] = []
        self.uses: dict[Name, set[int]] = defaultdict(set)
        self.updates: dict[Name, set[int]] = defaultdict(set)
        self.maker: dict[Name, int] = {}
        self.full: set[int] = set()
        whole = tuple([self.inside(s) for s in statements])
        self.slots.extend(whole)
        self.worthwhile = sum(map(self.is_candidate, range(len(whole)))) > 1
        if not self.worthwhile:
            return
        self.fill(pull_views(whole, result, fusing, may_overwrite))

    def fill(self, statements: tuple[Stm, ...]) -> None:
        """Fill the slots with these statements."""
        self.slots = list(statements)
        for known in (self.uses, self.updates, self.maker):
            known.clear()
        for slot, statement in enumerate(statements):
            self.put(slot, statement)
        for atom in self.result:
            if isinstance(atom, Name):
                self.uses[atom].add(len(self.slots))

    def inside(self, statement: Stm) -> Stm:
        """The statement with its bodies fused."""
        fused: Stm = map_bodies(statement, partial(_fused, self.fusing))
        return fused

    def put(self, slot: int, statement: Stm) -> None:
        """Fill a slot."""
        self.slots[slot] = statement
        for name in free_names(statement):
            self.uses[name].add(slot)
        for name in may_overwrite(statement):
            self.updates[name].add(slot)
        for bound in statement.pattern:
            self.maker[bound.name] = slot

    def clear(self, slot: int) -> None:
        """Empty a slot."""
        statement = self.slots[slot]
        assert statement is not None
        for name in free_names(statement):
            self.uses[name].discard(slot)
        self.slots[slot] = None

    def run(self) -> tuple[Stm, ...]:
        """The statements after all fusions."""
        if self.worthwhile:
            self.downwards()
            left = tuple([s for s in self.slots if s is not None])
            if folds_view(left):
                pulled = pull_views(left, self.result, self.fusing, may_overwrite)
                if pulled is not left:
                    self.fill(pulled)
                    self.downwards()
            for slot in range(len(self.slots)):
                while self.is_candidate(slot) and self.horizontal(slot):
                    while self.vertical(slot):
                        pass
        return same_or([s for s in self.slots if s is not None], self.before)

    def downwards(self) -> None:
        """Fuse producers into consumers."""
        for slot in range(len(self.slots)):
            while self.is_candidate(slot) and self.vertical(slot):
                pass

    def is_candidate(self, slot: int) -> bool:
        statement = self.slots[slot]
        return (
            statement is not None
            and isinstance(statement.exp, SOAC_EXPRESSIONS)
            and not pair.UNTOUCHED & set(statement.attributes)
        )

    def may_sink(self, slot: int, to: int) -> bool:
        """Whether the statement in `slot` may move down to the one in `to`."""
        statement = self.slots[slot]
        assert statement is not None
        for bound in statement.pattern:
            if any(slot < use < to for use in self.uses[bound.name]):
                return False
        return not any(
            slot < at < to
            for name in free_names(statement)
            for at in self.updates[name]
        )

    def is_used_below(self, name: Name, slot: int) -> bool:
        return any(use > slot for use in self.uses[name])

    def vertical(self, slot: int) -> bool:
        """Fuse one producer into the statement in `slot`."""
        consumer = self.slots[slot]
        assert consumer is not None
        for array in soac_of(consumer).arrays:
            at = self.maker.get(array)
            if at is None or at >= slot or not self.is_candidate(at):
                continue
            producer = self.slots[at]
            assert producer is not None
            if not self.may_sink(at, slot):
                continue
            names = [*(p.name for p in producer.pattern), *may_overwrite(consumer)]
            needed = frozenset(n for n in names if self.is_used_below(n, slot))
            rule = rule_for(consumer)
            outcome = self.fusing.attempt(rule, consumer, needed, producer)
            if outcome is None:
                continue
            (fused,) = outcome
            if pair.has_soac(soac_of(fused).function):
                fused = self.inside(fused)
                if not pair.keeps_parallelism(producer, consumer, fused):
                    reason = "it would bury the parallelism inside"
                    self.fusing.trace.decline(rule, consumer, reason)
                    continue
            self.replace(rule, at, slot, fused)
            return True
        return False

    def horizontal(self, slot: int) -> bool:
        """Join one neighbour above with the statement in `slot`."""
        second = self.slots[slot]
        assert second is not None
        if not isinstance(second.exp, NEIGHBOURS) or pair.has_soac(second.exp.function):
            return False
        readers = {at for array in second.exp.arrays for at in self.uses[array]}
        for at in sorted(readers - self.full):
            first = self.slots[at] if at < slot else None
            if first is None or not self.is_candidate(at):
                continue
            if len(first.pattern) + len(second.pattern) > MOST_RESULTS:
                # Looked at once, so that many neighbours take no quadratic time.
                self.full.add(at)
                continue
            if not isinstance(first.exp, NEIGHBOURS) or pair.has_soac(
                first.exp.function
            ):
                continue
            if not self.may_sink(at, slot):
                continue
            outcome = self.fusing.attempt(fuse_neighbours, second, frozenset(), first)
            if outcome is not None:
                self.replace(fuse_neighbours, at, slot, outcome[0])
                return True
        return False

    def replace(self, rule: Rule, first: int, second: int, fused: Stm) -> None:
        old = self.slots[second]
        assert old is not None
        self.fusing.trace.fire(rule, old, (fused,))
        self.clear(first)
        self.clear(second)
        self.put(second, fused)
