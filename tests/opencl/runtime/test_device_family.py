"""Families of devices, and the registers that their compilers are told of."""

from __future__ import annotations

import pytest

from minifut.opencl.runtime.device_family import (
    MOST_REGISTERS,
    UNROLLED,
    cpu_family,
    family_of,
    most_registers,
    register_options,
)


@pytest.mark.parametrize(
    ("vendor", "name", "capability", "family"),
    [
        ("NVIDIA Corporation", "NVIDIA H200", (9, 0), "sm_90"),
        ("NVIDIA Corporation", "NVIDIA B200", (10, 0), "sm_90"),
        ("NVIDIA Corporation", "NVIDIA A100-SXM4-40GB", (8, 0), "sm_80"),
        ("NVIDIA Corporation", "Tesla V100", (7, 0), "sm_80"),
        ("NVIDIA Corporation", "NVIDIA GeForce RTX 3090", (8, 6), "sm_86"),
        ("NVIDIA Corporation", "NVIDIA GeForce RTX 5090", (12, 0), "sm_86"),
        ("Advanced Micro Devices, Inc.", "gfx90a:sramecc+:xnack-", None, "cdna"),
        ("Advanced Micro Devices, Inc.", "gfx942", None, "cdna"),
        ("Advanced Micro Devices, Inc.", "gfx1100", None, "rdna"),
        ("Intel(R) Corporation", "Intel(R) Arc(TM) A770", None, "intel"),
        ("ARM", "Mali-G710", None, ""),
    ],
)
def test_devices_belong_to_families(
    vendor: str, name: str, capability: tuple[int, int] | None, family: str
) -> None:
    assert family_of(vendor, name, capability) == family


def test_cpus_without_avx512_are_a_family() -> None:
    assert [cpu_family(ints) for ints in (1, 4, 8, 16)] == ["", "", "avx2", ""]


def test_two_groups_of_tiles_have_registers() -> None:
    tiles = f"{UNROLLED}\nfor (..)"
    assert most_registers(tiles, 256) == 128
    assert register_options(tiles, 256) == ("-cl-nv-maxrregcount=128",)
    assert most_registers(tiles, 512) == 64 == most_registers(tiles, 1024)
    assert register_options(tiles, 128) == ()
    assert most_registers("", 256) == MOST_REGISTERS
