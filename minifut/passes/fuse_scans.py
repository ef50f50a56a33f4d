r"""Pass: scans and reductions become part of the map that reads their results.

    let (ends, kept) = segscan grid (j < n) {add, 0} {.. returns one, returns keep}
    let ys = segmap grid (i < n) {.. ends[i] .. kept[i] .. writes a with [place] = x}
  →
    let ys = segmap grid (i < n) seeing (end, keep, total) of segscan .. {
      .. writes a with [place] = x}

Filters, partitions, and sorts by bits or digits scan flags to find positions; others
compare elements with the greatest one before, or divide sums by counts. What is scanned
is not stored any more: the body of the scan, which is cheap, runs twice. Several scans
and sums become one of several operators. A sum, and the last element of a scan, are
totals; what the host computes of them for the map alone, the map does itself.

If the map writes by index and some scans add integers, only these become part of it: it
may be a partition of its points, which is written without branches. What others scan is
stored by vectors.

Conditions: one dimension; scalar code without loops, and without checks but those of a
map that does not scatter, and those of flags by which a map scatters, which are
computed once; scanned arrays are read at the
point, at the one before and at their end only, by no other scan; by others than
the map only behind it, and if it does not write by index; nothing in between may update
an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from minifut.analysis.cheap_elements import has_cheap_elements
from minifut.analysis.operators import combines_by
from minifut.ir import core, kernels
from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Body, Constant, Copy, Program, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.kernels import GRID, SegMap, SegRed, SegScan
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.search import contains, nodes_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import operand_count
from minifut.ir.traverse import atom_size, bound_names, free_names
from minifut.ir.types import BOOL, INTEGERS, ScalarType
from minifut.names import Name, NameSource
from minifut.passes import scan_of_map
from minifut.passes.flatten.cheap import is_scalar_code
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace

ScanOrReduction: TypeAlias = SegScan | SegRed
LONGEST_FLAGS = 96
"""number of statements that give the flags of a map that scatters by them"""
UPDATES = (core.Update, core.Apply, WithAcc, kernels.WriteReturns, kernels.SegHist)


def fuse_scans(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Make scans and sums part of the maps that scatter by them."""
    derivation = Derivation(trace or Trace())
    context = StatementContext(names, scope_of(program), {}, derivation=derivation)

    @cache  # few programs have a map with a scan
    def empty() -> dict[Name, Size]:
        sizes = scan_of_map.sizes_by_name(nodes_of(Stm, program))
        return {
            node.pattern[0].name: size.substitute(sizes)
            for node in nodes_of(Stm, program)
            if (size := _is_zero(node.exp)) is not None
        }

    def fused(body: Body) -> Body:
        inside = tuple(map_bodies(s, fused) for s in body.statements)
        joined = _joined(replace(body, statements=inside), context)
        with_points = tuple(_with_points(s, empty) for s in joined.statements)
        return replace(joined, statements=with_points)

    made: Program = map_bodies(program, fused)
    return made


def _joined(body: Body, context: StatementContext) -> Body:
    """The body after fusion into its maps, one after the other; first into those that
    write by index, which may be partitions of their points."""
    if not any(isinstance(s.exp, SegScan) for s in body.statements):
        return body
    maps = [
        at
        for at, statement in enumerate(body.statements)
        if isinstance(statement.exp, SegMap) and _is_on_vector(statement.exp)
    ]
    for at in sorted(
        maps, key=lambda at: not scan_of_map.writes_by_index(body.statements[at].exp)
    ):
        statement = body.statements[at]
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
            moved = {name for s in outcome for name in bound_names(s)}
            rest = (s for s in above if moved.isdisjoint(bound_names(s)))
            made = Body((*rest, *outcome, *after), body.result)
            return _joined(remove_dead_code_in(made), context)
    return body


