"""A cache of kernel binaries, shared by later processes.

    load_program(session, handle, key)    ->  what was kept for that key, or None
    keep(device, program, key)            keep it when this process ends

The key names the text, the options, the device and the driver. PoCL compiles a kernel
when it is launched, once for each size of groups, so that its binary is worth asking
for only at the end.

When a binary is requested, PoCL compiles every kernel once more, for groups of any
size, which takes as long as all compiling before. Only a driver with the option not to
specialise, or without LLVM, ever launches that version; but it has to be in its place.
So before the binary is requested, what was launched is linked there:

    <folder of this process>/AB/CDEF.../main_mapped/32-1-1-goffs0/main_mapped.so
    <folder of this process>/AB/CDEF.../main_mapped/0-0-0  ->  32-1-1-goffs0

The names are those of PoCL 3.0 (pocl_cache_final_binary_path); a driver that has others
finds no link and compiles.

PoCL reads these files on request. If the folder has been cleaned up for
temporary files meanwhile, it gives a binary without the program, with which the next
process would crash: such a one counts as none, when stored and when loaded.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime.driver_cache import private_folders

if TYPE_CHECKING:
    from minifut.opencl.runtime.device import Device
    from minifut.opencl.runtime.queue import Session

MOST = 512
"""programs whose binaries wait: a process that goes on and on does not hold all"""
SPECIALISE = "POCL_WORK_GROUP_SPECIALIZATION"
"""which PoCL reads: whether it compiles for each size of groups"""
ANY_SIZE = "0-0-0"
PART_OF = b"part of "
"""what is kept for a kernel in a program of several: this, and the key of that one"""

_kept: list[tuple[Any, str, int]] = []
"""programs of this process, each built for one device: what to store, and how large the
stored binary was"""


def key_of(device: Device, handle: Any, options: str, text: str) -> str:
    """The name under which the binary of this program is kept."""
    name = device.name if handle == device.handle else f"synchronous {device.name}"
    driver = (device.platform, device.version, name, device.target)
    key = "\n".join((*driver, os.environ.get(SPECIALISE, ""), options, text))
    return hashlib.sha256(key.encode()).hexdigest()


def load_program(session: Session, handle: Any, key: str) -> Any:
    """The program that this process or an earlier one built, or None."""
    from minifut.cache import load_bytes

    if session.device.is_simulator:
        return None
    known = _known(session, key)
    if known is not None:
        return known
    binary = load_bytes("kernels", key)
    if binary is not None and binary.startswith(PART_OF):
        key = binary.removeprefix(PART_OF).decode()
        known = _known(session, key)
        if known is not None:
            return known
        binary = load_bytes("kernels", key)
    if binary is None or not is_whole(binary):
        return None
    cl = session.cl
    try:
        program = cl.Program(session.context, [handle], [binary])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program.build(cache_dir=False)
    except cl.Error:  # made by a driver that has changed since
        return None
    _keep(program, key, len(binary))
    return program


def _known(session: Session, key: str) -> Any:
    """The program of this process with that key, in the context of the session."""
    for program, name, _ in _kept:
        if name == key and program.context == session.context:
            return program
    return None


def keep(device: Device, program: Any, key: str) -> None:
    """Store the binary of `program` when the process ends."""
    if not device.is_simulator:
        _keep(program, key, 0)


def keep_part(device: Device, key: str, whole: str) -> None:
    """Note that what this key stands for is in the program of another."""
    from minifut.cache import store_bytes

    if not device.is_simulator:
        store_bytes("kernels", key, PART_OF + whole.encode())


def _keep(program: Any, key: str, known: int) -> None:
    if len(_kept) >= MOST:
        store_binaries()
    _kept.append((program, key, known))


# PoCL's folders are removed after this has run: driver_cache was imported before.
@atexit.register
def store_binaries() -> None:
    """Keep what the driver compiled (for PoCL: all group sizes that ran)."""
    from minifut.cache import store_bytes

    if os.environ.get(SPECIALISE, "1") == "1":
        for folder in private_folders():
            _link_what_was_launched(folder)
    for program, key, known in _kept:
        try:
            (binary,) = filter(None, program.binaries)
        except Exception:
            # At exit, and only a cache: a driver's refusal must not show.
            continue
        if len(binary) != known and is_whole(binary):
            store_bytes("kernels", key, binary)
    _kept.clear()


def is_whole(binary: bytes) -> bool:
    """Whether a binary of PoCL has the program in it: a file of a length that is not 0,
    in 4 bytes behind its name. Those of other drivers are left to them."""
    if not binary.startswith(b"poclbin"):
        return True
    _, name, rest = binary.partition(b"/program.bc")
    return bool(name) and any(rest[:4])


def _link_what_was_launched(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for library in folder.glob("*/*/*/*/*.so"):
            launched = library.parent
            any_size = launched.parent / ANY_SIZE
            if not any_size.exists():
                any_size.symlink_to(launched.name)
