"""A cache of kernel binaries, shared by later processes.

    load_program(session, handle, key)    ->  what was kept for that key, or None
    keep(device, program, key)            keep it when this process ends

The key names the text, the options, the device and the driver. PoCL compiles a kernel
when it is launched, once for each size of groups, so that its binary is worth asking
for only at the end (driver_binaries.py says how). What serves both of PoCL's devices of
the processor is kept once, and is loaded for each.

PoCL reads these files on request. If the folder has been cleaned up for
temporary files meanwhile, it gives a binary without the program, with which the next
process would crash: such a one counts as none, when stored and when loaded.
"""

from __future__ import annotations

import atexit
import hashlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from minifut.opencl.runtime import driver_binaries
from minifut.opencl.runtime.driver_binaries import is_whole
from minifut.opencl.runtime.driver_cache import private_folders

if TYPE_CHECKING:
    from minifut.opencl.runtime.device import Device
    from minifut.opencl.runtime.queue import Session

MOST = 512
"""programs whose binaries wait: a process that goes on and on does not hold all"""
PART_OF = b"part of "
"""what is kept for a kernel in a program of several: this, and the key of that one"""


class Kept(NamedTuple):
    """A program of this process, built for one device."""

    program: Any
    key: str
    handle: Any
    stored: int = 0
    """bytes of its binary as it is stored"""
    source: tuple[str, str] | None = None
    """its text and options, if it was compiled for what serves both devices"""


_kept: list[Kept] = []


def key_of(device: Device, handle: Any, options: str, text: str) -> str:
    """The name under which the binary of this program is kept."""
    is_first = handle == device.handle and not driver_binaries.serves_both(device)
    name = device.name if is_first else f"synchronous {device.name}"
    driver = (device.platform, device.version, name, device.target)
    specialise = os.environ.get(driver_binaries.SPECIALISE, "")
    key = "\n".join((*driver, specialise, options, text))
    return hashlib.sha256(key.encode()).hexdigest()


def load_program(session: Session, handle: Any, key: str) -> Any:
    """The program that this process or an earlier one built, or None."""
    from minifut.cache import load_bytes

    if session.device.is_simulator:
        return None
    known = _known(session, handle, key)
    if known is not None:
        return known
    binary = load_bytes("kernels", key)
    if binary is not None and binary.startswith(PART_OF):
        key = binary.removeprefix(PART_OF).decode()
        known = _known(session, handle, key)
        if known is not None:
            return known
        binary = load_bytes("kernels", key)
    shared = driver_binaries.serves_both(session.device)
    if binary is None:
        return _handed_over(session, handle, key) if shared else None
    if not is_whole(binary):
        return None
    if shared:
        binary = driver_binaries.addressed(binary, handle.version)
    try:
        program = driver_binaries.loaded(session, handle, binary)
    except session.cl.Error:  # made by a driver that has changed since
        return None
    _keep(Kept(program, key, handle, len(binary)))
    return program


def _known(session: Session, handle: Any, key: str) -> Any:
    """The program of this process with that key, in the context of the session."""
    for kept in _kept:
        is_same = (kept.key, kept.handle) == (key, handle)
        if is_same and kept.program.context == session.context:
            return kept.program
    return None


def _handed_over(session: Session, handle: Any, key: str) -> Any:
    """The program for a device that this process has compiled for both."""
    for kept in _kept:
        if kept.key == key and kept.source is not None:
            given = session, handle, kept.handle, *kept.source
            program, size = driver_binaries.handed_over(*given)
            if program is not None:
                _keep(Kept(program, key, handle, size))
            return program
    return None


def keep(
    device: Device,
    program: Any,
    key: str,
    handle: Any,
    source: tuple[str, str] | None = None,
) -> None:
    """Store the binary of `program` when the process ends."""
    if not device.is_simulator:
        _keep(Kept(program, key, handle, source=source))


def keep_part(device: Device, key: str, whole: str) -> None:
    """Note that what this key stands for is in the program of another."""
    from minifut.cache import store_bytes

    if not device.is_simulator:
        store_bytes("kernels", key, PART_OF + whole.encode())


def _keep(kept: Kept) -> None:
    if len(_kept) >= MOST:
        store_binaries()
    _kept.append(kept)


# PoCL's folders are removed after this has run: driver_cache was imported before.
@atexit.register
def store_binaries() -> None:
    """Keep what the driver compiled (for PoCL: all group sizes that ran)."""
    from minifut.cache import store_bytes

    if os.environ.get(driver_binaries.SPECIALISE, "1") == "1":
        for folder in private_folders():
            for program_folder in folder.glob("*/*"):
                driver_binaries.link_what_was_launched(program_folder)
    for kept in _kept:
        try:
            (binary,) = filter(None, kept.program.binaries)
        except Exception:
            # At exit, and only a cache: a driver's refusal must not show.
            continue
        if len(binary) != kept.stored and is_whole(binary):
            store_bytes("kernels", kept.key, binary)
    _kept.clear()
