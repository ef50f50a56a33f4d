"""Generated modules of programs, kept between compilations.

    host_module(source, "cpu", make)   what `make` gave for the same source before, as
                                       long as the files that it imports are unchanged

The key of a module is the text and the place of the source, the schedule, and the
compiler itself: its version and the sizes and times of its files. Which files a source
imports is known only after it was checked, so that they are kept with the module, each
with a checksum, and read again before it is used. Modules are kept in memory, and in
the folder for what is kept between runs (`minifut.cache`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path

from minifut.cache import load_bytes, store_bytes
from minifut.errors import Source
from minifut.files import LARGEST_TEXT, read_regular
from minifut.immutables import immutable

KIND = "modules"
MOST = 64
"""modules that are kept in memory"""


@immutable
class HostModule:
    """A generated module: its text, the comment above each entry point, and the path
    and checksum of each file that the program imports."""

    text: str
    documentation: dict[str, str]
    imports: dict[str, str]

    def is_current(self) -> bool:
        """Whether the imported files are as they were."""
        return all(checksum_of(path) == known for path, known in self.imports.items())


_in_memory: OrderedDict[str, HostModule] = OrderedDict()


def host_module(
    source: Source, schedule: str, make: Callable[[], HostModule], part: str = ""
) -> HostModule:
    """The module of a source for a schedule, made if it is not known; `part` says what
    of the source if it is not the program itself."""
    key = key_of(source, schedule, part)
    found = _in_memory.get(key) or _stored(key)
    if found is None or not found.is_current():
        found = make()
        store_bytes(KIND, key, json.dumps(asdict(found)).encode())
    _in_memory[key] = found
    _in_memory.move_to_end(key)
    if len(_in_memory) > MOST:
        _in_memory.popitem(last=False)
    return found


def _stored(key: str) -> HostModule | None:
    data = load_bytes(KIND, key)
    return None if data is None else decoded_module(data)


def decoded_module(data: bytes) -> HostModule | None:
    """The module that was stored as these bytes, None if they are no module."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.keys() != {
        f.name for f in fields(HostModule)
    }:
        return None
    texts = [found["text"]]
    for each in (found["documentation"], found["imports"]):
        if not isinstance(each, dict):
            return None
        texts += each.values()
    if not all(isinstance(text, str) for text in texts):
        return None
    return HostModule(**found)


def key_of(source: Source, schedule: str, part: str = "") -> str:
    """The name of a module among all that are kept."""
    place = os.path.abspath(source.name)
    root = os.environ.get("MINIFUT_IMPORT_ROOT", "")
    parts = (compiler_identity(), source.name, place, root, schedule, part)
    return hashlib.sha256("\0".join((*parts, source.text)).encode()).hexdigest()


@cache
def compiler_identity() -> str:
    """The version of the compiler, and what its files look like."""
    from minifut.version import __version__

    files = [__version__]
    folders = [str(Path(__file__).parent)]
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.name.endswith((".py", ".fut", ".lark")):
                found = entry.stat()
                files.append(f"{entry.path} {found.st_size} {found.st_mtime_ns}")
            elif "." not in entry.name and entry.name != "__pycache__":
                folders.append(entry.path)
    return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()


def checksum_of(path: str) -> str:
    """The checksum of a file; empty if it cannot be read."""
    try:
        return hashlib.sha256(read_regular(path, LARGEST_TEXT)).hexdigest()
    except (OSError, ValueError):
        return ""
