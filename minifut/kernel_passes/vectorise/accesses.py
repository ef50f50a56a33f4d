"""Vector loads from memory, as rules: the first that does not decline.

    xs[i]                contiguous               one vector
    xs[n - i]            contiguous, backwards    one vector, its lanes reversed
    xs[2 * i]            a short stride           vectors, shuffled (`strides`)
    xs[min(i, n - 1)]    contiguous if unclamped  a vector, or lane by lane at an edge
    xs[i] if c           contiguous, masked       one vector of the active lanes
    xs[is[i]] if c       data-dependent, masked   one vector of the active lanes
    xs[is[i]]            data-dependent           one vector
    xs[5 * i]            a longer stride          lane by lane (gather)

A uniform load needs none of them: it stays scalar, and is broadcast where it is
combined with a varying value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import reverse
from minifut.kernel_passes.context import MASKS
from minifut.kernel_passes.vectorise import clamps, divergent_loops, rows
from minifut.kernel_passes.vectorise.affine import affine, number_of
from minifut.kernel_passes.vectorise.context import LIFT, LoadOutcome, NotVectorisable
from minifut.kernel_passes.vectorise.vectors import lane_bits, stored_type
from minifut.rewrite.context import Context
from minifut.rewrite.rule import Decline, Declined, Remark, rule

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser


MASKABLE = (32, 64)
"""bits of elements"""


def memory_of(access: kc.Load | kc.Store, context: Context) -> Remark:
    """The name of the memory that is accessed."""
    return Remark((str(access.memory.name.base),))


@rule(kc.Load, label="asVector", paper=LIFT, remark=memory_of)
def load_vector(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load contiguous elements as one vector.

    before:
        given (const float *xs, float *ys, float *zs, float a, long t)
        for (long j = t; j < t + 4; j++) {
            float x = xs[j + 3];
            float y = ys[7];
            zs[j] = x * y + a;
        }
    after:
        float4 x = (*(__global const loose_float4 *)(xs + (t + 3L)));
        float y = ys[7L];
        *(__global loose_float4 *)(zs + t) = (x * ((float4)(y))) + ((float4)(a));
    declines: lanes read every 2nd element of xs
        given (const float *xs, float *ys, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = xs[2 * j];
        }
    declines: the read of xs is masked
        like before of load_masked
    """
    return kc.Load(load.memory, first_index(load, lanes), side_by_side(load, lanes))


@rule(kc.Load, label="asVector", paper=LIFT, remark=memory_of)
def load_backwards(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load elements that lie in memory from the last lane to the first as one vector.

    before:
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = xs[2 * n - j + 8];
        }
    after:
        *(__global loose_float4 *)(ys + t) = REVERSE_4X32((*(__global const
        loose_float4 *)(xs + ((((2L * n) - t) + 8L) - 3L))));
    declines: lanes read every 2nd element of xs
        like declines of load_vector
    """
    first = first_index(load, lanes, -1)
    vector = kc.Load(load.memory, lowest(first, lanes), side_by_side(load, lanes))
    return reversed_lanes(vector)


@rule(kc.Load, label="asVector", paper=LIFT, remark=memory_of)
def load_within_edges(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load a vector where no lane's index is clamped to the bounds of the array, else
    lane by lane.

    before:
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = xs[min(j + 1, n)];
        }
    after:
        *(__global loose_float4 *)(ys + t) =
        (((min((long)(n), (long)(t + 4))) - (min((long)(n), (long)(t + 1)))) == 3L) ?
        (*(__global const loose_float4 *)(xs + (min((long)(n), (long)(t + 1))))) :
        ((float4)(xs[min((long)(n), (long)(t + 1))], xs[min((long)(n), (long)(t + 2))],
        xs[min((long)(n), (long)(t + 3))], xs[min((long)(n), (long)(t + 4))]));
    before:
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            long k = max_i64(j - 1, 0);
            ys[j] = xs[k];
        }
    after:
        long k = (t - 1L) < 0L ? 0L : (t - 1L);
        long k_1 = ((t - 1L) + 3L) < 0L ? 0L : ((t - 1L) + 3L);
        long4 k_2 = convert_long4(convert_int4((((long4)(t - 1L)) + (((long4)(0L, 1L,
        2L, 3L)) * ((long4)(1L)))) < ((long4)(0L)))) ? ((long4)(0L)) : (((long4)(t -
        1L)) + (((long4)(0L, 1L, 2L, 3L)) * ((long4)(1L))));
        *(__global loose_float4 *)(ys + t) = ((k_1 - k) == 3L) ? (*(__global const
        loose_float4 *)(xs + k)) : ((float4)(xs[k_2.s0], xs[k_2.s1], xs[k_2.s2],
        xs[k_2.s3]));
    declines: not only clamping keeps the accesses to xs from being contiguous
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = xs[min(2 * j, n)];
        }
    """
    memory, index = load.memory, load.index
    ends = clamps.ends_of_index(index, lanes) if lanes.mask is None else None
    if ends is None:
        accesses = f"the accesses to {memory.name.base}"
        return Declined(f"not only clamping keeps {accesses} from being contiguous")
    single = _one_by_one(load, lanes)
    type_ = side_by_side(load, lanes)
    whole = kc.Load(memory, ends[0], type_)
    spread = (ends[1] - ends[0]).equals(lanes.width - 1)
    return kc.Select(spread, whole, single, type_)


