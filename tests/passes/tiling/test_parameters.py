"""Default sizes of tiles for families of CPUs."""

from __future__ import annotations

import pytest

from minifut.passes.tiling.parameters import Footprint, cpu_defaults, parameter

FLOATS = Footprint(row=4, column=4, kept=0, widest=4, accumulators=1)
REGISTER_BYTES = {"cpu": 32 * 64, "avx2": 16 * 32}


def test_tiles_with_avx512() -> None:
    assert cpu_defaults(FLOATS, "cpu") == {
        "block_rows": 32,
        "block_columns": 16,
        "block_depth": 256,
        "register_rows": 8,
        "register_columns": 32,
    }


@pytest.mark.parametrize("family", REGISTER_BYTES)
@pytest.mark.parametrize("widest", [1, 2, 4, 8])
@pytest.mark.parametrize("accumulators", [1, 2, 3])
def test_accumulators_leave_registers(
    family: str, widest: int, accumulators: int
) -> None:
    footprint = Footprint(widest, widest, 0, widest, accumulators)
    tile = cpu_defaults(footprint, family)
    elements = tile["register_rows"] * tile["register_columns"]
    assert elements * widest * accumulators <= REGISTER_BYTES[family] * 3 // 4


def test_families_have_defaults_of_their_own_where_they_differ() -> None:
    rows = dict(parameter("main.map_map", "register_rows", FLOATS).defaults)
    depth = dict(parameter("main.map_map", "block_depth", FLOATS).defaults)
    assert (rows["cpu"], rows["avx2"]) == (8, 6)
    assert "avx2" not in depth
