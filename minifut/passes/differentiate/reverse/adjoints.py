"""The adjoints of the return sweep: what each active name has contributed so far.

    let y = x * x     y' known:     add(x, 2 * x * y')

An adjoint that nobody has contributed to is not there, and nothing is computed for it.
Inside a branch, loop or map a child holds the adjoints; those of outer names start as
outside, and the names that changed are what the construct has to hand out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, DimSlice, Param
from minifut.ir.types import ArrayType
from minifut.names import Name
from minifut.passes.differentiate.activity import Activity
from minifut.passes.differentiate.arithmetic import fit, plus, zero
from minifut.passes.differentiate.context import Context


class Adjoints:
    """Adjoints by name; see the module."""

    def __init__(self, context: Context, activity: Activity) -> None:
        self.context = context
        self.activity = activity
        self.values: dict[Name, Atom] = {}

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
        type_ = build.type(name)
        found = self.values.get(name)
        return zero(build, type_) if found is None else fit(build, found, type_)

    # --- contributing ---

    def add(self, build: Builder, atom: Atom, adjoint: Atom | None) -> None:
        """Contribute to the adjoint of an atom, if it is active."""
        if adjoint is None or not isinstance(atom, Name) or atom not in self.activity:
            return
        adjoint = fit(build, adjoint, build.type(atom))
        before = self.values.get(atom)
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
        whole = self.or_zero(build, array)
        assert isinstance(whole, Name)
        part = build.slice(whole, *slice_)
        kept = fit(build, adjoint, build.type(part))
        update = core.Update(whole, slice_, plus(build, part, kept))
        self.values[array] = build.let(update, f"{array.base}_adj")

    def changed(self, inner: Adjoints, names: Iterable[Name]) -> list[Name]:
        """The outer names whose adjoints an inner body has changed, in their order."""
        return [n for n in names if inner.values.get(n) is not self.values.get(n)]


def is_array(build: Builder, name: Name) -> bool:
    """Whether the name is an array."""
    return isinstance(build.type(name), ArrayType)
