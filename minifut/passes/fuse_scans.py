r"""Pass: scans and reductions become part of the map that scatters by their results.

    let (ends, kept) = segscan grid (j < n) {add, 0} {.. returns one, returns keep}
    let ys = segmap grid (i < n) {.. ends[i] .. kept[i] .. writes a with [place] = x}
  →
    let ys = segmap grid (i < n) seeing (end, keep, total) of segscan .. {
      .. writes a with [place] = x}

Filters, partitions, and sorts by bits or digits scan flags to find positions. Neither
are stored any more: the body of the scan, which is cheap, runs twice. Several scans and
sums become one of several operators. A sum, and the last element of a scan, are totals;
what the host computes of them for the map alone, the map does itself.

Conditions: one dimension; scalar code without checks or loops; scanned arrays are read
at the point and at their end only, by no other scan; the map writes by index (others
are faster with arrays of whole vectors); nothing in between may update an array.

Source: Blelloch, "Prefix sums and their applications" (1990), for the programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Any, TypeAlias

from minifut.analysis.work import size_of
from minifut.ir import core, kernels
from minifut.ir.accumulators import WithAcc
from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Atom, Body, Constant, Copy, Index, Param, Program, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.kernels import GRID, KernelBody, Returns, SegMap, SegRed, SegScan
from minifut.ir.node import mutable, replace
from minifut.ir.scope import scope_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import (
    atom_size,
    bound_names,
    contains,
    free_names,
    map_children,
    rename_to,
    substitute,
    walk,
)
from minifut.ir.types import ScalarType, Type
from minifut.names import Name, NameSource
from minifut.passes.flatten.cheap import is_scalar_code
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Decline, Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace

ScanOrReduction: TypeAlias = SegScan | SegRed
UPDATES = (core.Update, core.Apply, WithAcc, kernels.WriteReturns, kernels.SegHist)


def fuse_scans(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with scans in the maps that scatter by them."""
    derivation = Derivation(trace or Trace())
    context = StatementContext(names, scope_of(program), {}, derivation=derivation)

    empty = {
        node.pattern[0].name: size
        for node in walk(program)
        if isinstance(node, Stm) and (size := _is_zero(node.exp)) is not None
    }

    def fused(body: Body) -> Body:
        inside = tuple(map_bodies(s, fused) for s in body.statements)
        joined = _joined(replace(body, statements=inside), context)
        with_points = tuple(_with_points(s, empty) for s in joined.statements)
        return replace(joined, statements=with_points)

    made: Program = map_bodies(program, fused)
    return made


def _joined(body: Body, context: StatementContext) -> Body:
    """The body after fusion into its maps, one after the other."""
    for at, statement in enumerate(body.statements):
        if not isinstance(statement.exp, SegMap) or not _scatters(statement.exp):
            continue
        below = body.statements[at + 1 :]
        fixed = (statement, *(s for s in below if not is_scalar_code([s])))
        late = (*fixed, *tainted_by(fixed, below))
        above = (*body.statements[:at], *(s for s in below if s not in late))
        after = tuple(s for s in below if s in late)
        place = replace(
            context,
            definitions={p.name: s for s in above for p in s.pattern},
            needed=frozenset(free_names(Body(after, body.result))),
        )
        outcome = fuse_scans_into_map(statement, place)
        if isinstance(outcome, tuple):
            again = {p.name for s in outcome for p in s.pattern}
            rest = (s for s in above if again.isdisjoint(p.name for p in s.pattern))
            made = Body((*rest, *outcome, *after), body.result)
            return _joined(remove_dead_code_in(made), context)
    return body


def _with_points(statement: Stm, empty: Mapping[Name, Size]) -> Stm:
    """A map over the results of a scan, where `if n == 0` is decided: it has points."""
    exp = statement.exp
    if not isinstance(exp, SegMap) or exp.scan is None:
        return statement
    made: list[Stm] = []
    for inner in exp.body.statements:
        branch = inner.exp
        test = branch.condition if isinstance(branch, core.If) else None
        if isinstance(branch, core.If) and (
            isinstance(test, Name) and empty.get(test) == exp.space.sizes[0]
        ):
            taken = branch.otherwise
            made += taken.statements
            pairs = zip(inner.pattern, taken.result, strict=True)
            made += (replace(inner, pattern=(p,), exp=Copy(a)) for p, a in pairs)
        else:
            made.append(inner)
    if made == list(exp.body.statements):
        return statement
    body = replace(exp.body, statements=tuple(made))
    return replace(statement, exp=replace(exp, body=body))


