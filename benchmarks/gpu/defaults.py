"""The defaults of the GPU schedule by family of devices, each with its reason, as the
table of docs/gpu.md.

    python -m benchmarks.gpu.defaults

The numbers in the reasons are those of the cost model (`model`), computed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.gpu.model import ARCHITECTURES, Architecture, resident_groups
from minifut.ir.kernels import GROUP_SIZE, Parameter
from minifut.kernel_passes.narrow import NARROW
from minifut.lowering.gpu import work_distribution
from minifut.lowering.seghist import gpu as seghist
from minifut.lowering.segmap import gpu as segmap
from minifut.lowering.segscan.gpu import LOOK_BACK
from minifut.lowering.transposition import gpu as transposition
from minifut.passes.flatten import defaults as versions
from minifut.passes.flatten.version_names import threshold

REGISTERS = 32
"""of a work-item with which a unit runs all its threads on each architecture"""
BANKS = 32


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter, and why it is what it is on a GPU."""

    parameter: Parameter
    reason: str

    @property
    def values(self) -> str:
        """The default of GPUs, and of families unlike others."""
        known = dict(self.parameter.defaults)
        common = known.pop("gpu")
        del known["cpu"]
        unlike: dict[int, list[str]] = {}
        for family, value in known.items():
            unlike.setdefault(value, []).append(family)
        others = [f"{value} on {', '.join(on)}" for value, on in unlike.items()]
        return "; ".join((str(common), *others))


def filled(architecture: Architecture, group: int) -> float:
    """The part of a unit's threads that groups of this size fill."""
    resident = resident_groups(architecture, REGISTERS, group, 0)
    return resident * group / architecture.threads


def fewest_threads() -> int:
    """The smallest group, a power of two, that fills the units of all families."""
    size = BANKS
    while any(filled(each, size) < 1 for each in ARCHITECTURES.values()):
        size *= 2
    return size


def staged_bytes(elements: int) -> int:
    """Local memory of a group of 256 with so many elements of 4 bytes for each
    work-item, and two values of its lanes."""
    return 256 * 4 * (elements + 2)


def sharing(architecture: Architecture, elements: int) -> int:
    """The groups of a unit with that many elements."""
    return resident_groups(architecture, REGISTERS, 256, staged_bytes(elements))


def all_defaults() -> Iterator[Default]:
    """The parameters of the schedule, in the order of the table."""
    threads = ", ".join(f"{a.threads} of {a.name}" for a in ARCHITECTURES.values())
    shares = ", ".join(
        f"{filled(ARCHITECTURES['sm_86'], size):.0%} with {size}"
        for size in (32, 64, 128)
    )
    for own in (segmap.GROUP_SIZE, work_distribution.GROUP_SIZE, seghist.GROUP_SIZE):
        yield Default(own, f"groups of 256 fill all threads of a unit ({threads})")
    yield Default(
        GROUP_SIZE,
        "at most; the least power of two from 32 on that has a work-item for each point"
        " of the largest operation inside",
    )
    (cpu, gpu) = versions.INTRA_DEFAULTS
    yield Default(
        threshold("*.intra", cpu, gpu, ""),
        f"points of the largest operation inside: the threads of sm_86 are filled"
        f" {shares}",
    )
    units = ", ".join(f"{a.units} of {a.name}" for a in ARCHITECTURES.values())
    busy = versions.GPU_BUSY
    yield Default(
        threshold("*.outer", 0, busy, ""),
        f"{busy // 256} groups of 256: one for each unit ({units})",
    )
    yield Default(
        segmap.GROUPS_PER_CORE,
        "8 times those that a unit runs, so that its last ones are an eighth of the"
        " time at most; bounds the memory of arrays of work-items",
    )
    yield Default(
        work_distribution.GROUPS_PER_CORE, "those of 256 that a unit runs at once"
    )
    elements = dict(work_distribution.STAGED.defaults)["gpu"]
    groups = ", ".join(
        f"{sharing(a, elements)} on {a.name}" for a in ARCHITECTURES.values()
    )
    yield Default(
        work_distribution.STAGED,
        f"odd: strided accesses conflict in no bank; groups of a unit: {groups}",
    )
    yield Default(
        LOOK_BACK, "1 where groups that run go on running: 2 n, not 4 n bytes"
    )
    copies = dict(seghist.COPIES.defaults)["gpu"]
    yield Default(
        seghist.COPIES, f"a hot bin has {BANKS // copies} conflicts instead of {BANKS}"
    )
    yield Default(
        seghist.RESIDENT, "one group adds its bins to memory while another counts"
    )
    yield Default(seghist.GROUPS_PER_CORE, "those of 256 that a unit runs at once")
    yield Default(
        transposition.SIDE, "rows of 128 bytes, whole sectors, both read and written"
    )
    yield Default(
        transposition.ROWS, "groups of 256 with 4 loads in flight for each work-item"
    )
    yield Default(
        NARROW, "1: indices of 32 bits where all of a kernel's are below 2^31; 0: of 64"
    )


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| parameter | default | reason |"
    yield "|---|---|---|"
    for each in all_defaults():
        yield f"| `{each.parameter.name}` | {each.values} | {each.reason} |"


if __name__ == "__main__":
    print("\n".join(table()))
