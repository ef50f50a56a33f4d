"""Families of devices: what they are called, and how compilers of GPUs are given how
many registers a work-item may have.

    avx2    CPUs with 16 registers of 256 bits, a quarter of what AVX-512 has

    sm_80   NVIDIA's data centres before Hopper; doubles at half the rate of floats
    sm_86   NVIDIA's consumer cards; few lanes for doubles
    sm_90   NVIDIA's data centres since Hopper; twice the lanes of sm_80
    cdna    AMD's data centres: waves of 64
    rdna    AMD's consumer cards: waves of 32
    intel   Intel: a register file of 4 to 8 KB for a vector of work-items

Parameters have defaults of their own for families that are unlike others; each is
explained in docs/gpu.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

AVX2_INTS = 8
"""ints in a native vector of the family"""
REGISTERS = 1 << 16
"""of a multiprocessor of NVIDIA's"""
MOST_REGISTERS = 255
"""of a work-item"""
LEAST_REGISTERS = 64
"""fewer are never requested: spilling would cost more than a second group gains"""
SUBGROUPS = {"sm_80": 32, "sm_86": 32, "sm_90": 32, "cdna": 64, "rdna": 32}
"""work-items of a warp or wave, whose kernels have instructions for shuffles"""
REQUIRED_SUBGROUP = 16
"""of other devices that let a kernel require a size: all GPUs of Intel have this one"""
SHUFFLES = frozenset({"cl_khr_subgroup_shuffle", "cl_intel_required_subgroup_size"})
"""extensions that these need"""
UNROLLED = "#ifdef UNROLL"
"""what precedes the unrolled steps of a kernel's text"""


def family_of(vendor: str, name: str, capability: tuple[int, int] | None) -> str:
    """The family by what the driver says, "" if it is none of these. `capability` is
    NVIDIA's compute capability.

    Hopper and its successors in data centres are 9.0 and 10.x, consumer cards 8.6 to
    8.9 and 12.x.
    """
    if capability is not None:
        major, minor = capability
        if major in (9, 10, 11):
            return "sm_90"
        return "sm_86" if major > 11 or (major == 8 and minor >= 6) else "sm_80"
    if found := re.match(r"gfx(\d+)[0-9a-f]{2}", name):
        return "cdna" if found[1] == "9" else "rdna"
    return "intel" if "intel" in vendor.lower() else ""


def cpu_family(ints: int) -> str:
    """The family of a CPU by the ints in a native vector, "" for AVX-512 and others."""
    return "avx2" if ints == AVX2_INTS else ""


def subgroup_of(family: str, extensions: Sequence[str]) -> int:
    """How many neighbouring work-items exchange words by shuffles, 1 if none do."""
    other = REQUIRED_SUBGROUP if SHUFFLES.issubset(extensions) else 1
    return SUBGROUPS.get(family, other)


def describe_family(handle: Any) -> tuple[str, bool]:
    """The family of an OpenCL device that is a GPU, and whether its compiler takes
    NVIDIA's options."""
    extensions = handle.extensions.split()
    capability = None
    if "cl_nv_device_attribute_query" in extensions:
        capability = (
            handle.compute_capability_major_nv,
            handle.compute_capability_minor_nv,
        )
    family = family_of(handle.vendor, handle.name.strip(), capability)
    return family, "cl_nv_compiler_options" in extensions


def most_registers(text: str, group: int) -> int:
    """The registers of a work-item that NVIDIA's compiler may use in such groups.

    For tiles of registers (their steps are unrolled) as many as let a multiprocessor
    run two groups: one computes while the other waits at a barrier or for memory. The
    compiler would take more to load ahead. Registers are given in units of eight. Other
    kernels have no limit: the compiler uses all registers up to its limit.
    """
    if UNROLLED not in text:
        return MOST_REGISTERS
    wanted = REGISTERS // (2 * max(1, group)) // 8 * 8
    return min(MOST_REGISTERS, max(LEAST_REGISTERS, wanted))


def register_options(text: str, group: int) -> tuple[str, ...]:
    """The option of NVIDIA's compiler that sets this limit; none if it is no limit."""
    most = most_registers(text, group)
    return (f"-cl-nv-maxrregcount={most}",) if most < MOST_REGISTERS else ()
