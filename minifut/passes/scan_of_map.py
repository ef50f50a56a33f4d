"""The one scan of a map, of all operators of the scans and sums that it reads.

    ends = scan(add, flags); most = scan(max, xs); sum = reduce(add, xs)
      →  scan of (add, max, add) over (flags, xs, xs)

What the map reads at its point are values of the scan there, at the point before the
values before, at the end totals. What others read of the arrays, too, the map returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Any

from minifut.analysis.work import size_of
from minifut.ir import alpha, kernels, search, traverse
from minifut.ir.core import Atom, Body, Constant, Copy, Index, Param, Stm
from minifut.ir.kernels import GRID, KernelBody, Returns, SegMap, SegScan
from minifut.ir.node import mutable, replace
from minifut.ir.sizes import Size
from minifut.ir.types import Type, array_of
from minifut.names import Name
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Decline, Outcome


@mutable
class ScanOfMap:
    """Collects the scans and sums of one map."""

    exp: SegMap
    index: Name
    """of the scan"""
    context: StatementContext
    statements: list[Stm] = field(default_factory=list)
    """of the body of the scans"""
    folds: list[tuple[kernels.SegBinOp, tuple[Atom, ...], list[Param], list[Param]]] = (
        field(default_factory=list)
    )
    """operators, their operands, and the parameters for scanned values and totals"""
    passed: dict[Name, tuple[Atom, Type]] = field(default_factory=dict)
    """mapped arrays at the point, in the body of the scans"""
    at_point: dict[Name, Name] = field(default_factory=dict)
    """arrays at the point, in the body of the map"""
    totals: dict[Name, Name] = field(default_factory=dict)
    """scanned arrays at their end, and sums, in the body of the map"""
    before: dict[Name, Name] = field(default_factory=dict)
    """scanned values at the point by those at the point before"""

    def of(self, statement: Stm, members: list[Stm], dependents: list[Stm]) -> Outcome:
        """The map with all that it takes up; then what the host does after it."""
        for member in members:
            self.join(member)
        exp, fresh = self.exp, self.context.names.like
        copied = needed_for(traverse.free_names(exp.body), dependents)
        kept = needed_for(set(self.context.needed), dependents)
        names = {name: fresh(name) for s in copied for name in traverse.bound_names(s)}
        own = (*traverse.rename_to(tuple(copied), names), *exp.body.statements)
        ends = self.ends((*own, *dependents))
        body = self.rewritten(KernelBody(own, exp.body.result), self.totals, ends)
        on_host = {
            n: fresh(t) if n in self.at_point else n for n, t in self.totals.items()
        }
        after = tuple(self.rewritten(s, on_host, ends) for s in kept)
        needed = traverse.free_names(Body(after, tuple(self.context.needed)))
        wanted = {on_host[n]: t for n, t in self.totals.items() if on_host[n] in needed}
        kept_arrays = {n: at for n, at in self.at_point.items() if n in needed}
        if (writes_by_index(exp) and kept_arrays) or not traverse.free_names(
            body
        ).isdisjoint(self.at_point):
            raise Decline("a scan is read elsewhere than at its point and its end")
        results = (
            *body.result,
            *map(Returns, kept_arrays.values()),
            *map(kernels.TotalReturns, wanted.values()),
        )
        body = KernelBody(body.statements, results)
        seen, scan = self.scan(traverse.free_names(body))
        if not traverse.free_names(scan).isdisjoint(self.at_point):
            raise Decline("what a scan maps is read elsewhere by another one")
        if not writes_by_index(exp) and not self.reads_points(
            traverse.free_names(body)
        ):
            raise Decline("the map reads totals alone")
        types = {p.name: p.type for p in seen}
        elements = tuple(types[at] for at in kept_arrays.values())
        made = tuple(types[total] for total in wanted.values())
        whole = SegMap(
            exp.level,
            exp.space,
            traverse.substitute(body, names),
            (*exp.types, *elements, *made),
            seen,
            scan,
            before=self.seen_before(traverse.free_names(body), seen),
        )
        size = exp.space.sizes
        arrays = (Param(n, array_of(types[at], size)) for n, at in kept_arrays.items())
        pattern = (*statement.pattern, *arrays, *map(Param, wanted, made))
        return (replace(statement, pattern=pattern, exp=whole), *after)

    def reads_points(self, used: set[Name]) -> bool:
        """Whether the map reads what was scanned at its points."""
        scanned = {p.name for _, _, scanned, _ in self.folds for p in scanned}
        return not used.isdisjoint(scanned.union(self.before.values()))

    def seen_before(
        self, used: set[Name], seen: tuple[Param, ...]
    ) -> tuple[Param, ...]:
        """The parameters for scanned values of the point before, if one is used."""
        if used.isdisjoint(self.before.values()):
            return ()
        count = sum(len(scanned) for _, _, scanned, _ in self.folds)
        return tuple(Param(self.before_of(p.name), p.type) for p in seen[:count])

    def before_of(self, scanned: Name) -> Name:
        """What a scanned value at the point is called for the point before."""
        return self.before.setdefault(scanned, self.context.names.like(scanned))

    def join(self, member: Stm) -> None:
        """Add the operators and the body of a scan or sum."""
        exp: Any = member.exp
        known: dict[Name, Atom] = {exp.space.indices[0]: self.index}
        for original in exp.body.statements:
            statement = traverse.substitute(original, known)
            read = read_of(statement)
            if read is not None and read[0] in self.passed and read[1] == self.index:
                known[statement.pattern[0].name] = self.passed[read[0]][0]
            else:
                self.statements.append(statement)
        values = [traverse.substitute(r.value, known) for r in exp.body.result]
        at = 0
        for operator in exp.operators:
            end = at + len(operator.neutral)
            scanned, totals = self.fold(operator, tuple(values[at:end]))
            names = [bound.name for bound in member.pattern[at:end]]
            if isinstance(exp, SegScan):
                self.at_point.update(zip(names, (p.name for p in scanned), strict=True))
            self.totals.update(zip(names, (p.name for p in totals), strict=True))
            at = end
        for bound, value, type_ in zip(
            member.pattern[at:], values[at:], exp.types[at:], strict=True
        ):
            self.passed[bound.name] = value, type_
            self.at_point[bound.name] = self.context.names.like(bound.name)

    def fold(
        self, operator: kernels.SegBinOp, operands: tuple[Atom, ...]
    ) -> tuple[list[Param], list[Param]]:
        """The parameters of an operator on operands, which may be there already."""
        mine = (operator.operator, operator.neutral, operands)
        for other, known, scanned, totals in self.folds:
            if alpha.alpha_equal(mine, (other.operator, other.neutral, known)):
                return scanned, totals
        fresh = self.context.names.fresh
        types = operator.operator.results
        scanned = [Param(fresh("scanned"), t) for t in types]
        totals = [Param(fresh("total"), t) for t in types]
        self.folds.append((operator, operands, scanned, totals))
        return scanned, totals

    def scan(self, used: set[Name]) -> tuple[tuple[Param, ...], SegScan]:
        """What the map reads, and the scan, with the mapped values that are used."""
        passed = [array for array in self.passed if self.at_point[array] in used]
        operators, operands, scanned, totals = zip(*self.folds, strict=True)
        mapped = (Param(self.at_point[a], self.passed[a][1]) for a in passed)
        inside = (*chain(*scanned), *mapped)
        atoms = (*chain(*operands), *(self.passed[a][0] for a in passed))
        space = kernels.SegSpace((self.index,), self.exp.space.sizes)
        body = KernelBody(tuple(self.statements), tuple(map(Returns, atoms)))
        types = tuple(p.type for p in inside)
        return (*inside, *chain(*totals)), SegScan(GRID, space, operators, body, types)

    def ends(self, statements: tuple[Stm, ...]) -> set[Atom]:
        """The atoms that are the index of the last point."""
        last = self.exp.space.sizes[0] - 1
        known = (*self.context.definitions.values(), *statements)
        inner = list(search.nodes_of(Stm, *known))
        computed = named_by(last, inner)
        indices = (read[1] for s in inner if (read := read_of(s)))
        return computed.union(a for a in indices if traverse.atom_size(a) == last)

    def rewritten(self, node: Any, totals: Mapping[Name, Name], ends: set[Atom]) -> Any:
        """The code with parameters in place of what it read."""
        (own,) = self.exp.space.indices
        previous = named_by(Size.of(own) - 1, traverse.walk(node))
        scanned = self.at_point.keys() & self.totals.keys()

        def change(inner: Any) -> Any:
            read = read_of(inner)
            if read is not None:
                array, index = read
                if index == own and array in self.at_point:
                    return replace(inner, exp=Copy(self.at_point[array]))
                if index in previous and array in scanned:
                    at_point = self.at_point[array]
                    return replace(inner, exp=Copy(self.before_of(at_point)))
                if index in ends and array in totals:
                    return replace(inner, exp=Copy(totals[array]))
            return traverse.map_children(inner, change)

        sums = {n: t for n, t in totals.items() if n not in self.at_point}
        return traverse.substitute(change(node), sums)


def writes_by_index(exp: object) -> bool:
    """Whether a map writes by index."""
    assert isinstance(exp, SegMap)
    return any(isinstance(r, kernels.WriteReturns) for r in exp.body.result)


def needed_for(names: set[Name], statements: Sequence[Stm]) -> list[Stm]:
    """Those of the statements that lead to the names."""
    found: list[Stm] = []
    for statement in reversed(statements):
        if not names.isdisjoint(p.name for p in statement.pattern):
            names = names | traverse.free_names(statement)
            found.insert(0, statement)
    return found


def named_by(size: Size, nodes: Iterable[object]) -> set[Atom]:
    """The names of statements, in order, that compute a size."""
    return {name for name, found in sizes_by_name(nodes).items() if found == size}


def sizes_by_name(nodes: Iterable[object]) -> dict[Name, Size]:
    """The sizes that statements, in order, compute, of what no other one computes."""
    found: dict[Name, Size] = {}
    for node in nodes:
        size = size_of(node.exp) if isinstance(node, Stm) else None
        if isinstance(node, Stm) and size is not None:
            known = size.substitute_short(found) or size
            found.update((bound.name, known) for bound in node.pattern)
    return found


def read_of(node: object) -> tuple[Name, Atom] | None:
    """The array and the index of a statement that reads an element of a vector."""
    match node:
        case Stm(_, Index(array, (index,))) if isinstance(index, Name | Constant):
            return array, index
    return None
