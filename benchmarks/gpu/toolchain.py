"""Compile kernels for GPUs that are not there: registers, spills and loops.

    text --clang 19--> PTX --ptxas--> registers, spills --nvdisasm--> SASS
         --clang 19--> AMD's code: registers, waves that fit

PTX is made for sm_80 and assembled for each NVIDIA architecture. Clang before version
11, and NVIDIA's compiler that may not say its version, are posed as by redefining
`__clang_major__`: their kernels must contract multiplications and additions, too.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu.sass import Loop, loops_of, runs_of
from minifut.opencl.runtime.device_family import MOST_REGISTERS

NVIDIA = ("sm_80", "sm_90")
AMD = "gfx90a"
WAVE = 64
SUBGROUP = re.compile("-DSUBGROUP=.*")
LIBCLC = Path("/usr/lib/clc")
LLVM_HEADERS = Path("/usr/lib/llvm-14/include")
DRIVER = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
COMMON = ("-x", "cl", "-cl-std=CL1.2", "-O3", "-w", "-S")
ATOMICS = "".join(
    f"static __attribute__((overloadable)) {t} atom_{name}("
    f"volatile {space} {t} *p, {t} x) {{ return {builtin}(p, x); }}\n"
    for t in ("long", "ulong")
    for space in ("__global", "__local")
    for name, builtin in (("add", "__sync_fetch_and_add"), ("xchg", "__sync_swap"))
)
"""of 64 bits, which libclc lacks for NVIDIA"""
OLD_CLANG = "#undef __clang_major__\n#define __clang_major__ 7\n"


class Unavailable(Exception):
    """A tool is missing, or does not accept a kernel."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The paths of the tools."""

    clang: str
    ptxas: str
    nvdisasm: str
    compiler: str


def find_tools() -> Tools:
    """The tools, or `Unavailable` with what is missing."""
    paths = {
        "clang-19": shutil.which("clang-19"),
        "ptxas (nvidia-cuda-nvcc-cu12)": _of_package("ptxas"),
        "nvdisasm (nvidia-cuda-nvdisasm)": _of_package("nvdisasm"),
        "g++": shutil.which("g++"),
        "libclc-19": LIBCLC.is_dir() and str(LIBCLC),
        "llvm-14-dev": LLVM_HEADERS.is_dir() and str(LLVM_HEADERS),
        "oclgrind": DRIVER.exists() and str(DRIVER),
        "liboclgrind-dev": Path("/usr/include/oclgrind").is_dir() and "headers",
    }
    missing = [name for name, path in paths.items() if not path]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    clang, ptxas, nvdisasm, compiler, *_ = map(str, paths.values())
    return Tools(clang, ptxas, nvdisasm, compiler)


def _of_package(name: str) -> str | None:
    """A program that a wheel of NVIDIA brings."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found and found.submodule_search_locations) or ():
        for path in sorted(Path(folder).rglob(f"bin/{name}")):
            return str(path)
    return None


def build_plugin(tools: Tools, folder: Path) -> Path:
    """Oclgrind's plugin (transactions.cpp) as a library."""
    plugin = folder / "libtransactions.so"
    source = Path(__file__).parent / "transactions.cpp"
    flags = ["-shared", "-fPIC", "-fno-rtti", "-O2", "-std=c++17", f"-I{LLVM_HEADERS}"]
    run([tools.compiler, *flags, str(source), "-o", str(plugin), "-loclgrind"])
    return plugin


@dataclass(frozen=True, slots=True)
class Nvidia:
    """What ptxas says of a kernel, the loops of its code, and its runs without
    branches."""

    registers: int
    stack: int
    spills: int
    shared: int
    loops: tuple[Loop, ...]
    runs: tuple[Loop, ...] = ()


@dataclass(frozen=True, slots=True)
class Amd:
    """What Clang says of a kernel for AMD's GPUs."""

    registers: int
    scratch: int
    spills: int
    waves: int


def to_ptx(tools: Tools, source: Path, options: Sequence[str]) -> Path:
    """Compile a kernel text to PTX for sm_80."""
    ptx = source.with_suffix(".ptx")
    target = ["--target=nvptx64-unknown-nvidiacl", "-Xclang", "-target-cpu"]
    target += ["-Xclang", "sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx80"]
    library = LIBCLC / "nvptx64--nvidiacl.bc"
    target += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(library)]
    atomics = ptx.with_suffix(".h")
    atomics.write_text(ATOMICS)
    files = ["-include", str(atomics), "-o", str(ptx), str(source)]
    run([tools.clang, *COMMON, *target, *options, *files])
    return ptx


def to_nvidia(tools: Tools, ptx: Path, architecture: str, registers: int) -> Nvidia:
    """Assemble PTX for an architecture, with so many registers at most; the loops are
    read only for sm_90."""
    binary = ptx.with_suffix(f".{architecture}.cubin")
    command = [tools.ptxas, "-v", f"-arch={architecture}", str(ptx), "-o", str(binary)]
    if registers < MOST_REGISTERS:
        command.append(f"-maxrregcount={registers}")
    said = run(command)

    def number(pattern: str) -> int:
        found = re.findall(pattern, said)
        return int(found[-1]) if found else 0

    text = ""
    if architecture == NVIDIA[-1]:
        text = run([tools.nvdisasm, "-c", str(binary)])
    return Nvidia(
        registers=number(r"Used (\d+) registers"),
        stack=number(r"(\d+) bytes stack"),
        spills=number(r"(\d+) bytes spill stores"),
        shared=number(r"(\d+) bytes smem"),
        loops=loops_of(text) if text else (),
        runs=runs_of(text),
    )


def to_amd(tools: Tools, source: Path, options: Sequence[str]) -> Amd:
    """Compile a kernel text for AMD's CDNA 2, with subgroups as wide as its waves."""
    options = [SUBGROUP.sub(f"-DSUBGROUP={WAVE}", option) for option in options]
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={AMD}", "-nogpulib"]
    library = LIBCLC / "amdgcn--amdhsa.bc"
    target += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(library)]
    target += ["-Rpass-analysis=kernel-resource-usage"]
    files = ["-o", str(source.with_suffix(".s")), str(source)]
    said = run([tools.clang, *COMMON, *target, *options, *files])

    def number(key: str) -> int:
        found = re.findall(rf"\s{key}(?: \[[^\]]*\])?: (\d+)", said)
        return int(found[-1]) if found else -1

    return Amd(
        registers=number("VGPRs"),
        scratch=number("ScratchSize"),
        spills=number("VGPRs Spill"),
        waves=number("Occupancy"),
    )


def run(command: Sequence[str]) -> str:
    """What a tool writes, to either stream."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        name = Path(command[0]).name
        raise Unavailable(f"{name} failed: {(done.stdout + done.stderr)[-400:]}")
    return done.stdout + done.stderr
