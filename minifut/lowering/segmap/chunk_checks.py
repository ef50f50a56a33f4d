"""Checks of a chunk of points (of a map, or the range of a fold or scan), tested before
any of its work.

    for all points i: if (!(k[i] < n)) fail; ys[i] = xs[k[i]]

    fine = true
    for (i in chunk) fine = fine & (k[i] < n)        vectors: nothing leaves the loop
    if (fine) for (i in chunk) ys[i] = xs[k[i]]      vectors
    else      for (i in chunk) as above              finds the failing point again

A `return` in a loop stops the device's vectoriser. The conditions must follow from what
may be computed without any check: from operators, which are total, and from reads that
no branch precedes, nor a check, unless they are proved to be within bounds. Computing
them once more costs less than a point at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from minifut.analysis.simple_points import is_simple
from minifut.immutables import fixed
from minifut.ir import core, kernels, scalar_table, search, traverse
from minifut.ir.builder import FALSE, TRUE, Builder
from minifut.ir.core import Assert, Atom, Body, If, Index, ScalarOp, Stm
from minifut.ir.node import replace
from minifut.ir.scalars import operator, operator_cost
from minifut.ir.types import BOOL
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.segmap.read_bounds import BoundsProver
from minifut.names import Name
from minifut.rewrite.rule import Declined, decision

LARGEST = 24
"""statements that conditions may need"""
TOTAL = (ScalarOp, core.SizeExp, core.Copy)


SegmentedT = TypeVar("SegmentedT", kernels.SegMap, kernels.SegRed | kernels.SegScan)


@fixed
class ChunkChecks(Generic[SegmentedT]):
    """`statements` compute whether all checks of a point hold, `condition`; `checked`
    is the operation, `unchecked` the same without them."""

    statements: tuple[Stm, ...]
    condition: Atom
    sufficient: tuple[Atom, ...]
    """what is the same at all points: if all of it holds, all checks do; empty if
    nothing is known to suffice"""
    checked: SegmentedT
    unchecked: SegmentedT

    @property
    def is_cheap(self) -> bool:
        """Whether elements are only loaded and compared: to do so for all points of a
        chunk, before what they read at loaded places, takes less than to clamp."""
        return all(map(_is_cheap, self.statements))


@decision(paper="Hoisting checks: Gupta, Optimizing array bound checks (1993)")
def test_chunks_first(
    operation: SegmentedT, host: HostBuilder
) -> ChunkChecks[SegmentedT] | Declined | None:
    """Test the checks of all points of a chunk in a loop of their own.

    before:
        given (n: i64, ks: [n]i64, xs: [n]i64)
        let ys: [n]i64 = segmap grid (i < n) -> (i64) {
          let k: i64 = ks[i]
          let rest: i64 = and_i64(k, 0i64)
          let below: bool = le_i64(rest, i)
          let () = assert(below, ["outside"], [])
          return returns xs[rest]
        }
    after:
            int fine = 1;
            PARALLEL
            for (long i = block; i < end; i++) {
        ..
                fine = fine & ((int)below);
            }
            if (fine != 0) {
            PARALLEL
        ..
            } else {
        ..
                    if (RARELY((!below_2))) {
    declines: a condition needs what a check stands before
        given (n: i64, ks: [n]i64, xs: [n]i64)
        let ys: [n]i64 = segmap grid (i < n) -> (i64) {
          let zero: i64 = and_i64(i, 0i64)
          let first: bool = le_i64(zero, i)
          let () = assert(first, ["outside"], [])
          let k: i64 = ks[zero]
          let nil: i64 = xor_i64(k, k)
          let l: i64 = ks[nil]
          let none: i64 = xor_i64(l, l)
          let below: bool = le_i64(none, i)
          let () = assert(below, ["outside"], [])
          return returns xs[none]
        }
    """
    body = operation.body
    if not has_checks(body):
        return None
    unchecked = replace(operation, body=without_checks(body))
    if not is_simple(unchecked):
        return Declined("points are not independent scalar code without their checks")
    found: _Conditions = _Conditions(
        Builder(host.names, {}), lambda: BoundsProver(operation, host)
    )
    condition = found.of(body.statements)
    wanted = {condition} if isinstance(condition, Name) else set()
    needed: list[Stm] = []
    for statement in reversed((*found.early, *found.build.statements)):
        if wanted & {p.name for p in statement.pattern}:
            needed.insert(0, statement)
            wanted |= traverse.free_names(statement.exp)
    late = set(traverse.bound_names(body)) - {p.name for s in needed for p in s.pattern}
    if wanted & late:
        return Declined("a condition needs what a check stands before")
    if len(needed) > LARGEST:
        return Declined("the conditions take much code")
    sufficient = _sufficient(body.statements)
    return ChunkChecks(tuple(needed), condition, sufficient, operation, unchecked)


def _sufficient(statements: tuple[Stm, ...]) -> tuple[Atom, ...]:
    """What is computed outside of a body, of which all implies the checks in it."""
    own = {p.name: s.exp for s in statements for p in s.pattern}
    found: dict[Atom, None] = {}
    waiting: list[Atom] = []
    for statement in statements:
        if isinstance(statement.exp, Assert):
            waiting.append(statement.exp.condition)
        elif has_checks(statement.exp):
            return ()
    while waiting:
        atom = waiting.pop()
        exp = own.get(atom) if isinstance(atom, Name) else None
        parts = exp.operands if isinstance(exp, ScalarOp) else ()
        shared = [part for part in parts if part not in own]
        if exp is None and isinstance(atom, Name):
            found[atom] = None
        elif isinstance(exp, ScalarOp) and str(exp.operator) == "and_bool":
            waiting += parts
        elif shared and isinstance(exp, ScalarOp) and str(exp.operator) == "or_bool":
            found[shared[0]] = None
        else:
            return ()
    return tuple(found)


def _is_cheap(statement: Stm) -> bool:
    exp = statement.exp
    if isinstance(exp, ScalarOp):
        types = (exp.operator.result, *exp.operator.operands)
        cheap = operator_cost(exp.operator) is scalar_table.OperatorCost.ADDITION
        return cheap and not any(type_.is_float for type_ in types)
    return isinstance(exp, Index | core.SizeExp | core.Copy)


class _Conditions:
    """Collects what the checks of a body test, and what may be computed before any of
    them (`early`)."""

    def __init__(self, build: Builder, reads: Callable[[], BoundsProver]) -> None:
        self.build = build
        self.make_reads = reads
        self.reads: BoundsProver | None = None
        self.seen: list[Stm] = []
        self.early: list[Stm] = []
        self.checked = False

    def of(self, statements: tuple[Stm, ...], branches: bool = False) -> Atom:
        """Whether all checks among the statements hold."""
        condition: Atom = TRUE
        for statement in statements:
            exp = statement.exp
            here: Atom = TRUE
            self.seen.append(statement)
            if isinstance(exp, Assert):
                here, self.checked = exp.condition, True
            elif isinstance(exp, If) and has_checks(exp):
                then = self.of(exp.then.statements, branches=True)
                otherwise = self.of(exp.otherwise.statements, branches=True)
                here = self.chosen(exp.condition, then, otherwise)
            elif (
                isinstance(exp, TOTAL)
                or (isinstance(exp, If) and _is_total(exp))
                or (isinstance(exp, Index) and not branches and self.is_total(exp))
            ):
                self.early.append(statement)
            condition = self.both("and", condition, here)
        return condition

    def is_total(self, read: Index) -> bool:
        """Whether a read is before all checks, or needs none."""
        if not self.checked:
            return True
        if self.reads is None:
            self.reads = self.make_reads()
        for statement in self.seen:
            self.reads.define(statement)
        self.seen.clear()
        return self.reads.is_inside(read)

    def both(self, name: str, one: Atom, other: Atom) -> Atom:
        neutral = TRUE if name == "and" else FALSE
        if neutral in (one, other):
            return other if one == neutral else one
        exp = ScalarOp(operator(name, BOOL), (one, other))
        return self.build.let(exp, "fine", BOOL)

    def chosen(self, condition: Atom, then: Atom, otherwise: Atom) -> Atom:
        """The conditions of the branch that is taken."""
        opposite = ScalarOp(operator("not", BOOL), (condition,))
        beside = self.both("or", self.build.let(opposite, "other", BOOL), then)
        if then == TRUE:
            beside = TRUE
        if otherwise == TRUE:
            return beside
        return self.both("and", beside, self.both("or", condition, otherwise))


def has_checks(node: object) -> bool:
    """Whether something inside may fail."""
    return search.contains(node, Assert)


def _is_total(exp: If) -> bool:
    return all(isinstance(n.exp, (*TOTAL, If)) for n in search.nodes_of(Stm, exp))


def without_checks(node: Any) -> Any:
    """The same without its checks, also those within."""
    if isinstance(node, Body | kernels.KernelBody):
        kept = (s for s in node.statements if not isinstance(s.exp, Assert))
        return replace(node, statements=tuple(map(without_checks, kept)))
    return traverse.map_children(node, without_checks)
