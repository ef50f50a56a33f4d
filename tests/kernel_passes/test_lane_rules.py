"""Every rule of kernel code: both sides of its example run on a device."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from minifut import kernel_passes
from minifut.cli.dev import command
from minifut.kernel_ir import nodes as kc
from minifut.opencl.c_macros import PRELUDE
from minifut.opencl.runtime.builds import build
from minifut.opencl.runtime.failures import FAILURE_TEXT
from minifut.opencl.runtime.queue import Session
from minifut.rewrite.rule import REGISTRY
from tests.opencl.texts import kernel_text
from tests.rewrite.examples import examples_of
from tests.rewrite.kernel_examples import kernels

for module in pkgutil.walk_packages(kernel_passes.__path__, "minifut.kernel_passes."):
    importlib.import_module(module.name)

RULES = {
    n: r for n, r in REGISTRY.items() if r.module.startswith("minifut.kernel_passes.")
}
ELEMENTS = 256


@pytest.mark.device
@pytest.mark.parametrize("name", sorted(RULES))
def test_both_sides_of_a_rule_compute_the_same(name: str) -> None:
    for example in (e for e in examples_of(RULES[name]) if e.after):
        plain, lifted = map(launched, kernels(RULES[name], example))
        for seed, length in enumerate((0, 3, 17, 32)):
            before, after = plain(seed, length), lifted(seed, length)
            assert before
            for one, many in zip(before, after, strict=True):
                np.testing.assert_array_equal(one, many)


def launched(kernel: kc.Kernel) -> Callable[[int, int], list[Any]]:
    """The kernel, built, as a function of a seed and a length."""
    from minifut.opencl.runtime import open_session

    session = open_session()
    text = PRELUDE + FAILURE_TEXT + kernel_text(kernel)
    program = build(session, session.device.handle, text, "", kernel.name)
    start = getattr(program, kernel.name)
    return lambda seed, length: run(session, start, kernel, seed, length)


def run(
    session: Session, start: Any, kernel: kc.Kernel, seed: int, length: int
) -> list[Any]:
    """What the memories of a kernel hold after it ran on random values."""
    cl = session.cl
    rng = np.random.default_rng(seed)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    failure = cl.Buffer(session.context, flags, hostbuf=np.zeros(16, np.int32))
    arguments: list[Any] = [failure]
    held = []
    for parameter in kernel.parameters:
        if isinstance(parameter, kc.ScalarParameter):
            numbers: dict[str, Any] = {
                "i64": np.int64(length),
                "i32": np.int32(rng.integers(-9, 10)),
                "f32": np.float32(rng.normal()),
            }
            arguments.append(numbers[parameter.type.name])
            continue
        assert isinstance(parameter, kc.MemoryParameter)
        element = parameter.memory.element.name
        values: Any = rng.integers(-9, 10, ELEMENTS).astype(np.int32)
        if element == "f32":
            values = rng.normal(size=ELEMENTS).astype(np.float32)
        elif element == "bool":
            values = rng.integers(0, 2, ELEMENTS).astype(np.uint8)
        buffer = cl.Buffer(session.context, flags, hostbuf=values)
        arguments.append(buffer)
        held.append((buffer, values))
    start(session.queue, (1,), (1,), *arguments)
    for buffer, values in held:
        cl.enqueue_copy(session.queue, values, buffer)
    return [values for _, values in held]


BODIES = """
entry steps (xs: []i32): i32 =
  i32.sum (map (\\x -> (loop (y, k) = (x, 0) while y > 1 do
    (if y % 2 == 0 then y / 2 else 3 * y + 1, k + 1)).1) xs)
entry composed (xs: []i32) =
  let compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  in reduce compose (1, 0) (map (\\x -> (x, loop s = 0 for i < (x & 3) do s * x + i)) xs)
entry sums (xs: []i32) = scan (+) 0 xs
entry negated (xs: []i32) = map (\\x -> -x) xs
entry halves (xs: []u16) =
  map (\\x -> loop s = x for i < 3 do f16.to_bits (f16.from_bits s + 1)) xs
