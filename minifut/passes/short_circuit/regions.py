"""Whether what a loop reads of an array is what it does not write there.

    loop (b = a) for i < m do { x = b[s + i, k]  ..  b with [s + i] = v }

Iteration i may read the array as it was before the loop if it reads nothing that
another iteration p writes: for every read (and every other write, which would come in
another order) there is a dimension in which what is read is before or behind what is
written, for p < i and for p > i. An iteration itself reads before it writes.
"""

from __future__ import annotations

from minifut.analysis.facts import Fact, Facts
from minifut.analysis.facts.forms import Form, combine, difference, of_atom
from minifut.ir.core import Atom, Body, DimSlice, ForLoop, If, Index, Loop, Update
from minifut.ir.traverse import free_names
from minifut.ir.types import I64
from minifut.names import Name, NameSource

Entries = tuple[Atom | DimSlice, ...]
Ranges = list[tuple[Form, Form]]
"""the first and the last place in each dimension"""


def reads_are_apart(
    facts: Facts, names: NameSource, loop: Loop, array: Name, slice_: Entries
) -> bool:
    """Whether no iteration of a `for` loop reads of the array what another one writes,
    which is the element or row of the slice that its index is the number of."""
    assert isinstance(loop.form, ForLoop)
    index = loop.form.index
    with facts.inner():
        width = facts.form(loop.form.bound)
        facts.run_over(index, width, "the loop")
        for earlier in (True, False):
            with facts.inner():
                other = names.fresh("other")
                facts.types[other] = I64
                facts.run_over(other, width, "the loop")
                less, more = (other, index) if earlier else (index, other)
                gap = difference(of_atom(more), of_atom(less), 1)
                facts.learn(Fact(gap, "another iteration"))
                written = _ranges(facts, slice_, other)
                if not _all_apart(facts, loop.body, array, written):
                    return False
    return True


def avoids(facts: Facts, loop: Loop, array: Name, slice_: Entries) -> bool:
    """Whether no iteration of a `for` loop reads what is in a slice of the array."""
    assert isinstance(loop.form, ForLoop)
    with facts.inner():
        facts.run_over(loop.form.index, facts.form(loop.form.bound), "the loop")
        return _all_apart(facts, loop.body, array, _ranges(facts, slice_))


def _ranges(facts: Facts, entries: Entries, row: Name | None = None) -> Ranges:
    """The places of a slice, or of its row of that number."""
    found: Ranges = []
    for entry in entries:
        if not isinstance(entry, DimSlice):
            place = facts.form(entry)
            found.append((place, place))
        elif row is not None:
            place = combine(facts.form(entry.start), 1, of_atom(row), 1)
            found.append((place, place))
            row = None
        else:
            start = facts.form(entry.start)
            end = combine(start, 1, facts.form(entry.length), 1)
            found.append((start, difference(end, {}, 1)))
    if row is not None:
        found.append((of_atom(row), of_atom(row)))
    return found


def _all_apart(facts: Facts, body: Body, array: Name, written: Ranges) -> bool:
    if array in body.result:
        return False
    with facts.inner():
        for statement in body.statements:
            if not _apart(facts, statement.exp, array, written):
                return False
            facts.execute(statement)
    return True


def _apart(facts: Facts, exp: object, array: Name, written: Ranges) -> bool:
    """Whether an expression reads nothing there."""
    match exp:
        case Update(_, _, value) if value == array:
            return False
        case Index(source, entries) | Update(source, entries, _) if source == array:
            pairs = zip(written, _ranges(facts, entries), strict=False)
            return any(_before(facts, *p) or _before(facts, *p[::-1]) for p in pairs)
        case Loop(parameters, initial, form, body):
            if array in initial:
                return False
            with facts.inner():
                facts.natural_sizes(parameters)
                if isinstance(form, ForLoop):
                    facts.run_over(form.index, facts.form(form.bound), "the loop")
                return _all_apart(facts, body, array, written)
        case If(condition, then, otherwise):
            for branch, truth in ((then, True), (otherwise, False)):
                with facts.inner():
                    facts.assume(condition, truth, "the branch")
                    if not _all_apart(facts, branch, array, written):
                        return False
            return True
    return array not in free_names(exp)


def _before(facts: Facts, one: tuple[Form, Form], other: tuple[Form, Form]) -> bool:
    return facts.proves(difference(other[0], one[1], 1)) is not None
