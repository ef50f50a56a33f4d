"""Buffer reuse: which array's memory holds a result when updates are in place.

    loop (acc = s) for i < n do let acc' = acc with [i] = x in {acc'}

Here `acc'` reuses the memory of `acc`, so the loop needs no memory and no copy of its
own. `of` follows a result back through in-place updates, aliases, ifs and loops.
"""

from __future__ import annotations

from minifut.analysis.in_place import InPlace
from minifut.ir import core
from minifut.ir.core import Atom, Body, Stm
from minifut.names import Name


class BufferReuse:
    """Queries about the bodies of a program with the given in-place updates."""

    def __init__(self, in_place: InPlace) -> None:
        self.in_place = in_place

    def of(self, statements: tuple[Stm, ...], atom: Atom) -> Name | None:
        """The array whose memory holds `atom` after the statements, by its name before
        them or the one that they allocate; None for a constant."""
        if not isinstance(atom, Name):
            return None
        found = atom
        for statement in reversed(statements):
            for position, bound in enumerate(statement.pattern):
                if bound.name == found:
                    before = self.step(statement, position)
                    if before is None:
                        return found
                    found = before
        return found

    def step(self, statement: Stm, position: int) -> Name | None:
        """The array that result `position` of the statement shares memory and layout
        with; None if the statement makes a new one (or a view)."""
        match statement.exp:
            case core.Update(array, _, _):
                name = statement.pattern[position].name
                return array if name in self.in_place.updates else None
            case core.Copy(atom) | core.Opaque(atom) | core.Trace(_, atom):
                return atom if isinstance(atom, Name) else None
            case core.If() | core.Match() as exp:
                return self.common(exp.branches, position)
            case core.Loop() as loop:
                return self.through(loop, position)
        return None

    def common(self, bodies: tuple[Body, ...], position: int) -> Name | None:
        """The outer array that all bodies return in this position."""
        found: Name | None = None
        for body in bodies:
            name = self.of(body.statements, body.result[position])
            if name is None or (found is not None and name != found):
                return None
            found = name
        inside = {p.name for body in bodies for s in body.statements for p in s.pattern}
        return None if found in inside else found

    def stays(self, loop: core.Loop, position: int) -> bool:
        """Whether a parameter of a loop keeps its memory and layout in all
        iterations."""
        name = loop.parameters[position].name
        return self.of(loop.body.statements, loop.body.result[position]) == name

    def through(self, loop: core.Loop, position: int) -> Name | None:
        """The array whose memory holds a loop's result: the initial value, if nothing
        is copied."""
        start = loop.initial[position]
        name = loop.parameters[position].name
        if name in self.in_place.copied or not self.stays(loop, position):
            return None
        return start if isinstance(start, Name) else None
