"""Vector stores to memory, as rules: the first that does not decline.

ys[i] = y            contiguous               one vector
ys[n - i] = y        contiguous, backwards    one vector, its lanes reversed
if c: ys[i] = y      contiguous, masked       one vector of the active lanes
ys[is[i]] = y        data-dependent           one vector if the places turn out to
                                              be neighbours, else lane by lane
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import MASKS, KernelOutcome
from minifut.kernel_passes.vectorise import accesses
from minifut.kernel_passes.vectorise.affine import affine
from minifut.kernel_passes.vectorise.context import LIFT, NotVectorisable
from minifut.rewrite.rule import Declined, rule

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.statements import Vectoriser


@rule(kc.Store, label="asVector", paper=LIFT, remark=accesses.memory_of)
def store_vector(store: kc.Store, vectoriser: Vectoriser) -> KernelOutcome:
    """Store contiguous elements as one vector.

    before:
        given (const int *xs, int *ys, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j + 1] = xs[j] + 2;
        }
    after:
        *(__global loose_int4 *)(ys + (t + 1L)) = as_int4(as_uint4((*(__global const
        loose_int4 *)(xs + t))) + as_uint4(((int4)(2))));
    declines: lanes write every 3rd element of ys
        like before, with
        j + 1 => 3 * j
    """
    first = accesses.first_index(store, vectoriser.lanes)
    return (kc.Store(store.memory, first, _stored(store, vectoriser)),)


@rule(kc.Store, label="asVector", paper=LIFT, remark=accesses.memory_of)
def store_backwards(store: kc.Store, vectoriser: Vectoriser) -> KernelOutcome:
    """Store elements that lie in memory from the last lane to the first as one vector.

    before:
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            ys[2 * n - j + 8] = xs[j];
        }
    after:
        *(__global loose_float4 *)(ys + ((((2L * n) - t) + 8L) - 3L)) =
        REVERSE_4X32((*(__global const loose_float4 *)(xs + t)));
    declines: lanes write every 3rd element of ys
        like declines of store_vector
    """
    lanes = vectoriser.lanes
    first = accesses.first_index(store, lanes, -1)
    value = accesses.reversed_lanes(_stored(store, vectoriser))
    return (kc.Store(store.memory, accesses.lowest(first, lanes), value),)


@rule(kc.Store, paper=MASKS, remark=accesses.memory_of)
def store_masked(store: kc.Store, vectoriser: Vectoriser) -> KernelOutcome:
    """Store the contiguous elements of the active lanes as a vector.

    before:
        given (const float *xs, float *ys, long n, long t)
        for (long j = t; j < t + 4; j++) {
            float x = xs[j];
            if (x > 0.0f) {
                ys[j] = x;
            }
        }
    after:
        float4 x = (*(__global const loose_float4 *)(xs + t));
        int4 truth = x > ((float4)(0.0f));
        int4 active = truth;
        if (any(active)) {
            minifut_store_masked_4x32((__global int *)(ys + t), active, as_int4(x));
        }
    declines: the active lanes do not write neighbours of global memory
        like before, with
        ys[j] => ys[3 * j]
    """
    lanes = vectoriser.lanes
    first = accesses.first_of_active(store, lanes)
    value = _stored(store, vectoriser)
    return (kc.Store(store.memory, first, value, mask=lanes.mask),)


@rule(kc.Store, label="asVector", paper=LIFT, remark=accesses.memory_of)
def store_run(store: kc.Store, vectoriser: Vectoriser) -> KernelOutcome:
    """Store a vector where data-dependent indices turn out to be consecutive and all
    lanes are active, else lane by lane.

    before:
        given (const int *xs, const int *is, int *ys, long t)
        for (long j = t; j < t + 4; j++) {
            ys[is[j] & 7] = xs[j];
        }
    after:
        int4 value = (*(__global const loose_int4 *)(xs + t));
        int4 place = (*(__global const loose_int4 *)(is + t)) & ((int4)(7));
        if (all(place == (((int4)(place.s0)) + ((int4)(0, 1, 2, 3))))) {
                *(__global loose_int4 *)(ys + place.s0) = value;
        } else {
                ys[place.s0] = value.s0;
                ys[place.s1] = value.s1;
                ys[place.s2] = value.s2;
                ys[place.s3] = value.s3;
        }
    declines: the indices at which lanes write ys are no data
        given (const int *xs, int *ys, long t)
        for (long j = t; j < t + 4; j++) {
            ys[2 * j] = xs[j];
        }
    """
    lanes, memory = vectoriser.lanes, store.memory
    if memory.space == "private" or affine(store.index, lanes.affine, lanes.varying):
        return Declined(
            f"the indices at which lanes write {memory.name.base} are no data"
        )
    value = vectoriser.named(_stored(store, vectoriser), "value")
    place = vectoriser.named(lanes.vectorise(store.index), "place")
    first = lanes.lane(place, 0)
    run = lanes.compare("==", place, lanes.ramp(first))
    whole = kc.Call("all", (lanes.both(lanes.mask, run),), kc.TRUTH)
    together = kc.Block((kc.Store(memory, first, value),))
    single = vectoriser.where_active(
        lambda n: kc.Store(memory, lanes.lane(place, n), lanes.lane(value, n))
    )
    return (kc.Branch(whole, together, kc.Block(single)),)


@rule(kc.Store, paper=MASKS, remark=accesses.memory_of)
def scatter_lanes(store: kc.Store, vectoriser: Vectoriser) -> KernelOutcome:
    """Store the element of each lane in order, of the active ones if there is a mask.

    before:
        like declines of store_run
    after:
        int4 value = (*(__global const loose_int4 *)(xs + t));
        ys[(2L * t) + (2L * 0L)] = value.s0;
        ys[(2L * t) + 2L] = value.s1;
        ys[(2L * t) + (2L * 2L)] = value.s2;
        ys[(2L * t) + (2L * 3L)] = value.s3;
    declines: a private array
        like before, with
        for (long j => int own[8]; for (long j
        ys[2 * j] => own[2 * (j - t)]
    """
    if store.memory.space == "private":
        raise NotVectorisable("a private array")
    lanes = vectoriser.lanes
    value = vectoriser.named(_stored(store, vectoriser), "value")
    memory, at = store.memory, store.index
    return vectoriser.where_active(
        lambda n: kc.Store(memory, lanes.place(at, n), lanes.lane(value, n))
    )


def _stored(store: kc.Store, vectoriser: Vectoriser) -> kc.Expression:
    lanes = vectoriser.lanes
    return lanes.to_memory(store.memory, lanes.broadcast(lanes.vectorise(store.exp)))


STORES = (store_vector, store_backwards, store_masked, store_run, scatter_lanes)
