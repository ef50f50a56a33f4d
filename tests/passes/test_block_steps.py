"""Steps of butterfly networks in aligned blocks, against the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import minifut
from minifut import stages
from minifut.cli.dev import command
from minifut.errors import ProgramError, Source
from minifut.interpreted import interpreted_program
from minifut.passes.block_steps import emitter

HEAD = "entry main [n] (k: i32) (a: [n]i32): [n]i32 = "
BLOCKED = {
    "bitonic sort": """let d = 63 - i64.clz n
      in loop a for i < d do loop a for j < i + 1 do
        let bit = 1i64 << i64.i32 (i - j)
        in tabulate n (\\t ->
          let x = a[t]
          let up = (t >> i64.i32 i) & 2 == 0
          in if t & bit == 0
             then let y = a[t | bit] in if up == (x <= y) then x else y
             else let y = a[t ^ bit] in if up == (y <= x) then x else y)""",
    "Hadamard": """loop a for i < k do
        let h = 1i64 << i64.i32 i
        in tabulate n (\\t -> if t & h == 0 then a[t] + a[t + h] else a[t - h] - a[t])""",
    "bits by division": """loop a for i < k do
        let h = 1i64 << i64.i32 (k - 1 - i)
        in tabulate n (\\t ->
             if (t / h) % 2 == 0 then a[t] + a[t + h] else a[t - h] - a[t])""",
    "bits by shifts": """loop a for i < i64.i32 k do
        tabulate n (\\t -> let h = 1i64 << i in
          if (t >> i) & 1 == 1 then a[t - h] * 3 else a[t] - a[t + h])""",
    "a carried distance": """(loop (a, h) = (a, 1i64) for _i < k do
        (tabulate n (\\t -> if t & h != 0 then a[t - h] - a[t] else a[t] + a[t + h]),
         h * 2)).0""",
    "rotated windows": """loop a for i < k do
        let w = 2i64 << i64.i32 i
        in tabulate n (\\t -> a[t] * 5 - a[t - t % w + (t + 3) % w])""",
    "halves of windows": """loop a for i < k do
        let w = 2i64 << i64.i32 i
        let h = w / 2
        in tabulate n (\\t ->
             if t % w < h then a[t] + a[t + h] else a[t] - a[t - h])""",
    "cleared bits": """loop a for i < k do
        let h = i64.i32 (i % 3) in
        tabulate n (\\t -> a[t] + a[t - (t & h)] * 2 + a[t & !h])""",
    "two arrays": """let b = map (+ 1) a
      let (a, b) = loop (a, b) for i < k do
        let h = 1i64 << i64.i32 i
        in unzip (tabulate n (\\t ->
             let u = t ^ h
             in if t < u then (a[t] + b[u], b[t] - a[u]) else (b[u] * 3, a[t] + a[u])))
      in map2 (-) a b""",
    "guarded": """loop a for i < k do
        let h = 1i64 << i64.i32 i
        in tabulate n (\\t -> if t ^ h < n then a[t] - a[t ^ h] else a[t])""",
}
WHOLE = {
    "reversed": "loop a for _i < k do tabulate n (\\t -> a[n - 1 - t] + a[t])",
    "a shuffle": """loop a for _i < k do
        tabulate n (\\t -> if t % 2 == 0 then a[t / 2] else a[t])""",
    "neighbours": """loop a for i < k do
        tabulate n (\\t -> let h = i64.i32 i in
          if t >= h then a[t - h] + a[t] else a[t])""",
    "a bit of others": """loop a for i < k do
        let h = 1i64 << i64.i32 i
        in tabulate n (\\t -> if a[0] == 0 then a[t] else a[t + h])""",
    "own elements": "loop a for i < k do tabulate n (\\t -> a[t] * 2 + i)",
    "inner loops without steps": """loop a for i < k do loop a for j < i do
        let h = 1i64 << i64.i32 j in tabulate n (\\t -> a[t] - a[t ^ h])""",
}


@pytest.mark.parametrize("name", [*BLOCKED, *WHOLE])
def test_networks_are_recognised(name: str, tmp_path: Path) -> None:
    file = tmp_path / "network.fut"
    file.write_text(HEAD + (BLOCKED | WHOLE)[name])
    told = CliRunner().invoke(command, ["--explain", str(file)]).output
    inner = name == "inner loops without steps"
    assert ("make_steps_in_blocks  ->" in told) == (name in BLOCKED or inner), told


def _outcome(call: Any) -> Any:
    """The result, or how the message of the failure begins."""
    try:
        return np.asarray(call())
    except ProgramError as error:
        return error.message.split("[")[0]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", [*BLOCKED, *WHOLE])
def test_blocks_agree_with_the_interpreter(name: str) -> None:
    text = HEAD + (BLOCKED | WHOLE)[name]
    params = {"main.loop_map.host": 0, "main.block_steps": 0}
    known = stages.to_host_module(
        stages.to_kernels(stages.to_core(stages.check(Source("s.fut", text)))),
        "cpu",
        "s",
    )
    params = {key: value for key, value in params.items() if key in known}
    program = minifut.compile(text, schedule="cpu", params=params)
    oracle = interpreted_program(stages.to_core(stages.check(Source("s.fut", text))))
    random = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 16, 31, 48, 64, 96, 256):
        for k in (0, 1, 3, 4, 6):
            a = random.integers(-8, 8, n).astype(np.int32)
            mine = _outcome(lambda k=k, a=a: program.main(k, a))
            wanted = _outcome(lambda k=k, a=a: oracle.main(k, a))
            np.testing.assert_array_equal(mine, wanted, f"{n} {k}")


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", BLOCKED)
@pytest.mark.parametrize("part", [1 << 8, 1 << 10])
def test_parts_of_blocks_make_the_same(
    name: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many blocks for a worker, and many parts of a block."""
    text = HEAD + BLOCKED[name]
    plain = minifut.compile(text, params={"main.block_steps": 1 << 40})
    monkeypatch.setattr(emitter, "PART_BYTES", part)
    monkeypatch.setattr(emitter, "BLOCK_BYTES", 1 << 13)
    blocks = minifut.compile(text, params={"main.block_steps": 0})
    random = np.random.default_rng(3)
    for n in (1 << 14, 3 << 13, 12345):
        a = random.integers(-99, 99, n).astype(np.int32)
        for k in (9, 13):
            mine = _outcome(lambda k=k, a=a: blocks.main(k, a))
            wanted = _outcome(lambda k=k, a=a: plain.main(k, a))
            np.testing.assert_array_equal(mine, wanted, f"{n} {k}")


TYPES = {"f32": np.float32, "f64": np.float64, "u8": np.uint8, "i64": np.int64}


@pytest.mark.device
@pytest.mark.parametrize("element", TYPES)
def test_any_element_is_sorted(element: str) -> None:
    text = HEAD.replace("[n]i32", f"[n]{element}") + BLOCKED["bitonic sort"]
    program = minifut.compile(text, params={"main.block_steps": 0})
    random = np.random.default_rng(3)
    for n in (1, 64, 1 << 15):
        a = random.integers(0, 99, n).astype(TYPES[element])
        np.testing.assert_array_equal(program.main(0, a), np.sort(a))


def test_the_kernel_makes_all_steps_of_parts() -> None:
    """One loop over the steps of a part, without checks, and the large steps apart."""
    core = stages.to_core(stages.check(Source("s.fut", HEAD + BLOCKED["bitonic sort"])))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "s")
    blocks = next(k for k in module.split("__kernel void")[1:] if "rounds" in k)
    assert "minifut_fail" not in blocks
    assert "for (long again = 0L; again < rounds; again++)" in blocks
