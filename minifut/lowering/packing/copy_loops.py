"""The loops of a collective copy, with positions clamped to the array.

for (i = 0; i < rows; i++) {
    long p = clamp(row + i, 0, n - 1);
    if (0 <= column && column + width <= m)         most tiles: no clamping inside
        for (j = 0; j < width; j++) tile[i, j] = xs[p, column + j];
    else
        for (j ..) tile[i, j] = xs[p, clamp(column + j, 0, m - 1)];
}
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, ZERO, Size, minimum
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.packing.facts import CopyRegion, DimRange, clamped
from minifut.lowering.packing.packed_arrays import PanelArray
from minifut.lowering.threads.builder import KernelBuilder

LARGEST_VECTOR = 64
"""bytes"""
NOT_VECTORISABLE = ("f16", "bool")
"""element types whose representation differs between memory and vectors"""
FEW = 8
"""elements of a panel across the end of an array that are copied with clamping each"""


def copy_rows(
    k: KernelBuilder, made: Array, region: CopyRegion, innermost: int
) -> None:
    """Copy with dimension `innermost` of the copy innermost."""
    ranges, kept = region.ranges, region.kept
    last = kept[innermost]
    order = [i for i in range(len(ranges)) if i != last] + [last]
    own = [i for i in range(len(kept)) if i != innermost] + [innermost]
    source = region.source.rearrange(tuple(order))
    target = made.rearrange(tuple(own))
    Copying(k, target, source).loops([ranges[i] for i in order])


def copy_panels(k: KernelBuilder, made: PanelArray, region: CopyRegion) -> None:
    """Copy panels; all at once where the rows of the array are one panel wide."""
    target, source, ranges = made.panel_view, region.source, region.ranges
    at = region.kept[made.dimension]
    packed = [*ranges]
    packed[at] = replace(ranges[at], panel=made.width)
    copying = Copying(k, target, source)
    *outer, along, across = ranges
    rows, last = along.length, across.length
    plain = made.dimension == 1 == len(made.shape) - 1 and rows and last
    dense = source.strides[-2:] == (across.extent, ONE) and across.step == along.step
    if not (
        plain and dense and along.step == ONE and copying.is_contiguous(len(ranges) - 1)
    ):
        copying.loops(packed)
        return
    assert rows is not None
    tests = [
        k.size_value(across.extent).equals(k.size_value(made.width)),
        k.size_value(target.shape[1]).equals(1),
        k.size_value(across.start).equals(0),
        k.size_value(along.start) >= 0,
        k.size_value(along.start + rows) <= k.size_value(along.extent),
    ]
    with k.branch(kc.all_of(tests)):
        where = tuple(clamped(k, dim, dim.start) for dim in outer)
        here, there = (*where, along.start, ZERO), (ZERO, ZERO, ZERO)
        count = rows * across.extent
        start = copying.vectors(there, here, count)
        with k.loop("i", k.size_value(count), start) as i:
            index = Size.of(i.name)
            place = source.position(here) + index
            k.store(target.memory, target.offset + index, k.load(source.memory, place))
    with k.otherwise():
        copying.loops(packed)


def nonempty(k: KernelBuilder, source: Array) -> kc.Expression:
    """Whether an array has elements."""
    sizes = [size for size in source.shape if not size.as_constant]
    return kc.all_of(k.size_value(size) > 0 for size in sizes)


@immutable
class Copying:
    """Copies from an array to the innermost dimensions of another one. Of an element
    are known: `where` it is in the source, and `at` what place in the copy, with the
    index `within` a panel as the last."""

    k: KernelBuilder
    made: Array
    source: Array

    def loops(
        self,
        ranges: list[DimRange],
        where: tuple[Size, ...] = (),
        at: tuple[Size, ...] = (),
        within: tuple[Size, ...] = (),
    ) -> None:
        """Loops over the remaining dimensions."""
        k = self.k
        if not ranges:
            k.write(self.made, (*at, *within), k.read(self.source, where))
            return
        dim, rest = ranges[0], ranges[1:]
        if dim.length is None:
            where = (*where, clamped(k, dim, dim.start))
            self.loops(rest, where, at, within)
        elif dim.panel is not None:
            self.panels(ranges, where, at)
        else:
            self.dimension(ranges, where, at, False, within)

    def panels(
        self, ranges: list[DimRange], where: tuple[Size, ...], at: tuple[Size, ...]
    ) -> None:
        """The loops over panels, and over the elements within them: first the panels
        inside of the array, if they can be copied in vectors."""
        k, made, source = self.k, self.made, self.source
        dim, rest = ranges[0], ranges[1:]
        assert dim.panel is not None
        width, panels = dim.panel, k.size_value(made.shape[len(at)])
        first: kc.Operand = 0
        if not rest and dim.step == ONE and self.is_contiguous(len(where)):
            inside = k.size_value((dim.extent - dim.start) // width)
            none = kc.Literal(0, kc.LONG)
            inside = kc.Select(k.size_value(dim.start) >= 0, inside, none, kc.LONG)
            first = k.declare(
                "whole", kc.Call("clamp", (inside, none, panels), kc.LONG)
            )
            with k.loop("panel", first) as panel:
                number = Size.of(panel.name)
                begin = dim.start + number * width
                there, here = (*at, number, ZERO), (*where, begin)
                start = self.vectors(there, here, width)
                with k.loop("i", k.size_value(width), start) as i:
                    index = Size.of(i.name)
                    value = k.read(source, (*where, begin + index))
                    k.write(made, (*at, number, index), value)
        with k.loop("panel", panels, first) as panel:
            number = Size.of(panel.name)
            begin = dim.start + number * width * dim.step
            each = DimRange(begin, width, dim.step, dim.extent)
            with k.nested() as general:
                self.dimension([each, *rest], where, (*at, number), True)
            if rest or not k.is_build_constant(width):
                k.statements.extend(general)
                return
            with k.nested() as small, k.loop("i", k.size_value(width)) as i:
                index = Size.of(i.name)
                place = (*where, clamped(k, each, begin + index * dim.step))
                k.write(made, (*at, number, index), k.read(source, place))
            is_small = k.size_value(width) <= FEW
            blocks = kc.Block(tuple(small)), kc.Block(tuple(general))
            k.emit(kc.StaticIf(is_small, *blocks))

    def is_contiguous(self, dimension: int) -> bool:
        """Whether a dimension of the source, the innermost one of the copy, has unit
        stride in both arrays and may be copied in vectors."""
        made, source = self.made, self.source
        dense = made.strides[-1] == ONE and source.strides[dimension] == ONE
        return dense and made.memory.element.name not in NOT_VECTORISABLE

    def vectors(
        self, at: tuple[Size, ...], where: tuple[Size, ...], length: Size
    ) -> kc.Expression:
        """Copy whole vectors of elements; gives the start of the remainder loop."""
        k, made, source = self.k, self.made, self.source
        lanes = min(16, LARGEST_VECTOR // made.memory.element.bytes)
        last = k.size_value(length // lanes * lanes)
        to, start = made.position(at), source.position(where)
        with k.loop("i", last, step=lanes) as i:
            index = Size.of(i.name)
            value = k.load(source.memory, start + index, lanes)
            k.store(made.memory, to + index, value)
        return last

    def dimension(
        self,
        ranges: list[DimRange],
        where: tuple[Size, ...],
        at: tuple[Size, ...],
        in_panel: bool,
        within: tuple[Size, ...] = (),
    ) -> None:
        """The loop over one dimension (or what one panel has of it)."""
        k, (dim, *rest) = self.k, ranges
        assert dim.length is not None

        def iteration(index: Size, position: Size) -> None:
            here = (*where, position)
            if in_panel:
                self.loops(rest, here, at, (index,))
            else:
                self.loops(rest, here, (*at, index), within)

        if any(each.length is not None for each in rest):
            with k.loop("i", k.size_value(dim.length)) as i:
                index = Size.of(i.name)
                iteration(index, clamped(k, dim, dim.start + index * dim.step))
            return
        # Only the innermost loop gets a version without clamping.
        end = dim.start + (dim.length - 1) * dim.step
        inside: list[kc.Expression] = []
        for position in (dim.start, end):
            value = k.size_value(position)
            inside += [value >= 0, value < k.size_value(dim.extent)]
        with k.branch(kc.all_of(inside)):
            start: kc.Operand = 0
            if dim.step == ONE and self.is_contiguous(len(where)):
                fixed = (clamped(k, each, each.start) for each in rest)
                here = (*where, dim.start, *fixed)
                there = (*at, ZERO) if in_panel else (*at, ZERO, *within)
                start = self.vectors(there, here, dim.length)
            length = k.size_value(dim.length)
            with k.loop("i", length, start, parallel=True) as i:
                index = Size.of(i.name)
                iteration(index, dim.start + index * dim.step)
        with k.otherwise():
            begin: kc.Operand = 0
            if dim.step == ONE:
                # Elements before the end, without clamping each; then the last element.
                room = minimum(dim.length, dim.extent - dim.start)
                bound = kc.Select(
                    inside[0], k.size_value(room), kc.Literal(0, kc.LONG), kc.LONG
                )
                begin = k.declare(
                    "inside", kc.Call("max", (bound, kc.Literal(0, kc.LONG)), kc.LONG)
                )
                with k.loop("i", begin, parallel=True) as i:
                    index = Size.of(i.name)
                    iteration(index, dim.start + index)
                stop = kc.Select(inside[0], k.size_value(dim.length), begin, kc.LONG)
                with k.loop("i", stop, begin, parallel=True) as i:
                    iteration(Size.of(i.name), dim.extent - 1)
                begin = stop
            with k.loop("i", k.size_value(dim.length), begin) as i:
                index = Size.of(i.name)
                iteration(index, clamped(k, dim, dim.start + index * dim.step))
