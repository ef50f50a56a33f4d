"""Matrix multiplication in the GPU schedule: tiles in local memory, sums in registers.

    python benchmarks/matmul_gpu.py [--device WORDS] [--size 1024] [--rounds 10]

Compares, on one device and in interleaved rounds, the best of some rounds:

    block        one element for each work-item, tiles of 16 x 16 in local memory
    registers    the same with 4 x 4 sums in the registers of each work-item
    written      hand_written/matmul_gpu.cl, of the shape of `registers`
    numpy        NumPy's BLAS on the CPU

The first two are generated from the printed programs of the tests by the GPU schedule,
whatever the device. PoCL runs such kernels 10 to 100 times slower than those of the CPU
schedule; a GPU, or Intel's CPU runtime (`pip install intel-opencl-rt
intel-cmplr-lib-rt`, an ICD file that names its library and OCL_ICD_VENDORS with the
folder of that file), shows what the tiles are worth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minifut.ir.parser import parse_program
from minifut.lowering.pipelines import to_kernel_code
from minifut.opencl.module import text_of

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = Path(__file__).resolve().parent / "hand_written" / "matmul_gpu.cl"
PRINTED = {
    "block": "tests/lowering/groups/block_tiled.ir",
    "registers": "tests/ir/printed/tiled_matmul.ir",
}
STEM = "main.map_map_redomap."
TILES = {
    "block": {f"main.t.{name}": 16 for name in ("rows", "columns", "depth")},
    "registers": {
        **{f"{STEM}block_{name}": 16 for name in ("rows", "columns", "depth")},
        **{f"{STEM}register_{name}": 4 for name in ("rows", "columns")},
    },
}


def generated(name: str, device: str | None) -> Any:
    """One of the printed programs on the device, with the tiles of the comparison."""
    program = parse_program((ROOT / PRINTED[name]).read_text())
    namespace: dict[str, Any] = {}
    exec(text_of(to_kernel_code(program, "gpu"), "program"), namespace)
    return namespace["program"].load(device=device, parameters=TILES[name])


def written(instance: Any, a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    """The hand-written kernel: a call that runs it, and one that gives its result."""
    session = instance.session
    cl = session.cl
    kernel = cl.Program(session.context, WRITTEN.read_text()).build("-w").matmul
    kernel.set_scalar_arg_dtypes([None] * 3 + [np.int64] * 3)
    (n, m), p = a.shape, b.shape[1]
    flags = cl.mem_flags
    given = [
        cl.Buffer(session.context, flags.COPY_HOST_PTR, hostbuf=array)
        for array in (a, b)
    ]
    out = cl.Buffer(session.context, flags.READ_WRITE, 4 * n * p)
    groups = -(-n // 64) * -(-p // 64)

    def run() -> None:
        kernel(session.queue, (groups * 256,), (256,), *given, out, n, m, p)
        session.queue.finish()

    def result() -> np.ndarray:
        found = np.empty((n, p), np.float32)
        cl.enqueue_copy(session.queue, found, out)
        return found

    return run, result


def on_device(instance: Any, a: np.ndarray, b: np.ndarray) -> Callable[[], Any]:
    """A call of the generated program with operands and result on the device."""
    from pyopencl import array

    session = instance.session
    given = [array.to_device(session.queue, x) for x in (a, b)]

    def run() -> Any:
        found = instance.main(*given, device=True)
        session.queue.finish()
        return found

    return run


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", help="words that name the device")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    shape = (options.size, options.size)
    a, b = (random.random(shape, np.float32) for _ in range(2))
    expected = a @ b
    calls: dict[str, Callable[[], Any]] = {"numpy": lambda: a @ b}
    for name in PRINTED:
        instance = generated(name, options.device)
        calls[name] = on_device(instance, a, b)
        np.testing.assert_allclose(calls[name]().get(), expected, rtol=1e-4)
    calls["written"], result = written(instance, a, b)
    calls["written"]()
    np.testing.assert_allclose(result(), expected, rtol=1e-4)
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(options.rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"{instance.session.device}, {options.size} x {options.size}, f32")
    work = 2 * options.size**3
    for name, seconds in best.items():
        rate = f"{seconds * 1e3:8.2f} ms {work / seconds / 1e9:8.1f} GFLOP/s"
        print(f"{name:<10}{rate}  {best['numpy'] / seconds:6.2f} of numpy")
    print(f"registers against block: {best['block'] / best['registers']:.2f}x")
    print(f"registers of written:    {best['written'] / best['registers']:.2f}")


if __name__ == "__main__":
    main()
