"""The kind of the device that programs will run on, without loading any driver.

    kind_of_device(None)     "cpu", from what the same question gave before

What is generated for a program depends on its device only by the kind of that. Loading
drivers takes a tenth of a second and more, so that the answer is kept
(`minifut.cache`), for everything it may depend on: the pattern, the variables that
drivers and their loader read, the files by which the loader finds drivers, the
libraries that these name, Python's packages, the device files of the kernel, and the
start of the machine. Where an operating system says no such thing, drivers are loaded.

A record may be wrong in spite of that. Then the program runs on the device that is
there, in the schedule for the other kind, and the record is dropped with a warning.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from minifut.cache import load_bytes, store_bytes

KIND = "devices"
KINDS = ("cpu", "gpu")
PREFIXES = (
    "AMD_",
    "CL_",
    "CUDA_",
    "GPU_",
    "HIP_",
    "HSA_",
    "INTEL_",
    "LD_",
    "MESA_",
    "NVIDIA_",
    "OCL_",
    "OCLGRIND_",
    "ONEAPI_",
    "OPENCL_",
    "ROCR_",
    "RUSTICL_",
    "SYCL_",
    "ZE_",
)
"""of variables that decide which devices there are"""
DEVICE_FILES = ("nvidia", "dri", "kfd", "dxg", "accel", "mali", "kgsl")
VENDORS = "/etc/OpenCL/vendors"
START = "/proc/sys/kernel/random/boot_id"


def kind_of_device(pattern: str | None) -> str:
    """The kind of the device that `open_device` gives, and its errors."""
    key = _key(pattern)
    known = None if key is None else load_bytes(KIND, key)
    if known is not None and known.decode() in KINDS:
        return known.decode()
    from minifut.opencl.runtime.device import open_device

    kind = open_device(pattern).kind
    if key is not None:
        store_bytes(KIND, key, kind.encode())
    return kind


def correct_record(pattern: str | None, found: str) -> None:
    """Note the kind of the device that was opened, if the record says another."""
    key = _key(pattern)
    known = None if key is None else load_bytes(KIND, key)
    if key is None or known is None or known.decode() == found:
        return
    store_bytes(KIND, key, found.encode())
    logging.getLogger("minifut").warning(
        "devices have changed: the program was compiled for a %s and runs on a %s; "
        "compile it again for the schedule that fits",
        known.decode(),
        found,
    )


def _key(pattern: str | None) -> str | None:
    """What the answer depends on, None if that is not known."""
    try:
        start = Path(START).read_text()
    except OSError:
        return None
    wanted = pattern or os.environ.get("MINIFUT_DEVICE") or ""
    # what `open_device` sets where the user does not
    driver = os.environ.get("POCL_DEVICES", "pthread basic")
    variables = [f"{n}={v}" for n, v in os.environ.items() if n.startswith(PREFIXES)]
    files = [_state(path) for path in sorted(set(_files()))]
    parts = [start, os.uname().nodename, sys.prefix, wanted, driver]
    return "\0".join([*parts, *sorted(variables), *files, *sorted(_device_files())])


def _files() -> Iterator[str]:
    """Files and folders that change where a driver comes or goes."""
    for folder in sys.path:
        if folder.endswith(("site-packages", "dist-packages")):
            yield folder
            yield os.path.join(folder, "pyopencl")
            yield from _drivers(os.path.join(folder, "pyopencl", ".libs"))
            yield os.path.join(folder, "pocl_binary_distribution", ".libs")
    named = os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH")
    yield from _drivers(named or VENDORS)
    yield from _drivers(os.path.join(sys.prefix, "etc", "OpenCL", "vendors"))
    yield from (os.environ.get("OCL_ICD_FILENAMES") or "").split(":")
    yield "/etc/ld.so.cache"  # written again when libraries are installed


def _device_files() -> list[str]:
    """The names of the files by which drivers find hardware."""
    found = [f"/dev/{n}" for n in _names("/dev") if n.startswith(DEVICE_FILES)]
    return [*found, *(f"{path}/{name}" for path in found for name in _names(path))]


def _drivers(place: str) -> Iterator[str]:
    """A file that names a driver, or all of a folder, with the libraries they name."""
    yield place
    texts = [place] if place.endswith(".icd") else []
    for name in _names(place):
        texts.append(os.path.join(place, name))
    for path in texts:
        yield path
        if path.endswith(".icd"):
            try:
                library = Path(path).read_text("utf-8", "replace").strip()
            except OSError:
                continue
            yield os.path.join(os.path.dirname(path), library)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _state(path: str) -> str:
    """What a file looks like from outside."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path
    return f"{path} {found.st_size} {found.st_mtime_ns}"
