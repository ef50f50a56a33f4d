"""How often names are used."""

from __future__ import annotations

from collections import Counter

from minifut.ir.core import Atom
from minifut.ir.traverse import own_names, walk
from minifut.names import Name


def use_counts(*nodes: object) -> Counter[Name]:
    """In how many places each name is used anywhere inside; types and sizes count."""
    counts: Counter[Name] = Counter()
    for node in nodes:
        for inner in walk(node):
            own: set[Name] = set()
            own_names(inner, own)
            counts.update(own)
    return counts


def used_once(counts: Counter[Name], atom: Atom) -> bool:
    """Whether an atom is a name with one use."""
    return isinstance(atom, Name) and counts[atom] == 1
