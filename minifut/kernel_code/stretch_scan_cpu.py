"""The scan of one stretch of a segment, in vectors where they do.

    for i in stretch by 16:
        right = body(i .. i + 15)
        right = prefixes of right, then before op right
        results[i .. i + 15] = right
        before = the last lane of right in all lanes

From vector to vector only one operator and a broadcast wait for each other, so the loop
keeps pace with memory. Results too large for the caches are written around them.
"""

from __future__ import annotations

from minifut.ir.sizes import Size
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.lower_kernel import KernelBuilder
from minifut.kernel_code.operators import State
from minifut.kernel_code.reduction_cpu import Reduction
from minifut.kernel_code.streaming_cpu import LARGE, STREAMABLE
from minifut.kernel_code.vector_operators_cpu import (
    NotLifted,
    ScalarCode,
    Vectors,
    replace_state,
    scalar_places,
)


def scan_stretch(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    place: tuple[list[kc.Variable], kc.Expression, kc.Expression],
    scanned: list[Array],
    total: Size,
) -> None:
    """Scan the points of a segment, from the first to before the last, on from `state`;
    there are `total` points in all."""
    segment, first, last = place

    def save(index: kc.Expression, values: list[kc.Variable]) -> None:
        for array, value in zip(scanned, values, strict=True):
            k.write(array, (*segment, index), value)

    start: kc.Expression = first
    try:
        code = ScalarCode(k, reduction, segment, save)
        start = begin = k.variable("start", kc.LONG)
        with k.nested() as vectors:
            chosen = code.by_width(
                lambda v: _by_vectors(v, state, (begin, last), total)
            )
        k.emit(kc.Declare(begin, first))
        k.statements.extend([*vectors, *chosen])
    except NotLifted as reason:
        start = first
        k.emit(kc.Comment(f"element by element: {reason}"))
    with k.loop("i", last, start) as index:
        state.combine(reduction.visit(k, segment, index))
        state.save(scanned, (*segment, index))


def _by_vectors(
    vectors: Vectors,
    state: State,
    ends: tuple[kc.Variable, kc.Expression],
    total: Size,
) -> None:
    """All whole vectors; what is left begins at the first of the ends then."""
    k, width = vectors.k, vectors.width
    start, last = ends
    before = vectors.declare("before", vectors.spread(scalar_places(state)))
    large = k.declare("large", k.size_value(total) >= LARGE)
    whole = k.declare("whole", last - (last - start) % width)
    with k.loop("at", whole, start, width) as at:
        vectors.visit(at)
        vectors.prefix()
        vectors.combine(before)
        vectors.save(at, lambda s: _around_caches(s, large, width))
        for variable, value in zip(before, vectors.last_in_all(), strict=True):
            k.assign(variable, value)
    with k.branch(start < whole):
        replace_state(k, state, vectors.last())
    k.assign(start, whole)


def _around_caches(
    statement: kc.Statement, large: kc.Expression, width: int
) -> kc.Statement:
    """A store of a vector, around the caches if results are large and it is aligned."""
    match statement:
        case kc.Store(memory, index, exp, False):
            if memory.element in STREAMABLE and exp.type.lanes == width:
                aligned = (index & (width - 1)).equals(0)
                wanted = kc.Binary("&&", large, aligned, kc.TRUTH)
                around = kc.Store(memory, index, exp, True)
                return kc.Branch(wanted, kc.Block((around,)), kc.Block((statement,)))
    return statement
