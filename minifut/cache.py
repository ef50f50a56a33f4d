"""A folder of bytes that can be computed again.

    load_bytes("kernels", key)  ->  the bytes stored under that key, or None
    store_bytes("kernels", key, data)

Each entry is one file, `<kind>/<hash of key>`: a line with a checksum of key and data,
then the data. Entries are written beside their place and renamed, so a reader never
reads half a file, and a file whose checksum is wrong (another entry's, too) counts as
absent. Nothing here ever fails a compilation: a folder that cannot be read or written
means that the work is done again; a warning says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from minifut.errors import reason
from minifut.files import discard, read_regular, replace, temporary_beside
from minifut.immutables import immutable

LARGEST_ENTRY = 1 << 30
_NAME = re.compile(r"[0-9a-f]{64}|\.new-.*")


def cache_folder() -> Path:
    """Where entries live: `$MINIFUT_CACHE`, else the user's cache folder.

    The folder need not exist yet.
    """
    named = os.environ.get("MINIFUT_CACHE")
    if named:
        return Path(named)
    root = os.environ.get("XDG_CACHE_HOME")
    if root:
        return Path(root) / "minifut"
    return Path(os.path.expanduser("~")) / ".cache" / "minifut"


def load_bytes(kind: str, key: str) -> bytes | None:
    """What was stored for `key`, or None when absent, unreadable or damaged."""
    try:
        content = read_regular(_entry(kind, key), LARGEST_ENTRY)
    except (OSError, ValueError):
        return None
    return decoded(content, kind, key)


def encoded(data: bytes, kind: str, key: str) -> bytes:
    """What the file of an entry holds."""
    return _checksum(data, kind, key) + b"\n" + data


def decoded(content: bytes, kind: str, key: str) -> bytes | None:
    """The data of an entry; None if it is damaged, or another entry's."""
    checksum, _, data = content.partition(b"\n")
    return data if checksum == _checksum(data, kind, key) else None


def store_bytes(kind: str, key: str, data: bytes) -> None:
    """Keep `data` for `key`, if the folder can be written; if not, a warning says so
    once."""
    try:
        entry = _entry(kind, key)
        entry.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(entry, ".new-")
        try:
            with open(temporary, "wb") as file:
                file.write(encoded(data, kind, key))
            replace(temporary, entry)
        except BaseException:
            discard(temporary)
            raise
    except (OSError, ValueError) as error:
        _warn(str(cache_folder()), reason(error))


@cache
def _warn(folder: str, why: str) -> None:
    logging.getLogger("minifut").warning(
        "nothing is kept between runs: %s cannot be written: %s; set MINIFUT_CACHE to "
        "another folder",
        folder,
        why,
    )


@immutable
class CacheEntry:
    """A file of the cache; `used` is when it was last read or written, in seconds."""

    path: Path
    kind: str
    size: int
    used: float


def entries() -> Iterator[CacheEntry]:
    """All entries, those that were left half written included; no other files."""
    for path in cache_folder().glob("*/*"):
        if not _NAME.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):
            found = path.stat()
            used = max(found.st_atime, found.st_mtime)
            yield CacheEntry(path, path.parent.name, found.st_size, used)


def reduce_to(most: int) -> int:
    """Remove what was used longest ago until at most so many bytes are left; the bytes
    that were removed."""
    found = sorted(entries(), key=lambda entry: entry.used)
    total = sum(entry.size for entry in found)
    removed = 0
    for entry in found:
        if total - removed <= most:
            break
        with contextlib.suppress(OSError):
            entry.path.unlink()
            removed += entry.size
    return removed


def _entry(kind: str, key: str) -> Path:
    return cache_folder() / kind / hashlib.sha256(key.encode()).hexdigest()


def _checksum(data: bytes, kind: str, key: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{key}\0".encode() + data).hexdigest().encode()
