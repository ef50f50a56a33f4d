"""The loops of a collective copy under the CPU schedule, with positions clamped to the
array; `cpu.copy_layouts` tells which copies are made, and how they lie.

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

from minifut.ir.sizes import ONE, ZERO, Size, minimum
from minifut.ir.types import ScalarType
from minifut.kernel_code.copy_regions import Stretch, clamped
from minifut.kernel_code.cpu.tile_layouts import PanelArray
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc

LARGEST_VECTOR = 64
"""bytes"""
NOT_IN_VECTORS = ("f16", "bool")
"""which memory holds otherwise than vectors do"""
FEW = 8
"""elements across the end of an array that are better copied one by one"""


def cut_panels(parts: list[Stretch], made: PanelArray) -> list[Stretch]:
    """Mark the stretch of the dimension that lies in panels."""
    kept = [i for i, part in enumerate(parts) if part.length is not None]
    at = kept[made.dimension]
    return [*parts[:at], replace(parts[at], panel=made.width), *parts[at + 1 :]]


def fill_in_order(
    k: KernelBuilder, made: Array, source: Array, parts: list[Stretch], inner: int
) -> None:
    """Copy with dimension `inner` of the copy innermost."""
    kept = [i for i, part in enumerate(parts) if part.length is not None]
    order = [i for i in range(len(parts)) if i != kept[inner]] + [kept[inner]]
    own = [i for i in range(len(kept)) if i != inner] + [inner]
    turned, target = source.rearrange(tuple(order)), made.rearrange(tuple(own))
    fill_from(k, target, turned, [parts[i] for i in order], (), ())


def fill_all(
    k: KernelBuilder, made: PanelArray, source: Array, parts: list[Stretch]
) -> None:
    """Copy panels, at once where the rows of the array are one panel wide."""
    target = made.opened
    *outer, along, across = parts
    rows, last = along.length, across.length
    plain = made.dimension == 1 == len(made.shape) - 1 and rows and last
    dense = source.strides[-2:] == (across.total, ONE) and across.step == along.step
    if not (
        plain
        and dense
        and along.step == ONE
        and side_by_side(target, source, len(parts) - 1)
    ):
        fill_from(k, target, source, cut_panels(parts, made), (), ())
        return
    assert rows is not None
    tests = [
        k.size_value(across.total).equals(k.size_value(made.width)),
        k.size_value(target.shape[1]).equals(1),
        k.size_value(across.start).equals(0),
        k.size_value(along.start) >= 0,
        k.size_value(along.start + rows) <= k.size_value(along.total),
    ]
    with k.branch(all_of(tests)):
        where = tuple(clamped(k, part, part.start) for part in outer)
        here, there = (*where, along.start, ZERO), (ZERO, ZERO, ZERO)
        count = rows * across.total
        start = copy_vectors(k, target, source, there, here, count)
        with k.loop("i", k.size_value(count), start) as i:
            index = Size.of(i.name)
            place = source.position(here) + index
            k.store(target.memory, target.offset + index, k.load(source.memory, place))
    with k.otherwise():
        fill_from(k, target, source, cut_panels(parts, made), (), ())


def all_of(tests: list[kc.Expression]) -> kc.Expression:
    """Whether all hold."""
    whole = tests[0]
    for other in tests[1:]:
        whole = kc.Binary("&&", whole, other, kc.TRUTH)
    return whole


def zero(type_: ScalarType) -> kc.Literal:
    """Nought of a type."""
    value = 0.0 if type_.is_float else 0 if type_.is_integer else False
    return kc.Literal(value, kc.VectorType(type_))


def nonempty(k: KernelBuilder, source: Array) -> kc.Expression:
    """Whether an array has elements."""
    test: kc.Expression = kc.Literal(True, kc.TRUTH)
    for size in source.shape:
        if size.as_constant is None or size.as_constant == 0:
            test = kc.Binary("&&", test, k.size_value(size) > 0, kc.TRUTH)
    return test


def fill_from(
    k: KernelBuilder,
    made: Array,
    source: Array,
    parts: list[Stretch],
    where: tuple[Size, ...],
    at: tuple[Size, ...],
    within: tuple[Size, ...] = (),
) -> None:
    """Loops over the dimensions from here; `where` in the source, `at` in the copy,
    where the place `within` a panel comes last."""
    if not parts:
        k.write(made, (*at, *within), k.read(source, where))
        return
    part, rest = parts[0], parts[1:]
    if part.length is None:
        where = (*where, clamped(k, part, part.start))
        fill_from(k, made, source, rest, where, at, within)
    elif part.panel is not None:
        fill_panels(k, made, source, parts, where, at)
    else:
        fill_stretch(k, made, source, parts, where, at, False, within)


def fill_panels(
    k: KernelBuilder,
    made: Array,
    source: Array,
    parts: list[Stretch],
    where: tuple[Size, ...],
    at: tuple[Size, ...],
) -> None:
    """The loops over panels, and over the places within them: first those that lie
    inside of the array, if their elements can be copied in vectors."""
    part, rest = parts[0], parts[1:]
    assert part.panel is not None
    width, panels = part.panel, k.size_value(made.shape[len(at)])
    first: kc.Operand = 0
    if not rest and part.step == ONE and side_by_side(made, source, len(where)):
        inside = k.size_value((part.total - part.start) // width)
        none = kc.Literal(0, kc.LONG)
        inside = kc.Select(k.size_value(part.start) >= 0, inside, none, kc.LONG)
        first = k.declare("whole", kc.Call("clamp", (inside, none, panels), kc.LONG))
        with k.loop("panel", first) as panel:
            number = Size.of(panel.name)
            begin = part.start + number * width
            there, here = (*at, number, ZERO), (*where, begin)
            start = copy_vectors(k, made, source, there, here, width)
            with k.loop("i", k.size_value(width), start) as i:
                index = Size.of(i.name)
                value = k.read(source, (*where, begin + index))
                k.write(made, (*at, number, index), value)
    with k.loop("panel", panels, first) as panel:
        number = Size.of(panel.name)
        begin = part.start + number * width * part.step
        each = Stretch(begin, width, part.step, part.total)
        with k.nested() as general:
            fill_stretch(k, made, source, [each, *rest], where, (*at, number), True)
        if rest or not k.is_build_constant(width):
            k.statements.extend(general)
            return
        with k.nested() as small, k.loop("i", k.size_value(width)) as i:
            index = Size.of(i.name)
            place = (*where, clamped(k, each, begin + index * part.step))
            k.write(made, (*at, number, index), k.read(source, place))
        is_small = k.size_value(width) <= FEW
        blocks = kc.Block(tuple(small)), kc.Block(tuple(general))
        k.emit(kc.StaticIf(is_small, *blocks))


def side_by_side(made: Array, source: Array, dimension: int) -> bool:
    """Whether elements that are neighbours in this dimension of the source, the
    innermost one of the copy, are neighbours in memory, and may lie in vectors."""
    dense = made.strides[-1] == ONE and source.strides[dimension] == ONE
    return dense and made.memory.element.name not in NOT_IN_VECTORS


def copy_vectors(
    k: KernelBuilder,
    made: Array,
    source: Array,
    at: tuple[Size, ...],
    where: tuple[Size, ...],
    length: Size,
) -> kc.Expression:
    """Copy as many elements as fill vectors; gives the first left over."""
    lanes = min(16, LARGEST_VECTOR // made.memory.element.bytes)
    last = k.size_value(length // lanes * lanes)
    to, start = made.position(at), source.position(where)
    with k.loop("i", last, step=lanes) as i:
        index = Size.of(i.name)
        value = k.load(source.memory, start + index, lanes)
        k.store(made.memory, to + index, value)
    return last


def fill_stretch(
    k: KernelBuilder,
    made: Array,
    source: Array,
    parts: list[Stretch],
    where: tuple[Size, ...],
    at: tuple[Size, ...],
    in_panel: bool,
    within: tuple[Size, ...] = (),
) -> None:
    """The loop over one dimension (or what one panel has of it)."""
    part, rest = parts[0], parts[1:]
    assert part.length is not None

    def round_(index: Size, position: Size) -> None:
        here = (*where, position)
        if in_panel:
            fill_from(k, made, source, rest, here, at, (index,))
        else:
            fill_from(k, made, source, rest, here, (*at, index), within)

    if any(each.length is not None for each in rest):
        with k.loop("i", k.size_value(part.length)) as i:
            index = Size.of(i.name)
            round_(index, clamped(k, part, part.start + index * part.step))
        return
    # Only the innermost dimension is worth a version without clamping.
    end = part.start + (part.length - 1) * part.step
    inside: list[kc.Expression] = []
    for position in (part.start, end):
        value = k.size_value(position)
        inside += [value >= 0, value < k.size_value(part.total)]
    with k.branch(all_of(inside)):
        start: kc.Operand = 0
        if part.step == ONE and side_by_side(made, source, len(where)):
            fixed = (clamped(k, each, each.start) for each in rest)
            here = (*where, part.start, *fixed)
            there = (*at, ZERO) if in_panel else (*at, ZERO, *within)
            start = copy_vectors(k, made, source, there, here, part.length)
        length = k.size_value(part.length)
        with k.loop("i", length, start, parallel=True) as i:
            index = Size.of(i.name)
            round_(index, part.start + index * part.step)
    with k.otherwise():
        begin: kc.Operand = 0
        if part.step == ONE:
            # Elements before the end, without asking for each; then the last one.
            room = minimum(part.length, part.total - part.start)
            bound = kc.Select(
                inside[0], k.size_value(room), kc.Literal(0, kc.LONG), kc.LONG
            )
            begin = k.declare(
                "inside", kc.Call("max", (bound, kc.Literal(0, kc.LONG)), kc.LONG)
            )
            with k.loop("i", begin, parallel=True) as i:
                index = Size.of(i.name)
                round_(index, part.start + index)
            stop = kc.Select(inside[0], k.size_value(part.length), begin, kc.LONG)
            with k.loop("i", stop, begin, parallel=True) as i:
                round_(Size.of(i.name), part.total - 1)
            begin = stop
        with k.loop("i", k.size_value(part.length), begin) as i:
            index = Size.of(i.name)
            round_(index, clamped(k, part, part.start + index * part.step))
