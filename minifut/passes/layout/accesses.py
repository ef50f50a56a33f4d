"""Where a kernel of the grid reads and writes arrays, in terms of its variables.

    segmap grid (i < n) {.. loop for k < m { a[k + 1, i] } .. returns row}

    reads  a at (k, i), n * m times, k innermost        writes  y at (i, e), n * m times

Variables are the indices of the space and those of sequential loops (which may also be
the unnamed positions of a row taken as a whole). Sizes that are unknown before the
program runs count as `TYPICAL`. What a point does with an array that it returns, it
does in the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

from minifut.analysis.steps import is_plain
from minifut.ir import core, kernels, soacs, traverse
from minifut.ir.core import Atom, Constant, DimSlice, ForLoop, Stm
from minifut.ir.node import mutable, replace
from minifut.ir.scope import Scope
from minifut.ir.sizes import Size
from minifut.ir.types import ArrayType, element_of, shape_of
from minifut.names import Name
from minifut.passes.layout.made_in_place import made_in_place
from minifut.passes.layout.places import Access, Place
from minifut.passes.layout.rounds import waits

TYPICAL = 1024
"""of a size that is known only when the program runs"""
SHORT_STRIDE = 4
"""elements; neighbours in lanes so far apart are read by shuffles"""

SegmentedOperation: TypeAlias = (
    kernels.SegMap | kernels.SegRed | kernels.SegScan | kernels.SegHist
)
KERNELS = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


def count(sizes: tuple[Size, ...]) -> int:
    """The number of elements, with typical numbers for what is not known."""
    total = 1
    for size in sizes:
        total *= max(1, size.evaluate(dict.fromkeys(size.names(), TYPICAL)))
    return total


def accesses_of(statement: Stm, scope: Scope) -> list[Access]:
    """All accesses to arrays of the host that have more than one dimension."""
    kernel = statement.exp
    assert isinstance(kernel, KERNELS)
    reader = _Reader(scope, count(kernel.space.sizes))
    for index in kernel.space.indices:
        reader.known[index] = Place(frozenset({index}))
    reader.own.update(_own(statement, kernel))
    reader.statements(kernel.body.statements, ())
    reader.results(statement, kernel)
    return reader.found


View: TypeAlias = tuple[Name, tuple[Place | None, ...], tuple[int, ...]]
"""the array, its places (None for a dimension that the view keeps), and the kept
dimensions as the view has them"""


def _own(statement: Stm, kernel: SegmentedOperation) -> Iterator[tuple[Name, View]]:
    """The arrays of a thread that become results, as views of these."""
    at = tuple(Place(frozenset({index})) for index in kernel.space.indices)
    for bound, names in made_in_place(statement):
        kept = tuple(range(len(at), len(shape_of(bound.type))))
        view = bound.name, (*at, *(None for _ in kept)), kept
        yield from ((name, view) for name in names)


@mutable
class _Reader:
    """`points` of the space; `known` scalars in terms of variables; `inner` is what the
    kernel binds itself; `trips` and `marks` of each sequential variable, of which those
    of maps may be in lanes; `waiting` are those of loops in which each round needs the
    one before (None where not all points come by); `own` are the arrays that become
    results."""

    scope: Scope
    points: int
    known: dict[Name, Place] = field(default_factory=dict)
    views: dict[Name, View] = field(default_factory=dict)
    inner: set[Name] = field(default_factory=set)
    trips: dict[Name, int] = field(default_factory=dict)
    marks: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    waiting: set[Name] | None = field(default_factory=set)
    found: list[Access] = field(default_factory=list)
    own: dict[Name, View] = field(default_factory=dict)

    # --- scalars ----------------------------------------------------------------------

    def place(self, atom: Atom) -> Place:
        return self.known.get(atom, Place()) if isinstance(atom, Name) else Place()

    def computed(self, name: str, operands: tuple[Atom, ...]) -> Place:
        """What an operator makes of its operands. Reversed, clamped or wrapped,
        neighbours are still neighbours nearly everywhere."""
        places = [self.place(operand) for operand in operands]
        along: frozenset[Name] = frozenset()
        factors = [a.value for a in operands if isinstance(a, Constant)]
        if name in ("add", "sub"):
            along = places[0].along ^ places[1].along
        elif name in ("sext", "zext"):
            along = places[0].along
        elif name == "mul" and factors and abs(factors[0]) <= SHORT_STRIDE:
            along = places[0].along | places[1].along
        elif name in ("min", "max", "mod", "rem"):
            varying = [n for n, p in enumerate(places) if p.along | p.across]
            if varying == [0] or (varying == [1] and name in ("min", "max")):
                along = places[varying[0]].along
        across = frozenset().union(*[p.along | p.across for p in places])
        return Place(along, across - along)

    def sum_of(self, size: Size) -> Place:
        """What a size computes."""
        along: set[Name] = set()
        across: set[Name] = set()
        for monomial, coefficient in size.terms:
            term = Size(((monomial, coefficient),))
            near = len(monomial) == 1 and isinstance(monomial[0], Name)
            near = near and abs(coefficient) <= SHORT_STRIDE
            for used in term.names():
                own = self.place(used)
                across |= own.across | (frozenset() if near else own.along)
                if near:
                    across |= along & own.along
                    along ^= own.along
        return Place(frozenset(along), frozenset(across))

    # --- statements -------------------------------------------------------------------

    def statements(self, statements: tuple[Stm, ...], loops: tuple[Name, ...]) -> None:
        for statement in statements:
            self.statement(statement, loops)

    def statement(self, statement: Stm, loops: tuple[Name, ...]) -> None:
        exp, bound = statement.exp, statement.pattern
        self.inner.update(p.name for p in bound)
        if isinstance(exp, core.Loop) and isinstance(exp.form, ForLoop):
            self.marks[exp.form.index] = statement.attributes
            if self.waiting is not None and self.place(exp.form.bound) == Place():
                self.waiting |= {exp.form.index} if waits(statement) else set()
        match exp:
            case core.Index(array, slice_):
                self.index(bound[0].name, array, slice_, loops)
            case core.Update(array, slice_, _) if array in self.own:
                self.update(array, slice_, loops)
            case core.Rearrange(permutation, array) if view := self.view(array):
                kept = tuple(view[2][d] for d in permutation)
                self.views[bound[0].name] = view[0], view[1], kept
            case core.ScalarOp(operator, operands):
                self.known[bound[0].name] = self.computed(operator.name, operands)
            case core.SizeExp(size):
                self.known[bound[0].name] = self.sum_of(size)
            case _:
                used: set[Name] = set()
                traverse.own_names(exp, used)
                for name in used:
                    if name in self.views:
                        self.row(*self.views[name], loops)
                around = self.waiting
                if isinstance(exp, core.If) or _is_while(exp):
                    self.waiting = None
                self.nested(exp, loops)
                self.waiting = around

    def nested(self, exp: object, loops: tuple[Name, ...]) -> None:
        """The bodies within an expression."""
        match exp:
            case core.Loop(parameters, _, form, body):
                self.inner.update(p.name for p in parameters)
                if isinstance(form, ForLoop):
                    variable = form.index
                    self.trips[variable] = _trips(form)
                    self.known[variable] = Place(frozenset({variable}))
                else:
                    variable = form.condition
                for parameter in parameters:
                    own = frozenset({parameter.name})
                    self.known[parameter.name] = Place(across=own)
                self.loop(body, variable, loops)
            case core.Body(statements, _):
                self.statements(statements, loops)
            case core.Lambda(parameters, body):
                self.inner.update(p.name for p in parameters)
                self.statements(body.statements, loops)
            case _:
                for child in traverse.children(exp):
                    self.nested(child, loops)

    def loop(self, body: core.Body, variable: Name, loops: tuple[Name, ...]) -> None:
        """The rounds of a loop. Directly in a map, vectors are made of its rounds or of
        the points around it: of the points, if only those read neighbours as the arrays
        are, or if its body is more than scalar code."""
        inner = (*loops, variable)
        if not loops or not self.is_map(loops[-1]) or self.is_map(variable):
            self.statements(body.statements, inner)
            return
        start, around = len(self.found), (*loops[:-1], variable, loops[-1])
        if all(map(is_plain, body.statements)):
            self.statements(body.statements, inner)
            found = self.found[start:]
            of_rounds, of_points = (
                sum(not access.is_adjacent(name) for access in found)
                for name in (variable, loops[-1])
            )
            if of_rounds <= of_points:
                if self.points == 1 and "reduction" in self.marks.get(variable, ()):
                    self.found[start:] = [self.in_product(a, loops) for a in found]
                return
            del self.found[start:]
        self.statements(body.statements, around)

    def is_map(self, variable: Name) -> bool:
        return "map" in self.marks.get(variable, ())

    def in_product(self, access: Access, loops: tuple[Name, ...]) -> Access:
        """What a fold reads in a map, marked where a map around reads it again: a
        vector by a matrix gains nothing by lanes that are elements of the map."""
        if len(loops) < 2 or not self.is_map(loops[-2]):
            return access
        again = access.varies_with(loops[-1]) and not access.varies_with(loops[-2])
        return replace(access, folded=loops[-1]) if again else access

    # --- arrays -----------------------------------------------------------------------

    def view(self, name: Name) -> View | None:
        """An array as it is seen in the kernel; None if a thread makes it."""
        if name in self.views:
            return self.views[name]
        if name in self.own:
            return self.own[name]
        type_ = self.scope.get(name)
        if name in self.inner or not isinstance(type_, ArrayType):
            return None
        return name, (None,) * type_.rank, tuple(range(type_.rank))

    def index(
        self,
        bound: Name,
        array: Name,
        slice_: tuple[Atom | DimSlice, ...],
        loops: tuple[Name, ...],
    ) -> None:
        fixed = [self.place(part) for part in slice_ if not isinstance(part, DimSlice)]
        used = frozenset[Name]().union(*[p.along | p.across for p in fixed])
        self.known[bound] = Place(across=used)
        view = self.view(array)
        if view is None:
            return
        root, places, kept = self.part(view, slice_)
        if kept:
            self.views[bound] = root, places, kept
        else:
            self.row(root, places, (), loops)

    def part(self, view: View, slice_: tuple[Atom | DimSlice, ...]) -> View:
        """The view of a slice of a view."""
        root, places, kept = view
        after = list(places)
        for dimension, entry in zip(kept, slice_, strict=False):
            if not isinstance(entry, DimSlice):
                after[dimension] = self.place(entry)
        return root, tuple(after), tuple(d for d in kept if after[d] is None)

    def update(
        self, array: Name, slice_: tuple[Atom | DimSlice, ...], loops: tuple[Name, ...]
    ) -> None:
        """A write to an array that becomes a result."""
        self.row(*self.part(self.own[array], slice_), loops)

    def access(
        self,
        array: Name,
        places: tuple[Place, ...],
        loops: tuple[Name, ...],
        writes: bool,
    ) -> None:
        if len(places) < 2:
            return
        elements = self.points
        for name in loops:
            elements *= self.trips.get(name, TYPICAL)
        type_ = self.scope[array]
        strides = _strides(shape_of(type_))
        nbytes = element_of(type_).bytes
        waits = bool(loops and self.waiting and loops[-1] in self.waiting)
        access = Access(array, places, elements, nbytes, loops, writes, strides, waits)
        self.found.append(access)

    def row(
        self,
        array: Name,
        places: tuple[Place | None, ...],
        kept: tuple[int, ...],
        loops: tuple[Name, ...],
        writes: bool = False,
    ) -> None:
        """All elements of a view, one after the other."""
        writes = writes or any(array == view[0] for view in self.own.values())
        filled = list(places)
        for dimension in kept:
            position = Name(f"{array}.{dimension}", -1 - dimension)
            self.trips[position] = count((shape_of(self.scope[array])[dimension],))
            loops = (*loops, position)
            filled[dimension] = Place(frozenset({position}))
        self.access(array, tuple(p for p in filled if p is not None), loops, writes)

    def results(self, statement: Stm, kernel: SegmentedOperation) -> None:
        """What each point writes at its place in the results."""
        indices = kernel.space.indices
        segments = 0
        if isinstance(kernel, kernels.SegRed):
            segments = soacs.operand_count(kernel.operators)
        elif isinstance(kernel, kernels.SegHist):
            return
        at = [Place(frozenset({index})) for index in indices]
        for position, (bound, result) in enumerate(
            zip(statement.pattern, kernel.body.result, strict=True)
        ):
            if position >= segments and isinstance(result, kernels.Returns):
                rank = len(shape_of(bound.type))
                kept = tuple(range(len(at), rank))
                places = (*at, *(None for _ in kept))
                self.row(bound.name, places, kept, (), writes=True)
            if isinstance(result, kernels.Returns) and result.value in self.views:
                assert isinstance(result.value, Name)
                self.row(*self.views[result.value], ())


def _is_while(exp: core.Exp) -> bool:
    return isinstance(exp, core.Loop) and not isinstance(exp.form, ForLoop)


def _strides(shape: tuple[Size, ...]) -> tuple[int | None, ...]:
    """Of an array in row-major order; None where a size is not known."""
    found: list[int | None] = [1]
    for size in reversed(shape[1:]):
        length, before = size.as_constant, found[-1]
        found.append(None if length is None or before is None else length * before)
    return tuple(reversed(found))


def _trips(form: ForLoop) -> int:
    if isinstance(form.bound, core.Constant):
        return max(1, int(form.bound.value))
    return TYPICAL