"""


def explained(folder: Path, *options: str) -> list[str]:
    file = folder / "bodies.fut"
    file.write_text(BODIES)
    result = CliRunner().invoke(command, ["--explain", str(file), *options])
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.output.split("\n")]
    return lines[lines.index(f"lower-{options[-1] if options else 'cpu'}") :]


def test_the_derivation_of_a_kernel_tells_how_it_became_vectors(tmp_path: Path) -> None:
    lines = explained(tmp_path)
    at = lines.index(
        "distribute_fold_cyclically [asVector]  ->  16 lanes in reduce  (lanes = 16)"
    )
    assert lines[at + 1 : at + 5] == [
        "load_vector [asVector]  ->  xs",
        "mask_loop",
        "no select_in_lanes: a side divides",
        "mask_branch",
    ]
    assert "mask_counted_loop" in lines
    starts = {line.split("  ->")[0] for line in lines if "lanes = 16" in line}
    assert starts == {
        "distribute_fold_cyclically [asVector]",
        "distribute_fold_in_blocks [asVector]",
        "vectorise_scan [asVector]",
    }
    assert "no vectorise_map [asVector]: from_bits_f16 is done lane by lane" in lines
    assert sum("vectorises a body without loops" in line for line in lines) == 1
    assert sum("lanes in reduce " in line for line in lines) == 2, "told once each"


LOOPS = """
entry rows [n] [m] (starts: [n]i64) (counts: [n]i64) (xs: [m]f32) =
  map2 (\\s c -> loop t = 0 for i < c do t + xs[s + i]) starts counts
entry rows_by_while [n] [m] (starts: [n]i32) (ends: [n]i32) (xs: [m]f32) =
  map2 (\\s e -> (loop (t, i) = (0, s) while i < e do (t + xs[i64.i32 i], i + 1)).0)
       starts ends
entry probes [n] [m] (keys: [n]i64) (table: [m]i64) =
  map (\\k -> loop at = k while table[at] != k do (at * 5 + 1) & (m - 1)) keys
entry roots [n] (xs: [n]i64) =
  map (\\x -> (loop (low, high) = (0, 1 << 31) while low < high do
                let middle = (low + high + 1) / 2
                in if middle * middle <= x then (middle, high) else (low, middle - 1)).0)
      xs
"""


def test_divergent_loops_are_vectors_unless_lanes_would_wait_for_memory(
    tmp_path: Path,
) -> None:
    file = tmp_path / "loops.fut"
    file.write_text(
        LOOPS.replace("xs[", "#[unsafe] xs[").replace("table[", "#[unsafe] table[")
    )
    result = CliRunner().invoke(command, ["--explain", str(file)])
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.output.split("\n")]
    refused = "no vectorise_map [asVector]: rounds load one element after the other"
    assert lines.count(refused) == 2
    waits = "no vectorise_map [asVector]: what rounds load ends the loop, of most lanes soon"
    assert lines.count(waits) == 1
    assert sum(line.startswith("vectorise_map") for line in lines) == 1


def test_the_list_of_rules_has_those_of_kernel_code() -> None:
    told = CliRunner().invoke(command, ["--list-rules"]).output
    for rule in RULES.values():
        assert f"{rule.name} " in told and rule.summary in told


GEMM = """
entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) (c: [n][p]f32): [n][p]f32 =
  map2 (\\r cs -> map2 (\\col x -> 2 * f32.sum (map2 (*) r col) - 3 * x)
                      (transpose b) cs) a c
"""


def test_code_after_a_product_runs_in_vectors_up_to_the_edges(tmp_path: Path) -> None:
    file = tmp_path / "gemm.fut"
    file.write_text(GEMM)
    told = CliRunner().invoke(command, ["--explain", str(file)]).output.split("\n")
    lines = [line.strip() for line in told]
    at = lines.index("load_within_edges [asVector]  ->  c")
    for rule, line in zip(
        ("load_vector", "load_backwards"), lines[at - 2 : at], strict=True
    ):
        assert line == (
            f"no {rule} [asVector]: the indices at which lanes read c are data-dependent"
        )
    assert lines[at - 3].startswith("vectorise_nest [asVector]  ->  16 lanes in mapped")
    assert not any(line.startswith("no vectorise_nest") for line in lines)


def test_steps_that_led_to_the_same_are_recorded_once(tmp_path: Path) -> None:
    file = tmp_path / "sums.fut"
    file.write_text(
        "entry main (xs: []i32) = map (\\x -> loop y = x for i < (x & 7) do "
        "if y > 9 then y / 2 else if y > 3 then y + i else y * y) xs"
    )
    told = CliRunner().invoke(command, ["--explain", str(file)]).output
    assert told.count("mask_branch") == 1
    assert told.count("load_vector") == 1
