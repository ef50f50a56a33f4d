r"""Guards of statements that move out of a body which may never run.

    map (\x -> let () = assert c in e) xs   →
        let () = assert (n <= 0 || c)
        map (\x -> e) xs
    map (\x -> let s = sum (map (\j -> a[k]) js) in x * s) xs   →
        let s = if n <= 0 then 0 else sum (map (\j -> a[k]) js)
        map (\x -> x * s) xs

A check before a SOAC makes its reads safe where the body runs; with an empty width the
check is harmless, and the read must not be done.
"""

from __future__ import annotations

from minifut.immutables import immutable
from minifut.ir.builder import Builder, constant
from minifut.ir.core import Assert, Atom, Constant, If, Loop, Stm, WhileLoop
from minifut.ir.node import replace
from minifut.ir.scope import Scope
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, ScalarType
from minifut.names import NameSource


@immutable
class EntryCondition:
    """When a body runs at least once: where a width or bound is above 0, or where a
    loop's condition holds at the start."""

    width: Size | Atom
    """of a SOAC or a `for` loop; for a `while` loop the condition at its start"""
    type: ScalarType

    @staticmethod
    def of_loop(loop: Loop) -> EntryCondition:
        """The entry of a loop's body."""
        form = loop.form
        if not isinstance(form, WhileLoop):
            return EntryCondition(form.bound, form.type)
        names = [parameter.name for parameter in loop.parameters]
        return EntryCondition(loop.initial[names.index(form.condition)], BOOL)

    @property
    def is_certain(self) -> bool:
        """Whether the body runs in any case."""
        width = self.width
        known = width.as_constant if isinstance(width, Size) else None
        if isinstance(width, Constant):
            known = int(width.value)
        return known is not None and known > 0

    def misses(self, build: Builder) -> Atom:
        """Whether the body never runs."""
        width = self.width
        atom = build.size_atom(width) if isinstance(width, Size) else width
        if self.type == BOOL:
            return build.op("not", atom, base="empty")
        return build.op("le", atom, constant(0, self.type), base="empty")


def guard_check(
    statement: Stm,
    check: Assert,
    entry: EntryCondition,
    names: NameSource,
    scope: Scope,
) -> list[Stm]:
    """The check, for a body that runs at least once."""
    if entry.is_certain:
        return [statement]
    build = Builder(names, scope, statement.location)
    condition = build.op("or", entry.misses(build), check.condition, base="ok")
    build.bind((), replace(check, condition=condition))
    return build.statements


def guard_value(
    statement: Stm, entry: EntryCondition, names: NameSource, scope: Scope
) -> list[Stm]:
    """What computes values, and zeros for a body that never runs."""
    if entry.is_certain:
        return [statement]
    build = Builder(names, scope, statement.location)
    empty = build.nested()
    zeros = empty.finish(*[empty.zero(p.type) for p in statement.pattern])
    runs = Builder(names, scope, statement.location, statement.attributes)
    values = runs.finish(*runs.let_many(statement.exp))
    guard = If(entry.misses(build), zeros, values)
    build.append(replace(statement, exp=guard, attributes=()))
    return build.statements
