"""Which barriers and shuffles stand where only some work-items of a group may come by.

    if (get_local_id(0) < n) { barrier(); }         divergent
    if (n < 8) { barrier(); }                       uniform: n is the same for all

A variable diverges if its value depends on what distinguishs work-items, on private
memory, or on where it is assigned. What is read of other memory at a uniform place is
uniform.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minifut.ir.search import contains
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import targets
from minifut.names import Name

OWN = frozenset({"get_local_id", "get_global_id"})
"""functions that distinguish work-items"""
Dependence = tuple[Name, tuple[kc.Expression, ...]]


def divergent_barrier(kernel: kc.Kernel | kc.DeviceFunction) -> kc.Statement | None:
    """A barrier in divergent control flow; None if there is none."""
    alone = isinstance(kernel, kc.Kernel) and kernel.group_size == (1,)
    if alone or not contains(kernel.body, kc.Barrier | kc.Shuffle):
        return None
    search = _Search()
    body = kernel.body.statements
    search.statements(body, tuple(conditions_of(kc.Return, body)))
    search.close()
    for barrier, control in search.barriers:
        if any(search.diverges(condition) for condition in control):
            return barrier
    return None


def names_read(exp: kc.Expression) -> frozenset[Name] | None:
    """What variables the value depends on; None if it diverges whatever they are."""
    found: set[Name] = set()
    for node in walk(exp):
        match node:
            case kc.Call(function) if function in OWN:
                return None
            case kc.Load(memory) if memory.space == "private":
                return None
            case kc.Variable(name) | kc.Register(name):
                found.add(name)
            case kc.SizeValue(size):
                found |= size.names()
    return frozenset(found)


class _Search:
    def __init__(self) -> None:
        self.divergent: set[Name] = set()
        self.reads: dict[int, tuple[kc.Expression, frozenset[Name] | None]] = {}
        """what an expression reads, by its identity: conditions decide about many
        variables"""
        self.dependences: list[Dependence] = []
        self.barriers: list[tuple[kc.Statement, tuple[kc.Expression, ...]]] = []

    def close(self) -> None:
        """Follow dependences until no more variables diverge."""
        before = -1
        while before != len(self.divergent):
            before = len(self.divergent)
            for name, sources in self.dependences:
                if name not in self.divergent and any(map(self.diverges, sources)):
                    self.divergent.add(name)

    def diverges(self, exp: kc.Expression) -> bool:
        if id(exp) not in self.reads:
            self.reads[id(exp)] = (exp, names_read(exp))
        _, read = self.reads[id(exp)]
        return read is None or not read.isdisjoint(self.divergent)

    def statements(
        self, statements: Iterable[kc.Statement], control: tuple[kc.Expression, ...]
    ) -> None:
        for statement in statements:
            self.statement(statement, control)

    def statement(
        self, statement: kc.Statement, control: tuple[kc.Expression, ...]
    ) -> None:
        """Note what variables depend on, and what decides whether barriers are
        reached."""
        if isinstance(statement, kc.Barrier | kc.UniformExit | kc.Shuffle):
            self.barriers.append((statement, control))
        decisive = (*control, *kc.expressions_of(statement))
        for target in targets(statement):
            name = target.name if isinstance(target, kc.Variable) else target.family
            if isinstance(statement, kc.AtomicUpdate | kc.FetchWork):
                self.divergent.add(name)
            self.dependences.append((name, decisive))
        if isinstance(statement, kc.For | kc.While):
            decisive += tuple(conditions_of(kc.Break, statement.body.statements))
        for block in kc.blocks_of(statement):
            self.statements(block.statements, decisive)


def conditions_of(
    leaving: type[kc.Break] | type[kc.Return],
    statements: Iterable[kc.Statement],
    control: tuple[kc.Expression, ...] = (),
) -> Iterator[kc.Expression]:
    """What decides whether work-items leave a loop, or a kernel, from within."""
    for statement in statements:
        if isinstance(statement, leaving):
            yield from control
        elif leaving is kc.Return or not isinstance(statement, kc.For | kc.While):
            inner = *control, *kc.expressions_of(statement)
            for block in kc.blocks_of(statement):
                yield from conditions_of(leaving, block.statements, inner)
