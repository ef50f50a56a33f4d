"""Move what is the same for all points out of loops: loads, divisions, functions.

    for (i = at; i < end; i++) {           w = ws[k];
        w = ws[k];                      →  for (i = at; i < end; i++) {
        if (i < w) A else B                    if (i < w) A else B

The device's compiler would move loads as well; but then what is loaded is known before
the loop, and conditions on it are ranges of positions (`split_loop`, `test_ranges`). A
division it leaves in the loop, behind the test of its divisor, and makes no vectors of
the loop then. The loop has at least one point, and no statement before the load leaves
it: so the load is done in any case.
"""

from __future__ import annotations

from collections import Counter

from minifut.ir.node import replace
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import used_names
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_passes.context import CodeContext, KernelOutcome
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

OPAQUE = (kc.CallFunction, kc.DeclarePointer, kc.AtomicUpdate, kc.FetchWork)
"""statements that write to memory which they do not name"""
LEAVING = (kc.Fail, kc.Return, kc.ReturnValues, kc.Break)


@rule(kc.For, paper="Muchnick, Advanced Compiler Design and Implementation, 13.2")
def hoist_invariants(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Load, divide and call before a loop over points what is the same for all.

    before:
        given (const long *xs, long *ys, long k, long n)
        for (long i = 0; i < n; i++) {
            long r = mod_i64(k, n);
            ys[i] = xs[i + r];
        }
    after:
        long r = mod_i64(k, n);
        for (long i = 0L; i < n; i++) {
            ys[i] = xs[i + r];
        }
    before:
        given (const long *xs, long *ys, long k, long n)
        long t[2];
        for (long i = 0; i < n; i++) {
            t[0] = 2;
            t[1] = 1;
            long d = t[k & 1];
            ys[i] = xs[i + d];
        }
    after:
        t[0L] = 2L;
        t[1L] = 1L;
        long d = t[k & 1L];
        for (long i = 0L; i < n; i++) {
            ys[i] = xs[i + d];
        }
    before:
        given (const long *ws, const long *xs, long *ys, long k, long n)
        for (long i = 0; i < n; i++) {
            long at = k + 1;
            long w = ws[at];
            long x = xs[i];
            ys[i] = x + w;
        }
    after:
        long at = k + 1L;
        long w = ws[at];
        for (long i = 0L; i < n; i++) {
            long x = xs[i];
            ys[i] = x + w;
        }
    declines: nothing that takes long is the same for all points
        like before, with
        k + 1 => i + 1
    declines: nothing that takes long is the same for all points
        given (const long *xs, long *ys, long k, long n)
        long t[2];
        for (long i = 0; i < n; i++) {
            t[0] = 2;
            long d = t[k & 1];
            t[0] = 1;
            ys[i] = xs[i + d];
        }
    declines: nothing that takes long is the same for all points
        like declines, with
        t[0] = 2; =>
        t[0] = 1 => t[0] = 2
    """
    if not loop.body.statements or contains(loop.body, OPAQUE):
        return None
    moved = _invariants_of(loop)
    if not moved:
        return Declined("nothing that takes long is the same for all points")
    kept = tuple(s for s in loop.body.statements if s not in moved)
    return (*moved, replace(loop, body=kc.Block(kept)))


def _takes_long(exp: kc.Expression) -> bool:
    """Whether it loads, divides or calls a function."""
    return any(
        isinstance(node, kc.Load)
        or operator_cost(node.operator) is not OperatorCost.ADDITION
        for node in nodes_of(kc.Load | kc.Operation, exp)
    )


def _table_of(loop: kc.For) -> list[kc.Store]:
    """The stores in private arrays in which each point stores the same constants."""
    top = [s for s in loop.body.statements if isinstance(s, kc.Store)]
    stores = [s for s in top if s.memory.space == "private" and _is_constant(s)]
    if not stores:
        return stores
    later: set[kc.Memory] = set()
    others = {s.memory for s in nodes_of(kc.Store, loop.body) if s not in stores}
    others |= {d.memory for d in nodes_of(kc.DeclareArray, loop.body)}
    places = Counter((s.memory, str(s.index)) for s in stores)
    others |= {memory for (memory, _), count in places.items() if count > 1}
    for statement in reversed(loop.body.statements):
        if statement in stores:
            later.add(statement.memory)
        else:
            others |= {n.memory for n in nodes_of(kc.Load, statement)} & later
    return [s for s in stores if s.memory not in others]


def _is_constant(store: kc.Store) -> bool:
    exps = (store.index, store.exp)
    return store.mask is None and all(isinstance(exp, kc.Literal) for exp in exps)


def _invariants_of(loop: kc.For) -> tuple[kc.Declare | kc.Store, ...]:
    """Declarations of what takes long and is the same for all points, and of what that
    needs, after constants in private arrays."""
    body, table = loop.body.statements, _table_of(loop)
    tables = {store.memory for store in table}
    stores = [s for s in nodes_of(kc.Store, loop.body) if s.memory not in tables]
    varying = {loop.variable.name, *assigned(body), *(s.memory.name for s in stores)}
    same: list[kc.Declare] = []
    loading = True
    for statement in body:
        loading = loading and not contains(statement, LEAVING)
        if not isinstance(statement, kc.Declare) or statement.init is None:
            continue
        known = not varies(statement.init, varying)
        if known and (loading or not _takes_long(statement.init)):
            same.append(statement)
        elif isinstance(statement.variable, kc.Variable):
            varying.add(statement.variable.name)
    needed: set[Name] = set()
    moved: list[kc.Declare | kc.Store] = []
    for declared in reversed(same):
        assert declared.init is not None
        if _takes_long(declared.init) or not needed.isdisjoint(
            used_names(declared.variable)
        ):
            moved.insert(0, declared)
            needed |= used_names(declared.init)
    return (*table, *moved)
