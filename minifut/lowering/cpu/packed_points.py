"""The points of a block that do something, packed by bits of their marks.

    for l < 256: marks[l] = a bit for each thing that the point does
    for each of these:
        for l < 256 by 8: order[count..] = numbers of the points with that bit, packed
        for p < count: do it for the point order[p]

The first loop is made vectors of; the others have no branch that depends on data, which
could not be predicted. Where the device compresses vectors, values of the points are
packed themselves.
"""

from __future__ import annotations

from minifut.ir.kernels import Parameter
from minifut.ir.node import immutable
from minifut.ir.types import F32, F64, I32, I64, U8, U32, U64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import compress
from minifut.lowering.threads.builder import KernelBuilder

BLOCK = 256
"""points whose numbers fit a byte"""
KINDS = 8
"""bits of a mark"""
WORD = kc.VectorType(U64)
BYTES = kc.VectorType(U8, 8)
ONES = 0x0101010101010101
NAMES = {
    F32: "float", I32: "int", U32: "uint", F64: "double", I64: "long", U64: "ulong"
}  # fmt: skip
"""the C of elements that fill lanes"""
COMPRESSES = Parameter(
    "cpu.compresses",
    "tile_size",
    (("cpu", 1), ("gpu", 0), ("avx2", 0)),
    (0, 1),
    "whether vectors are packed by an instruction",
)
NUMBERS = 0x0706050403020100


@immutable
class PackedPoints:
    """The memory of a block."""

    k: KernelBuilder
    marks: kc.Memory
    order: kc.Memory

    @staticmethod
    def of(k: KernelBuilder) -> PackedPoints:
        """New memory."""
        marks = k.private_memory(U8, BLOCK, "marks")
        return PackedPoints(k, marks, k.private_memory(U8, BLOCK + 8, "order"))

    def mark(self, lane: kc.Expression, mark: kc.Expression) -> None:
        """Store the mark of a point."""
        self.k.store(self.marks, lane, kc.Cast(mark, kc.VectorType(U8)))

    def end(self, length: kc.Expression) -> None:
        """Store marks of no points behind the last one, where the last words are
        partly filled."""
        k = self.k
        with k.loop("l", (length + 15) // 16 * 16, length) as lane:
            k.store(self.marks, lane, kc.Literal(0, kc.VectorType(U8)))

    def collect(self, number: int, length: kc.Expression) -> kc.Variable:
        """Pack the numbers of the points with a bit; gives how many there are."""
        k = self.k
        count = k.declare("count", kc.Literal(0, kc.LONG))
        with k.loop("l", length, 0, 8) as lane:
            loaded = kc.Call("as_ulong", (k.load(self.marks, lane, 8),), WORD)
            bits = k.declare("bits", (loaded >> number) & ONES)
            numbers = kc.Cast(lane, WORD) * ONES + NUMBERS
            packed = kc.Call("minifut_pack_bytes", (numbers, bits), WORD)
            k.store(self.order, count, kc.Call("as_uchar8", (packed,), BYTES))
            more = kc.Cast(kc.Call("minifut_count", (bits,), WORD), kc.LONG)
            k.assign(count, count + more)
        return count

    def compress(
        self,
        number: int,
        length: kc.Expression,
        count: kc.Variable,
        values: list[tuple[kc.Memory, kc.Memory]],
    ) -> None:
        """Pack values of the points with a bit, of 4 or 8 bytes, from the first memory
        of each pair to the second; `count` becomes how many there are."""
        k = self.k
        lanes = 64 // max(memory.element.bytes for memory, _ in values)
        with k.loop("l", length, 0, lanes) as lane:
            mask: kc.Expression = kc.Literal(0, WORD)
            for part in range(0, lanes, 8):
                loaded = k.load(self.marks, lane + part, 8)
                word = kc.Call("as_ulong", (loaded,), WORD)
                bits = kc.Call("minifut_low_bits", (word >> number,), WORD)
                mask = mask | bits << part
            mask = k.declare("mask", mask)
            for memory, to in values:
                width = memory.element.bits
                integers = kc.VectorType(I64 if width == 64 else I32, lanes)
                taken = k.load(memory, lane, lanes)
                own, integer = NAMES[memory.element], NAMES[integers.scalar]
                whole = kc.Call(f"as_{integer}{lanes}", (taken,), integers)
                packed = kc.Call(compress(lanes, width), (whole, mask), integers)
                packed = kc.Call(f"as_{own}{lanes}", (packed,), taken.type)
                k.store(to, count, packed)
            more = kc.Cast(kc.Call("minifut_count", (mask,), WORD), kc.LONG)
            k.assign(count, count + more)

    def lane(self, p: kc.Expression) -> kc.Variable:
        """The number of the p-th point that was collected."""
        return self.k.declare("lane", kc.Cast(self.k.load(self.order, p), kc.LONG))
