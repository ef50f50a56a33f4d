"""Which updates may write into the array they update, and what must be copied for it.

    let ys = xs with [i] = v      in place, if nothing reads xs (or a view of it) later

`Update`, scatters and histograms give new arrays; they may reuse the memory of the old
one when that memory belongs to this activation of this body and no name that may share
it is needed any more. The result is correct by itself and does not rely on uniqueness
types: parameters not marked unique are never written.

How: a forward sweep gives each array its *roots*, the allocations that it may be in
(`analysis.aliases`); a backward sweep finds at each statement which names are needed
later. An update is in place if all roots of its array are writable, were made in the
same body (or in branches of it), and are not roots of any name needed later.

A loop's parameters are roots of their own: they are writable, provided that what they
start from is not needed afterwards. Where it is, and where something in the loop really
writes them, the start has to be copied once: `InPlace.copied` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import field

from minifut.analysis.aliases import NONE, Aliases, Roots, find_aliases
from minifut.analysis.own_elements import over_inputs
from minifut.ir import core
from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Atom, Body, Function, Program, Stm
from minifut.ir.kernels import KernelBody, SegHist, SegMap, WriteReturns
from minifut.ir.node import mutable
from minifut.ir.search import nodes_of
from minifut.ir.soacs import Hist, Scatter
from minifut.ir.traverse import children, free_names, own_names
from minifut.names import Name


def may_overwrite(statement: Stm) -> list[Name]:
    """The arrays that a statement could overwrite."""
    match statement.exp:
        case core.Update(array, _, _):
            return [array]
        case Scatter(_, _, destinations, _):
            return [destination.array for destination in destinations]
        case Hist(_, _, operators, _):
            return [array for op in operators for array in op.destinations]
        case core.Loop(_, initial, _, _):
            return [atom for atom in initial if isinstance(atom, Name)]
    return []


@mutable
class InPlace:
    """`updates`: names bound to results of updates, scatters and histograms that may
    are in the memory of the array they replace. `overwritten`: results of maps, with
    the arrays over which they may be written. `copied`: parameters of loops whose
    initial array must be copied before the loop starts.

    `blocked`: for each update that would be in place but for other names of the array's
    memory that are needed later, these. `last_uses`: by the first result of a loop that
    was a map, the arrays that it may overwrite when it has read them. `roots`: the
    allocations that arrays may be in."""

    updates: set[Name] = field(default_factory=set)
    overwritten: dict[Name, Name] = field(default_factory=dict)
    copied: set[Name] = field(default_factory=set)
    blocked: list[Roots] = field(default_factory=list)
    last_uses: dict[Name, Roots] = field(default_factory=dict)
    roots: dict[Name, Roots] = field(default_factory=dict)


def called_functions(program: Program) -> set[Name]:
    """The functions that something in the program calls."""
    return {node.function for node in nodes_of(core.Apply, program)}


def in_place_updates(function: Function, called: Collection[Name] = ()) -> InPlace:
    """What may be done in place in the function; see the module.

    Parameters marked unique are written only if the function is not among those that
    are `called`: then the runtime alone ensures what it passes.
    """
    owns_parameters = function.name not in called
    sweep = _Sweep(find_aliases(function, owns_parameters))
    sweep.need_all(function.body.result)
    sweep.statements(function.body.statements, function)
    return sweep.found


class _Sweep:
    """Traverses bodies backwards, with the names needed later."""

    def __init__(self, aliases: Aliases) -> None:
        self.aliases = aliases
        self.found = InPlace(roots=aliases.roots)
        self.needed: set[Name] = set()
        """arrays alone"""
        self.needed_roots: Counter[Name] = Counter()
        self.written: set[Name] = set()

    # --- the names needed later ---

    def need(self, name: Name) -> None:
        roots = self.aliases.roots.get(name)
        if roots is not None and name not in self.needed:
            self.needed.add(name)
            self.needed_roots.update(roots)

    def need_all(self, atoms: Iterable[Atom]) -> None:
        for atom in atoms:
            if isinstance(atom, Name):
                self.need(atom)

    def forget(self, name: Name) -> None:
        if name in self.needed:
            self.needed.remove(name)
            self.needed_roots.subtract(self.aliases.roots[name])

    def reset(self, names: set[Name]) -> None:
        for name in self.needed - names:
            self.forget(name)
        for name in names - self.needed:
            self.need(name)

    def is_needed(self, roots: Roots) -> bool:
        return any(self.needed_roots[root] > 0 for root in roots)

    # --- bodies ---

    def statements(self, statements: tuple[Stm, ...], place: object) -> None:
        """Backwards; `place` is the activation that the statements belong to."""
        for statement in reversed(statements):
            if type(statement.exp) is core.ScalarOp:
                continue  # it has no array
            own: set[Name] = set()
            for bound in statement.pattern:
                self.forget(bound.name)
                own_names(bound, own)
            self.statement(statement, place)
            self.need_all(own)

    def statement(self, statement: Stm, place: object) -> None:
        exp = statement.exp
        match exp:
            case core.If() | core.Match():
                self.branches(exp, place)
                return
            case core.Loop():
                if "map" in statement.attributes:
                    read = self.last_uses(free_names(exp), place)
                    if read:
                        self.found.last_uses[statement.pattern[0].name] = read
                self.loop(exp)
            case WithAcc(_, function):
                self.bulk(statement, place)
                self.need_all(function.body.result)
                self.statements(function.body.statements, place)
            case core.Update(array, _, value):
                overlap = self.aliases.of(value) & self.aliases.of(array)
                self.replace(statement.pattern[0].name, array, overlap, place)
                self.block(statement.pattern[0].name, exp, overlap, place)
            case _:
                self.bulk(statement, place)
                self.overwrite(statement, place)
                self.inner(exp)
        self.need_all(free_names(exp))

    def branches(self, exp: core.If | core.Match, place: object) -> None:
        """Each branch on its own, with the same names needed after it."""
        after = set(self.needed)
        before = set(after)
        for inner in children(exp):
            body = inner.body if isinstance(inner, core.Case) else inner
            self.reset(after)
            self.need_all(body.result)
            self.statements(body.statements, place)
            before |= self.needed
        self.reset(before)
        own: set[Name] = set()
        own_names(exp, own)
        self.need_all(own)

    def loop(self, exp: core.Loop) -> None:
        """The body is an activation of its own, which binds its parameters."""
        after = set(self.needed)
        self.need_all(free_names(exp.body) - {p.name for p in exp.parameters})
        around = set(self.needed)
        self.need_all(exp.body.result)
        self.statements(exp.body.statements, exp)
        self.reset(around)
        self.copies(exp)
        self.reset(after)

    def copies(self, exp: core.Loop) -> None:
        """Which written parameters start from something that is still needed."""
        links = self.aliases.links[exp]
        written: set[Name] = set()
        for group in links.values():
            if group & self.written:
                written |= group
        names = [p.name for p in exp.parameters]
        kept = {
            name: self.aliases.of(atom)
            for name, atom in zip(names, exp.initial, strict=True)
        }
        for name in [name for name in names if name in written]:
            roots = kept[name]
            shared = any(
                roots & others for other, others in kept.items() if other != name
            )
            owned = self.aliases.writable(roots, self.aliases.place[exp])
            if shared or not owned or self.is_needed(roots):
                self.found.copied.add(name)
                del kept[name]
            else:
                self.written |= roots

    def inner(self, exp: object) -> None:
        """Lambdas and kernel bodies: each point is an activation of its own."""
        for node in children(exp):
            if isinstance(node, (Body, KernelBody)):
                before = set(self.needed)
                if isinstance(node, Body):
                    self.need_all(node.result)
                else:
                    for result in node.result:
                        self.need_all(free_names(result))
                self.statements(node.statements, node)
                self.reset(before)
            else:
                self.inner(node)

    # --- updates ---

    def replace(self, result: Name, array: Name, overlap: Roots, place: object) -> None:
        roots = self.aliases.of(array)
        free = not overlap and not self.needed_before(roots, result)
        if free and self.aliases.writable(roots, place):
            self.found.updates.add(result)
            self.written |= roots

    def needed_before(self, roots: Roots, result: Name) -> set[Name]:
        """The names needed later of memory that an update is to write, but for those of
        its result: what reads that is after the update."""
        if not self.is_needed(roots):
            return set()
        shared = [(n, self.aliases.of(n)) for n in self.needed]
        return {n for n, own in shared if own & roots and result not in own}

    def block(
        self, result: Name, exp: core.Update, overlap: Roots, place: object
    ) -> None:
        """Record what keeps an update of an array that itself is not needed any more
        from being in place."""
        roots = self.aliases.of(exp.array)
        if exp.array in self.needed or not self.aliases.writable(roots, place):
            return
        names = self.needed_before(roots, result)
        if overlap and isinstance(exp.value, Name):
            names.add(exp.value)
        if names:
            self.found.blocked.append(frozenset(names))

    def overwrite(self, statement: Stm, place: object) -> None:
        """Results of maps over arrays that nothing needs after them."""
        pairs = over_inputs(statement, self.aliases.types)
        if not pairs:
            return
        last = self.last_uses(free_names(statement.exp), place)
        taken: set[Name] = set()
        for result, array in pairs:
            if array in last - taken and result not in self.found.overwritten:
                self.found.overwritten[result] = array
                self.written |= self.aliases.of(array)
                taken.add(array)

    def last_uses(self, names: Iterable[Name], place: object) -> Roots:
        """The arrays that only a statement still reads, each under one name."""
        read = [name for name in names if name in self.aliases.roots]
        users = Counter(root for name in read for root in self.aliases.of(name))
        return frozenset(
            name
            for name in read
            if all(users[root] == 1 for root in self.aliases.of(name))
            and self.aliases.writable(self.aliases.of(name), place)
            and not self.is_needed(self.aliases.of(name))
        )

    def bulk(self, statement: Stm, place: object) -> None:
        """Scatters and histograms: what they read must not be what they write."""
        exp = statement.exp
        targets: list[Name]
        names = [bound.name for bound in statement.pattern]
        match exp:
            case Scatter():
                targets = [d.array for d in exp.destinations]
                read = free_names(exp.function) | set(exp.arrays)
            case Hist():
                targets = [a for op in exp.operators for a in op.destinations]
                read = free_names(exp.function) | set(exp.arrays)
                read |= {n for op in exp.operators for n in free_names(op.operator)}
            case WithAcc(inputs, function):
                targets = [array for item in inputs for array in item.arrays]
                read = free_names(function)
                operators = [item.operator for item in inputs if item.operator]
                read |= {n for operator in operators for n in free_names(operator)}
            case SegHist():
                targets = [a for op in exp.operators for a in op.destinations]
                read = free_names(exp.body)
                read |= {n for op in exp.operators for n in free_names(op.operator)}
            case SegMap():
                pairs = [
                    (name, result.array)
                    for name, result in zip(names, exp.body.result, strict=True)
                    if isinstance(result, WriteReturns)
                ]
                names = [name for name, _ in pairs]
                targets = [array for _, array in pairs]
                read = _read_by(exp.body)
                if exp.scan is not None:
                    read |= free_names(exp.scan)
            case _:
                return
        used = NONE.union(*[self.aliases.of(name) for name in read])
        for position, (name, array) in enumerate(zip(names, targets, strict=False)):
            others = [a for at, a in enumerate(targets) if at != position]
            clash = used.union(*[self.aliases.of(a) for a in others])
            self.replace(name, array, self.aliases.of(array) & clash, place)


def _read_by(body: KernelBody) -> set[Name]:
    """What a kernel body reads: all but the arrays that it only writes to."""
    found = free_names(KernelBody(body.statements, ()))
    for result in body.result:
        if isinstance(result, WriteReturns):
            for indices, value in result.writes:
                found.update(a for a in (*indices, value) if isinstance(a, Name))
        else:
            found |= free_names(result)
    return found
