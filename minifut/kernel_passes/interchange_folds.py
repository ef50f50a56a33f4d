"""Interchange folds of rows with the loops over their elements.

    for (c..) row[c] = 0;                   for (c..) {
    for (k..) {                                 kept = 0;
        x = xs[k];                      →       for (k..) {x = xs[k]; kept += a[x + c];}
        for (c..) row[c] += a[x + c];           row[c] = kept;
    }                                       }

Elements are then points that fold, of which `vectorise` makes vectors of accumulators
in registers: a row in memory is loaded and stored in each round. A point has two
elements, a vector apart, as long as there are: what a round computes for all elements
is computed once for each point, so that it has to be little. All rounds read their rows
piece by piece, which shall be in the cache until the last piece is read.

Conditions: the elements of a round are independent, nothing else is written, and no
other name is one of the same memory (a kernel that is `fresh`).

Source: Allen, Kennedy, "Optimizing Compilers for Modern Architectures" (2001), 5.2;
Futhark's rule ISRWIM does the same to reductions of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.node import immutable, replace
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children, rename_to, used_names, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.drop_fills import filled_by
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.index_ranges import as_size, factor_of
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.context import WIDTHS
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

ONE, ZERO = kc.Literal(1, kc.LONG), kc.Literal(0, kc.LONG)
LARGEST = 1 << 15
"""elements that all rounds read: 128 KB of four bytes"""
BLOCK = 2 * WIDTHS[0]
"""elements of a point times those of the longest vector"""
LONGEST = 48
"""nodes of what is computed for all elements of a round"""
SCALAR_CODE = (kc.Expression, kc.Declare, kc.Assign, kc.Branch, kc.Block, kc.Comment)


def interchange_folds(k: KernelEditor) -> None:
    """Fold the elements of rows in registers instead of rows in memory."""
    if k.kernel.fresh:
        k.change_blocks(partial(rewritten, interchange_fold, context=CodeContext(k)))


@rule(
    kc.Block,
    paper="Allen, Kennedy, Optimizing Compilers for Modern Architectures (2001), 5.2",
)
def interchange_fold(block: kc.Block, context: CodeContext) -> KernelOutcome:
    """Fold each element of a row in a register instead of rows in memory.

    before:
        given (const float *xs, const float *zs, float *ys, long n, long m)
        {
            for (long c = 0; c < m; c++) {
                ys[c] = 0.0f;
            }
            for (long k = 0; k < n; k++) {
                float x = xs[k];
                for (long j = 0; j < m; j++) {
                    ys[j] = ys[j] + (x * zs[j]);
                }
            }
        }
    after:
        if ((m >= 16L) && ((n * m) <= 32768L)) {
            long whole = m - (m % 32L);
            for (long block = 0L; block < whole; block += 32L) {
                for (long lane = 0L; lane < 16L; lane++) {
                    long lane_1 = block + lane;
                    float kept = 0.0f;
                    long lane_2 = (block + 16L) + lane;
                    float kept_1 = 0.0f;
                    for (long k = 0L; k < n; k++) {
                        float x = xs[k];
                        kept = kept + (x * zs[lane_1]);
                        kept_1 = kept_1 + (x * zs[lane_2]);
                    }
                    ys[lane_1] = kept;
                    ys[lane_2] = kept_1;
                }
            }
            for (long c = whole; c < m; c++) {
                long c_1 = c;
                float kept_2 = 0.0f;
                for (long k = 0L; k < n; k++) {
                    float x = xs[k];
                    kept_2 = kept_2 + (x * zs[c_1]);
                }
                ys[c_1] = kept_2;
            }
        } else {
            for (long c_2 = 0L; c_2 < m; c_2++) {
                ys[c_2] = 0.0f;
            }
            for (long k = 0L; k < n; k++) {
                float x = xs[k];
                for (long j = 0L; j < m; j++) {
                    ys[j] = ys[j] + (x * zs[j]);
                }
            }
        }
    declines: no loop folds the row that is filled
        like before, with
        for (long k = 0; k < n; k++) => if (n > 0)
        xs[k] => xs[0]
    declines: a round does more than fold the row
        like before, with
        ys[j] = ys[j] + (x * zs[j]); => ys[j] = ys[j] + ys[m - j];
    """
    if len(block.statements) < 2:
        return None
    fill, *others = block.statements
    memory = filled_by(fill)
    if memory is None or not isinstance(fill, kc.For):
        return None
    if fill.rounds is not None and fill.rounds < WIDTHS[0]:
        return None
    between = 0
    while between < len(others) and isinstance(others[between], kc.Declare):
        between += 1
    loop = others[between] if between < len(others) else None
    if not isinstance(loop, kc.For) or not loop.body.statements:
        return Declined("no loop folds the row that is filled")
    *shared, elements = loop.body.statements
    ends = (fill.start, fill.bound, fill.step)
    if not isinstance(elements, kc.For) or not (
        alpha_equal((elements.start, elements.bound, elements.step), ends)
        and alpha_equal(fill.start, ZERO)
        and fill.counts_by_ones
        and loop.counts_by_ones
    ):
        return Declined("no loop folds the row that is filled")
    made = _Fold(memory, fill, tuple(shared), elements)
    before = tuple(others[:between])
    inside = declared(loop.body.statements) | {loop.variable.name}
    if not made.is_all(inside) or memory in kc.loaded_by(before):
        return Declined("a round does more than fold the row")
    rounds, length = loop.bound - loop.start, fill.bound
    fits = rounds * length <= kc.Literal(LARGEST, kc.LONG)
    long_enough = length >= kc.Literal(WIDTHS[0], kc.LONG)
    with context.k.nested() as interchanged:
        made.emit_interchanged(context.k, loop)
    branch = kc.Branch(
        kc.all_of([long_enough, fits]),
        kc.Block(tuple(interchanged)),
        kc.Block((fill, loop)),
    )
    return (*before, branch, *others[between + 1 :])


@immutable
class _Fold:
    """A loop that fills a row, and the body of one that folds it: what is computed for
    all elements, and the loop over those."""

    memory: kc.Memory
    fill: kc.For
    shared: tuple[kc.Statement, ...]
    elements: kc.For

    def is_all(self, inside: frozenset[Name]) -> bool:
        """Whether a round reads and writes nothing of the row but the element of each
        point, and nothing else is written; `inside` are the variables of the loop."""
        body = self.elements.body
        own = declared(self.shared) | declared(body.statements)
        scalar = (*SCALAR_CODE, kc.Fail)
        return (
            all(isinstance(node, scalar) for s in self.shared for node in walk(s))
            and all(isinstance(n, (*SCALAR_CODE, kc.Store)) for n in _inside(body))
            and self.memory not in kc.loaded_by(self.shared)
            and assigned((*self.shared, *body.statements)) <= own
            and sum(1 for s in self.shared for _ in walk(s)) <= LONGEST
            and not any(map(calls_functions, self.shared))
            and self.is_own(inside)
        )

    def is_own(self, inside: frozenset[Name]) -> bool:
        """Whether all accesses of elements to the row are at one element, which is that
        of the fill, and others only load."""
        (store,) = self.fill.body.statements
        assert isinstance(store, kc.Store)
        filled = as_size(store.index)
        counter, element = self.fill.variable.name, self.elements.variable.name
        if filled is None or factor_of(filled, counter) != 1:
            return False
        place = filled.substitute({counter: Size.of(element)})
        if not (set(place.names()) - {element}).isdisjoint(inside):
            return False
        if not used_names(store.exp).isdisjoint(inside):
            return False
        accesses = list(nodes_of(kc.Load | kc.Store, self.elements.body))
        own = [n for n in accesses if n.memory == self.memory]
        stores = [n for n in accesses if isinstance(n, kc.Store)]
        return (
            len(own) > len(stores) == 1
            and stores[0].memory == self.memory
            and stores[0] in self.elements.body.statements
            and all(as_size(access.index) == place for access in own)
        )

    def emit_interchanged(self, k: CodeBuilder, loop: kc.For) -> None:
        """Loops over elements, around the fold of each: of blocks, and of the rest."""
        width, end = kc.Literal(WIDTHS[0], kc.LONG), self.fill.bound
        whole = k.declare("whole", end - end % BLOCK)
        with k.loop("block", whole, 0, BLOCK) as block:
            lane = k.variable("lane", kc.LONG)
            places = [block + at + lane for at in range(0, BLOCK, WIDTHS[0])]
            self.emit_points(k, loop, lane, (ZERO, width), places)
        rest = k.variable(self.fill.variable.name.base, kc.LONG)
        self.emit_points(k, loop, rest, (whole, end), [rest])

    def emit_points(
        self,
        k: CodeBuilder,
        loop: kc.For,
        counter: kc.Variable,
        ends: tuple[kc.Expression, kc.Expression],
        places: Sequence[kc.Expression],
    ) -> None:
        """A loop over points, each with the elements of the row at `places`."""
        (store,) = self.fill.body.statements
        body, folded = self.elements.body, list(self.shared)
        with k.nested() as point:
            stores = []
            for place in places:
                at = k.declare(counter.name.base, place)
                stored = rename_to(store, {self.fill.variable.name: at.name})
                assert isinstance(stored, kc.Store)
                kept = k.declare("kept", stored.exp)
                renamed = k.fresh_names(body.statements)
                renamed[self.elements.variable.name] = at.name
                folded.extend(self.moved(rename_to(body, renamed), kept).statements)
                stores.append(replace(stored, exp=kept))
            k.emit(replace(loop, body=kc.Block(tuple(folded))))
            k.statements.extend(stores)
        block = kc.Block(tuple(point))
        k.emit(kc.For(counter, *ends, ONE, block, points=True, expensive=True))

    def moved(self, node: Any, kept: kc.Variable) -> Any:
        """The same with the element of the row in a variable."""
        match node:
            case kc.Load(memory) if memory == self.memory:
                return kept
            case kc.Store(_, _, exp):
                return kc.Assign(kept, self.moved(exp, kept))
        return map_children(node, lambda child: self.moved(child, kept))


def _inside(block: kc.Block) -> list[Any]:
    return [node for statement in block.statements for node in walk(statement)]
