"""Selection of the device that runs a program: deterministic.

    open_device(None)        $MINIFUT_DEVICE, else a GPU, else PoCL, else another CPU
    open_device("pocl")      the best device whose description contains the words
    open_device("#1")        by its number in `minifut devices`

Simulators (Oclgrind) are taken only when named. Where several PoCLs are installed, the
one that came with pip is preferred, as the one that was measured.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from typing import Any

from minifut.errors import UsageError
from minifut.immutables import immutable
from minifut.opencl.runtime import device_family, driver_locks
from minifut.opencl.runtime.driver_cache import use_private_folder
from minifut.opencl.runtime.driver_linker import link_without_libraries
from minifut.opencl.runtime.driver_target import aligned_target
from minifut.opencl.runtime.memory import SHARE, host_memory

INSTALL_HINT = (
    "install one with `pip install pocl-binary-distribution` (any x86-64 Linux), "
    "or the driver of your GPU"
)


@immutable
class Device:
    """An OpenCL device and the limits that matter to generated code."""

    number: int
    handle: Any
    kind: str
    """"cpu" or "gpu": which schedule and defaults fit"""
    name: str
    platform: str
    version: str
    cores: int
    memory: int
    """bytes of global memory"""
    largest_buffer: int
    """bytes that the driver allows for one"""
    local_memory: int
    group_size: int
    is_pocl: bool
    is_simulator: bool
    target: str = ""
    """what PoCL compiles kernels for, where that is not its own choice"""
    synchronous: Any = None
    """the device of the same driver that runs commands in the thread that enqueues
    them, if there is one: for launches that take less time than waking other threads"""

    family: str = ""
    """`device_family`"""
    takes_nvidia_options: bool = False
    adds_floats: bool = False
    """whether it has cl_ext_float_atomics"""
    subgroup: int = 1
    """neighbouring work-items that exchange words by shuffles; 1: none do"""

    @property
    def shares_memory(self) -> bool:
        """Whether kernels may work directly in the process's memory."""
        return self.is_pocl and self.kind == "cpu"

    @property
    def largest_array(self) -> int:
        """Bytes that one array may have (memory.py)."""
        return self.memory if self.shares_memory else self.largest_buffer

    def __str__(self) -> str:
        return f"{self.name} ({self.platform})"


def _without_pyopencl_cache() -> None:
    """pyopencl keeps the Python code that sets a kernel's arguments in a database of
    the user, which spares a tenth of a millisecond for a kernel and ends every program
    if it is damaged, or busy, or cannot be made."""
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")


def _threads_stay_on_their_cores() -> None:
    """Give each of PoCL's threads a core of its own: Linux may leave two that are woken
    together on one core for milliseconds while the other is idle. PoCL counts cores
    from 0, so that a process that may not use all of them is left alone, and one with
    fewer threads, beside which others will want the first cores as well."""
    if "POCL_MAX_PTHREAD_COUNT" in os.environ:
        return
    allowed = getattr(os, "sched_getaffinity", lambda _: None)(0)
    if allowed == set(range(os.cpu_count() or 0)):
        os.environ.setdefault("POCL_AFFINITY", "1")


def _import_opencl() -> Any:
    """pyopencl, loaded so that PoCL finds its settings."""
    use_private_folder()
    _without_pyopencl_cache()
    _threads_stay_on_their_cores()
    # One thread per core, and for small launches the thread that enqueues them.
    os.environ.setdefault("POCL_DEVICES", "pthread basic")
    try:
        import pyopencl
    except ImportError as error:
        message = f"pyopencl cannot be loaded ({error}): pip install pyopencl"
        raise UsageError(message) from error
    return pyopencl


