"""The points of a block that do something, packed by bits of their marks.

    for l < 256: marks[l] = a bit for each thing that the point does
    for each of these:
        for l < 256 by 8: order[count..] = numbers of the points with that bit, packed
        for p < count: do it for the point order[p]

The first loop is made vectors of; the others have no branch that depends on data, which
could not be predicted.
"""

from __future__ import annotations

from minifut.ir.node import immutable
from minifut.ir.types import U8, U64
from minifut.kernel_ir import nodes as kc
from minifut.lowering.threads.builder import KernelBuilder

BLOCK = 256
"""points whose numbers fit a byte"""
KINDS = 8
"""bits of a mark"""
WORD = kc.VectorType(U64)
BYTES = kc.VectorType(U8, 8)
ONES = 0x0101010101010101
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
            k.assign(count, count + ones_of(bits))
        return count

    def lane(self, p: kc.Expression) -> kc.Variable:
        """The number of the p-th point that was collected."""
        return self.k.declare("lane", kc.Cast(self.k.load(self.order, p), kc.LONG))


def ones_of(bits: kc.Expression) -> kc.Expression:
    """How many bits of a word are 1."""
    return kc.Cast(kc.Call("minifut_count", (bits,), WORD), kc.LONG)