@rule(kc.Load, paper=MASKS, remark=memory_of)
def load_masked(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load the contiguous elements of the active lanes as a vector.

    before:
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            float x = 0.0f;
            if (j < n) {
                x = xs[j];
            }
            ys[j] = x;
        }
    after:
        float4 x = ((float4)(0.0f));
        int4 truth = ((int4)(0, 1, 2, 3)) < ((int4)((n < t) ? (-1) : (((((ulong)n) -
            ((ulong)t)) < 4UL) ? ((int)(((ulong)n) - ((ulong)t))) : 4)));
        int4 active = truth;
        if (any(active)) {
            x = active ? as_float4(minifut_load_masked_4x32((__global const int *)(xs +
            t), active)) : x;
        }
        *(__global loose_float4 *)(ys + t) = x;
    declines: the active lanes do not read neighbours of global memory
        like before of gather_masked
    """
    first = first_of_active(load, lanes)
    return kc.Load(load.memory, first, side_by_side(load, lanes), lanes.mask)


@rule(kc.Load, paper=MASKS, remark=memory_of)
def gather_masked(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load elements at any indices for the active lanes as a vector.

    before:
        like before of load_masked, with
        x = xs[j]; => x = xs[5 * j];
    after:
        float4 x = ((float4)(0.0f));
        int4 truth = ((int4)(0, 1, 2, 3)) < ((int4)((n < t) ? (-1) : (((((ulong)n) -
            ((ulong)t)) < 4UL) ? ((int)(((ulong)n) - ((ulong)t))) : 4)));
        int4 active = truth;
        if (any(active)) {
            x = active ? as_float4(minifut_gather_masked_4x32((__global const int *)xs,
            ((long4)(5L * t)) + (((long4)(0L, 1L, 2L, 3L)) * ((long4)(5L))), active)) :
            x;
        }
        *(__global loose_float4 *)(ys + t) = x;
    declines: all lanes are active, or elements have no masked accesses
        given (const float *xs, float *ys, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = xs[5 * j];
        }
    """
    memory, mask = load.memory, lanes.mask
    if mask is None or memory.space != "global" or memory.element.bits not in MASKABLE:
        return Declined("all lanes are active, or elements have no masked accesses")
    refuse_stream(load, lanes)
    indices = lanes.vectorise(load.index)
    if indices.type != kc.VectorType(I64, lanes.width):
        return Declined("lanes read the same element, or by narrow indices")
    return kc.Load(memory, indices, side_by_side(load, lanes), mask)


