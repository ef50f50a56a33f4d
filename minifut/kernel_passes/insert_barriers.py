"""Insert barriers between work-items that exchange values through memory.

    parallel_region { store t[local] = x }          store t[local] = x
    parallel_region { y = t[local + 1] }       →    barrier local
                                                    y = t[local + 1]

A work-item waits for the others before it reads what they may have written, and before
it writes what they may still read or write (a dependence through memory: write-read,
read-write or write-write). Memories are compared by name; two atomic updates do not
depend on each other. Within a parallel region, or a statement without any, no work-item
depends on another: lowering says so by the region, and barriers stand only between
them. Local memory is always exchanged, global memory in the kernels that say so.

Barriers are inserted as late as possible, so that each orders all the accesses before
it. Accesses of a round of a loop conflict with those of the next. Where the accesses
before a loop would need a barrier in each of its rounds, one is inserted before the
loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir.node import immutable, replace
from minifut.ir.search import classes_in
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.barriers import BARRIERS
from minifut.kernel_passes.editor import KernelEditor
from minifut.names import Name

ACCESSING = {kc.Load, kc.Store, kc.AtomicUpdate, kc.DeclarePointer, kc.CallFunction}
NOBODY: frozenset[Name] = frozenset()
KernelLoop = kc.For | kc.While | kc.Unrolled


@immutable
class Accesses:
    """The memories that are read, written, and updated atomically."""

    reads: frozenset[Name] = NOBODY
    writes: frozenset[Name] = NOBODY
    updates: frozenset[Name] = NOBODY

    def __or__(self, other: Accesses) -> Accesses:
        return Accesses(
            self.reads | other.reads,
            self.writes | other.writes,
            self.updates | other.updates,
        )

    def of(self, memories: frozenset[Name]) -> Accesses:
        """Those of some memories."""
        return Accesses(
            self.reads & memories, self.writes & memories, self.updates & memories
        )

    def conflicts(self, later: Accesses) -> frozenset[Name]:
        """The memories through which later accesses depend on these."""
        changed = self.writes | self.updates
        return (
            (changed & later.reads)
            | (self.reads & (later.writes | later.updates))
            | (changed & later.writes)
            | (self.writes & later.updates)
        )


NOTHING = Accesses()
Ordered = tuple[tuple[kc.Statement, ...], Accesses]
"""statements with barriers, and the accesses that no barrier follows"""


def insert_barriers(k: KernelEditor) -> None:
    """Insert barriers between parallel regions that depend on each other."""
    body = k.kernel.body
    alone = k.kernel.group_size == (1,)
    if not contains_regions(body) and (alone or not _exchanges(k.kernel)):
        return
    inserter = _Inserter(k.kernel, alone)
    statements, _ = inserter.statements(body.statements, NOTHING)
    k.statements = list(statements)


def contains_regions(block: kc.Block) -> bool:
    """Whether there are parallel regions in a block."""
    return kc.ParallelRegion in classes_in(block)


def _can_leave(block: kc.Block) -> bool:
    return kc.Break in classes_in(block)


def _count_barriers(statements: Iterable[kc.Statement]) -> int:
    return sum(
        isinstance(statement, kc.Barrier)
        + sum(
            _count_barriers(block.statements)
            for block in kc.blocks_of(statement)
            if kc.Barrier in classes_in(block)
        )
        for statement in statements
    )


def _exchanges(kernel: kc.Kernel) -> bool:
    local = any(isinstance(p, kc.LocalParameter) for p in kernel.parameters)
    return local or kc.DeclareArray in classes_in(kernel.body)


class _Inserter:
    """The barriers of one kernel; `alone` if a group is a single work-item."""

    def __init__(self, kernel: kc.Kernel, alone: bool) -> None:
        spaces = {"local", "global"} if kernel.exchanges_global else {"local"}
        self.spaces = frozenset[str]() if alone else frozenset(spaces)
        self.global_names: frozenset[Name] = NOBODY
        self.parts: dict[Name, Name] = {}
        self.left = NOTHING
        self.known: dict[int, Accesses] = {}
        """of the statements and expressions of the kernel, by their identities"""
        self.loops: dict[tuple[int, Accesses], tuple[Ordered, Accesses]] = {}

    # --- statements -------------------------------------------------------------------

    def statements(
        self, statements: Iterable[kc.Statement], pending: Accesses
    ) -> Ordered:
        """Statements that follow these pending accesses, with barriers."""
        made: list[kc.Statement] = []
        for statement in statements:
            inner = tuple(filter(contains_regions, kc.blocks_of(statement)))
            if isinstance(statement, BARRIERS):
                made.append(statement)
                pending = self._behind(statement, pending)
            elif isinstance(statement, kc.ParallelRegion):
                pending = self._order(made, pending, self._accesses(statement))
                made += statement.body.statements
            elif not inner:
                pending = self._order(made, pending, self._accesses(statement))
                made.append(statement)
                blocks = kc.blocks_of(statement)
                if isinstance(statement, kc.Break) or any(map(_can_leave, blocks)):
                    self.left |= pending
            elif isinstance(statement, KernelLoop):
                pending = self._loop(made, statement, pending)
            else:
                pending = self._structured(made, statement, pending)
        return tuple(made), pending

    def _order(
        self, made: list[kc.Statement], pending: Accesses, later: Accesses
    ) -> Accesses:
        """A barrier between these accesses if they need one; the accesses pending."""
        if later is NOTHING:
            return pending
        found = pending.conflicts(later)
        if found:
            barrier = kc.Barrier("both" if found & self.global_names else "local")
            made.append(barrier)
            pending = self._behind(barrier, pending)
        return pending | later

    def _behind(self, barrier: kc.Statement, pending: Accesses) -> Accesses:
        """What a barrier leaves pending."""
        match barrier:
            case kc.Barrier("local"):
                return pending.of(self.global_names)
            case kc.Barrier("global"):
                names = pending.reads | pending.writes | pending.updates
                return pending.of(names - self.global_names)
        return NOTHING

    def _structured(
        self, made: list[kc.Statement], statement: kc.Statement, pending: Accesses
    ) -> Accesses:
        """A block, or one of several."""
        before = self._order(made, pending, self._conditions(statement))
        if isinstance(statement, kc.Branch | kc.StaticIf):
            then, after = self._block(statement.then, before)
            otherwise, last = self._block(statement.otherwise or kc.Block(()), before)
            after |= last
            changed = otherwise if statement.otherwise else None
            made.append(replace(statement, then=then, otherwise=changed))
        elif isinstance(statement, kc.Reassociate):
            body, after = self._block(statement.body, before)
            made.append(replace(statement, body=body))
        else:
            assert isinstance(statement, kc.Block), statement
            block, after = self._block(statement, before)
            made.append(block)
        return after

    def _block(self, block: kc.Block, pending: Accesses) -> tuple[kc.Block, Accesses]:
        statements, pending = self.statements(block.statements, pending)
        return kc.Block(statements), pending

    # --- loops ------------------------------------------------------------------------

    def _loop(
        self, made: list[kc.Statement], loop: KernelLoop, pending: Accesses
    ) -> Accesses:
        """A loop, after a barrier if that saves one in each round."""
        pending = self._order(made, pending, self._conditions(loop))
        needed = self._barriers_in(loop, NOTHING)
        if self._barriers_in(loop, pending) > needed:
            of_global = pending.of(self.global_names)
            local = self._barriers_in(loop, of_global) == needed
            barrier = kc.Barrier("local" if local else "both")
            made.append(barrier)
            pending = self._behind(barrier, pending)
        (body, out), left = self._rounds(loop, pending)
        made.append(replace(loop, body=kc.Block(body)))
        return pending | out | left

    def _barriers_in(self, loop: KernelLoop, entry: Accesses) -> int:
        """How many a loop has that follows these accesses."""
        (body, _), _ = self._rounds(loop, entry)
        return _count_barriers(body)

    def _rounds(self, loop: KernelLoop, entry: Accesses) -> tuple[Ordered, Accesses]:
        """The body after the accesses of rounds before and these; what is pending where
        it is left."""
        known = self.loops.get((id(loop), entry))
        if known is not None:
            return known
        around = self.left
        condition = self._conditions(loop)
        carried = entry | condition
        while True:
            self.left = NOTHING
            statements, out = self.statements(loop.body.statements, carried)
            body = list(statements)
            out = self._order(body, out, condition)
            if carried | out == carried:
                break
            carried |= out
        known = (tuple(body), out), self.left
        self.loops[id(loop), entry] = known
        self.left = around
        return known

    # --- accesses ---------------------------------------------------------------------

    def _conditions(self, statement: kc.Statement) -> Accesses:
        """The accesses of conditions and bounds."""
        found = NOTHING
        for exp in kc.expressions_of(statement):
            found |= self._accesses(exp)
        return found

    def _accesses(self, node: kc.Statement | kc.Expression) -> Accesses:
        """All accesses to memory that work-items exchange values in."""
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = self._found_in(node)
        return found

    def _found_in(self, node: kc.Statement | kc.Expression) -> Accesses:
        reads: set[Name] = set()
        writes: set[Name] = set()
        updates: set[Name] = set()
        for each in [n for n in walk(node) if type(n) in ACCESSING]:
            match each:
                case kc.Load(memory):
                    self._note(memory, reads)
                case kc.Store(memory):
                    self._note(memory, writes)
                case kc.AtomicUpdate(memory=memory):
                    self._note(memory, updates)
                case kc.DeclarePointer(part, whole):
                    self.parts[part.name] = self.parts.get(whole.name, whole.name)
                case kc.CallFunction(function, arguments):
                    for parameter, given in zip(
                        function.parameters, arguments, strict=True
                    ):
                        if isinstance(given, kc.Memory):
                            assert isinstance(parameter, kc.MemoryParameter)
                            self._note(given, writes if parameter.written else reads)
        if not (reads or writes or updates):
            return NOTHING
        return Accesses(frozenset(reads), frozenset(writes), frozenset(updates))

    def _note(self, memory: kc.Memory, found: set[Name]) -> None:
        if memory.space in self.spaces:
            name = self.parts.get(memory.name, memory.name)
            found.add(name)
            if memory.space == "global":
                self.global_names |= {name}
