"""Analysis of a kernel's body for tiling: statements before, redomaps, what
each of them reads, and on which dimensions that depends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from minifut.ir.core import Index, Iota, Stm
from minifut.ir.kernels import SegMap
from minifut.ir.node import immutable
from minifut.ir.scope import Scope, array_type
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names
from minifut.ir.types import element_of, shape_of
from minifut.names import Name
from minifut.passes.tiling.parameters import Footprint

DimensionSet = frozenset[int]


@immutable
class ReadOperand:
    """Something that a redomap reads at each step: the dimensions it varies with
    (besides the common one), the bytes of an element, and whether loaded elements
    decide where it is read."""

    array: Name
    dimensions: DimensionSet
    bytes: int
    gathered: bool = False


def redomaps_of(kernel: SegMap) -> list[tuple[Stm, Screma]]:
    """The redomaps directly in the body."""
    return [
        (s, s.exp)
        for s in kernel.body.statements
        if isinstance(s.exp, Screma) and s.exp.is_redomap
    ]


class Variance:
    """On which dimensions of a kernel each name of its body depends."""

    def __init__(self, kernel: SegMap) -> None:
        self.known: dict[Name, DimensionSet] = {
            index: frozenset({position})
            for position, index in enumerate(kernel.space.indices)
        }
        for statement in kernel.body.statements:
            self.add(statement)

    def add(self, statement: Stm) -> None:
        """What a statement binds depends on all that it uses."""
        found = self.of(free_names(statement.exp))
        self.known.update((p.name, found) for p in statement.pattern)

    def of(self, names: Iterable[Name]) -> DimensionSet:
        """The dimensions that any of the names depends on."""
        none: DimensionSet = frozenset()
        return none.union(*[self.known.get(name, none) for name in names])


def operands_of(
    kernel: SegMap, variance: Variance, scope: Scope, iotas: set[Name]
) -> list[ReadOperand]:
    """What the redomaps read at each step: elements of their arrays, and elements that
    their functions read at places that depend on the step."""
    found: list[ReadOperand] = []
    for _, redomap in redomaps_of(kernel):
        stepping, loaded = set[Name](), set[Name]()
        for parameter, array in zip(
            redomap.function.parameters, redomap.arrays, strict=True
        ):
            stepping.add(parameter.name)
            variance.known[parameter.name] = variance.of((array,))
            if array not in iotas:
                loaded.add(parameter.name)
                bytes_ = element_of(array_type(array, scope)).bytes
                found.append(ReadOperand(array, variance.of((array,)), bytes_))
        for statement in redomap.function.body.statements:
            used = free_names(statement.exp)
            variance.add(statement)
            if stepping.isdisjoint(used):
                continue
            made = [p.name for p in statement.pattern]
            stepping.update(made)
            if gathered := not loaded.isdisjoint(used):
                loaded.update(made)
            if isinstance(statement.exp, Index) and not shape_of(
                statement.pattern[0].type
            ):
                bytes_ = element_of(statement.pattern[0].type).bytes
                dimensions, array = variance.of(used), statement.exp.array
                found.append(ReadOperand(array, dimensions, bytes_, gathered))
    return found


def iotas_of(kernel: SegMap, outside: Iterable[Stm]) -> set[Name]:
    """Names of arrays that are sequences of numbers, which are not read at all."""
    return {
        s.pattern[0].name
        for s in (*outside, *kernel.body.statements)
        if isinstance(s.exp, Iota)
    }


def footprint_of(
    kernel: SegMap, operands: list[ReadOperand], dimensions: tuple[int, ...]
) -> Footprint:
    """What decides the default sizes of tiles along these dimensions."""
    redomaps = redomaps_of(kernel)
    made = [p for s, _ in redomaps for p in s.pattern]
    sizes = [element_of(p.type).bytes for p in made]
    homeless = Counter(element_of(p.type) for p in made)
    homeless -= Counter(map(element_of, kernel.types))
    columns = dimensions[-1]
    tiled = frozenset(dimensions)
    shared = [o for o in operands if not tiled <= o.dimensions or len(tiled) == 1]
    return Footprint(
        row=sum(o.bytes for o in shared if columns not in o.dimensions),
        column=sum(o.bytes for o in shared if columns in o.dimensions),
        kept=sum(type_.bytes for type_ in homeless.elements()),
        widest=max([*sizes, *[o.bytes for o in operands]], default=4),
        accumulators=max((len(s.pattern) for s, _ in redomaps), default=1),
        rank=len(dimensions),
    )
