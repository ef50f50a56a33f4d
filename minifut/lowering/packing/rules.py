"""The packing of each collective copy of a CPU group, decided before any code is
emitted: the first of these rules that fires; else plain rows.

    read_in_place       no copy: reads go to rows of the array itself, at unit stride
    pack_transposed     panels, from an array with unit stride across them
    pack_into_panels    panels, from any other array
    pad_rows            rows with padding, against cache set conflicts
"""

from __future__ import annotations

from minifut.ir.sizes import ONE, Extreme, Size
from minifut.kernel_passes.context import LOCALITY
from minifut.lowering.packing.copy_loops import NOT_VECTORISABLE
from minifut.lowering.packing.facts import (
    CopyRegion,
    GroupFacts,
    Packing,
    Panels,
    Rows,
    Unpacked,
)
from minifut.rewrite.rule import Decline, Declined, Remark, decision
from minifut.rewrite.strategy import first_of


def remark(region: CopyRegion, facts: GroupFacts) -> Remark:
    """The name of the array, and the parameters in the width of panels."""
    layout = facts.layouts[region.bound.name]
    constants = facts.host.build.parameters
    names = layout.width.names() if layout.width is not None else ()
    governing = tuple(constants[name] for name in names if name in constants)
    return Remark((region.source_name,), governing)


def choose_packing(region: CopyRegion, facts: GroupFacts) -> Packing:
    """What the first rule gives that fires."""
    rules = (read_in_place, pack_transposed, pack_into_panels, pad_rows)
    packing = first_of(rules, region, facts)
    if isinstance(packing, Declined):
        return Rows(region.innermost, padded=False)
    assert isinstance(packing, Unpacked | Panels | Rows)
    return packing


@decision(paper=LOCALITY, remark=lambda region, _: Remark((region.source_name,)))
def read_in_place(region: CopyRegion, facts: GroupFacts) -> Unpacked | Declined:
    """Read rows of the array itself instead of a copy, which would bring nothing: the
    steps of the reduction read them at unit stride. Only the row is clamped, once
    before the steps, if these are certainly in bounds.

    before:
        like before of pad_rows, with
        given (n: i64, m: i64, a: [m][n]f32)
        let transposed: [n][m]f32 = rearrange((1, 0), a)
        => given (n: i64, m: i64, a: [n][m]f32)
        let as: [8][m]f32 =
        collective_copy transposed[row :+ 8 by 1i64, 0i64 :+ m by 1i64]
        => let as: [8][m]f32 = collective_copy a[row :+ 8 by 1i64, 0i64 :+ m by 1i64]
    after:
        __global const float *a_1 = a + (m * max((long)(0),
        (long)(min((long)(2 * i_2 + ${r_12} + row), (long)(n - 1)))));
        float u = a_1[k];
    before:
        like before of keep_tiles_in_registers
    after:
        float v = xs[k];
    declines: register nests read the copy of b in vectors
        like before of pack_into_panels
    """
    layout = facts.layout(region)
    name = region.source_name
    if layout.dimension is not None:
        return Declined(f"register nests read the copy of {name} in vectors")
    limits = {at: facts.size(limit) for at, limit in layout.limits}
    clamped: list[bool] = []
    unit_stride = False
    for at, dim in enumerate(region.ranges):
        position = region.kept.index(at) if at in region.kept else None
        if position in limits:
            if not in_bounds(region, at, limits[position], facts):
                return Declined(f"steps may go beyond the end of {name}")
            unit_stride |= region.source.strides[at] == ONE
        elif dim.extent not in facts.totals:
            return Declined(f"{name} may be empty where threads have elements")
        clamped.append(position not in limits)
    if not unit_stride:
        return Declined(f"what steps read of {name} is not contiguous")
    return Unpacked(tuple(clamped))


def in_bounds(region: CopyRegion, at: int, limit: Size, facts: GroupFacts) -> bool:
    """Whether the first `limit` positions of a dimension are certainly inside of the
    array."""
    dim = region.ranges[at]
    if dim.length is None or dim.step != ONE:
        return False
    constants = facts.host.build.parameters
    for term, factor in dim.start.terms:
        if factor < 0 or not all(a in facts.counters or a in constants for a in term):
            return False
    return at_most(limit, dim.extent - dim.start)


def at_most(size: Size, bound: Size) -> bool:
    """Whether a size is certainly no greater: it is the bound, or a minimum with an
    operand that is."""
    if size == bound:
        return True
    for term, factor in size.terms:
        if factor == 1 and len(term) == 1 and isinstance(term[0], Extreme):
            least = term[0]
            if not least.greatest:
                rest = size - Size.of(least)
                return any(at_most(rest + part, bound) for part in least.operands)
    return False


def panels_of(region: CopyRegion, facts: GroupFacts) -> tuple[int, Size]:
    """The dimension that is packed into panels, and their width."""
    layout = facts.layout(region, least_rank=2)
    if layout.dimension is None or layout.width is None:
        raise Decline(
            f"register nests do not read the copy of {region.source_name} in vectors"
        )
    return layout.dimension, layout.width


