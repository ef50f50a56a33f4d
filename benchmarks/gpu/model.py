"""A cost model of GPU kernels: the share of the peak that an innermost loop can reach.

A loop, or the run of instructions that came of unrolling one, is described by what a
warp of 32 does in an iteration; a compute unit (streaming multiprocessor) has four
schedulers. Cycles of a compute unit for a warp's iteration:

    fma      F * 32 / lanes      F multiply-adds, `lanes` of them a cycle
    local    sum of w * c        w wavefronts of a conflict-free access (1, 2, 4 for
                                 4, 8, 16 bytes a work-item), c bank conflicts
    issue    N / 4               N instructions, one a cycle for each scheduler

A product of matrices is bound by the largest:

    share = fma / max(fma, local, issue)

A loop that streams global memory is bound by the bytes in flight (Little's law):

    resident = min(registers, threads, local memory, groups)    groups of a unit
    flight   = resident * work-items * loads * bytes            loads before a use
    share    = min(1, flight / (latency * bandwidth))           of a unit, a cycle

A kernel whose groups do a tile in several parts (a scan, a reduction in order) has no
innermost loop that stands for it. It is bound by all that a warp does:

    issue      N * m / M / 4         N instructions with M accesses to memory; m were
                                     executed in simulation
    local      W                     wavefronts that simulation counts
    bandwidth  32 * S / bandwidth    sectors that it counts

All parts are taken to have as many instructions for an access.

Assumptions: enough groups to fill the device; latencies of arithmetic hidden by the
resident warps; a multiply-add without a pipe of its own (F counts FMUL + FADD as two);
no dual issue; all caches miss in streams and hit in products; latency under load is the
figure of the table, from published microbenchmarks; broadcasts within 16-byte local
accesses take as long as different words.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.gpu.sass import Loop


@dataclass(frozen=True, slots=True)
class Architecture:
    """A compute unit, and the memory of a whole device; `lanes` by bytes of a float."""

    name: str
    units: int
    clock: float
    lanes: dict[int, int]
    registers: int
    threads: int
    shared: int
    groups: int
    bandwidth: float
    latency: int

    @property
    def bytes_per_cycle(self) -> float:
        """Global memory's bandwidth for a compute unit."""
        return self.bandwidth / self.clock / self.units


ARCHITECTURES = {
    "sm_80": Architecture(  # A100, 40 GB
        "sm_80", 108, 1.41e9, {4: 64, 8: 32}, 65536, 2048, 164 << 10, 32, 1.555e12, 600
    ),
    "sm_86": Architecture(  # RTX 3090
        "sm_86", 82, 1.70e9, {4: 128, 8: 2}, 65536, 1536, 100 << 10, 16, 0.936e12, 600
    ),
    "sm_90": Architecture(  # H200
        "sm_90", 132, 1.83e9, {4: 128, 8: 64}, 65536, 2048, 228 << 10, 32, 4.8e12, 700
    ),
}
RESERVED_SHARED = 1024
"""bytes of local memory that the driver takes for each group"""
MULTIPLY_ADDS = {4: ("FFMA",), 8: ("DFMA",)}
SEPARATE = {4: ("FMUL", "FADD"), 8: ("DMUL", "DADD")}
WAVEFRONTS = {"LDS": 1, "STS": 1, "LDS.64": 2, "STS.64": 2, "LDS.128": 4, "STS.128": 4}


@dataclass(frozen=True, slots=True)
class Executed:
    """What a warp of a kernel does in simulation, by the mean of all: accesses to
    memory but atomics, wavefronts of local memory and sectors of global memory."""

    accesses: float
    wavefronts: float
    sectors: float


@dataclass(frozen=True, slots=True)
class Bound:
    """A share of the peak, and what it is bound by."""

    share: float
    by: str

    def __str__(self) -> str:
        return f"{self.share:4.0%} ({self.by})"