def _is_zero(exp: object) -> Size | None:
    """The size that is compared with 0."""
    if isinstance(exp, core.ScalarOp) and str(exp.operator) == "eq_i64":
        compared, zero = exp.operands
        if isinstance(zero, Constant) and zero.value == 0:
            return atom_size(compared)
    return None


def tainted_by(sources: Iterable[Stm], statements: Iterable[Stm]) -> list[Stm]:
    """Those of the statements that depend on the results of the sources."""
    names = {p.name for s in sources for p in s.pattern}
    found: list[Stm] = []
    for statement in statements:
        if not names.isdisjoint(free_names(statement)):
            names |= {p.name for p in statement.pattern}
            found.append(statement)
    return found


def needed_for(names: set[Name], statements: Sequence[Stm]) -> list[Stm]:
    """Those of the statements that lead to the names."""
    found: list[Stm] = []
    for statement in reversed(statements):
        if not names.isdisjoint(p.name for p in statement.pattern):
            names = names | free_names(statement)
            found.insert(0, statement)
    return found


@rule(paper="Prefix sums and their applications (Blelloch, 1990)")
def fuse_scans_into_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""The scans and sums that a scattering map reads become part of it.

    before:
        given (n: i64, keep: [n]i64, xs: [n]i32, ys: [n]i32)
        let ends: [n]i64 = segscan grid (j < n) operator(add_i64, (0i64), []) -> (i64) {
          let k: i64 = keep[j]
          return returns k
        }
        let last: i64 = sub_i64(n, 1i64)
        let count: i64 = ends[last]
        let zs: [n]i32 = segmap grid (i < n) -> (i32) {
          let end: i64 = ends[i]
          let x: i32 = xs[i]
          let place: i64 = sub_i64(end, 1i64)
          return writes ys [n] with ((place) = x)
        }
        return zs, last, count
    after:
        let last: i64 = sub_i64(n, 1i64)
        let (zs: [n]i32, total: i64) = segmap grid (i < n)
            seeing(scanned: i64, all: i64) of segscan grid (j < n)
            operator(add_i64, (0i64), []) -> (i64) {
              let k: i64 = keep[j]
              return returns k
            } -> (i32, i64) {
          let end: i64 = scanned
          let x: i32 = xs[i]
          let place: i64 = sub_i64(end, 1i64)
          return writes ys [n] with ((place) = x), returns_total all
        }
        let count: i64 = total
    declines: a scan is read elsewhere than at its point and its end
        like before, with
        let end: i64 = ends[i] => let end: i64 = ends[count]
    """
    exp = statement.exp
    if not isinstance(exp, SegMap) or not _scatters(exp):
        return None
    above = list(dict.fromkeys(context.definitions.values()))
    near = [s for s in above if _is_member(s.exp, exp) or is_scalar_code([s])]
    chain = needed_for(free_names(exp.body), near)
    members = [
        s for s in chain if isinstance(s.exp, ScanOrReduction) and not _feeds(s, chain)
    ]
    if not any(isinstance(s.exp, SegScan) for s in members):
        return None
    if not is_scalar_code(exp.body.statements):
        return Declined("the map has loops, checks or arrays")
    between = [s for s in above[above.index(members[0]) :] if s not in members]
    dependents = tainted_by(members, between)
    if not is_scalar_code(dependents):
        return Declined("its results are needed by other operations")
    if any(contains(s, UPDATES) for s in between):
        return Declined("what stands between may update an array that it reads")
    index = context.names.like(exp.space.indices[0])
    return _Scan(exp, index, context).of(statement, members, dependents)


def _scatters(exp: SegMap) -> bool:
    """Whether it is a map over one dimension that writes by index; others are faster
    with arrays, which vectors load and store."""
    writes = any(isinstance(r, kernels.WriteReturns) for r in exp.body.result)
    return (
        writes and exp.scan is None and exp.level == GRID and len(exp.space.sizes) == 1
    )


def _is_member(exp: object, consumer: SegMap) -> bool:
    return (
        isinstance(exp, ScanOrReduction)
        and exp.level == GRID
        and exp.space.sizes == consumer.space.sizes
        and is_scalar_code(exp.body.statements)
        and all(isinstance(t, ScalarType) for t in exp.types)
        and all(is_scalar_code(o.operator.body.statements) for o in exp.operators)
    )


def _feeds(fold: Stm, statements: Sequence[Stm]) -> bool:
    """Whether the results of a fold, not what it maps, lead to another one's."""
    count = sum(len(o.neutral) for o in getattr(fold.exp, "operators", ()))
    folded = replace(fold, pattern=fold.pattern[:count])
    return any(
        isinstance(s.exp, ScanOrReduction) for s in tainted_by([folded], statements)
    )