@decision(paper=LOCALITY, remark=remark)
def pack_transposed(region: CopyRegion, facts: GroupFacts) -> Panels | Declined:
    """Pack into panels an array with unit stride across them: transpose in registers.

    before:
        like before of pack_into_panels, with
        given (m: i64, p: i64, b: [m][p]f32)
        => given (m: i64, p: i64, b: [p][m]f32)
        => let transposed: [m][p]f32 = rearrange((1, 0), b)
        b[0i64 :+ m by 1i64, column :+ 64 by 1i64]
        => transposed[0i64 :+ m by 1i64, column :+ 64 by 1i64]
    after:
        float8 row_r${r} = (*(__global const loose_float8 *)(b + (column * m + j * m +
        j_1 * m + 16 * m * panel + m * ${r} + i_1 + i_2)));
        ..
        float8 row_1_r$[(2 * ${r_1})] = INTERLEAVE_LOW_8X32(row_r${r_1},
        row_r$[(1 * ${r_1} + 4)]);
        ..
        *(__local loose_float8 *)(bs + (16 * m * panel + 16 * i_1 + 16 * i_2 + j + j_1 +
        16 * ${r_4})) = row_3_r${r_4};
        ..
        float16 v = (*(__local const loose_float16 *)(bs + ((16 * ${r_11}) +
        (16 * i_8 * m + 16 * k))));
    declines: the elements of a panel are contiguous in b
        like before of pack_into_panels
    """
    dimension, width = panels_of(region, facts)
    name, element = region.source_name, region.source.memory.element
    rank = len(region.kept)
    if region.unit_stride_dimension is None:
        return Declined(f"no elements of {name} are contiguous in memory")
    if region.unit_stride_dimension == dimension:
        return Declined(f"the elements of a panel are contiguous in {name}")
    if rank != 2:
        return Declined(f"the copy of {name} has {rank} dimensions, not two")
    if element.name in NOT_VECTORISABLE:
        return Declined(f"elements of type {element} are not loaded as vectors")
    return Panels(dimension, width, transposed=True)


@decision(paper=LOCALITY, remark=remark)
def pack_into_panels(region: CopyRegion, facts: GroupFacts) -> Panels | Declined:
    """Pack into panels: the elements that a register nest loads as one vector are
    contiguous, followed by those of the next step.

    before:
        like before of keep_tiles_in_registers, with
        given (m: i64, xs: [m]f32, p: i64) => given (m: i64, p: i64, b: [m][p]f32)
        let own: [m]f32 = collective_copy xs[0i64 :+ m by 1i64]
        => let column: i64 = size(g * 64)
        => let bs: [m][64]f32 =
        => collective_copy b[0i64 :+ m by 1i64, column :+ 64 by 1i64]
        let v: f32 = own[k]
        => let at: i64 = size(x * 16 + j_1)
        => let v: f32 = bs[k, at]
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
            return returns add_f32(x, x)
          }
          return tile both of (n by 8)
        }
    """
    dimension, width = panels_of(region, facts)
    return Panels(dimension, width, transposed=False)


@decision(paper=LOCALITY, remark=remark)
def pad_rows(region: CopyRegion, facts: GroupFacts) -> Rows | Declined:
    """Copy into rows with padding: rows at large powers of two map to few cache sets.

    before:
        given (n: i64, m: i64, a: [m][n]f32)
        let transposed: [n][m]f32 = rearrange((1, 0), a)
        let c: [n][16]f32 = segmap group (g < ceil_div(n, 8), h < 1) -> (f32) {
          let row: i64 = size(g * 8)
          let as: [8][m]f32 =
            collective_copy transposed[row :+ 8 by 1i64, 0i64 :+ m by 1i64]
          let acc: [4][1][2][16]f32 = segmap thread (y < 4, x < 1) -> ([2][16]f32) {
            let zeros: [2][16]f32 = segmap register (i < 2, j < 16) -> (f32) {
              return returns 0f32
            }
            return returns loop (sums_1: [2][16]f32 = zeros) for k: i64 < m do {
              let sums_2: [2][16]f32 = segmap register (i_1 < 2, j_1 < 16) -> (f32) {
                let at: i64 = size(y * 2 + i_1)
                let u: f32 = as[at, k]
                let s: f32 = sums_1[i_1, j_1]
                return returns add_f32(s, u)
              }
              return sums_2
            }
          }
          return regtile acc of (n by 4 by 2, 16 by 1 by 16)
        }
    after:
        for (long i_2 = 0L; i_2 < m; i_2++) {
        ..
        x_as[24 * i_2 + i_4] = a[at * n + i_4 + row];
        ..
        float u = x_as[2 * i_10 + 24 * k + ${r_12}];
    declines: something else than register nests reads the copy of xs
        like declines of pack_into_panels
    """
    facts.layout(region, least_rank=2)
    return Rows(region.innermost, padded=True)
