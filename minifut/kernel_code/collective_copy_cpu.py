"""`CollectiveCopy` under the CPU schedule: loops, with positions clamped to the array.

for (i = 0; i < rows; i++) {
    long p = clamp(row + i, 0, n - 1);
    if (0 <= column && column + width <= m)         most tiles: no clamping inside
        for (j = 0; j < width; j++) tile[i, j] = xs[p, column + j];
    else
        for (j ..) tile[i, j] = xs[p, clamp(column + j, 0, m - 1)];
}
"""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.core import DimSlice, Stm
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.types import ScalarType
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.lower_kernel import KernelBuilder


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is copied of one dimension: `length` positions from `start`; None: one."""

    start: Size
    length: Size | None
    step: Size
    total: Size


def copy_collectively(k: KernelBuilder, stm: Stm, exp: CollectiveCopy) -> None:
    """Copy the part; an element alone becomes a variable."""
    source, bound = k.array(exp.array), stm.pattern[0]
    parts = stretches(k, exp, source)
    has_elements = nonempty(k, source)
    if isinstance(bound.type, ScalarType):
        value = k.declare(bound.name.base, zero(bound.type))
        with k.branch(has_elements):
            where = tuple(clamped(k, p, p.start) for p in parts)
            k.assign(value, k.read(source, where))
        k.bind(bound.name, value)
        return
    made = k.fresh(bound)
    with k.branch(has_elements):
        fill_from(k, made, source, parts, (), ())
    with k.otherwise():
        k.each(made.shape, lambda at: k.write(made, at, zero(made.memory.element)))
    k.bind(bound.name, made)


def zero(type_: ScalarType) -> kc.Literal:
    """Nought of a type."""
    value = 0.0 if type_.is_float else 0 if type_.is_integer else False
    return kc.Literal(value, kc.VectorType(type_))


def stretches(k: KernelBuilder, exp: CollectiveCopy, source: Array) -> list[Stretch]:
    """The part of each dimension."""
    found = []
    for dimension, total in enumerate(source.shape):
        if dimension >= len(exp.slice):
            found.append(Stretch(ZERO, total, ONE, total))
            continue
        part = exp.slice[dimension]
        if isinstance(part, DimSlice):
            start, step = k.index(part.start), k.index(part.stride)
            found.append(Stretch(start, k.resolve(part.length), step, total))
        else:
            found.append(Stretch(k.index(part), None, ONE, total))
    return found


def nonempty(k: KernelBuilder, source: Array) -> kc.Expression:
    """Whether an array has elements."""
    test: kc.Expression = kc.Literal(True, kc.TRUTH)
    for size in source.shape:
        if size.as_constant is None or size.as_constant == 0:
            test = kc.Binary("&&", test, k.size_value(size) > 0, kc.TRUTH)
    return test


def clamped(k: KernelBuilder, part: Stretch, position: Size) -> Size:
    """The position in the array that stands for one which may lie beyond it."""
    if position == ZERO:
        return position
    last = k.size_value(part.total - 1)
    least = kc.Literal(0, kc.LONG)
    inside = kc.Call("clamp", (k.size_value(position), least, last), kc.LONG)
    return k.as_size(k.named(inside, "at"))


def fill_from(
    k: KernelBuilder,
    made: Array,
    source: Array,
    parts: list[Stretch],
    where: tuple[Size, ...],
    at: tuple[Size, ...],
) -> None:
    """Loops over the dimensions from here; `where` in the source, `at` in the copy."""
    if not parts:
        k.write(made, at, k.read(source, where))
        return
    part, rest = parts[0], parts[1:]
    if part.length is None:
        where = (*where, clamped(k, part, part.start))
        fill_from(k, made, source, rest, where, at)
        return
    if rest:
        with k.loop("i", k.size_value(part.length)) as i:
            index = Size.of(i.name)
            position = clamped(k, part, part.start + index * part.step)
            fill_from(k, made, source, rest, (*where, position), (*at, index))
        return
    # Only the innermost dimension is worth a version without clamping.
    end = part.start + (part.length - 1) * part.step
    inside: list[kc.Expression] = []
    for position in (part.start, end):
        value = k.size_value(position)
        inside += [value >= 0, value < k.size_value(part.total)]
    test = inside[0]
    for other in inside[1:]:
        test = kc.Binary("&&", test, other, kc.TRUTH)
    with k.branch(test), k.loop("i", k.size_value(part.length), parallel=True) as i:
        index = Size.of(i.name)
        position = part.start + index * part.step
        k.write(made, (*at, index), k.read(source, (*where, position)))
    with k.otherwise(), k.loop("i", k.size_value(part.length)) as i:
        index = Size.of(i.name)
        position = clamped(k, part, part.start + index * part.step)
        k.write(made, (*at, index), k.read(source, (*where, position)))
