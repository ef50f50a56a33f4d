"""Streams of a stable partition in vectors, where the device compresses them.

    for i in range by 16:
        flags, values = body(i .. i + 15)
        for each stream:
            bits = the flags of the lanes as a word
            stream[filled ..] = the values of the lanes whose bits are 1, side by side
            filled = filled + how many bits are 1

Whole vectors are stored: lanes that are in no stream are overwritten by the next
vector, or are behind the last point, where there is room for them. So nothing of a
point leaves the registers before its place is known.

Source: Polychroniou, Raghavan and Ross, "Rethinking SIMD vectorization for in-memory
databases" (2015).
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.c_types import C_NAMES
from minifut.ir.core import Atom
from minifut.ir.kernels import Parameter
from minifut.ir.node import immutable
from minifut.ir.types import F32, F64, I32, I64, U32, U64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import compress, mask_bits
from minifut.kernel_passes import position_ranges
from minifut.kernel_passes.if_convert import if_convert
from minifut.kernel_passes.vectorise import operators
from minifut.kernel_passes.vectorise.context import LANES, WIDTHS, share_of
from minifut.kernel_passes.vectorise.lane_limits import lane_limits
from minifut.lowering.cpu.packed_points import WORD, ones_of
from minifut.lowering.index_functions import Array
from minifut.lowering.segscan.partitioned_points import PartitionedPoints
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.rule import Declined, Remark, decision
from minifut.rewrite.trace import untraced

COMPRESSES = Parameter(
    "cpu.compresses",
    "tile_size",
    (("cpu", 1), ("gpu", 0), ("avx2", 2)),
    (0, 2),
    "in how many parts vectors of 512 bits are packed by instructions; 0: not at all",
)
PREFETCH_DISTANCE = 1024
"""bytes"""
ROOM = WIDTHS[0]
"""elements behind the last one of a stream that may be overwritten"""
FILL_LANES = (F32, I32, U32, F64, I64, U64)
"""elements of vectors that are compressed"""


@immutable
class CollectedStream:
    """What is written of a stream, and how many points it has, of a range."""

    count: kc.Variable
    arrays: dict[Array, Array]
    """by what they are written to, with room for a vector behind the last point"""


@immutable
class StreamedRange:
    """Points from the first of `ends` to before the last, and where those of each
    stream go."""

    points: PartitionedPoints
    ends: tuple[kc.Expression, kc.Expression]
    streams: Sequence[CollectedStream]

    @property
    def k(self) -> KernelBuilder:
        """The kernel."""
        return self.points.k

    @property
    def collected(self) -> dict[Atom, Array]:
        """The values that are written, each with a result that it is written to."""
        return self.points.written

    def stored(self, stream: int) -> list[tuple[Atom, Array]]:
        """The values of a stream, and where they are collected."""
        targets = self.points.targets(self.points.plan.streams[stream])
        return [
            (value, self.streams[stream].arrays[output])
            for pairs in targets.values()
            for output, value in pairs
        ]


@decision(
    paper="Rethinking SIMD vectorization for in-memory databases",
    remark=lambda *_: Remark(("values are compressed in registers",), (COMPRESSES,)),
)
def compress_in_lanes(
    part: StreamedRange, k: KernelBuilder
) -> tuple[kc.Statement, ...] | Declined:
    """Collect the streams of a range vector by vector, if the device compresses them.

    before:
        like before of partition_stably
    after:
        bits = minifut_mask_bits_16(flag);
    declines: the elements do not fill lanes
        like before, with
        limit: i32 => limit: i8
        xs: [n]i32 => xs: [n]i8
        zs: [n]i32 => zs: [n]i8
        ys: [n]i32 => ys: [n]i8
        (i32) { => (i8) {
        x: i32 => x: i8
        lt_i32 => lt_i8
        y: i32 => y: i8
    """
    if any(o.memory.element not in FILL_LANES for o in part.collected.values()):
        return Declined("the elements do not fill lanes")
    code = _code_of(part)
    limits, _ = lane_limits(code.body, code.index.name)
    if limits:
        return Declined("single points may be faster")
    width = WIDTHS[0] // share_of(code.body)
    made = []
    for parts in (1, 2):
        with k.nested() as statements, untraced(k, parts > 1):
            _collect(part, code, width // parts)
        made.append(kc.Block(tuple(statements)))
    whole = k.build_constant(COMPRESSES).equals(1)
    return (kc.StaticIf(whole, *made),)


def in_lanes(k: KernelBuilder) -> kc.Expression:
    """Whether that is the code for a device."""
    compresses = k.build_constant(COMPRESSES) > 0
    return kc.all_of([compresses, k.build_constant(LANES) >= WIDTHS[-1]])


def _code_of(part: StreamedRange) -> operators.PointCode:
    """A point: the flags of its streams, then what it writes."""
    k, points = part.k, part.points
    index = k.variable("i", kc.LONG)
    flags = [k.variable("flag", kc.TRUTH) for _ in part.streams]
    values = [
        k.variable("value", kc.VectorType(output.memory.element))
        for output in part.collected.values()
    ]
    with k.nested() as body:
        points.visit(index)
        for number, flag in enumerate(flags):
            k.assign(flag, points.is_in(number))
        for value, place in zip(part.collected, values, strict=True):
            k.assign(place, k.scalar(value))
    needed = if_convert(k, position_ranges.used(tuple(body)))
    places = (*flags, *values)
    neutral = tuple(kc.zero(place.type.scalar) for place in places)
    return operators.PointCode(index, (), places, neutral, tuple(needed), ())


def _collect(part: StreamedRange, code: operators.PointCode, width: int) -> None:
    """Vector by vector, then the points that are left."""
    k, (first, last) = part.k, part.ends
    whole = k.declare("whole", last - (last - first) % width)
    vectors = operators.VectorCode(k, code, width)
    flags = vectors.right[: len(part.streams)]
    values = dict(zip(part.collected, vectors.right[len(flags) :], strict=True))
    with k.loop("at", whole, first, width, streams=True) as at:
        vectors.visit(at)
        for number, (flag, stream) in enumerate(zip(flags, part.streams, strict=True)):
            bits = k.declare("bits", kc.Call(mask_bits(width), (flag,), WORD))
            for value, array in part.stored(number):
                prefetch(k, array, stream.count)
                packed = compressed(values[value], bits)
                k.write(array, (stream.count,), packed)
            k.assign(stream.count, stream.count + ones_of(bits))
    with k.loop("i", last, whole) as index:
        part.points.visit(index)
        for number, stream in enumerate(part.streams):
            with k.branch(part.points.is_in(number)):
                for value, array in part.stored(number):
                    k.write(array, (stream.count,), k.scalar(value))
                k.assign(stream.count, stream.count + 1)


def prefetch(k: KernelBuilder, array: Array, at: kc.Expression) -> None:
    """Load the line of a stream some vectors behind this element into the first-level
    cache, before it is accessed across its end."""
    if array.memory.space != "global":
        return
    ahead = PREFETCH_DISTANCE // array.memory.element.bytes
    place = k.size_value(array.position(k.as_sizes((at + ahead,))))
    k.emit(kc.Prefetch(array.memory, place, spread=True))


def compressed(vector: kc.Expression, bits: kc.Expression) -> kc.Expression:
    """The lanes whose bits are 1, side by side."""
    type_ = vector.type
    integers = kc.VectorType(I64 if type_.scalar.bits == 64 else I32, type_.lanes)
    whole = _bits_as(vector, integers)
    name = compress(type_.lanes, type_.scalar.bits)
    return _bits_as(kc.Call(name, (whole, bits), integers), type_)


def _bits_as(vector: kc.Expression, type_: kc.VectorType) -> kc.Expression:
    return kc.Call(f"as_{C_NAMES[type_.scalar.name]}{type_.lanes}", (vector,), type_)