@cache
def _describe(number: int, platform: Any, handle: Any, cl: Any) -> Device:
    name = handle.name.strip()
    platform_name = platform.name.strip()
    is_pocl = platform_name == "Portable Computing Language"
    is_cpu = bool(handle.type & cl.device_type.CPU)
    simulator = "oclgrind" in platform_name.lower()
    version = platform.version.strip()
    extensions = handle.extensions.split()
    family, takes_options = "", False
    if is_cpu:
        family = device_family.cpu_family(handle.native_vector_width_int)
    elif not simulator:
        family, takes_options = device_family.describe_family(handle)
    if is_pocl and is_cpu:
        link_without_libraries(handle, version)
    limits = [handle.max_work_group_size, *handle.max_work_item_sizes[:1]]
    memory = handle.global_mem_size
    if is_pocl and is_cpu:
        memory = max(memory, int(host_memory() * SHARE))
    return Device(
        number=number,
        handle=handle,
        kind="cpu" if is_cpu or simulator else "gpu",
        name=re.sub(r"^(pthread|basic|cpu)-", "", name) if is_pocl else name,
        platform="PoCL" if is_pocl else platform_name,
        version=f"{version}, driver {handle.driver_version.strip()}",
        cores=handle.max_compute_units,
        memory=memory,
        largest_buffer=handle.max_mem_alloc_size,
        local_memory=handle.local_mem_size,
        group_size=min(limits),
        is_pocl=is_pocl,
        is_simulator=simulator,
        target=aligned_target(handle, version) if is_pocl and is_cpu else "",
        family=family,
        takes_nvidia_options=takes_options,
        adds_floats="cl_ext_float_atomics" in extensions,
        subgroup=device_family.subgroup_of(family, extensions),
    )


def _with_synchronous(devices: list[Device]) -> list[Device]:
    """The devices of a platform; where PoCL shows the processor twice, with threads of
    its own and without, as one."""
    basic = [d for d in devices if d.is_pocl and d.handle.name.startswith("basic")]
    threaded = [d for d in devices if d.is_pocl and d.handle.name.startswith("pthread")]
    if not basic or not threaded:
        return devices
    both = replace(threaded[0], synchronous=basic[0].handle)
    others = [d for d in devices if d is not basic[0] and d is not threaded[0]]
    return [both, *others]


@cache
def _packaged_pocl_version() -> str | None:
    """The version of the PoCL that pip installed, as platforms spell it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"PoCL {version('pocl-binary-distribution')}"
    except PackageNotFoundError:
        return None


def list_devices() -> list[Device]:
    """All devices, in an order that does not depend on how drivers are found."""
    with driver_locks.listing:
        return list(_listed())


@cache  # the loader looks for drivers once in a process
def _listed() -> tuple[Device, ...]:
    cl = _import_opencl()
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader has no platform
        return ()
    described: list[Device] = []
    for platform in platforms:
        try:
            handles = platform.get_devices()
        except cl.Error:  # a platform whose driver finds no hardware
            continue
        found = [_describe(0, platform, handle, cl) for handle in handles]
        described += _with_synchronous(found)
    packaged = _packaged_pocl_version() if len(described) > 1 else None

    def key(device: Device) -> tuple[Any, ...]:
        preferred = packaged is not None and packaged in device.version
        return (
            device.is_simulator,
            device.kind != "gpu",
            not device.is_pocl,
            not preferred,
            device.platform,
            device.version,
            device.name,
        )

    ordered = sorted(described, key=key)
    return tuple(replace(device, number=i) for i, device in enumerate(ordered))


def open_device(pattern: str | None = None) -> Device:
    """The device that the pattern, the environment or the default rule requires.

    A pattern is "#number", or words that all must occur in the device's kind, name,
    platform or version, in any case.
    """
    wanted = pattern or os.environ.get("MINIFUT_DEVICE") or None
    devices = list_devices()
    if not devices:
        raise UsageError(f"no OpenCL device was found; {INSTALL_HINT}")
    if wanted is None:
        usable = [d for d in devices if not d.is_simulator]
        if not usable:
            raise UsageError(
                f"the only OpenCL device is a simulator ({devices[0].platform}); "
                f"{INSTALL_HINT}, or ask for it with --device"
            )
        return usable[0]
    for device in devices:
        if _matches(device, wanted):
            return device
    known = "".join(f"\n  #{d.number}  {d}" for d in devices)
    raise UsageError(f"no OpenCL device matches '{wanted}'; there are:{known}")


def _matches(device: Device, wanted: str) -> bool:
    if wanted.startswith("#"):
        return wanted[1:] == str(device.number)
    text = f"{device.kind} {device.name} {device.platform} {device.version}".lower()
    return all(word in text for word in wanted.lower().split())
