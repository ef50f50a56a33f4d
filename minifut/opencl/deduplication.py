"""Kernel deduplication: of kernels that differ only in names a module has one.

    __kernel void main_transpose(.., long n, __global float *xs)      one kernel,
    __kernel void main_transpose_2(.., long m, __global float *ys)    started twice

Versions of a program share most of their kernels, and copies and transpositions are the
same for all arrays of a rank; each distinct text is compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field

_PARAMETER = re.compile(r"(\w+)[,)]$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(slots=True)
class KernelDeduplication:
    """`number(name, text, shape)` identifies kernels by their texts up to names;
    `shape` has the other properties that distinguish them."""

    numbers: dict[tuple[str, Hashable], int] = field(default_factory=dict)
    waiting: dict[Hashable, tuple[str, str, int]] = field(default_factory=dict)
    """the first kernel of its shape and length, whose text is not normalised yet"""
    count: int = 0

    def number(self, name: str, text: str, shape: Hashable) -> tuple[int, bool]:
        """Its number among distinct kernels, and whether it is the first with it."""
        rough = (shape, text.count("\n"))
        if rough not in self.waiting:
            self.waiting[rough] = (name, text, self.count)
            self.count += 1
            return self.count - 1, True
        other, known, number = self.waiting[rough]
        self.numbers.setdefault((without_names(other, known), shape), number)
        found = self.numbers.setdefault((without_names(name, text), shape), self.count)
        if found == self.count:
            self.count += 1
            return found, True
        return found, False


def without_names(name: str, text: str) -> str:
    """The text with the names of kernel and parameters replaced by their positions."""
    start = text.index(f" {name}(")
    head = text[start : text.index("{", start)]
    names = {name: "#"}
    for number, found in enumerate(_PARAMETER.findall(head)):
        names[found] = f"#{number}"
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)
