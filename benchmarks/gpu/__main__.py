"""The command line: run the cases, compile their kernels, check and print a table."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.gpu import toolchain
from benchmarks.gpu.cases import CASES, Case
from benchmarks.gpu.check import (
    Kernel,
    complaints,
    read_golden,
    table,
    write_golden,
)
from benchmarks.gpu.launches import Launch, environment, read_launches
from benchmarks.gpu.toolchain import Tools, Unavailable
from minifut.opencl.runtime.device_family import most_registers

LIMIT = 300
"""seconds for the cases of a process"""
CONTRACTED = re.compile(r"\bfma\.rn\.f(32|64)")
SEPARATE = re.compile(r"\bmul\.(rn\.)?f(32|64)")


def main() -> int:
    """Check all kernels; the exit code is 1 if there are complaints."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("--golden", action="store_true", help="accept the registers")
    parser.add_argument("--only", default="", help="cases that match REGEX")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--wide", action="store_true", help="indices of 64 bits")
    options = parser.parse_args()
    try:
        tools = toolchain.find_tools()
    except Unavailable as reason:
        print(f"gpu-check skipped, {reason}")
        return 0
    start = time.perf_counter()
    cases = [case for case in CASES if re.search(options.only, case.name)]
    with tempfile.TemporaryDirectory() as folder:
        more = ["--wide"] if options.wide else []
        kernels = found_kernels(tools, cases, Path(folder), options.jobs, more)
    print("\n".join(table(kernels)))
    if options.golden:
        write_golden(kernels, read_golden() if options.only else {})
    golden = read_golden()
    wrong = [
        (k.key, text) for k in kernels for text in dict.fromkeys(complaints(k, golden))
    ]
    for key, text in wrong:
        print(f"{key}: {text}")
    seconds = time.perf_counter() - start
    print(f"{len(kernels)} kernels, {len(wrong)} complaints, {seconds:.0f} s")
    return 1 if wrong else 0


def found_kernels(
    tools: Tools, cases: list[Case], folder: Path, jobs: int, more: list[str]
) -> list[Kernel]:
    """Run the cases and compile each different kernel."""
    plugin = toolchain.build_plugin(tools, folder)
    parts = [folder / str(number) for number in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        shares = [cases[number::jobs] for number in range(jobs)]
        each = partial(_run, plugin, more)
        list(pool.map(each, parts, shares))
        work = []
        for number, case in enumerate(cases):
            path = parts[number % jobs] / f"{case.name}.json"
            for at, launch in enumerate(read_launches(path)):
                work.append((case, launch, folder / f"{case.name}.{at}.cl"))
        return list(pool.map(lambda each: _examined(tools, *each), work))


def _run(plugin: Path, more: list[str], folder: Path, cases: list[Case]) -> None:
    """Run cases in a process of their own."""
    names = [case.name for case in cases]
    if not names:
        return
    command = [sys.executable, "-m", "benchmarks.gpu.launches", str(folder), *names]
    command += more
    done = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        env=environment(folder, plugin, toolchain.DRIVER),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(names)}:\n{(done.stdout + done.stderr)[-3000:]}")


def _examined(tools: Tools, case: Case, launch: Launch, source: Path) -> Kernel:
    """Compile a kernel for all architectures."""
    source.write_text(launch.text)
    ptx = toolchain.to_ptx(tools, source, launch.options)
    most = most_registers(launch.text, launch.group)
    nvidia = {
        name: toolchain.to_nvidia(tools, ptx, name, most) for name in toolchain.NVIDIA
    }
    contracts = True
    if case.is_product:
        old = source.with_suffix(".old.cl")
        old.write_text(toolchain.OLD_CLANG + launch.text)
        text = toolchain.to_ptx(tools, old, launch.options).read_text()
        contracts = bool(CONTRACTED.search(text)) or not SEPARATE.search(text)
    amd = toolchain.to_amd(tools, source, launch.options)
    return Kernel(case, launch, nvidia, amd, contracts)


if __name__ == "__main__":
    sys.exit(main())