def _with_points(statement: Stm, empty: Callable[[], Mapping[Name, Size]]) -> Stm:
    """A map over the results of a scan, where `if n == 0` is decided: it has points.
    `empty`: the sizes that are compared with 0, by the names of the results."""
    exp = statement.exp
    if not isinstance(exp, SegMap) or exp.scan is None:
        return statement
    made: list[Stm] = []
    for inner in exp.body.statements:
        branch = inner.exp
        test = branch.condition if isinstance(branch, core.If) else None
        if isinstance(branch, core.If) and (
            isinstance(test, Name) and empty().get(test) == exp.space.sizes[0]
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


@rule(SegMap, paper="Prefix sums and their applications (Blelloch, 1990)")
def fuse_scans_into_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""The scans and sums that a map reads become part of it.

    before:
        given (n: i64, xs: [n]i32)
        let most: [n]i32 = segscan grid (j < n)
            operator(max_i32, (-2147483648i32), []) -> (i32) {returns xs[j]}
        let records: [n]bool = segmap grid (i < n) -> (bool) {
          let y: i32 = xs[i]
          let later: bool = ge_i64(i, 1i64)
          let above: bool = if later then {
            let previous: i64 = sub_i64(i, 1i64)
            let m: i32 = most[previous]
            return gt_i32(y, m)
          } else {true}
          return returns above
        }
        return records, most
    after:
        like before, with
        let most: [n]i32 = segscan grid (j < n)
        => let (records: [n]bool, most: [n]i32) = segmap grid (i < n)
        =>     seeing(scanned: i32, total: i32) of segscan grid (j < n)
        let records: [n]bool = segmap grid (i < n) -> (bool)
        => after(before: i32) -> (bool, i32)
        most[previous] => before
        returns above => returns above, returns scanned
    before:
        given (n: i64, keep: [n]i64, xs: [n]i32, ys: [n]i32)
        let ends: [n]i64 = segscan grid (j < n) operator(add_i64, (0i64), []) -> (i64) {
          return returns keep[j]
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
            operator(add_i64, (0i64), []) -> (i64) {returns keep[j]} -> (i32, i64) {
          let end: i64 = scanned
          let x: i32 = xs[i]
          let place: i64 = sub_i64(end, 1i64)
          return writes ys [n] with ((place) = x), returns_total all
        }
        let count: i64 = total
    before:
        given (n: i64, xs: [n]i32, ys: [n]i64)
        let (ends: [n]i64, kept: [n]bool) = segscan grid (j < n)
            operator(add_i64, (0i64), []) -> (i64, bool) {
          let x: i32 = xs[j]
          let known: bool = ne_i32(x, 99i32)
          let () = assert(known, ["unknown"], ["a.fut:1:1"])
          let keep: bool = lt_i32(x, 0i32)
          let one: i64 = convert_bool_i64(keep)
          return returns one, returns keep
        }
        let zs: [n]i64 = segmap grid (i < n) -> (i64) {
          let end: i64 = ends[i]
          let flag: bool = kept[i]
          let to: i64 = if flag then {sub_i64(end, 1i64)} else {-1i64}
          return writes ys [n] with ((to) = i)
        }
        return zs
    after:
        like before, with
        let (ends: [n]i64, kept: [n]bool) = segscan grid (j < n)
        => let zs: [n]i64 = segmap grid (i < n)
        =>     seeing(scanned: i64, kept: bool, total: i64) of segscan grid (j < n)
        let zs: [n]i64 = segmap grid (i < n) -> (i64)
        => -> (i64)
        ends[i] => scanned
        kept[i] => kept
    declines: a scan is read elsewhere than at its point and its end
        like before, with
        let end: i64 = ends[i] => let end: i64 = ends[count]
    """
    exp = statement.exp_of(SegMap)
    if not _is_on_vector(exp):
        return None
    above = list(dict.fromkeys(context.definitions.values()))
    near = [s for s in above if _is_member(s.exp, exp) or is_scalar_code([s])]
    chain = scan_of_map.needed_for(free_names(exp.body), near)
    members = [
        s for s in chain if isinstance(s.exp, ScanOrReduction) and not _feeds(s, chain)
    ]
    if scan_of_map.writes_by_index(exp):
        kept = [s for s in members if isinstance(s.exp, SegRed) or _adds(s.exp)]
        members = kept if any(isinstance(s.exp, SegScan) for s in kept) else members
    if not any(isinstance(s.exp, SegScan) for s in members):
        return None
    checked = not scan_of_map.writes_by_index(exp)
    if not is_scalar_code(exp.body.statements, checked=checked):
        return Declined("the map has loops or arrays, or scatters and has checks")
    folds = [s.exp for s in members if isinstance(s.exp, ScanOrReduction)]
    cheap = all(has_cheap_elements(fold.body.statements) for fold in folds)
    if not scan_of_map.writes_by_index(exp) and not cheap:
        return Declined("elements are too expensive to be computed twice")
    between = [s for s in above[above.index(members[0]) :] if s not in members]
    dependents = tainted_by(members, between)
    if not is_scalar_code(dependents):
        return Declined("its results are needed by other operations")
    if any(contains(s, UPDATES) for s in between):
        return Declined("what stands between may update an array that it reads")
    index = context.names.like(exp.space.indices[0])
    return scan_of_map.ScanOfMap(exp, index, context).of(statement, members, dependents)


def _is_on_vector(exp: SegMap) -> bool:
    """Whether it is a map over one dimension that gives scalars."""
    on_grid = exp.level == GRID and len(exp.space.sizes) == 1
    scalars = all(isinstance(t, ScalarType) for t in exp.types)
    return exp.scan is None and exp.steps is None and on_grid and scalars


def _is_member(exp: object, consumer: SegMap) -> bool:
    return (
        isinstance(exp, ScanOrReduction)
        and exp.level == GRID
        and exp.space.sizes == consumer.space.sizes
        and (
            is_scalar_code(exp.body.statements)
            or (scan_of_map.writes_by_index(consumer) and _gives_flags(exp))
        )
        and all(isinstance(t, ScalarType) for t in exp.types)
        and all(is_scalar_code(o.operator.body.statements) for o in exp.operators)
    )


def _gives_flags(exp: SegScan | SegRed) -> bool:
    """Whether it is scalar code, with checks, whose truth values are counted."""
    body = exp.body
    results = body.result[: operand_count(exp.operators)]
    counted = {r.value for r in results if isinstance(r, kernels.Returns)}
    flags = {
        p.name
        for statement in body.statements
        for p in statement.pattern
        if isinstance(statement.exp, core.ScalarOp)
        and statement.exp.operator.operands == (BOOL,)
    }
    long = LONGEST_FLAGS
    return counted <= flags and is_scalar_code(body.statements, long, checked=True)


def _adds(exp: core.Exp) -> bool:
    """Whether all operators add integers."""
    return isinstance(exp, ScanOrReduction) and all(
        combines_by(o.operator, ("add",), INTEGERS) for o in exp.operators
    )


def _feeds(fold: Stm, statements: Sequence[Stm]) -> bool:
    """Whether the results of a fold, not what it maps, lead to another one's."""
    count = operand_count(getattr(fold.exp, "operators", ()))
    folded = replace(fold, pattern=fold.pattern[:count])
    return any(
        isinstance(s.exp, ScanOrReduction) for s in tainted_by([folded], statements)
    )
