"""Prefetch what loops with indirect accesses read at unit stride.

    for (i ..) {                          for (i ..) {
        if (is[i] < n)             →          PREFETCH(is + i + 128);
            ys[is[i]] = xs[i];                PREFETCH(xs + i + 256);
    }                                         if (is[i] < n) ys[is[i]] = xs[i]; }

The reorder window of a core spans some hundred instructions. A hardware prefetcher
covers unit-stride loads, but while indirect accesses miss the cache and fill the
window, the loads of their addresses are issued too late. Measured on PoCL with 2^24
keys and AVX-512: a histogram into 8192 bins takes 0.4 of the time, one into 2^20 bins
0.6, a gather 0.7 to 0.9. With AVX2 alone (Zen 3) prefetches change neither of these,
and sparse products with rows of 16 take 1.1 to 1.4 times as long: there the macro
stands for nothing.

Conditions: the loop has an access whose address depends on loaded data, is innermost,
is not marked for vectorisation by the device's compiler, and is not known to be short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minifut.ir.sizes import ZERO, Size
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext
from minifut.kernel_passes.editor import KernelEditor, rewrite_scalar_loops
from minifut.kernel_passes.vectorise.varying import find_loaded, varies
from minifut.names import Name
from minifut.rewrite.rule import Declined, Remark, rule

PREFETCH_DISTANCE = 1024
"""bytes from a load to its prefetch"""
FEWEST_ITERATIONS = 64
"""a shorter loop ends before its prefetches arrive"""
MOST_STREAMS = 8
"""prefetches in one iteration"""


def prefetch_streams(k: KernelEditor) -> None:
    """Apply the rule to all innermost loops of a kernel."""
    rewrite_scalar_loops(k, prefetch_unit_stride_loads)


def _remark(loop: kc.For, context: CodeContext) -> Remark:
    prefetches = stream_prefetches(loop.body.statements, loop.variable)[:MOST_STREAMS]
    names = dict.fromkeys(each.memory.name.base for each in prefetches)
    return Remark(
        (f"{', '.join(names)}, {PREFETCH_DISTANCE} bytes ahead of the loads",)
    )


@rule(remark=_remark)
def prefetch_unit_stride_loads(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Prefetch the unit-stride loads of a loop that has indirect accesses.

    before:
        given (const long *is, const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            long at = is[i];
            if (at >= 0 && at < n) {
                ys[at] = xs[i];
            }
        }
    after:
        for (long i = 0L; i < n; i++) {
            PREFETCH(is + (i + 128));
            PREFETCH(xs + (i + 256));
            long at = is[i];
            if ((at >= 0L) && (at < n)) {
                ys[at] = xs[i];
            }
        }
    declines: it has no loads of unit stride
        given (const long *is, float *ys, long n)
        for (long i = 0; i < n; i++) {
            ys[is[i * 2]] = 1.0f;
        }
    """
    if not isinstance(loop, kc.For) or not has_indirect_access(loop.body):
        return None
    body = loop.body.statements
    if loop.rounds is not None and loop.rounds < FEWEST_ITERATIONS:
        return Declined(f"it has only {loop.rounds} iterations")
    prefetches = stream_prefetches(body, loop.variable)[:MOST_STREAMS]
    if not prefetches:
        return Declined("it has no loads of unit stride")
    return (replace(loop, body=kc.Block((*prefetches, *body))),)


def stream_prefetches(
    body: Sequence[kc.Statement], index: kc.Variable
) -> list[kc.Prefetch]:
    """Prefetches of the global loads of a body at unit stride in `index`, one for
    loads of the same memory whose addresses differ by a constant."""
    nodes = [node for statement in body for node in walk(statement)]
    declared = {n.variable for n in nodes if isinstance(n, kc.Declare)}
    own = {v.name for v in declared if isinstance(v, kc.Variable)}
    own |= {n.index for n in nodes if isinstance(n, kc.Unrolled)} | {index.name}
    found: dict[tuple[Name, Size], kc.Prefetch] = {}
    for load in nodes:
        place = _size(load.index) if isinstance(load, kc.Load) else None
        if place is None or load.memory.space != "global":
            continue
        rest = place - Size.of(index.name)
        if rest.names().isdisjoint(own):
            constant = rest.substitute(dict.fromkeys(rest.names(), ZERO))
            later = place + PREFETCH_DISTANCE // load.memory.element.bytes
            prefetch = kc.Prefetch(load.memory, kc.SizeValue(later))
            found.setdefault((load.memory.name, rest - constant), prefetch)
    return list(found.values())


def _size(index: kc.Expression) -> Size | None:
    match index:
        case kc.SizeValue(size, _):
            return size
        case kc.Variable(name, _):
            return Size.of(name)
    return None


def has_indirect_access(body: kc.Block) -> bool:
    """Whether a load or store has a data-dependent address."""
    if kc.Load not in kc.classes_in(body):
        return False
    loaded = find_loaded(body, by_branches=False)
    accesses = (n for n in walk(body) if isinstance(n, kc.Load | kc.Store))
    return any(varies(access.index, loaded) for access in accesses)
