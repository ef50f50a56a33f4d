"""Offline checks of GPU kernels: machine code, cost model, limits, and a whole run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import defaults, toolchain
from benchmarks.gpu import device as device_command
from benchmarks.gpu.cases import CASES, Case
from benchmarks.gpu.check import Kernel, complaints, table
from benchmarks.gpu.launches import Launch
from benchmarks.gpu.model import (
    ARCHITECTURES,
    Executed,
    hottest,
    kernel_share,
    product_share,
    resident_groups,
    step_of,
    stream_share,
    tile_registers,
)
from benchmarks.gpu.sass import Loop, loops_of, runs_of
from benchmarks.gpu.toolchain import Amd, Nvidia, Unavailable
from minifut.opencl.float_atomics import ADDITIONS
from minifut.opencl.kernel_texts import DOUBLES
from minifut.opencl.runtime.device import open_device
from minifut.passes.flatten.defaults import GROUP_BUSY
from minifut.passes.tiling.parameters import GPU_TILES

SASS = """
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E R2, [R4.64] ;
        /*0020*/                   LDG.E.128 R8, [R4.64+0x10] ;
        /*0030*/                   FADD R0, R0, R2 ;
        /*0040*/                   LDG.E R3, [R6.64] ;
.L_x_2:
        /*0050*/                   LDS.64 R20, [R22] ;
        /*0060*/              @!P1 FFMA R24, R20, R21, R24 ;
        /*0070*/               @P0 BRA `(.L_x_2) ;
        /*0080*/               @P2 BRA `(.L_x_1) ;
        /*0090*/                   EXIT ;