def resident_groups(
    architecture: Architecture, registers: int, threads: int, shared: int
) -> int:
    """Groups that a compute unit runs at the same time. Registers are given to warps
    in units of 256."""
    warps = -(-threads // 32)
    per_warp = max(256, -(-registers * 32 // 256) * 256)
    return min(
        architecture.registers // per_warp // warps,
        architecture.threads // (warps * 32),
        architecture.shared // (shared + RESERVED_SHARED),
        architecture.groups,
    )


def product_share(
    architecture: Architecture, loop: Loop, conflict: float = 1.0, size: int = 4
) -> Bound:
    """The bound of a product of matrices; `conflict`: wavefronts over the least."""
    lanes = architecture.lanes[size]
    useful = loop.count(*MULTIPLY_ADDS[size]) + loop.count(SEPARATE[size][0])
    pipe = loop.count(*MULTIPLY_ADDS[size], *SEPARATE[size]) * 32 / lanes
    waves = sum(loop.count(name) * count for name, count in WAVEFRONTS.items())
    costs = {"fma": pipe, "local": waves * conflict, "issue": loop.issued / 4}
    by = max(costs, key=lambda name: costs[name])
    return Bound(useful * 32 / lanes / costs[by] if costs[by] else 0.0, by)


def step_of(rows: int, columns: int, size: int) -> Loop:
    """A step of a product with so many elements of `size` bytes a thread, as it is at
    best: vector loads of both operands, multiply-adds, half of a loop's end."""
    loads = -(-rows * size // 16) + -(-columns * size // 16)
    fma = MULTIPLY_ADDS[size][0]
    return Loop({fma: rows * columns, "LDS.128": loads, "BRA": 3}, True, 0, size)


def tile_registers(rows: int, columns: int, size: int) -> int:
    """The registers of a thread: accumulators, a step's operands, and some 30 for
    indices."""
    return (rows * columns + rows + columns) * size // 4 + 30


def stream_share(
    architecture: Architecture, loop: Loop, registers: int, threads: int, shared: int
) -> Bound:
    """The bound of a loop over elements of global memory."""
    bandwidth = architecture.bytes_per_cycle
    waves = sum(loop.count(name) * count for name, count in WAVEFRONTS.items())
    moved = 32 * sum(
        loop.count(f"{name}{suffix}") * size
        for name in ("LDG", "STG")
        for suffix, size in (("", 4), (".64", 8), (".128", 16))
    )
    costs = {"local": waves, "issue": loop.issued / 4, "bandwidth": moved / bandwidth}
    by = max(costs, key=lambda name: costs[name])
    share = costs["bandwidth"] / costs[by] if costs[by] else 1.0
    latency = latency_share(architecture, loop, registers, threads, shared)
    return min(Bound(share, by), latency, key=lambda bound: bound.share)


def latency_share(
    architecture: Architecture, loop: Loop, registers: int, threads: int, shared: int
) -> Bound:
    """The bound by the bytes in flight."""
    resident = resident_groups(architecture, registers, threads, shared)
    flight = resident * threads * loop.loads * loop.load_bytes
    wanted = architecture.latency * architecture.bytes_per_cycle
    return Bound(min(1.0, flight / wanted), "latency")


def kernel_share(architecture: Architecture, code: Loop, executed: Executed) -> Bound:
    """The bound of a whole kernel over its bandwidth; `code` is all of it."""
    count = code.issued * executed.accesses / max(1, code.accesses)
    bandwidth = executed.sectors * 32 / architecture.bytes_per_cycle
    costs = {"local": executed.wavefronts, "issue": count / 4, "bandwidth": bandwidth}
    by = max(costs, key=lambda name: costs[name])
    return Bound(bandwidth / costs[by] if costs[by] else 1.0, by)


def hottest(loops: tuple[Loop, ...]) -> Loop | None:
    """The innermost loop with the most multiply-adds, else loads from global memory,
    else instructions."""
    inner = [loop for loop in loops if loop.inner]

    def key(loop: Loop) -> tuple[int, int, int]:
        fma = loop.count("FFMA", "DFMA", "FMUL", "DMUL")
        return fma, loop.count("LDG", "LDG.64", "LDG.128"), loop.issued

    return max(inner, key=key, default=None)
