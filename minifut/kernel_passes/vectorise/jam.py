"""Several vectors of points at once, in the same rounds of their loops.

    for i by 8:                              for i by 16:
        s = 0; for j: s += a[j] * b[i + j]   →   s0 = s1 = 0
                                                 for j: x = a[j]; s0 += x * b[i + j]
                                                        s1 += x * b[i + 8 + j]

A round that only adds to one vector waits for the round before, as a multiply-add takes
4 cycles, in which there could be 8 of them; and what all points share is loaded once.
Copies of the code of one vector are merged statement by statement: what is declared to
be the same in two copies is declared once, and loops of the same bounds are one.

Source: Carr and Kennedy, "Improving the ratio of memory operations to floating-point
operations in loops" (1994), unroll and jam.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.node import replace
from minifut.ir.traverse import rename_to, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.editor import has_loops, loops_of
from minifut.kernel_passes.vectorise.affine import Affine, affine, number_of
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name

ACCUMULATORS = 4
"""vectors of accumulators: with 16 lanes, 8 of 16 registers of AVX2"""
SHORT = 24
"""statements of a round that is short enough to wait for the one before"""


def vectors_at_once(points: kc.For) -> int:
    """How many vectors of points are worth it: 1 unless loops in them are short, wait
    for what they carry from round to round, and read whole vectors."""
    body = points.body.statements
    varying = find_varying(points.body, [points.variable.name])
    known = affine_variables(points, varying)
    carried = 0
    for loop in loops_of(body):
        if isinstance(loop, kc.While):
            return 1
        ends = loop.start, loop.bound
        if has_loops(loop.body) or any(varies(end, varying) for end in ends):
            continue
        nodes = [*walk(loop.body)]
        if sum(isinstance(n, kc.Statement) for n in nodes) > SHORT:
            return 1
        accesses = [n for n in nodes if isinstance(n, kc.Load | kc.Store)]
        places = [affine(access.index, known, varying) for access in accesses]
        near = [p is not None and number_of(p[1]) in (-1, 0, 1) for p in places]
        if not all(near) or calls_functions(loop.body):
            return 1
        inside = loop.body.statements
        own = (assigned(inside) - declared(inside)) & varying
        carried = max(carried, len(own))
    return max(1, ACCUMULATORS // carried) if carried else 1


def affine_variables(points: kc.For, varying: frozenset[Name]) -> dict[Name, Affine]:
    """The variables of points that grow by the same from each to the next."""
    known: dict[Name, Affine] = {points.variable.name: (points.variable, 1)}
    changing = assigned(points.body.statements)
    for node in walk(points.body):
        match node:
            case kc.Declare(kc.Variable(name), kc.Expression() as init):
                found = affine(init, known, varying)
                if found is not None and name not in changing:
                    known[name] = found
    return known


class Jam:
    """Merges copies of statements; `names` are those that the first copy has for what
    the others declare."""

    def __init__(
        self, k: CodeBuilder, copies: Sequence[Sequence[kc.Statement]]
    ) -> None:
        self.k = k
        self.changing = assigned([s for copy in copies for s in copy])
        self.names: list[dict[Name, Name]] = [{} for _ in copies]

    def merged(self, copies: Sequence[Sequence[kc.Statement]]) -> list[kc.Statement]:
        """All of the copies, in step."""
        made: list[kc.Statement] = []
        for group in zip(*copies, strict=True):
            made += self.together(group)
        return made

    def together(self, group: Sequence[Any]) -> Sequence[kc.Statement]:
        """The same statement of each copy."""
        first, *_ = group
        match first:
            case kc.Comment():
                return (first,)
            case kc.Declare(kc.Variable()):
                return self.declared(group)
            case kc.For() if self.are_equal(
                [(s.start, s.bound, s.step) for s in group]
            ):
                for names, loop in zip(self.names, group, strict=True):
                    names[loop.variable.name] = first.variable.name
                return (replace(first, body=self.block([s.body for s in group])),)
            case kc.Branch() if self.are_equal([s.condition for s in group]):
                then = self.block([s.then for s in group])
                other = first.otherwise and self.block([s.otherwise for s in group])
                return (replace(first, then=then, otherwise=other),)
            case kc.Block():
                return (self.block(group),)
            case kc.Reassociate():
                return (kc.Reassociate(self.block([s.body for s in group])),)
        return [self.own(s, number) for number, s in enumerate(group)]

    def declared(self, group: Sequence[Any]) -> Sequence[kc.Statement]:
        """Declarations, those of the same value once."""
        made: list[kc.Statement] = []
        first = group[0].variable.name
        for number, statement in enumerate(group):
            variable, init = statement.variable, self.own(statement.init, number)
            known = number > 0 and init is not None and first not in self.changing
            if known and alpha_equal(init, group[0].init):
                self.names[number][variable.name] = first
                continue
            if number:
                fresh = self.k.variable(variable.name.base, variable.type)
                self.names[number][variable.name] = fresh.name
                variable = fresh
            made.append(kc.Declare(variable, init))
        return made

    def block(self, blocks: Sequence[kc.Block]) -> kc.Block:
        return kc.Block(tuple(self.merged([block.statements for block in blocks])))

    def own(self, node: Any, number: int) -> Any:
        """A node with the names of its copy."""
        return rename_to(node, self.names[number])

    def are_equal(self, parts: Sequence[Any]) -> bool:
        """Whether the copies have the same part."""
        first, *others = [self.own(part, n) for n, part in enumerate(parts)]
        return all(alpha_equal(first, other) for other in others)
