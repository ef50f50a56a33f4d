"""What PoCL compiled for its threads serves its device without threads (PoCL 3.0).

Both devices are the same processor, and the machine code of a kernel is the same. To
compile for a device PoCL reads its library of built-in functions, half a second once in
a process, and 50-700 ms go to a kernel. So a kernel is launched on the threads first,
and what was compiled for them is given to the other device as a binary:

    poclbin | hash of "pthread-x86_64-..-znver3" | ..
    →  poclbin | hash of "basic-x86_64-..-znver3" | ..

A binary is requested when all its kernels have been launched (binaries.py says why).
Their files are where the loader found them, so that a cache of the user's is like that
of this process. In any other case the kernel is compiled once more.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime import binaries
from minifut.opencl.runtime.driver_target import VERSION

if TYPE_CHECKING:
    from minifut.opencl.runtime.kernels import Launcher
    from minifut.opencl.runtime.queue import Session

MAGIC = b"poclbin\0"
TARGET = "HSTR: "
"""in the version of a device: what it compiles for comes next"""
PRIME = 0x100000001B3
START = 0xCBF29CE484222325


def is_compiled(small: Launcher, threaded: Launcher) -> bool:
    """Whether the launcher in the calling thread is ready, by what was compiled for the
    one on threads if not before; or is to compile its kernel by itself."""
    session, handle = small.session, small.handle
    device = session.device
    if VERSION not in device.version:
        return True
    text, options = small.section().alone()
    key = binaries.key_of(device, handle, options, text)
    program = binaries.load_program(session, handle, key)
    if program is None:
        built = threaded.program_as_launched()
        if built is None:
            return False
        found = binaries.kept_program(built)
        if found is None:
            return True
        whole = hashlib.sha256(f"synchronous {found[1]}".encode()).hexdigest()
        program = binaries.known_program(session, whole)
        if program is None:
            program = _adapted(session, found[0])
            if program is None:
                return True
            binaries.keep(device, program, whole)
        binaries.keep_part(device, key, whole)
    small.adopt(small.kernel_of(program))
    return True


def _adapted(session: Session, program: Any) -> Any:
    """The program for the device without threads, None if it cannot be had at once."""
    cl, device = session.cl, session.device
    before, after = device.handle.version, device.synchronous.version
    failures = ValueError, OSError, cl.Error
    with contextlib.suppress(*failures), contextlib.ExitStack() as links:
        folders = _folders_of(program.kernel_names.split(";"))
        for folder in folders:
            links.enter_context(_linked(folder))
        (binary,) = filter(None, program.binaries if folders else ())
        changed = readdressed(binary, before, after)
        adapted = cl.Program(session.context, [device.synchronous], [changed])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            adapted.build(cache_dir=False)
        return adapted
    return None


def readdressed(binary: bytes, before: str, after: str) -> bytes:
    """A binary for the device of one version as one for that of another."""
    head = MAGIC + _hash_of(before)
    if not binary.startswith(head) or not binaries.is_whole(binary):
        raise ValueError(before)
    return MAGIC + _hash_of(after) + binary[len(head) :]


def _hash_of(version: str) -> bytes:
    """How PoCL names the device of that version in binaries (FNV-1)."""
    value = START
    for byte in version.partition(TARGET)[2].strip().encode():
        value = (value * PRIME) % (1 << 64) ^ byte
    return value.to_bytes(8, "little")


def _folders_of(names: list[str]) -> list[Path]:
    """Folders of programs that have kernels of these names, all of them compiled."""
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
    """What was launched, in the place of what PoCL would compile for a binary."""
    made = binaries.link_what_was_launched(folder)
    try:
        yield
    finally:
        for link in made:
            link.unlink()
