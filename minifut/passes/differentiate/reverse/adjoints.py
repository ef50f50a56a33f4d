"""The adjoints of the return sweep: what each active name has contributed so far.

    let y = x * x     y' known:     add(x, 2 * x * y')

An adjoint without contributions does not exist, and nothing is computed for it.
Inside a branch, loop or map a child holds the adjoints; those of outer names start as
outside, and the names that changed are what the construct has to return.

The adjoint of an array that a map mentions is an accumulator inside of the map: what
is contributed to one element becomes an update (SC 2022, section 5.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, DimSlice, Param
from minifut.ir.types import AccType, Type
from minifut.names import Name
from minifut.passes.differentiate.activity import Activity
from minifut.passes.differentiate.arithmetic import fit, plus
from minifut.passes.differentiate.context import Context


class Adjoints:
    """Adjoints by name; see the module. `undone` are arrays that return sweeps of loops
    have changed back, by the arrays that were changed."""

    def __init__(self, context: Context, activity: Activity) -> None:
        self.context = context
        self.activity = activity
        self.values: dict[Name, Atom] = {}
        self.undone: dict[Name, Name] = {}

    def child(self, without: Iterable[Name] = ()) -> Adjoints:
        """Adjoints for an inner body; those of some names start as nothing."""
        inner = Adjoints(self.context, self.activity)
        inner.values.update(self.values)
        for name in without:
            inner.values.pop(name, None)
        return inner

    # --- reading ---

    def of(self, atom: Atom) -> Atom | None:
        """What has been contributed."""
        return self.values.get(atom) if isinstance(atom, Name) else None

    def of_pattern(self, pattern: Sequence[Param]) -> list[Atom | None]:
        """The adjoints of what a statement binds."""
        return [self.values.get(parameter.name) for parameter in pattern]

    def or_zero(self, build: Builder, name: Name) -> Atom:
        """The adjoint, or 0, with the type of the name."""
        found = self.values.get(name)
        type_ = self.type(build, name)
        return build.zero(type_) if found is None else fit(build, found, type_)

    # --- contributing ---

    def add(self, build: Builder, atom: Atom, adjoint: Atom | None) -> None:
        """Contribute to the adjoint of an atom, if it is active."""
        if adjoint is None or not isinstance(atom, Name) or atom not in self.activity:
            return
        before = self.values.get(atom)
        if before is not None and is_accumulator(build, before):
            self.values[atom] = accumulate(build, before, (), adjoint)
            return
        adjoint = fit(build, adjoint, build.type(atom))
        self.values[atom] = adjoint if before is None else plus(build, before, adjoint)

    def add_at(
        self,
        build: Builder,
        array: Name,
        slice_: tuple[Atom | DimSlice, ...],
        adjoint: Atom,
    ) -> None:
        """Contribute to the adjoint of a part of an array."""
        if array not in self.activity:
            return
        before = self.values.get(array)
        if before is not None and is_accumulator(build, before):
            self.values[array] = accumulate(build, before, slice_, adjoint)
            return
        whole = self.or_zero(build, array)
        assert isinstance(whole, Name)
        part = build.index(whole, *slice_)
        kept = fit(build, adjoint, build.type(part))
        update = core.Update(whole, slice_, plus(build, part, kept))
        self.values[array] = build.let(update, f"{array.base}_adj")

    def changed(self, inner: Adjoints, names: Iterable[Name]) -> list[Name]:
        """The outer names whose adjoints an inner body has changed, in their order."""
        return [n for n in names if inner.values.get(n) is not self.values.get(n)]

    def type(self, build: Builder, name: Name) -> Type:
        """The type of the adjoint of a name: its own, or that of an accumulator."""
        found = self.values.get(name)
        if found is not None and is_accumulator(build, found):
            return build.type(found)
        return build.type(name)


def is_accumulator(build: Builder, adjoint: Atom) -> bool:
    """Whether an adjoint is in an accumulator."""
    return isinstance(build.type(adjoint), AccType)


def accumulate(
    build: Builder,
    accumulator: Atom,
    slice_: tuple[Atom | DimSlice, ...],
    adjoint: Atom,
    at: tuple[Atom, ...] = (),
) -> Name:
    """Update the part of an accumulator that a slice selects, behind the indices `at`;
    what the slice does not mention is whole."""
    assert isinstance(accumulator, Name)
    type_ = build.type(accumulator)
    assert isinstance(type_, AccType)
    if len(at) == len(type_.shape):
        return build.update_acc(accumulator, at, (adjoint,))
    whole = DimSlice(i64(0), type_.shape[len(at)], i64(1))
    first, rest = (slice_[0], slice_[1:]) if slice_ else (whole, ())
    if not isinstance(first, DimSlice):
        return accumulate(build, accumulator, rest, adjoint, (*at, first))
    assert isinstance(adjoint, Name)
    places = build.iota(first.length, first.start, first.stride)

    def point(inner: Builder, acc: Name, place: Name, row: Name) -> Name:
        return accumulate(inner, acc, rest, row, (*at, place))

    return build.map((accumulator, places, adjoint), point, (accumulator.base,))[0]
