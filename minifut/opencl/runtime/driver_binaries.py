"""What PoCL compiles for one device of the processor serves the other (PoCL 3.0).

PoCL shows the processor twice: with threads (`pthread`), and as a device that executes
commands in the thread that enqueues them (`basic`). The machine code of a kernel is the
same for both. To compile for a device, PoCL reads its library of built-in functions,
half a second once in a process, and takes 50-700 ms for a kernel. So programs are
compiled for the second device alone, and their binaries given to the first one:

    poclbin | hash of "basic-x86_64-..-znver3" | ..
    →  poclbin | hash of "pthread-x86_64-..-znver3" | ..

A binary has what was compiled for groups that were launched. When it is requested, PoCL
compiles every kernel once more, for groups of any size, which takes as long as all
compiling before. Only a driver with the option not to specialise, or without LLVM, ever
launches that version; but it has to be in its place. So before the binary is requested,
what was launched is linked there:

    <PoCL's folder>/AB/CDEF.../main_mapped/32-1-1-goffs0/main_mapped.so
    <PoCL's folder>/AB/CDEF.../main_mapped/0-0-0  ->  32-1-1-goffs0

The names are those of PoCL 3.0 (pocl_cache_final_binary_path); a driver that has others
finds no link and compiles. PoCL makes a binary once for each program, so one that is to
grow is not asked: another program of the same text is, which PoCL finds compiled.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime.builtin_declarations import compile_program
from minifut.opencl.runtime.driver_target import VERSION

if TYPE_CHECKING:
    from minifut.opencl.runtime.device import Device
    from minifut.opencl.runtime.queue import Session

SPECIALISE = "POCL_WORK_GROUP_SPECIALIZATION"
"""which PoCL reads: whether it compiles for each size of groups"""
KEEPS_FILES = "POCL_KERNEL_CACHE"
"""which PoCL reads: whether a program's files are found by another of the same text"""
ANY_SIZE = "0-0-0"
MAGIC = b"poclbin\0"
HASH = 8
"""bytes after it: the device"""
TARGET = "HSTR: "
"""in the version of a device: what it compiles for comes next"""
PRIME = 0x100000001B3
START = 0xCBF29CE484222325


def serves_both(device: Device) -> bool:
    """Whether programs are compiled once for both devices."""
    if device.synchronous is None or not device.shares_memory:
        return False
    handles = device.handle, device.synchronous
    return (
        VERSION in device.version
        and all(TARGET in handle.version for handle in handles)
        and os.environ.get(KEEPS_FILES, "1") == "1"
        and os.environ.get(SPECIALISE, "1") == "1"
        and os.path.exists("/proc/self/maps")
    )


def addressed(binary: bytes, version: str) -> bytes:
    """The binary for a device of that version."""
    if not binary.startswith(MAGIC):
        return binary
    return MAGIC + _hash_of(version) + binary[len(MAGIC) + HASH :]


def _hash_of(version: str) -> bytes:
    """How PoCL names the device of that version in binaries (FNV-1)."""
    value = START
    for byte in version.partition(TARGET)[2].strip().encode():
        value = (value * PRIME) % (1 << 64) ^ byte
    return value.to_bytes(HASH, "little")


def handed_over(
    session: Session, to: Any, compiled_for: Any, text: str, options: str
) -> tuple[Any, int]:
    """The program for a device that was compiled for another in this process, all
    kernels of which were launched, and the size of its binary; None if it cannot be had
    at once."""
    failures = OSError, session.cl.Error
    with contextlib.suppress(*failures), contextlib.ExitStack() as links:
        program = compile_program(session, compiled_for, text, options)
        folders = _folders_of(program.kernel_names.split(";"))
        for folder in folders:
            links.enter_context(_linked(folder))
        (binary,) = filter(None, program.binaries) if folders else (b"",)
        if is_whole(binary):
            return loaded(session, to, addressed(binary, to.version)), len(binary)
    return None, 0


def loaded(session: Session, handle: Any, binary: bytes) -> Any:
    """The program of a binary; a `pyopencl.Error` if the driver takes it for another
    one's."""
    cl = session.cl
    program = cl.Program(session.context, [handle], [binary])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        program.build(cache_dir=False)
    return program


def is_whole(binary: bytes) -> bool:
    """Whether a binary of PoCL has the program in it: a file of a length that is not 0,
    in 4 bytes behind its name. Those of other drivers are left to them."""
    if not binary.startswith(b"poclbin"):
        return bool(binary)
    _, name, rest = binary.partition(b"/program.bc")
    return bool(name) and any(rest[:4])


def _folders_of(names: list[str]) -> list[Path]:
    """Folders of programs that have kernels of these names, all of them compiled: from
    there they were loaded into the process."""
    libraries = {f"{name}.so" for name in names}
    loaded = set()
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")[2]
        if path and os.path.basename(path) in libraries:
            loaded.add(Path(f"/{path}").parents[2])
    return [
        folder
        for folder in loaded
        if all(any(folder.glob(f"{name}/*/{name}.so")) for name in names)
    ]


@contextlib.contextmanager
def _linked(folder: Path) -> Iterator[None]:
    """What was launched, in the place of what PoCL would compile for a binary: not for
    longer, since the folder may be a user's."""
    made = link_what_was_launched(folder)
    try:
        yield
    finally:
        for link in made:
            link.unlink()


def link_what_was_launched(folder: Path) -> list[Path]:
    """Link what was compiled of a program to where PoCL looks for groups of any size,
    where nothing is; gives the links."""
    made = []
    with contextlib.suppress(OSError):
        for library in folder.glob("*/*/*.so"):
            launched = library.parent
            any_size = launched.parent / ANY_SIZE
            if not any_size.exists():
                any_size.symlink_to(launched.name)
                made.append(any_size)
    return made
