"""Defaults of tuning parameters for one device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minifut.opencl.runtime.describe import Parameter
from minifut.opencl.runtime.parameters import CPU_TILE_BYTES, on_device
from minifut.passes.tiling.parameters import CPU_LOCAL_BYTES


def device(family: str, local_memory: int, kind: str = "cpu") -> Any:
    return SimpleNamespace(
        family=family, kind=kind, local_memory=local_memory, group_size=4096
    )


def sides(kind: str, on: Any) -> dict[str, int]:
    defaults = {"cpu": 32, "gpu": 16, "avx2": 42}
    return dict(on_device(Parameter("main.size", kind, defaults), on).defaults)


@pytest.mark.parametrize(
    ("family", "local_memory", "side"),
    [
        ("", 1 << 20, 32),
        ("", 1 << 19, 16),
        ("avx2", 1 << 20, 42),
        ("avx2", 1 << 19, 21),
        ("avx2", 1 << 18, 10),
        ("avx2", 1, 1),
    ],
)
def test_tiles_fit_the_cache_of_a_cpu(
    family: str, local_memory: int, side: int
) -> None:
    on = device(family, local_memory)
    assert sides("tile_side", on)["cpu"] == side
    assert sides("tile_depth", on)["cpu"] == (42 if family else 32)
    assert sides("tile_side", on)["gpu"] == 16


def test_tiles_of_a_gpu_stay() -> None:
    assert sides("tile_side", device("", 1, "gpu"))["gpu"] == 16


def test_compiler_and_runtime_agree_on_the_memory_of_tiles() -> None:
    assert CPU_TILE_BYTES == CPU_LOCAL_BYTES