@mutable
class _Scan:
    """Collects the scans of one map."""

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

    def of(self, statement: Stm, members: list[Stm], dependents: list[Stm]) -> Outcome:
        """The map with all that it takes up; then what the host does after it."""
        for member in members:
            self.join(member)
        exp, fresh = self.exp, self.context.names.like
        copied = needed_for(free_names(exp.body), dependents)
        kept = needed_for(set(self.context.needed), dependents)
        names = {name: fresh(name) for s in copied for name in bound_names(s)}
        own = (*rename_to(tuple(copied), names), *exp.body.statements)
        ends = self.ends((*own, *dependents))
        body = self.rewritten(KernelBody(own, exp.body.result), self.totals, ends)
        on_host = {
            n: fresh(t) if n in self.at_point else n for n, t in self.totals.items()
        }
        after = tuple(self.rewritten(s, on_host, ends) for s in kept)
        needed = free_names(Body(after, tuple(self.context.needed)))
        wanted = {on_host[n]: t for n, t in self.totals.items() if on_host[n] in needed}
        seen, scan = self.scan(free_names(body))
        types = {p.name: p.type for p in seen}
        made = tuple(types[total] for total in wanted.values())
        results = (*body.result, *map(kernels.TotalReturns, wanted.values()))
        body = substitute(KernelBody(body.statements, results), names)
        whole = SegMap(exp.level, exp.space, body, (*exp.types, *made), seen, scan)
        pattern = (*statement.pattern, *map(Param, wanted, made))
        outcome = (replace(statement, pattern=pattern, exp=whole), *after)
        used = free_names(Body(outcome, tuple(self.context.needed)))
        if not used.isdisjoint(self.at_point):
            raise Decline("a scan is read elsewhere than at its point and its end")
        return outcome

    def join(self, member: Stm) -> None:
        """Add the operators and the body of a scan or sum."""
        exp: Any = member.exp
        known: dict[Name, Atom] = {exp.space.indices[0]: self.index}
        for original in exp.body.statements:
            statement = substitute(original, known)
            read = _read(statement)
            if read is not None and read[0] in self.passed and read[1] == self.index:
                known[statement.pattern[0].name] = self.passed[read[0]][0]
            else:
                self.statements.append(statement)
        values = [substitute(r.value, known) for r in exp.body.result]
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
            if alpha_equal(mine, (other.operator, other.neutral, known)):
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
        inner = [n for s in known for n in walk(s) if isinstance(n, Stm)]
        computed = {p.name for s in inner if size_of(s.exp) == last for p in s.pattern}
        indices = (read[1] for s in inner if (read := _read(s)))
        return computed.union(a for a in indices if atom_size(a) == last)

    def rewritten(self, node: Any, totals: Mapping[Name, Name], ends: set[Atom]) -> Any:
        """The code with parameters in place of what it read."""
        (own,) = self.exp.space.indices

        def change(inner: Any) -> Any:
            read = _read(inner)
            if read is not None:
                array, index = read
                if index == own and array in self.at_point:
                    return replace(inner, exp=Copy(self.at_point[array]))
                if index in ends and array in totals:
                    return replace(inner, exp=Copy(totals[array]))
            return map_children(inner, change)

        sums = {n: t for n, t in totals.items() if n not in self.at_point}
        return substitute(change(node), sums)


def _read(node: object) -> tuple[Name, Atom] | None:
    """The array and the index of a statement that reads an element of a vector."""
    match node:
        case Stm(_, Index(array, (index,))) if isinstance(index, Name | Constant):
            return array, index
    return None