@rule(kc.Load, paper=LIFT, remark=memory_of)
def gather_at_data(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load elements at data-dependent indices as a vector, all lanes of which are
    active: to take out the indices and put in the elements one by one takes longer.

    before:
        given (const float *xs, const int *is, float *ys, long t)
        for (long j = t; j < t + 4; j++) {
            long i = (long)is[j];
            ys[j] = xs[i * i];
        }
    after:
        long4 i = convert_long4((*(__global const loose_int4 *)(is + t)));
        *(__global loose_float4 *)(ys + t) =
        as_float4(minifut_gather_masked_4x32((__global const int *)xs, i * i,
        ((int4)((-1)))));
    declines: indices are no data, or elements have no masked accesses
        like declines of gather_masked
    declines: rounds read one element after the other of a row of each lane
        like before, with
        (long)is[j]; => (long)(is[j] * is[j]); float y = 0.0f;
        => for (long k = 0; k < 3; k++) { y = y * xs[i + k]; }
        xs[i * i] => y
    """
    memory = load.memory
    if rows.goes_along_rows(load.index, lanes.varying, lanes.loops):
        return Declined("rounds read one element after the other of a row of each lane")
    near = affine(load.index, lanes.affine, lanes.varying) is not None
    if near or memory.space != "global" or memory.element.bits not in MASKABLE:
        return Declined("indices are no data, or elements have no masked accesses")
    refuse_stream(load, lanes)
    indices = lanes.vectorise(load.index)
    if indices.type != kc.VectorType(I64, lanes.width):
        return Declined("lanes read the same element, or by narrow indices")
    return kc.Load(memory, indices, side_by_side(load, lanes), lanes.all_active())


@rule(kc.Load, paper=MASKS, remark=memory_of)
def gather(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load the element of each lane, of the active ones if there is a mask.

    before:
        like declines of gather_masked
    after:
        *(__global loose_float4 *)(ys + t) = ((float4)(xs[(5L * t) + (5L * 0L)],
        xs[(5L * t) + 5L], xs[(5L * t) + (5L * 2L)], xs[(5L * t) + (5L * 3L)]));
    declines: lanes read with a large stride in a loop
        given (const int *xs, int *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            int y = 0;
            for (long i = 0; i < n; i++) {
                y = y + xs[5 * j + i];
            }
            ys[j] = y;
        }
    """
    refuse_stream(load, lanes)
    found = affine(load.index, lanes.affine, lanes.varying)
    few = any(loop.few for loop in lanes.loops)
    along = rows.goes_along_rows(load.index, lanes.varying, lanes.loops)
    if found is None and along and lanes.loops[-1].row:
        raise NotVectorisable("rounds add rows at places that are loaded")
    if found is not None and lanes.loops and lanes.mask is None and not few:
        # Each lane traverses a row of its own.
        if lanes.rows is None or not rows.may_traverse(load.index, lanes.loops):
            raise NotVectorisable("lanes read with a large stride in a loop")
        if (condition := rows.apart(found[1], load.memory.element.bytes)) is not None:
            lanes.rows.append(condition)
    return _one_by_one(load, lanes)


def refuse_stream(load: kc.Load, lanes: ExpressionVectoriser) -> None:
    """Refuse one of which each round of a loop that not all lanes come by does the one
    after that of the round before (`divergent_loops`)."""
    if any(load is stream for loop in lanes.loops for stream in loop.streams):
        raise NotVectorisable(divergent_loops.STREAM)


def first_index(
    access: kc.Load | kc.Store, lanes: ExpressionVectoriser, wanted: int = 1
) -> kc.Expression:
    """The index of the first lane; all access elements at the wanted distance, or the
    rule declines."""
    verb, text = _verb(access), access.memory.name.base
    found = affine(access.index, lanes.affine, lanes.varying)
    if found is None:
        raise Decline(f"the indices at which lanes {verb} {text} are data-dependent")
    first, step = found[0], number_of(found[1])
    if step is None:
        raise Decline(f"lanes {verb} {text} with a stride that is not constant")
    if step != wanted:
        numeral = {0: "the same", 2: "every 2nd", 3: "every 3rd"}
        which = numeral.get(step, f"every {step}th")
        raise Decline(f"lanes {verb} {which} element of {text}")
    if lanes.mask is not None:
        raise Decline(f"the {verb} of {text} is masked")
    return first


def _verb(access: kc.Load | kc.Store) -> str:
    return "read" if isinstance(access, kc.Load) else "write"


def first_of_active(
    access: kc.Load | kc.Store, lanes: ExpressionVectoriser
) -> kc.Expression:
    """The index of the first lane; only some are active, and those at neighbours of
    global memory in elements that have such accesses, or the rule declines."""
    memory = access.memory
    bits = memory.element.bits
    if lanes.mask is not None and memory.space == "global" and bits in MASKABLE:
        found = affine(access.index, lanes.affine, lanes.varying)
        if found is not None and number_of(found[1]) == 1:
            return found[0]
    verb = _verb(access)
    raise Decline(f"the active lanes do not {verb} neighbours of global memory")


def lowest(first: kc.Expression, lanes: ExpressionVectoriser) -> kc.Expression:
    """The index of the last lane, where lanes are in reverse order."""
    return first - (lanes.width - 1)


def reversed_lanes(vector: kc.Expression) -> kc.Expression:
    name = reverse(vector.type.lanes, lane_bits(vector.type))
    return kc.Call(name, (vector,), vector.type)


def side_by_side(load: kc.Load, lanes: ExpressionVectoriser) -> kc.VectorType:
    """The type of as many neighbouring elements as there are lanes."""
    return kc.VectorType(stored_type(load.memory), lanes.width)


def _one_by_one(load: kc.Load, lanes: ExpressionVectoriser) -> kc.Expression:
    memory, index = load.memory, load.index
    one = kc.VectorType(memory.element)
    return lanes.each(
        lambda n: lanes.guarded(kc.Load(memory, lanes.place(index, n), one), n),
        stored_type(memory),
    )