"""


def loop(loads: int = 0, size: int = 4, **counts: int) -> Loop:
    named = {name.replace("_", "."): count for name, count in counts.items()}
    return Loop(named, True, loads, size)


def test_loops_are_found_with_what_is_in_them() -> None:
    outer, inner, code = loops_of(SASS)
    assert code.count("MOV", "EXIT", "BRA") == 4 and not code.inner
    assert inner == Loop({"LDS.64": 1, "FFMA": 1, "BRA": 1}, True, 0, 4)
    assert not outer.inner and outer.count("LDG", "LDG.128") == 3
    assert outer.loads == 2 and outer.load_bytes == 16
    assert hottest((outer, inner)) is inner and hottest(()) is None


def test_runs_end_at_labels_and_branches() -> None:
    runs = runs_of(SASS)
    assert [run.issued for run in runs] == [1, 4, 3, 1, 1]
    assert runs[2].count("FFMA") == 1 == runs[2].count("LDS.64")


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_default_tiles_reach_what_the_model_says_is_possible(
    name: str, size: int
) -> None:
    """The tile of a family is within 15 % of the peak; two groups have registers; no
    tile of fewer registers does as well."""
    tiles = GPU_TILES[size]
    chosen = tiles.get(name, tiles["gpu"])

    def share(rows: int, columns: int) -> float:
        step = step_of(rows, columns, size)
        return product_share(ARCHITECTURES[name], step, 1.0, size).share

    needed = tile_registers(chosen.rows, chosen.columns, size)
    assert share(chosen.rows, chosen.columns) >= 0.85
    assert needed <= ARCHITECTURES[name].registers // (2 * 16 * chosen.threads)
    if name == "sm_90":
        for rows, columns in ((4, 4), (8, 4)):
            assert share(rows, columns) < 0.85


def test_a_product_is_bound_by_its_scarcest_resource() -> None:
    new, old = ARCHITECTURES["sm_90"], ARCHITECTURES["sm_80"]
    by_hand = loop(FFMA=64, LDS_128=4, IADD3=2)  # 128 x 128 x 8, float4
    assert product_share(new, by_hand).by == "issue"
    assert product_share(new, by_hand).share == pytest.approx(64 / 70)
    assert product_share(old, by_hand).share == 1.0
    small = loop(FFMA=16, LDS=8, IADD3=2)
    assert product_share(new, small).share == pytest.approx(0.5)
    assert product_share(new, small, 2.0).share == pytest.approx(0.25)
    apart = loop(FMUL=64, FADD=64, LDS_128=4, IADD3=2)
    assert product_share(new, apart).share <= 0.5
    double = loop(DFMA=64, LDS_128=8, IADD3=2)
    assert product_share(new, double, size=8).by == "fma"


def test_a_kernel_in_parts_is_bound_by_all_that_it_does() -> None:
    device = ARCHITECTURES["sm_90"]
    code = loop(LDS=2, LDG=1, STG=1, IADD3=116)
    busy = kernel_share(device, code, Executed(42, 0, 8))
    memory = 8 * 32 / device.bytes_per_cycle
    assert busy.by == "issue"  # 30 for each of 42 accesses
    assert busy.share == pytest.approx(memory / (42 * 30 / 4))
    waiting = kernel_share(device, code, Executed(4, 0, 100))
    assert (waiting.by, waiting.share) == ("bandwidth", 1.0)
    banks = kernel_share(device, code, Executed(4, 1000, 8))
    assert banks.by == "local" and banks.share == pytest.approx(memory / 1000)


def test_streams_need_bytes_in_flight() -> None:
    device = ARCHITECTURES["sm_90"]
    one, four = loop(1, LDG=1, FADD=1, IADD3=4), loop(4, LDG=4, FADD=4, IADD3=4)
    bound = stream_share(device, one, 32, 256, 0)
    flight = 2048 * 4 / (device.latency * device.bytes_per_cycle)
    assert bound.by == "latency" and bound.share == pytest.approx(flight)
    assert stream_share(device, four, 32, 256, 0).share == 1.0
    assert stream_share(device, one, 128, 256, 0).share == pytest.approx(flight / 4)
    busy = loop(4, LDG=4, IADD3=400)
    assert stream_share(device, busy, 32, 256, 0).by == "issue"


@pytest.mark.parametrize(
    "registers, threads, shared, groups",
    [(32, 256, 0, 8), (64, 256, 0, 4), (40, 1024, 0, 1), (16, 64, 0, 32), (32, 256, 48 << 10, 4)],
)  # fmt: skip
def test_resident_groups(
    registers: int, threads: int, shared: int, groups: int
) -> None:
    device = ARCHITECTURES["sm_90"]
    assert resident_groups(device, registers, threads, shared) == groups


def test_bodies_run_in_groups_that_fill_the_threads_of_all_families() -> None:
    assert defaults.fewest_threads() == GROUP_BUSY
    small = [defaults.filled(each, 32) for each in ARCHITECTURES.values()]
    assert max(small) == 0.5 and min(small) == pytest.approx(1 / 3)


def test_staged_elements_leave_room_for_as_many_groups_as_threads() -> None:
    (staged,) = (d for d in defaults.all_defaults() if "staged" in d.parameter.name)
    elements = dict(staged.parameter.defaults)["gpu"]
    assert elements % 2 == 1
    for name in ("sm_80", "sm_90"):
        device = ARCHITECTURES[name]
        assert defaults.sharing(device, elements) * 256 == device.threads


def test_the_page_has_the_defaults_with_their_reasons() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text()
    assert "\n".join(defaults.table()) in page


def access(**changes: Any) -> dict[str, Any]:
    least = 400 if changes.get("space") == "global" else 100
    return {
        "line": 1, "space": "local", "kind": "load", "requests": 100, "bytes": 12800,
        "useful": 12800, "sectors": 400, "wavefronts": 100, "least": least, **changes,
    }  # fmt: skip


def kernel(*accesses: dict[str, Any], **amd: int) -> Kernel:
    case = Case("p", "", lambda _: (), hot="groups", is_product=True)
    launch = Launch("main_groups", "x = tile[at];\n", (), 256, 1, 0, accesses)
    compiled = Nvidia(64, 0, 0, 0, (loop(FFMA=16, LDS=8),))
    nvidia = {"sm_80": compiled, "sm_90": compiled}
    return Kernel(case, launch, nvidia, Amd(64, amd.get("scratch", 0), 0, amd.get("waves", 8)), True)  # fmt: skip


GOLDEN = {"p/groups": {"sm_80": 64, "sm_90": 64, "gfx90a": 64}}


def said(of: Kernel, golden: dict[str, dict[str, int]] = GOLDEN) -> str:
    return "\n".join(complaints(of, golden))


def test_limits() -> None:
    good = kernel(access(), access(space="global"))
    assert said(good) == "" and len(list(table([good]))) == 2
    assert "bank conflicts 2.00" in said(kernel(access(wavefronts=200)))
    rare = access(requests=5, wavefronts=200)
    assert said(kernel(access(), rare)) == ""
    assert "use 0.25" in said(kernel(access(space="global", sectors=1600)))
    assert "stores use 0.25" in said(kernel(access(space="global", kind="store", sectors=1600)))  # fmt: skip
    assert "2 waves" in said(kernel(waves=2))
    assert "spilled" in said(kernel(scratch=16))
    assert "contract" in said(replace(good, contracts=False))
    assert "64 registers, 50 before" in said(good, {"p/groups": {**GOLDEN["p/groups"], "sm_90": 50}})  # fmt: skip
    assert "golden" in said(good, {})
    spilled = replace(good.nvidia["sm_90"], spills=8)
    assert "8 bytes spilled" in said(replace(good, nvidia={"sm_90": spilled}))
    assert "atomics" in said(kernel(access(kind="atomic", wavefronts=9000)))


def test_traffic_is_that_of_all_groups_over_the_input() -> None:
    case = Case("p", "", lambda _: (np.zeros(6400, "f4"),), hot="groups", traffic=2.2)
    found = kernel(access(space="global"), access(space="global", kind="store"))
    launch = replace(found.launch, groups=8)  # 800 sectors in 4 of them
    found = replace(found, case=case, launch=launch)
    assert found.traffic == 2.0 and said(found) == ""
    strict = replace(found, case=replace(case, traffic=1.9))
    assert "2.00 bytes moved" in said(strict)


def test_missing_tools_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.setattr("sys.argv", ["gpu"])
    assert command.main() == 0
    text = capsys.readouterr().out
    assert "skipped" in text and "clang-19" in text and "g++" in text


def test_cases_have_names_of_their_own_and_arguments() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.arguments(np.random.default_rng(1))


@pytest.mark.device
def test_a_kernel_is_run_compiled_and_measured(tmp_path: Path) -> None:
    try:
        tools = toolchain.find_tools()
    except Unavailable as reason:
        pytest.skip(str(reason))
    cases = [case for case in CASES if case.name == "transpose"]
    (found,) = command.found_kernels(tools, cases, tmp_path, 1, [])
    assert found.launch.kernel == "main_transpose" and found.launch.group == 256
    assert found.conflict() == 1.0 and found.efficiency() == 1.0
    assert 10 <= found.registers["sm_90"] <= 64 and found.amd.waves == 8
    bound = found.predicted("sm_90")
    assert bound is not None and 0 < bound.share <= 1


def test_floats_are_added_by_one_instruction(tmp_path: Path) -> None:
    """By PTX's, or by the extension's function; each body is a kernel of its own."""
    try:
        tools = toolchain.find_tools()
    except Unavailable as reason:
        pytest.skip(str(reason))
    source = tmp_path / "add.cl"
    kernels = [
        text.replace("static void minifut", "__kernel void of")
        for text in ADDITIONS.values()
    ]
    source.write_text(DOUBLES + "".join(kernels))
    ptx = toolchain.to_ptx(tools, source, ()).read_text()
    for space in ("global", "shared"):
        for bits in (32, 64):
            assert f"red.{space}.add.f{bits} [" in ptx
    command = [tools.clang, *toolchain.COMMON, "-cl-std=CL3.0", "--target=spir64",
               "-Xclang", "-finclude-default-header", "-emit-llvm", "-o", "-"]  # fmt: skip
    assert toolchain.run([*command, str(source)]).count("call spir_func") == 4


@pytest.mark.device
def test_products_are_measured_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, name in enumerate(device_command.TILES, 1):  # built soon
        small = {device_command.ROWS: 2, device_command.COLUMNS: columns}
        monkeypatch.setitem(device_command.TILES, name, small)
    lines = list(device_command.products(open_device(), 32))
    assert len(lines) == 2 * (len(device_command.TILES) + 2)
    tiles = [line for line in lines if " tiles " in line]
    measured = [line for line in tiles if "GFLOP" in line]
    assert len(measured) == 2 * len(device_command.TILES)
    assert all(line.endswith("right") and " of " in line for line in measured)
    monkeypatch.setattr(device_command, "TOLERANCE", -1.0)
    lines = list(device_command.products(open_device(), 16))
    assert sum("WRONG" in line for line in lines) == 2 * len(device_command.TILES)


def test_predictions_stand_beside_measurements() -> None:
    assert "90%" not in device_command.predicted(None, "f32")
    assert "of the peak with tiles of 8 x 8" in device_command.predicted("sm_90", "f32")
    newest, *table_ = device_command.predictions()
    assert newest.startswith("gpu-predictions-") and "sm_90" in "".join(table_)
