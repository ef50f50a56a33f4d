"""Limits on kernels, and their registers and barriers against those accepted last.

    spills, stack                none, for any kernel
    registers                    at most a tenth above golden.json
    barriers                     no more than there
    products                     four waves on gfx90a; multiply-adds contracted whatever
                                 the version of Clang
    hot loads and stores         no bank conflicts of loads; 0.95 of the sectors are
                                 needed for the bytes (one for a word of a whole warp)
    traffic                      as many bytes for each of the input as the case says
    atomics in local memory      as many conflicts as the case says, at most

Hot kernels are named by their case; a load is hot that is executed at least
a tenth as often as the most frequent load of the same memory in its kernel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu.cases import Case
from benchmarks.gpu.launches import COUNTED_GROUPS, Launch
from benchmarks.gpu.model import (
    ARCHITECTURES,
    Bound,
    Executed,
    hottest,
    kernel_share,
    latency_share,
    product_share,
    stream_share,
)
from benchmarks.gpu.toolchain import Amd, Nvidia

GOLDEN = Path(__file__).parent / "golden.json"
REGISTER_GROWTH = 1.1
FEWEST_WAVES = 4
LEAST_EFFICIENCY = 0.95
SECTOR = 32
WARP = 32
HOT = 0.1


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a case with all that was found out about it."""

    case: Case
    launch: Launch
    nvidia: dict[str, Nvidia]
    amd: Amd
    contracts: bool

    @property
    def key(self) -> str:
        """Its name in golden.json."""
        return f"{self.case.name}/{self.launch.kernel.removeprefix('main_')}"

    @property
    def registers(self) -> dict[str, int]:
        """Registers for each architecture."""
        found = {name: each.registers for name, each in self.nvidia.items()}
        return {**found, "gfx90a": self.amd.registers}

    @property
    def barriers(self) -> int:
        """Barriers in the code of sm_90."""
        return self._count("BAR")

    @property
    def shuffles(self) -> int:
        """Shuffles in the code of sm_90."""
        return self._count("SHFL")

    def _count(self, operation: str) -> int:
        counts = self.nvidia["sm_90"].loops[-1].counts.items()
        return sum(n for name, n in counts if name.partition(".")[0] == operation)

    @property
    def mix(self) -> str:
        """Instructions on integers of all, in the code of sm_90."""
        code = self.nvidia["sm_90"].loops[-1]
        return f"{code.integers}/{code.issued}"

    @property
    def is_hot(self) -> bool:
        """Whether the limits on loads hold for it."""
        hot = self.case.hot
        return bool(hot and re.search(f"({hot})$", self.launch.kernel))

    def hot_accesses(self, space: str, kind: str) -> list[dict[str, Any]]:
        """The accesses of a kind that are as frequent as a tenth of the most frequent.
        The test for failures, once for each work-item, is none of them."""
        found = [
            each
            for each in self.launch.accesses
            if (each["space"], each["kind"]) == (space, kind)
            and "failure[0]" not in self.line(each)
        ]
        most = max((each["requests"] for each in found), default=0)
        return [each for each in found if each["requests"] >= HOT * most]

    def line(self, access: dict[str, Any]) -> str:
        """The line of the kernel's text with an access."""
        number = access["line"]
        return self.launch.text.splitlines()[number - 1].strip() if number else ""

    def conflict(self, kind: str = "load") -> float:
        """Wavefronts of hot accesses to local memory over the least."""
        hot = self.hot_accesses("local", kind)
        least = sum(each["least"] for each in hot)
        return sum(each["wavefronts"] for each in hot) / least if least else 1.0

    def efficiency(self, kind: str = "load") -> float:
        """The least sectors of hot accesses to global memory over those they take."""
        hot = self.hot_accesses("global", kind)
        sectors = sum(each["sectors"] for each in hot)
        return sum(each["least"] for each in hot) / sectors if sectors else 1.0

    @property
    def traffic(self) -> float:
        """Bytes between the device and its memory for each byte of the input, if all
        groups are like those that were counted."""
        groups = self.launch.groups / min(self.launch.groups, COUNTED_GROUPS)
        found = (each for each in self.launch.accesses if each["space"] == "global")
        moved = sum(each["sectors"] for each in found) * SECTOR
        given = self.case.arguments(np.random.default_rng(1))
        return float(
            moved * groups / max(1, sum(np.asarray(each).nbytes for each in given))
        )

    @property
    def executed(self) -> Executed:
        """What a warp did in simulation."""
        groups = min(self.launch.groups, COUNTED_GROUPS)
        warps = max(1, groups * self.launch.group // WARP)

        def mean(key: str, space: str = "") -> float:
            found = (e for e in self.launch.accesses if e["kind"] != "atomic" or space)
            return sum(e[key] for e in found if space in e["space"]) / warps

        wavefronts = mean("wavefronts", "local") + mean("wavefronts", "shuffle")
        return Executed(mean("requests"), wavefronts, mean("sectors", "global"))

    def predicted(self, architecture: str) -> Bound | None:
        """The share of the peak, of arithmetic for products and bandwidth for others.
        The loop is that of sm_90's code for all architectures."""
        loops, runs = self.nvidia["sm_90"].loops, self.nvidia["sm_90"].runs
        unrolled = self.launch.kernel.endswith("transpose")
        loop = loops[-1] if unrolled else hottest(loops)
        if loop is None:
            return None
        device = ARCHITECTURES[architecture]
        if self.case.is_product and self.is_hot:
            loop = hottest((loop, *runs))
            assert loop is not None
            size = 8 if loop.count("DFMA", "DMUL") else 4
            return product_share(device, loop, self.conflict(), size)
        compiled = self.nvidia["sm_90"]
        shared = self.launch.local_bytes + compiled.shared
        limits = compiled.registers, self.launch.group, shared
        if self.case.in_parts and self.is_hot:
            latency = latency_share(device, loops[-1], *limits)
            whole = kernel_share(device, loops[-1], self.executed)
            return min(whole, latency, key=lambda each: each.share)
        return stream_share(device, loop, *limits) if loop.loads else None


def read_golden() -> dict[str, dict[str, int]]:
    """The registers of the last accepted state."""
    known: dict[str, dict[str, int]] = json.loads(GOLDEN.read_text())
    return known


def write_golden(kernels: list[Kernel], others: dict[str, dict[str, int]]) -> None:
    """Accept the registers of these kernels, and keep those of others."""
    own = {each.key: {**each.registers, "barriers": each.barriers} for each in kernels}
    known = {**others, **own}
    GOLDEN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def complaints(kernel: Kernel, golden: dict[str, dict[str, int]]) -> Iterator[str]:
    """What is wrong with a kernel."""
    families = kernel.case.families
    for name, compiled in kernel.nvidia.items():
        if name in families and (compiled.spills or compiled.stack):
            yield f"{name}: {compiled.spills} bytes spilled, {compiled.stack} of stack"
    if "gfx90a" in families and (kernel.amd.spills > 0 or kernel.amd.scratch > 0):
        yield f"gfx90a: {kernel.amd.spills} registers spilled"
    for name, count in kernel.registers.items():
        known = golden.get(kernel.key, {}).get(name)
        if known is None:
            yield f"{name}: not in golden.json (accept it by --golden)"
        elif count > known * REGISTER_GROWTH:
            yield f"{name}: {count} registers, {known} before"
    known = golden.get(kernel.key, {}).get("barriers", 0)
    if kernel.barriers > known:
        yield f"{kernel.barriers} barriers, {known} before"
    if kernel.case.is_product and kernel.is_hot:
        if "gfx90a" in families and kernel.amd.waves < FEWEST_WAVES:
            yield f"gfx90a: {kernel.amd.waves} waves instead of {FEWEST_WAVES}"
        if not kernel.contracts:
            yield "an old Clang does not contract multiplications and additions"
    if kernel.is_hot:
        for each in kernel.hot_accesses("local", "load"):
            conflict = each["wavefronts"] / each["least"]
            if conflict > 1:
                yield f"{kernel.line(each)}: bank conflicts {conflict:.2f}"
        least = {"load": LEAST_EFFICIENCY, "store": kernel.case.stores}
        for kind, wanted in least.items():
            efficiency = kernel.efficiency(kind)
            if efficiency < wanted:
                yield f"global {kind}s use {efficiency:.2f} of their sectors"
        if kernel.traffic > kernel.case.traffic:
            yield f"{kernel.traffic:.2f} bytes moved for each of the input"
    if kernel.conflict("atomic") > kernel.case.atomic_conflict:
        yield f"atomics: {kernel.conflict('atomic'):.1f} conflicts"


def table(kernels: list[Kernel]) -> Iterator[str]:
    """What was found out, a kernel a line."""
    yield (
        f"{'case/kernel':<34}{'sm_80':>6}{'sm_90':>6}{'gfx90a':>7}{'waves':>6}"
        f"{'conflict':>9}{'load':>6}{'store':>6}{'integer':>12}"
        f"{'barriers':>9}{'shuffles':>9}"
        f"  predicted {', '.join(ARCHITECTURES)}"
    )
    for each in kernels:
        registers = each.registers
        shares = [each.predicted(name) for name in ARCHITECTURES]
        text = ", ".join(str(share) if share else "-" for share in shares)
        yield (
            f"{each.key:<34}{registers['sm_80']:>6}{registers['sm_90']:>6}"
            f"{registers['gfx90a']:>7}{each.amd.waves:>6}"
            f"{max(each.conflict(), each.conflict('atomic')):>9.2f}"
            f"{each.efficiency():>6.2f}{each.efficiency('store'):>6.2f}"
            f"{each.mix:>12}{each.barriers:>9}{each.shuffles:>9}  {text}"
        )
