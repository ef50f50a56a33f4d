"""The numbers that shape tiles: names, defaults per kind of device, bounds.

A group's tile has block * register elements per dimension: `block_rows` and
`block_columns` count threads, `register_rows` and `register_columns` the elements of
each; `block_depth` is how many elements of the common dimension are in a step.

On a GPU `GPU_TILES` has the tiles of one accumulator, by bytes of an element and family
of the device; several accumulators leave registers for 4 x 4 elements. On a CPU one
core works on the whole tile: 8 rows of 128 bytes are enough accumulators to hide what
an addition takes (14, as many as fit its registers, or 6 of 256 are no faster and waste
more at edges and where there are only 8 rows); without AVX-512, 6 rows of 64 bytes are
12 of 16 registers, which leaves some for the operands (8 rows of 64 bytes or of 128 are
kept in memory and take 1.7 times as long). The packed parts of both operands
fill its second-level cache; wider elements and more accumulators make blocks lower and
narrower, but not less deep, so that all of them stay in `CPU_LOCAL_BYTES` (products of
doubles of 2048 x 2048 gain a tenth over blocks of half the depth); the runtime makes
them smaller where that cache is. Blocks of 512 rows
gain 1 to 3 % where rows are read in place, but lose 6 % where they are copied: steps
then access more pages than a core has entries for.
"""

from __future__ import annotations

from minifut.ir.kernels import Parameter
from minifut.ir.node import immutable

CPU_LOCAL_BYTES = 15 << 16
CPU_REGISTERS = {"cpu": (8, 128), "avx2": (6, 64)}
"""rows, and the bytes of each, by family of CPUs; "cpu" is for AVX-512"""
CPU_LINE_BYTES = 256
"""of accumulators where only one dimension is tiled"""
CPU_ROWS = 256
CPU_COLUMNS = 512
CPU_DEPTH = 256
PAD = 16
"""elements between packed rows on a CPU"""

SPLIT_DEPTH = 4096


@immutable
class GpuTile:
    """The elements of a thread, the depth of a block, and the rows of 16 threads."""

    rows: int
    columns: int
    depth: int
    threads: int = 16


GPU_TILES: dict[int, dict[str, GpuTile]] = {
    4: {
        # local memory gives a compute unit 128 bytes a cycle: loads then take no longer
        # than multiply-adds (with 4 x 4 elements twice as long), and 128 registers
        # suffice, with which NVIDIA runs two such groups and CDNA four waves; deeper
        # blocks spill there
        "gpu": GpuTile(8, 8, 8),
        # 8 x 8 accumulators of 16 lanes fill a register file of 4 KB
        "intel": GpuTile(8, 4, 8),
    },
    8: {
        # as many registers as 8 x 8 of 4 bytes; local memory takes as long as the
        # multiply-adds of sm_80, with 32 lanes a multiprocessor
        "gpu": GpuTile(8, 4, 8),
        # 64 lanes a multiprocessor: with 8 x 4 elements local memory takes half as long
        # again as the multiply-adds; two groups of 128 threads have 255 registers each
        "sm_90": GpuTile(8, 8, 8, threads=8),
        "intel": GpuTile(4, 4, 8),
    },
}
"""by bytes of the widest element and family of GPUs (`opencl.runtime.device_family`);
chosen by `benchmarks/gpu/model.py`, as its tests check"""
SEVERAL = GpuTile(4, 4, 16)
"""of several accumulators, or wide ones"""

KINDS = {
    "block_rows": ("tile_side", 1024),
    "block_columns": ("tile_side", 1024),
    "block_depth": ("tile_depth", 4096),
    "register_rows": ("reg_tile_size", 16),
    "register_columns": ("reg_tile_size", 64),
    "split_depth": ("tile_size", 1 << 30),
}
ROWS = ("block_rows", "register_rows")
COLUMNS = ("block_columns", "register_columns")


@immutable
class Footprint:
    """What decides the defaults, in bytes: for a step, what is read per row and what
    per column; what each point keeps beyond its loop that fits into no result; the
    widest element of all. And how many accumulators a point has at most, and how many
    dimensions are tiled."""

    row: int
    column: int
    kept: int
    widest: int
    accumulators: int
    rank: int = 2


def parameter(nest: str, which: str, footprint: Footprint) -> Parameter:
    """The tile parameter of that name."""
    kind, most = KINDS[which]
    cpus = {
        family: {**cpu_defaults(footprint, family), "split_depth": SPLIT_DEPTH}[which]
        for family in CPU_REGISTERS
    }
    gpus = {
        family: {**defaults, "split_depth": 512}[which]
        for family, defaults in gpu_defaults(footprint).items()
    }
    defaults = {"cpu": cpus["cpu"], "gpu": gpus["gpu"], **_unlike("gpu", gpus)}
    defaults |= _unlike("cpu", cpus)
    return Parameter(f"{nest}.{which}", kind, tuple(defaults.items()), (1, most))


def _unlike(kind: str, by_family: dict[str, int]) -> dict[str, int]:
    """The defaults of families that differ from the one of their kind."""
    common = by_family[kind]
    return {name: size for name, size in by_family.items() if size != common}


def gpu_defaults(footprint: Footprint) -> dict[str, dict[str, int]]:
    """Tile sizes for families of GPUs, whose registers bound the elements of a thread;
    "gpu" stands for those without a tile of their own."""
    if footprint.rank == 1:
        line = {"block_columns": 256, "block_depth": 256, "register_columns": 1}
        return {"gpu": line}
    tiles = {"gpu": SEVERAL}
    if footprint.accumulators == 1 and footprint.widest <= 8:
        tiles = GPU_TILES[4 if footprint.widest <= 4 else 8]
    return {
        family: {
            "block_rows": tile.threads,
            "block_columns": 16,
            "block_depth": tile.depth,
            "register_rows": tile.rows,
            "register_columns": tile.columns,
        }
        for family, tile in tiles.items()
    }


def cpu_defaults(footprint: Footprint, family: str) -> dict[str, int]:
    """Tile sizes for a family of CPUs that fit its local memory."""
    register_rows, nbytes = CPU_REGISTERS[family]
    nbytes = CPU_LINE_BYTES if footprint.rank == 1 else nbytes
    lanes = max(1, min(64, nbytes // footprint.widest))
    rows = max(1, register_rows // footprint.accumulators)
    if footprint.rank == 1:
        columns = max(1, CPU_COLUMNS // lanes)
        return {
            "block_columns": columns,
            "block_depth": CPU_DEPTH,
            "register_columns": lanes,
        }
    high, wide, deep = CPU_ROWS, CPU_COLUMNS, CPU_DEPTH
    while _bytes(footprint, high, wide, deep) > CPU_LOCAL_BYTES:
        if min(high, wide) < 2 * lanes:
            deep //= 2
        elif high * footprint.row > wide * footprint.column:
            high //= 2
        else:
            wide //= 2
    return {
        "block_rows": max(1, high // rows),
        "block_columns": max(1, wide // lanes),
        "block_depth": deep,
        "register_rows": rows,
        "register_columns": lanes,
    }


def _bytes(footprint: Footprint, high: int, wide: int, deep: int) -> int:
    rows = high * (deep + PAD) * footprint.row
    columns = deep * (wide + PAD) * footprint.column
    return rows + columns + high * wide * footprint.kept
