"""Loads of every 2nd or 3rd element: whole vectors and shuffles.

    p = ps[3 * i + 1]     i = 8, 9, 10, 11     elements 25, 28, 31, 34: shuffles of the
                                               vectors ps[25 ..], ps[29 ..], ps[31 ..]

The parts of complex numbers, the coordinates of points, the channels of pixels and the
elements that are left when an image is halved are so far apart. (Every 4th element is
loaded as fast lane by lane, of which LLVM makes a transposition.) The last vector ends
with the last element that a lane needs, so that none outside of the array is read.

Source: Nuzman, Rosen and Zaks, "Auto-vectorization of interleaved data for SIMD".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import SHUFFLES, STRIDES, every
from minifut.kernel_passes.vectorise import accesses
from minifut.kernel_passes.vectorise.affine import affine, number_of
from minifut.kernel_passes.vectorise.context import LIFT, LoadOutcome
from minifut.kernel_passes.vectorise.vectors import lane_bits
from minifut.rewrite.rule import Declined, rule

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser

NO_SHORT_STRIDE = Declined("no lanes read every 2nd or 3rd element")


@rule(kc.Load, label="asVector", paper=LIFT, remark=accesses.memory_of)
def load_strided(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load vectors that have the elements of all lanes, and shuffle those together.

    before:
        given (const float *xs, float *ys, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = xs[2 * j + 1];
        }
    after:
        *(__global loose_float4 *)(ys + t) = EVERY_2_4X32((*(__global const
        loose_float4 *)(xs + ((2L * t) + 1L))), (*(__global const loose_float4 *)(xs +
        (((2L * t) + 1L) + 3L))));
    declines: no lanes read every 2nd or 3rd element
        like declines of gather_masked
    declines: the read of xs is masked
        like before of load_masked, with
        x = xs[j]; => x = xs[2 * j];
    """
    found = affine(load.index, lanes.affine, lanes.varying)
    stride = None if found is None else number_of(found[1])
    type_ = accesses.side_by_side(load, lanes)
    if stride is None or stride not in STRIDES:
        return NO_SHORT_STRIDE
    name = every(stride, lanes.width, lane_bits(type_))
    if name not in SHUFFLES:
        return NO_SHORT_STRIDE
    first = accesses.first_index(load, lanes, stride)
    begins = [n * lanes.width for n in range(stride - 1)]
    begins.append((stride - 1) * (lanes.width - 1))
    vectors = [
        kc.Load(load.memory, first + begin if begin else first, type_)
        for begin in begins
    ]
    return kc.Call(name, tuple(vectors), type_)
