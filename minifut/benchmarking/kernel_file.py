"""OpenCL files with descriptions of their launches, to be compared with a program.

    // ==
    // kernel: matmul
    // arguments: a, b, result, n, k, m, local(4 * 16 * 16)
    // global size: 16 * ceil_div(m, 16), 16 * ceil_div(n, 16)
    // local size: 16, 16

Such a block of comments stands for a launch; several are launched in their order. The
names are those of an entry point (`entry: NAME`, `main` if not given): its array
parameters (`r.x` for the field of a record), `result` (`result.0`, `result.1` if there
are several), and its size parameters and whole numbers, which may be combined as sizes
are in printed IR, by `+`, `-`, `*`, `ceil_div`, `floor_div`, `min` and `max`.
`local(BYTES)` is local memory; `memory: NAME(BYTES), ..` is device memory for what is
between launches. Numbers are passed in the type that the kernel declares. Lines may go
on in the next one; `options:` are for the OpenCL compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from minifut.errors import UsageError, reason
from minifut.files import read_text
from minifut.ir.sizes import Size

KEYS = (
    "kernel",
    "entry",
    "arguments",
    "global size",
    "local size",
    "memory",
    "options",
)


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """An argument in local memory."""

    nbytes: Size


@dataclass(frozen=True, slots=True)
class BufferName:
    """Something of the entry point, or of the file's own memory."""

    name: str


Argument: TypeAlias = LocalMemory | BufferName | Size


@dataclass(frozen=True, slots=True)
class LaunchBlock:
    """A block; `line` is where it begins."""

    line: int
    kernel: str
    arguments: tuple[Argument, ...]
    global_size: tuple[Size, ...]
    local_size: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A file's text and launches; `memory` is what these share."""

    path: Path
    text: str
    entry: str
    launches: tuple[LaunchBlock, ...]
    memory: tuple[tuple[str, Size], ...]
    options: str

    def error(self, launch: LaunchBlock, problem: str) -> KernelFileError:
        """The error for something that is wrong with a launch."""
        return KernelFileError(f"{self.path}:{launch.line}: {problem}")


class KernelFileError(UsageError):
    """A file that does not fit the program at all."""


def read_kernel_file(path: Path) -> KernelFile:
    """Read the blocks. Raises `UsageError` with the line that is wrong."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise KernelFileError(f"{path}: cannot be read: {reason(error)}") from None
    launches: list[LaunchBlock] = []
    memory: list[tuple[str, Size]] = []
    entries: dict[str, int] = {}
    options: list[str] = []
    for line, found in _blocks(path, text):
        block = _Block(path, line, found)
        launches.append(block.launch())
        memory += block.memory()
        entries.setdefault(found.get("entry", (line, "main"))[1].strip(), line)
        options += [found["options"][1].strip()] if "options" in found else []
    if not launches:
        raise KernelFileError(
            f"{path}: there is no block of comments that says how to call the kernel; "
            f"begin one with `// ==` and give {', '.join(KEYS[:1] + KEYS[2:5])}"
        )
    entry, *others = entries
    if others:
        line = entries[others[0]]
        raise KernelFileError(f"{path}:{line}: the launches are of several entries")
    return KernelFile(
        path, text, entry, tuple(launches), tuple(memory), " ".join(options)
    )


Fields: TypeAlias = dict[str, tuple[int, str]]
"""what follows each key, and its line"""

_START = re.compile(r"\s*//\s*==\s*\Z")
_COMMENT = re.compile(r"\s*//(.*)\Z")
_FIELD = re.compile(r"\s*([a-z]+(?: [a-z]+)?)\s*:(.*)\Z")
_LOCAL = re.compile(r"local\s*\((.*)\)\Z", re.DOTALL)
_MEMORY = re.compile(r"(\w+)\s*\((.*)\)\Z", re.DOTALL)
LONGEST_SIZE = 1000
"""characters"""
_NAME = re.compile(r"[A-Za-z_][\w']*(?:\.[\w']+)*\Z")


def _blocks(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    """Each block: its first line, and its fields."""
    start, fields, key = 0, Fields(), ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        comment = _COMMENT.match(line)
        if _START.match(line) or (comment is None and start):
            if start and fields:
                yield start, fields
            start, fields, key = (number, {}, "") if comment else (0, {}, "")
        elif start and comment is not None:
            field = _FIELD.match(comment[1])
            if field is None:
                if key:
                    fields[key] = (fields[key][0], f"{fields[key][1]} {comment[1]}")
                continue
            key = field[1]
            if key not in KEYS:
                known = ", ".join(KEYS)
                raise KernelFileError(
                    f"{path}:{number}: there is no '{key}' of a launch; there are: "
                    f"{known}"
                )
            fields[key] = (number, field[2])


@dataclass(frozen=True, slots=True)
class _Block:
    """Reads the fields of one block."""

    path: Path
    line: int
    fields: Fields

    def launch(self) -> LaunchBlock:
        global_size = self._sizes("global size")
        local_size = self._sizes("local size")
        if len(global_size) != len(local_size) or len(global_size) > 3:
            raise self._error(
                "local size", "global and local size must have one to three dimensions"
            )
        arguments = tuple(self._argument(part) for part in self._parts("arguments"))
        kernel = self._field("kernel").strip()
        return LaunchBlock(self.line, kernel, arguments, global_size, local_size)

    def memory(self) -> Iterator[tuple[str, Size]]:
        if "memory" not in self.fields:
            return
        for part in self._parts("memory"):
            found = _MEMORY.match(part)
            if found is None:
                raise self._error("memory", f"'{part}' is not of the form NAME(BYTES)")
            yield found[1], self._size("memory", found[2])

    def _argument(self, part: str) -> Argument:
        local = _LOCAL.match(part)
        if local is not None:
            return LocalMemory(self._size("arguments", local[1]))
        return BufferName(part) if _NAME.match(part) else self._size("arguments", part)

    def _sizes(self, key: str) -> tuple[Size, ...]:
        return tuple(self._size(key, part) for part in self._parts(key))

    def _size(self, key: str, text: str) -> Size:
        from minifut.ir.parser import parse

        if len(text) > LONGEST_SIZE:
            raise self._error(key, f"'{text[:40]}...' is too long for a size")
        try:
            size: Size = parse(text, "size")
        except UsageError:
            raise self._error(
                key,
                f"'{text.strip()}' is no size: names and whole numbers with +, -, *, "
                "ceil_div, floor_div, min, max",
            ) from None
        return size

    def _parts(self, key: str) -> list[str]:
        """What commas outside of parentheses separate."""
        parts, depth = [""], 0
        for character in self._field(key):
            depth += (character == "(") - (character == ")")
            if character == "," and not depth:
                parts.append("")
            else:
                parts[-1] += character
        return [part.strip() for part in parts]

    def _field(self, key: str) -> str:
        if key not in self.fields:
            problem = f"the launch does not say its '{key}'"
            raise KernelFileError(f"{self.path}:{self.line}: {problem}")
        return self.fields[key][1]

    def _error(self, key: str, problem: str) -> KernelFileError:
        return KernelFileError(f"{self.path}:{self.fields[key][0]}: {problem}")
