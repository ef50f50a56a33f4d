"""Whether the reads of a map stay within bounds, also once its indices are clamped.

    k' in [0, m - 1]                        the range of a clamped index
    xs[k']   xs[min(k' + 1, m - 1)]         proved from it
    xs[k' + 1]                              refused, unless the range leaves room for it

Checks prove nothing here, as they are tested afterwards; nor does the definition of a
clamped index, which has another value where its check fails. What follows from other
definitions, branches and the space holds for any value in the range
(`analysis.facts`).
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.analysis.facts import Fact, Facts
from minifut.analysis.facts.forms import Form, difference, number, of_atom
from minifut.analysis.facts.reads import each_read
from minifut.ir.core import Assert, Atom, DimSlice, Index, ScalarOp, Stm
from minifut.ir.kernels import SegMap, SegRed, SegScan
from minifut.ir.scope import Scope, scope_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import atom_size, free_names, walk
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.names import Name

LONGEST = 1 << 62
"""sizes are tested to be smaller: no bound wraps around"""


class BoundsProver:
    """Proves that reads of a body are within bounds, by the space, what is known of
    definitions and branches, and the ranges of indices that are clamped."""

    def __init__(self, operation: SegMap | SegRed | SegScan, host: HostBuilder) -> None:
        self.body, self.host = operation.body, host
        self.facts = Facts(_types(operation))
        self.clamped: set[Name] = set()
        self.ranges: dict[Name, list[Form]] = {}
        space = operation.space
        for index, size in zip(space.indices, space.sizes, strict=True):
            self.facts.run_over(index, self.facts.form(size), "the kernel")
        bound = scope_of(operation)
        for name in sorted(free_names(operation) - bound.keys(), key=str):
            if not isinstance(host.values.get(name), Array):
                self.define_outside(name)
                own, known = Size.of(name), host.size(Size.of(name))
                self.equal(self.facts.form(own), self.facts.form(known))

    def define_outside(self, name: Name) -> None:
        """Learn what a scalar from outside of the kernel was computed from."""
        statement = self.host.facts.definitions.get(name)
        if statement is None or not isinstance(statement.exp, ScalarOp):
            return
        if name not in self.facts.definitions:
            for operand in sorted(free_names(statement.exp), key=str):
                self.define_outside(operand)
            self.facts.define(statement)

    def equal(self, one: Form, other: Form) -> None:
        """Two forms are the same number."""
        for a, b in ((one, other), (other, one)):
            self.facts.learn(Fact(difference(a, b), "the host"))

    def within(self, root: Name, low: int, highs: Iterable[tuple[Atom, int]]) -> None:
        """An index is clamped to the least value `low`, and below sizes, less the
        number that is added to it."""
        self.clamped.add(root)
        found = self.ranges[root] = [difference(of_atom(root), number(low))]
        for size, added in highs:
            bound = self.facts.form(atom_size(size))
            self.facts.learn(Fact(difference(number(LONGEST), bound), "its test"))
            found.append(difference(bound, of_atom(root), added + 1))

    def all_inside(self) -> bool:
        """Whether all reads are within bounds; those before any check that no clamped
        index decides are as in the program."""
        early, dependent = True, set(self.clamped)
        for statement in self.body.statements:
            early = early and not isinstance(statement.exp, Assert)
            names = free_names(statement.exp)
            if names & dependent:
                dependent |= {p.name for p in statement.pattern}
            as_written = early and isinstance(statement.exp, Index)
            decided = not as_written or names & dependent
            for read in each_read(self.facts, (statement,), self.define):
                if decided and not self.is_inside(read):
                    return False
        return True

    def define(self, statement: Stm) -> None:
        """Learn what the names of a statement are."""
        for parameter in statement.pattern:
            if parameter.name in self.clamped:
                for form in self.ranges[parameter.name]:
                    self.facts.learn(Fact(form, "its range"))
                return
        self.facts.define(statement)

    def is_inside(self, read: Index) -> bool:
        """Whether an element is one of the array's."""
        array = self.host.values.get(read.array)
        atoms = [index for index in read.slice if not isinstance(index, DimSlice)]
        if not isinstance(array, Array) or not len(atoms) == array.rank == len(
            read.slice
        ):
            return False
        return self.facts.inside(atoms, array.shape) is not None


def _types(operation: SegMap | SegRed | SegScan) -> Scope:
    """The types of all names that scalar operations use, also of those from outside."""
    types = scope_of(operation)
    for node in walk(operation.body):
        if isinstance(node, ScalarOp):
            for atom, type_ in zip(node.operands, node.operator.operands, strict=True):
                if isinstance(atom, Name):
                    types.setdefault(atom, type_)
    return types
