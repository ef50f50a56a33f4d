"""Transposition under the CPU schedule: squares of 16 x 16 transposed in registers.

    16 rows r0 .. r15 of the source, as vectors
    4 times:  (r0, r8, r1, r9, ..) → interleaved, low halves and high halves
    16 rows of the target

Where 16 such vectors do not fit into registers, four squares of half the side do: two
below each other first, which are of the same lines of the source (of a stride of 16 KB
no more than 8 fit the first cache). They are not streamed, as half a line takes longer
by itself. Operands that are packed so are quartered in any case: code that is not
written out takes the driver 0.2 s less for the kernel of a product. A group transposes
a block of 256 x 256, which touches few pages. Each row of a square is a cache line: a
result too large for the caches is stored with non-temporal stores if its rows are
aligned; else the lines that the next squares write are prefetched (a plane of odd sides
beyond the caches takes 0.6 of the time). The last squares of a block overlap those
before; blocks smaller than a square are copied by the element. Elements of 8 bytes are
transposed in squares of 8 x 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.kernels import Parameter
from minifut.ir.sizes import Size, product
from minifut.ir.types import BOOL, U8, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import interleave
from minifut.kernel_ir.types import STREAMABLE
from minifut.lowering.cpu.partition import smaller
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.positions import unravel
from minifut.lowering.segmap.streaming import is_large
from minifut.lowering.threads.builder import KernelBuilder
from minifut.lowering.threads.register_tiles import RegisterTile, each_register
from minifut.lowering.transposition.planes import Plane, as_parameters

BLOCK = 256
VECTOR_BYTES = Parameter(
    "device.vector_bytes", "limit", (("cpu", 64), ("gpu", 64), ("avx2", 32))
)
"""the bytes of a vector register"""


def copy_transposed(host: HostBuilder, plane: Plane) -> None:
    """One work-group of one work-item for each block of the plane."""
    count = host.let_size(product(plane.squares(Size.constant(BLOCK))), "blocks")
    k = host.kernel("transpose")
    plane = as_parameters(k, plane)
    rows, columns = plane.sides
    number = k.declare("block", k.identity("get_global_id"))
    *outer, down, across = unravel(k, number, plane.squares(Size.constant(BLOCK)))
    width = 8 if plane.source.memory.element.bytes == 8 else 16
    ends: list[tuple[kc.Expression, kc.Expression]] = []
    for index, side in ((down, rows), (across, columns)):
        first = k.named(index * BLOCK, "first")
        last = k.named(smaller(first + BLOCK, k.size_value(side)), "last")
        ends.append((first, last))
    (i0, i1), (j0, j1) = ends

    def squares(streaming: bool) -> None:
        with k.loop("i", i1, i0, width) as i, k.loop("j", j1, j0, width) as j:
            row = k.named(smaller(i, i1 - width), "row")
            column = k.named(smaller(j, j1 - width), "column")
            transpose_square(k, plane, outer, row, column, width, streaming)

    with k.branch(kc.all_of([last - first >= width for first, last in ends])):
        if plane.target.memory.element in STREAMABLE:
            with k.branch(_may_stream(k, plane, width)):
                squares(streaming=True)
            with k.otherwise():
                squares(streaming=False)
        else:
            squares(streaming=False)
    with k.otherwise(), k.loop("i", i1, i0) as i, k.loop("j", j1, j0) as j:
        element = k.read(plane.source, (*outer, i, j))
        k.write(plane.target, (*outer, i, j), element)
    host.launch(k, count, 1, fresh=True)


def _may_stream(k: KernelBuilder, plane: Plane, width: int) -> kc.Expression:
    """Whether the result is too large for the caches, and its rows are aligned."""
    target = plane.target
    steps = (target.offset, *target.strides[:-1], target.shape[-1])
    wanted = is_large(k, target.count, target.memory.element.bytes)
    for step in steps:
        aligned = (k.size_value(step) % width).equals(0)
        wanted = kc.all_of((wanted, aligned))
    return wanted


def transpose_square(
    k: KernelBuilder,
    plane: Plane,
    outer: Sequence[kc.Expression],
    i: kc.Expression,
    j: kc.Expression,
    width: int,
    streaming: bool = False,
    packing: bool = False,
) -> None:
    """Transpose the square that starts at (i, j)."""
    element = plane.source.memory.element
    scalar = U8 if element == BOOL else element
    k.use(plane.source.memory)
    k.use(plane.target.memory, written=True)
    at = tuple([k.as_size(index, "at") for index in outer])
    row, column = k.as_size(i), k.as_size(j)
    if not (streaming or packing):
        with each_register(k, (Size.constant(width),)) as (r,):
            next_row = row + width + Size.of(r)
            there = k.size_value(plane.target.position((*at, next_row, column)))
            k.emit(kc.Prefetch(plane.target.memory, there))

    def square(place: tuple[Size, ...], side: int, streaming: bool) -> kc.Block:
        with k.nested() as made:
            _transpose(k, plane, place, kc.VectorType(scalar, side), streaming)
        return kc.Block(tuple(made))

    half = width // 2
    nbytes = width * _register_bits(scalar) // 8
    if width * nbytes <= 512:
        k.statements.extend(square((*at, row, column), width, streaming).statements)
        return
    with (
        k.nested() as quarters,
        k.loop("j", width, 0, half, rolled=True) as across,
        k.loop("i", width, 0, half, rolled=True) as down,
    ):
        place = (row + k.as_size(down), column + k.as_size(across))
        k.emit(square((*at, *place), half, False))
    if packing:
        k.statements.extend(quarters)
        return
    whole = square((*at, row, column), width, streaming)
    fits = k.build_constant(VECTOR_BYTES) >= nbytes
    k.emit(kc.StaticIf(fits, whole, kc.Block(tuple(quarters))))


def _transpose(
    k: KernelBuilder,
    plane: Plane,
    place: tuple[Size, ...],
    type_: kc.VectorType,
    streaming: bool,
) -> None:
    """Transpose the square of vectors of a type that starts at a place."""
    *at, row, column = place
    squares = _rows(k, type_)
    with each_register(k, squares.counts) as (r,):
        here = plane.source.position((*at, row, column + Size.of(r)))
        load = kc.Load(plane.source.memory, k.size_value(here), type_)
        k.emit(kc.Declare(squares.at((r,)), load))
    for _ in range(type_.lanes.bit_length() - 1):
        squares = _interleaved(k, squares)
    with each_register(k, squares.counts) as (r,):
        there = k.size_value(plane.target.position((*at, row + Size.of(r), column)))
        store = kc.Store(plane.target.memory, there, squares.at((r,)), streaming)
        k.emit(store)


def _register_bits(scalar: ScalarType) -> int:
    """Those that a value takes in registers, where f16 are f32."""
    return max(32, scalar.bits) if scalar.is_float else scalar.bits


def _rows(k: KernelBuilder, type_: kc.VectorType) -> RegisterTile:
    """Names for the rows of a square, which are declared with their values."""
    return RegisterTile(k.names.fresh("row"), type_, (Size.constant(type_.lanes),))


def _interleaved(k: KernelBuilder, rows: RegisterTile) -> RegisterTile:
    """Row r with row r + half: the low halves become row 2r, the high ones 2r + 1."""
    width, bits = rows.type.lanes, _register_bits(rows.type.scalar)
    mixed = _rows(k, rows.type)
    half = Size.constant(width // 2)
    with each_register(k, (half,)) as (r,):
        index = Size.of(r)
        pair = (rows.at((r,)), rows.at((index + half,)))
        for number, part in enumerate(("LOW", "HIGH")):
            call = kc.Call(interleave(part, width, bits), pair, rows.type)
            k.emit(kc.Declare(mixed.at((index * 2 + number,)), call))
    return mixed
