"""The loops of NVIDIA's machine code (SASS), as nvdisasm prints it.

.L_x_3:
        /*0a10*/    LDS.128 R12, [R4] ;        Loop(counts={"LDS.128": 1, "FFMA": 4,
        /*0a20*/    FFMA R0, R12, R8, R0 ;          ..}, inner=True, loads=1)
        ..
        /*0b00*/    @P0 BRA `(.L_x_3) ;
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

_LABEL = re.compile(r"^(\.L[\w.$]*):")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);")
_PREDICATE = re.compile(r"^@!?U?P\w+\s+")
_TARGET = re.compile(r"\((\.L[\w.$]*)\)")
_REGISTER = re.compile(r"\bR(\d+)\b")
BRANCHES = ("BRA", "EXIT", "BSYNC", "BAR")
_SCALAR = ("IADD3", "IMAD", "LEA", "SHF", "LOP3", "ISETP", "IMNMX", "VIMNMX", "SEL")
INTEGERS = (*_SCALAR, *(f"U{name}" for name in _SCALAR), "IABS", "VIADD", "IADD")
MEMORY = ("LDS", "STS", "LDG", "STG", "SHFL")
WIDTHS = {"64": 8, "128": 16}
CALLED = "$__internal"


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: how often each operation (with the width of accesses to memory) stands
    in it, whether no loop is inside, and the most loads from global memory that are
    issued before one of their values is needed, with the bytes of each."""

    counts: dict[str, int]
    inner: bool
    loads: int
    load_bytes: int

    @property
    def issued(self) -> int:
        """All instructions."""
        return sum(self.counts.values())

    @property
    def integers(self) -> int:
        """Instructions that compute with integers."""
        return sum(n for name, n in self.counts.items() if name in INTEGERS)

    @property
    def accesses(self) -> int:
        """Instructions that access memory, but atomics, and shuffles."""
        names = self.counts.items()
        return sum(n for name, n in names if name.partition(".")[0] in MEMORY)

    def count(self, *names: str) -> int:
        """The instructions of these operations."""
        return sum(self.counts.get(name, 0) for name in names)


def operation(instruction: str) -> str:
    """The operation, with the width of an access to memory: LDS.128, FFMA."""
    name = _PREDICATE.sub("", instruction).split()[0].rstrip(",")
    base, *modifiers = name.split(".")
    if base in MEMORY:
        return ".".join([base, *(m for m in modifiers if m in WIDTHS)])
    return base


def loops_of(text: str) -> tuple[Loop, ...]:
    """The loops: what is between a label and a later branch to it. The last one is
    all of the code, as if it were a loop around the others."""
    instructions, labels = _read(text)
    extents = set()
    for at, instruction in enumerate(instructions):
        target = _TARGET.search(instruction)
        if operation(instruction) == "BRA" and target:
            start = labels.get(target[1], at)
            if start < at:
                extents.add((start, at))
    loops = [
        _loop(instructions[a : b + 1], _is_inner((a, b), extents))
        for a, b in sorted(extents)
    ]
    return (*loops, _loop(instructions, False))


def runs_of(text: str) -> tuple[Loop, ...]:
    """The runs of instructions between labels and branches: an unrolled loop is one."""
    instructions, labels = _read(text)
    starts = {0, *labels.values(), len(instructions)}
    starts.update(
        at + 1 for at, each in enumerate(instructions) if operation(each) in BRANCHES
    )
    ends = sorted(starts)
    return tuple(_loop(instructions[a:b], True) for a, b in pairwise(ends) if a < b)


def _read(text: str) -> tuple[list[str], dict[str, int]]:
    """The instructions, and the number of the one that each label precedes; those
    of functions for the division of numbers beyond 32 bits are left out."""
    instructions: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if line.startswith(CALLED):
            break
        if label := _LABEL.match(line.strip()):
            labels[label[1]] = len(instructions)
        elif instruction := _INSTRUCTION.match(line):
            instructions.append(instruction[1].strip())
    return instructions, labels


def _is_inner(loop: tuple[int, int], others: set[tuple[int, int]]) -> bool:
    start, end = loop
    return not any(start <= a and b <= end for a, b in others - {loop})


def _loop(body: list[str], inner: bool) -> Loop:
    loads, size = loads_in_flight(body)
    return Loop(dict(Counter(map(operation, body))), inner, loads, size)


def loads_in_flight(body: list[str]) -> tuple[int, int]:
    """The most loads from global memory before the first use of one of their values,
    and the bytes of each."""
    pending: set[str] = set()
    count = most = 0
    size = 4
    for instruction in body:
        name = operation(instruction)
        registers = _REGISTER.findall(instruction)
        if pending & set(registers[not name.startswith("ST") :]):
            pending.clear()
            count = 0
        if name.startswith("LDG") and registers:
            width = WIDTHS.get(name.partition(".")[2], 4)
            first = int(registers[0])
            pending.update(str(first + i) for i in range(width // 4))
            count += 1
            if count > most:
                most, size = count, width
    return most, size
