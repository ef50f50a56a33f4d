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
is not marked for vectorisation by the device's compiler, is not known to be short, and
is not prefetched block by block (`prefetch_blocks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from minifut.ir.search import classes_in, nodes_of
from minifut.ir.sizes import ZERO, Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.context import CodeContext, KernelOutcome
from minifut.kernel_passes.editor import KernelEditor, rewrite_scalar_loops
from minifut.kernel_passes.index_ranges import NOTHING, as_size
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
    """Prefetch what loops with indirect accesses read one element after the other."""
    rewrite_scalar_loops(k, prefetch_unit_stride_loads)


def _remark(loop: kc.For, context: CodeContext) -> Remark:
    names = dict.fromkeys(memory.name.base for memory, _ in streams_of(loop))
    return Remark(
        (f"{', '.join(names)}, {PREFETCH_DISTANCE} bytes ahead of the loads",)
    )


@rule(kc.For, remark=_remark)
def prefetch_unit_stride_loads(loop: kc.For, context: CodeContext) -> KernelOutcome:
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
    if loop.streams or not has_indirect_access(loop.body):
        return None
    body = loop.body.statements
    if loop.rounds is not None and loop.rounds < FEWEST_ITERATIONS:
        return Declined(f"it has only {loop.rounds} iterations")
    prefetches = [
        kc.Prefetch(
            memory, kc.SizeValue(place + PREFETCH_DISTANCE // memory.element.bytes)
        )
        for memory, place in streams_of(loop)
    ]
    if not prefetches:
        return Declined("it has no loads of unit stride")
    return (replace(loop, body=kc.Block((*prefetches, *body))),)


def streams_of(
    loop: kc.For, definitions: Mapping[Name, kc.Expression] = NOTHING
) -> list[tuple[kc.Memory, Size]]:
    """The global memories that an iteration reads at unit stride, each with its first
    index, counters of loops inside being zero: one for loads whose indices differ by
    constants."""
    body, index = loop.body.statements, loop.variable.name
    inner = (each for each in nodes_of(kc.For, loop.body) if each.rounds is not None)
    counters = {each.variable.name: ZERO for each in inner}
    own = declared(body) | assigned(body) | {index}
    own |= {node.index for node in nodes_of(kc.Unrolled, loop.body)}
    found: dict[tuple[Name, Size], tuple[kc.Memory, Size]] = {}
    for load in nodes_of(kc.Load, loop.body):
        if load.memory.space != "global":
            continue
        place = as_size(load.index, definitions)
        if place is None:
            continue
        first = place.substitute(counters)
        rest = first - Size.of(index)
        if rest.names().isdisjoint(own):
            constant = rest.substitute(dict.fromkeys(rest.names(), ZERO))
            found.setdefault((load.memory.name, rest - constant), (load.memory, first))
    return list(found.values())[:MOST_STREAMS]


def has_indirect_access(body: kc.Block) -> bool:
    """Whether a load or store has a data-dependent address."""
    if kc.Load not in classes_in(body):
        return False
    loaded = find_loaded(body, by_branches=False)
    accesses = nodes_of(kc.Load | kc.Store, body)
    return any(varies(access.index, loaded) for access in accesses)
