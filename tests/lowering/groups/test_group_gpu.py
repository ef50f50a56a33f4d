"""Groups of many threads: printed programs that compare themselves with the
interpreter, what their kernels look like, and what the device cannot run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import minifut
from minifut.errors import UsageError
from minifut.ir.parser import parse_program
from tests.lowering.printed_programs import check
from tests.opencl.device_programs import load_ir
from tests.opencl.texts import module_text

FOLDER = Path(__file__).parent
PROGRAMS = sorted(FOLDER.glob("*.ir"))
TILED = (FOLDER.parent.parent / "ir" / "printed" / "tiled_matmul.ir").read_text()
STEM = "main.map_map_redomap."
SIZES = ("block_rows", "block_columns", "block_depth", "register_rows",
         "register_columns")  # fmt: skip


def gpu_text(text: str) -> str:
    """The kernels with what follows them, but for versions with short indices."""
    module = module_text(parse_program(text), schedule="gpu")
    kernels = module[module.index("__kernel") :].split("__kernel")
    return "__kernel".join(each for each in kernels if "_narrow(" not in each)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_agree_with_the_interpreter(path: Path) -> None:
    assert check(path.read_text(), "gpu") > 0


ROWS = """entry main [n][m] (ys: [n]f64) (xss: [n][m]f64) (flag: bool) =
  map2 (\\xs y -> if flag then map (\\_ -> y) (iota m) else rotate n xs) xss ys"""


@pytest.mark.device
def test_threads_without_a_point_store_nothing() -> None:
    """PoCL 3.0 lets threads that leave a loop before others store what those do, so
    that all take as many rounds; short rows leave most threads of a group without a
    point, whose stores ruined the memory of the process."""
    program = minifut.compile(ROWS, schedule="gpu")
    never = {n: 1 << 62 for n in program.tuning if n.endswith(".outer")}
    always = {n: 0 for n in program.tuning if n.endswith(".intra")}
    assert never
    assert always
    program.tuning.update({**never, **always})
    (text,) = [t for t in program.kernels.values() if "mapped_groups(" in t]
    assert re.search(r"ROUNDS\(long, point_\d+, local_1, m, GROUP, m\) {", text)
    for n, m in ((5, 3), (1, 2), (7, 40)):
        ys, xss = np.arange(float(n)), np.arange(float(n * m)).reshape(n, m)
        for flag in [True, False] * 10:
            wanted = np.repeat(ys[:, None], m, 1) if flag else np.roll(xss, -n, 1)
            found = np.asarray(program.main(ys, xss, flag))
            np.testing.assert_array_equal(found, wanted)


ROUNDS = """entry main [n] (xs: [n]i64) (k: i64) =
  map (\\_ -> i64.sum (map (\\j -> xs[j / k]) (iota 3))) (iota k)"""


@pytest.mark.device
def test_one_round_around_a_barrier() -> None:
    """PoCL 3.0 ended the process where the number of rounds was known to be 1."""
    program = minifut.compile(ROUNDS, schedule="gpu")
    tiled = {n: 0 for n in program.tuning if n.endswith(".tiled")}
    assert tiled
    program.tuning.update(tiled)
    assert program.main(np.arange(10), 3).tolist() == [0, 0, 0]


@pytest.mark.device
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 3, 5, 3, 2), (4, 4, 8, 4, 4)])
def test_tiled_products_agree_at_any_sizes(sizes: tuple[int, ...]) -> None:
    names = [STEM + name for name in SIZES]
    instance = load_ir(TILED, "gpu", dict(zip(names, sizes, strict=True)))
    random = np.random.default_rng(1)
    for n, m, p in [(5, 7, 9), (16, 8, 16), (13, 1, 3), (0, 3, 4), (3, 0, 4)]:
        a = random.integers(-4, 5, (n, m)).astype(np.float32)
        b = random.integers(-4, 5, (m, p)).astype(np.float32)
        np.testing.assert_array_equal(instance.main(a, b), a @ b)


@pytest.mark.device
def test_too_large_groups_are_refused_before_the_launch() -> None:
    instance = load_ir(TILED, "gpu")
    ones = np.ones((4, 4), np.float32)
    instance.set_parameters({STEM + "block_rows": 1024, STEM + "block_columns": 1024})
    with pytest.raises(UsageError, match=r"groups of 1048576.*block_rows=1024"):
        instance.main(ones, ones)
    instance.set_parameters(
        {
            STEM + "block_rows": 16,
            STEM + "block_columns": 16,
            STEM + "block_depth": 4096,
        }
    )
    with pytest.raises(UsageError, match=r"local memory.*block_depth=4096"):
        instance.main(ones, ones)
    instance.set_parameters({STEM + "block_depth": 16})
    np.testing.assert_array_equal(instance.main(ones, ones), ones @ ones)


def test_sums_stay_in_registers_all_the_way() -> None:
    """Only the copies of the operands are in local memory, and two barriers a round
    suffice: after they are filled, and before they are filled again."""
    text = gpu_text(TILED)
    assert len(re.findall(r"__local float \w+\[.*aligned\(16\)", text)) == 2
    assert text.count("barrier(") == 2
    assert re.search(r"float acc_\w*\$\{", text)


def test_one_element_for_each_thread_stays_in_a_register() -> None:
    text = gpu_text((FOLDER / "block_tiled.ir").read_text())
    assert len(re.findall(r"__local float \w+\[.*aligned\(16\)", text)) == 2
    assert text.count("barrier(") == 2


def test_what_is_only_returned_is_made_where_it_belongs() -> None:
    """The result of the last map needs no local memory."""
    text = gpu_text((FOLDER / "normalise.ir").read_text())
    names = re.findall(r"__local float \*\s*(\w+)", text)
    assert "mirrored" not in names and "less" in names


@pytest.mark.device
@pytest.mark.parametrize("threads", [32, 64])
def test_groups_have_as_many_threads_as_the_parameter_allows(threads: int) -> None:
    instance = load_ir((FOLDER / "normalise.ir").read_text(), "gpu")
    instance.set_parameters({"gpu.group.group_size": threads})
    assert instance.run.group_size(1000, threads) == threads
    xs = np.arange(200, dtype=np.float32).reshape(2, 100)
    sums, _, _ = instance.main(xs)
    np.testing.assert_array_equal(sums, xs.sum(axis=1))
