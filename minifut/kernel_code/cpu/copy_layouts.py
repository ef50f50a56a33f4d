"""`CollectiveCopy` under the CPU schedule: whether there is a copy at all, and how it
lies in the memory of the group. Of these rules the first does it that does not refuse;
else the copy is row-major.

    read_in_place       no copy: steps read the rows of the array itself, in order
    turn_into_panels    panels, from an array that lies the other way round
    pack_into_panels    panels: vectors that a register nest reads lie side by side, and
                        those of one step after those of the step before
    pad_rows            rows a little further apart than they are long

`cpu.tile_layouts` tells which layout suits the readers of a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.sizes import Size, minimum
from minifut.ir.types import ScalarType, shape_of
from minifut.kernel_code.copy_regions import Part, Stretch, clamped, stretches
from minifut.kernel_code.cpu.collective_copy import (
    NOT_IN_VECTORS,
    fill_all,
    fill_in_order,
    nonempty,
    zero,
)
from minifut.kernel_code.cpu.direct_reads import PartArray, read_in_place
from minifut.kernel_code.cpu.tile_layouts import PanelArray, layout_of
from minifut.kernel_code.cpu.turned_panels import fill_turned
from minifut.kernel_code.index_functions import Array
from minifut.kernel_passes.rule import LOCALITY, Refused, Remark, lowering_rule
from minifut.rewrite.rule import Declined

if TYPE_CHECKING:
    from minifut.kernel_code.cpu.group import WorkerBuilder


def told(part: Part, k: WorkerBuilder) -> Remark:
    """Of which array it is, and what decides how wide panels are."""
    layout = k.layouts[part.bound.name]
    constants = k.host.build_constants
    names = layout.width.names() if layout.width is not None else ()
    governing = tuple(constants[name] for name in names if name in constants)
    return Remark((part.source_name,), governing)


def panels_of(part: Part, k: WorkerBuilder) -> tuple[int, Size]:
    """The dimension of a copy that is cut into panels, and their width."""
    layout = layout_of(part, k.layouts, least_rank=2)
    if layout.dimension is None or layout.width is None:
        raise Refused(
            f"register nests do not read the copy of {part.source_name} in vectors"
        )
    return layout.dimension, layout.width


@lowering_rule(paper=LOCALITY, tell=told)
def turn_into_panels(part: Part, k: WorkerBuilder) -> bool | Declined:
    """Copy into panels what lies the other way round, square by square.

    before:
        given (m: i64, p: i64, b: [p][m]f32)
        let turned: [m][p]f32 = rearrange((1, 0), b)
        let c: [p]f32 = segmap group (g < ceil_div(p, 64)) -> (f32) {
          let column: i64 = size(g * 64)
          let bs: [m][64]f32 =
            collective_copy turned[0i64 :+ m by 1i64, column :+ 64 by 1i64]
          let acc: [4][16]f32 = segmap thread (x < 4) -> ([16]f32) {
            let zeros: [16]f32 = segmap register (j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [16]f32 = loop (sums_1: [16]f32 = zeros) for k: i64 < m do {
              let sums_2: [16]f32 = segmap register (j_1 < 16) -> (f32) {
                let at: i64 = size(x * 16 + j_1)
                let v: f32 = bs[k, at]
                let s: f32 = sums_1[j_1]
                let t: f32 = add_f32(s, v)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (p by 4 by 16)
        }
    after:
        float16 row_r${r} = (*(__global const loose_float16 *)(b + (column * m + j * m +
        16 * m * panel + m * ${r} + i_1)));
        ..
        float16 row_1_r$[(2 * ${r_1})] = INTERLEAVE_LOW_16X32(row_r${r_1},
        row_r$[(1 * ${r_1} + 8)]);
        ..
        *(__local loose_float16 *)(bs + (16 * m * panel + 16 * i_1 + j + 16 * ${r_5})) =
        row_4_r${r_5};
        ..
        float16 v = (*(__local const loose_float16 *)(bs + ((16 * ${r_12}) +
        (16 * i_7 * m + 16 * k))));
    declines: the elements of a panel lie side by side in b
        given (m: i64, p: i64, b: [m][p]f32)
        let c: [p]f32 = segmap group (g < ceil_div(p, 64)) -> (f32) {
          let column: i64 = size(g * 64)
          let bs: [m][64]f32 =
            collective_copy b[0i64 :+ m by 1i64, column :+ 64 by 1i64]
          let acc: [4][16]f32 = segmap thread (x < 4) -> ([16]f32) {
            let zeros: [16]f32 = segmap register (j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [16]f32 = loop (sums_1: [16]f32 = zeros) for k: i64 < m do {
              let sums_2: [16]f32 = segmap register (j_1 < 16) -> (f32) {
                let at: i64 = size(x * 16 + j_1)
                let v: f32 = bs[k, at]
                let s: f32 = sums_1[j_1]
                let t: f32 = add_f32(s, v)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (p by 4 by 16)
        }
    """
    dimension, width = panels_of(part, k)
    base = part.source_name
    element, rank = part.source.memory.element, len(shape_of(part.bound.type))
    if part.dense is None:
        return Declined(f"no elements of {base} lie side by side in memory")
    if part.dense == dimension:
        return Declined(f"the elements of a panel lie side by side in {base}")
    if rank != 2:
        return Declined(f"the copy of {base} has {rank} dimensions, not two")
    if element.name in NOT_IN_VECTORS:
        return Declined(f"elements of type {element} do not lie in vectors")
    made = k.panels(part.bound, dimension, width)
    with copied(k, part, made):
        fill_turned(k, made, part.source, part.stretches)
    return True


@lowering_rule(paper=LOCALITY, tell=told)
def pack_into_panels(part: Part, k: WorkerBuilder) -> bool | Declined:
    """Copy into panels: elements that a register nest reads as one vector lie side by
    side, those of the next step behind them.

    before:
        given (m: i64, p: i64, b: [m][p]f32)
        let c: [p]f32 = segmap group (g < ceil_div(p, 64)) -> (f32) {
          let column: i64 = size(g * 64)
          let bs: [m][64]f32 =
            collective_copy b[0i64 :+ m by 1i64, column :+ 64 by 1i64]
          let acc: [4][16]f32 = segmap thread (x < 4) -> ([16]f32) {
            let zeros: [16]f32 = segmap register (j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [16]f32 = loop (sums_1: [16]f32 = zeros) for k: i64 < m do {
              let sums_2: [16]f32 = segmap register (j_1 < 16) -> (f32) {
                let at: i64 = size(x * 16 + j_1)
                let v: f32 = bs[k, at]
                let s: f32 = sums_1[j_1]
                let t: f32 = add_f32(s, v)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (p by 4 by 16)
        }
    after:
        for (long panel = 0L; panel < whole; panel++) {
            for (long i_4 = 0L; i_4 < 16L; i_4 += 16L) {
                *(__local loose_float16 *)(bs + (16 * m * panel + 16 * i_3 + i_4)) =
                (*(__global const loose_float16 *)(b + (at * p + column + i_4 +
                16 * panel)));
        ..
        float16 v = (*(__local const loose_float16 *)(bs + ((16 * ${r_6}) +
        (16 * i_15 * m + 16 * k))));
    declines: something else than register nests reads the copy of xs
        given (n: i64, xs: [n]f32)
        let ys: [n]f32 = segmap group (g < ceil_div(n, 8)) -> (f32) {
          let first: i64 = size(g * 8)
          let own: [8]f32 = collective_copy xs[first :+ 8 by 1i64]
          let both: [8]f32 = segmap thread (i < 8) -> (f32) {
            let x: f32 = own[i]
            let y: f32 = add_f32(x, x)
            return returns y
          }
          return tile both of (n by 8)
        }
    """
    dimension, width = panels_of(part, k)
    made = k.panels(part.bound, dimension, width)
    with copied(k, part, made):
        fill_all(k, made, part.source, part.stretches)
    return True


@lowering_rule(paper=LOCALITY, tell=told)
def pad_rows(part: Part, k: WorkerBuilder) -> bool | Declined:
    """Copy into rows a little further apart than they are long: at distances of large
    powers of two they would share too few cache lines.

    before:
        given (n: i64, m: i64, a: [m][n]f32)
        let turned: [n][m]f32 = rearrange((1, 0), a)
        let c: [n][16]f32 = segmap group (g < ceil_div(n, 8), h < 1) -> (f32) {
          let row: i64 = size(g * 8)
          let as: [8][m]f32 =
            collective_copy turned[row :+ 8 by 1i64, 0i64 :+ m by 1i64]
          let acc: [4][1][2][16]f32 = segmap thread (y < 4, x < 1) -> ([2][16]f32) {
            let zeros: [2][16]f32 = segmap register (i < 2, j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [2][16]f32 = loop (sums_1: [2][16]f32 = zeros) for k: i64 < m do {
              let sums_2: [2][16]f32 = segmap register (i_1 < 2, j_1 < 16) -> (f32) {
                let at: i64 = size(y * 2 + i_1)
                let u: f32 = as[at, k]
                let s: f32 = sums_1[i_1, j_1]
                let t: f32 = add_f32(s, u)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (n by 4 by 2, 16 by 1 by 16)
        }
    after:
        for (long i_2 = 0L; i_2 < m; i_2++) {
        ..
        as_1[24 * i_2 + i_4] = a[at * n + i_4 + row];
        ..
        float u = as_1[2 * i_10 + 24 * k + ${r_12}];
    declines: something else than register nests reads the copy of xs
        given (n: i64, xs: [n]f32)
        let ys: [n]f32 = segmap group (g < ceil_div(n, 8)) -> (f32) {
          let first: i64 = size(g * 8)
          let own: [8]f32 = collective_copy xs[first :+ 8 by 1i64]
          let both: [8]f32 = segmap thread (i < 8) -> (f32) {
            let x: f32 = own[i]
            let y: f32 = add_f32(x, x)
            return returns y
          }
          return tile both of (n by 8)
        }
    """
    layout_of(part, k.layouts, least_rank=2)
    made = k.padded_rows(part.bound, innermost(part))
    with copied(k, part, made):
        fill_in_order(k, made, part.source, part.stretches, innermost(part))
    return True


RULES = (turn_into_panels, pack_into_panels, pad_rows)


def copy_collectively(k: WorkerBuilder, stm: Stm, exp: CollectiveCopy) -> None:
    """Copy the part, or do without; an element alone becomes a variable."""
    source, bound = k.array(exp.array), stm.pattern[0]
    parts = shortened(k, bound, stretches(k, exp, source))
    has_elements = nonempty(k, source)
    if isinstance(bound.type, ScalarType):
        value = k.declare(bound.name.base, zero(bound.type))
        with k.branch(has_elements):
            where = tuple(clamped(k, p, p.start) for p in parts)
            k.assign(value, k.read(source, where))
        k.bind(bound.name, value)
        return
    part = Part(bound, exp, source, parts, has_elements)
    in_place = read_in_place(part, k)
    if isinstance(in_place, PartArray):
        k.bind(bound.name, in_place)
        return
    if any(rule.fires(part, k) for rule in RULES):
        return
    made = k.fresh(bound)
    with copied(k, part, made):
        fill_in_order(k, made, source, parts, innermost(part))


def innermost(part: Part) -> int:
    """The dimension whose elements are copied one after the other."""
    last = len(shape_of(part.bound.type)) - 1
    return last if part.dense is None else part.dense


@contextmanager
def copied(k: WorkerBuilder, part: Part, made: Array) -> Iterator[None]:
    """Fill the memory of a copy in here, if the array has any; else it is zero."""
    with k.branch(part.has_elements):
        yield
    target = made.opened if isinstance(made, PanelArray) else made
    with k.otherwise():
        nought = zero(made.memory.element)
        k.each(target.shape, lambda at: k.write(target, at, nought))
    k.bind(part.bound.name, made)


def shortened(k: WorkerBuilder, bound: Param, parts: list[Stretch]) -> list[Stretch]:
    """Without elements that are never read."""
    layout = k.layouts.get(bound.name)
    limits = dict(layout.bounds) if layout is not None else {}
    kept = [part for part in parts if part.length is not None]
    for dimension, limit in limits.items():
        part = kept[dimension]
        assert part.length is not None
        end = k.full_size(limit)
        if minimum(end, part.length) == end:
            length = k.as_size(k.named(k.size_value(end), "length"))
            parts[parts.index(part)] = replace(part, length=length)
    return parts
