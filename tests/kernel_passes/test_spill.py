"""Kernels with global memory in the place of local memory."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.frontend.elaborate import functions
from minifut.ir.interpret import run
from minifut.ir.node import replace
from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.opencl.runtime import open_session
from minifut.passes import inline

GROUPS = "#[incremental_flattening(only_intra)] "
SUMS = f"""
entry main [n][m] (xss: [n][m]i32) =
  {GROUPS}map (\\xs -> let ys = scan (+) 0 xs in map2 (-) ys (reverse ys)) xss"""
PROGRAMS = {
    "sums": SUMS,
    "two launches of a kernel": f"""
def sums [n][m] (xss: [n][m]i32) =
  {GROUPS}map (\\xs -> let ys = scan (+) 0 xs in map2 (-) ys (reverse ys)) xss
entry main [n][m] (xss: [n][m]i32) = map2 (map2 (+)) (sums xss) (sums (reverse xss))""",
    "small numbers": f"""
entry main [n][m] (xss: [n][m]i32) =
  {GROUPS}map (\\xs ->
    let hs = scan (+) 0 (map f16.i32 xs)
    let bs = map (> 0) xs
    in map3 (\\h b c -> i32.f16 h + i32.bool (b && c)) (reverse hs) bs (reverse bs)) xss""",
    "functions": f"""
def g [m] (xs: [m]i32) (i: i64): i32 = loop s = 0 for j < i do s * 2 + xs[j]
def f [m] (xs: [m]i32) (i: i64): i32 = g xs i - 3 * g xs (i / 2)
entry main [n][m] (xss: [n][m]i32) =
  {GROUPS}map (\\xs -> let ys = scan (+) 0 xs in map (f ys) (iota m)) xss""",
    "arrays of a known size": f"""
entry main [n][m] (xss: [n][m]i32) =
  {GROUPS}map (\\xs ->
    let ys = scan (+) 0 xs
    let zs = scan (+) 0 (map (\\i -> i32.i64 i + xs[0]) (iota 3000))
    in map2 (\\y i -> y - zs[i * 7]) (reverse ys) (iota m)) xss""",
    "sizes of threads": f"""
entry main [n][m] (xss: [n][m]i32) =
  {GROUPS}map (\\xs ->
    let ys = scan (+) 0 xs
    let f (y: i32) =
      let k = i64.i32 (y & 7)
      let zs = scan (+) y (map i32.i64 (iota k))
      in loop s = 0 for i < k do s * 3 + zs[k - 1 - i]
    in map f ys) xss""",
}


def lowered(text: str) -> KernelProgram:
    core = stages.to_core(stages.check(Source("p.fut", text)))
    return stages.to_kernel_code(
        stages.to_schedule(stages.to_kernels(core), "cpu"), "cpu"
    )


def test_the_kernels_differ_in_where_arrays_are() -> None:
    program = lowered(SUMS)
    local, spilled = program.kernels
    assert spilled.name == f"{local.name}_scratch"
    assert any(isinstance(p, kc.LocalParameter) for p in local.parameters)
    assert not any(isinstance(p, kc.LocalParameter) for p in spilled.parameters)
    count = len(local.body.statements)
    pairs = zip(local.body.statements, spilled.body.statements[-count:], strict=True)
    assert all(type(one) is type(other) for one, other in pairs)
    memories = {load.memory.space for load in nodes_of(kc.Load, spilled.body)}
    assert memories == {"global"}


@pytest.mark.device
@pytest.mark.parametrize("local_memory", [8, 1 << 20])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(
    name: str, local_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAMS[name]
    if name == "functions":
        monkeypatch.setattr(functions, "SMALL", -1)
        monkeypatch.setattr(functions, "COPIES", 0)
        monkeypatch.setattr(inline, "SMALL", 0)
        monkeypatch.setattr(inline, "GROWTH", -(10**9))
    core = stages.to_core(stages.check(Source("program.fut", text)))
    session = open_session(None)
    device = replace(session.device, local_memory=local_memory)
    monkeypatch.setattr(session, "device", device)
    program = minifut.compile(text, schedule="cpu")
    assert any(kernel.endswith("_scratch") for kernel in program.kernels)
    assert ("static" in str(program.kernels)) == (name == "functions")
    for n in (0, 1, 70):
        xss = np.random.default_rng(n).integers(-3, 9, (n, 37)).astype(np.int32)
        wanted = run(core, "main", [xss])
        np.testing.assert_array_equal(program.main(xss), wanted[0])
