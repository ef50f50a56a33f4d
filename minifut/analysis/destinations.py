"""Which kernels may write their result into the slice that it becomes.

    let all = scratch(f32, [n])
    let xs = segmap grid (i < k) {..}           writes into all[1:k + 1] itself
    let ys = all with [1 :+ k] = xs             then has nothing to copy

The slice must be of memory that nothing else has: a scratch array of the same body that
nothing but updates has seen. Or nothing between the kernel and the update, the kernel
included, may read of the memory of the array, but for rows of it with another index:

    let p = all[i]
    let xs = segmap grid (j < k) {.. p[j] ..}   writes into all[i + 1] itself
    let ys = all with [i + 1] = xs

And the update must be all that uses the result. The results of one kernel may become
slices of one array, one behind the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from minifut.analysis.aliases import NONE, Roots
from minifut.analysis.work import size_of
from minifut.ir import core, kernels, traverse
from minifut.ir.core import Atom, Constant, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.names import Name


def destinations(
    statements: tuple[Stm, ...],
    results: tuple[Atom, ...],
    roots: Mapping[Name, Roots],
    definitions: Mapping[Name, Stm],
) -> dict[Name, Stm]:
    """The updates of whose slices results of kernels may be written, by the results,
    among the statements of a body of a function whose names have these `roots` (see
    `aliases`) and `definitions`."""
    if not any(isinstance(s.exp, core.Update) for s in statements):
        return {}
    found: dict[Name, Stm] = {}
    free = [traverse.free_names(statement) for statement in statements]
    uses = Counter(name for names in free for name in names)
    uses.update(atom for atom in results if isinstance(atom, Name))
    made = {p.name: at for at, s in enumerate(statements) for p in s.pattern}
    for last, statement in enumerate(statements):
        exp = statement.exp
        if not isinstance(exp, core.Update) or not isinstance(exp.value, Name):
            continue
        first = made.get(exp.value)
        if first is None or uses[exp.value] != 1:
            continue
        family = _versions(statements, made, exp.array)
        if not family:
            if roots.get(exp.array) and all(
                _reads_other_rows(s, exp, roots, definitions)
                for s in statements[first:last]
            ):
                found[exp.value] = statement
            continue
        # updates by other results of the kernel
        late = {made[name] for name in family if made[name] >= first}
        beside = [statements[at] for at in late]
        if not all(_is_beside(s, exp, definitions, made, first) for s in beside):
            continue
        between = set().union(
            *(free[at] for at in range(first, last) if at not in late)
        )
        start = min(made[name] for name in family)
        seen = set().union(*(
            names for at, names in enumerate(free[start:last], start)
            if not any(p.name in family for p in statements[at].pattern)
        ))  # fmt: skip
        if family.isdisjoint(between | seen):
            there = max((n for n in family if made[n] < first), key=made.__getitem__)
            found[exp.value] = replace(statement, exp=replace(exp, array=there))
    return found


def _reads_other_rows(
    statement: Stm,
    update: core.Update,
    roots: Mapping[Name, Roots],
    definitions: Mapping[Name, Stm],
) -> bool:
    """Whether a statement uses memory of the updated array only by rows with another
    index than that of the row that the update writes."""
    taken = roots.get(update.array, NONE)
    shared = {
        name
        for name in traverse.free_names(statement)
        if not taken.isdisjoint(roots.get(name, NONE))
        and not _is_other_row(name, update, definitions)
    }
    if not shared:
        return True
    for node in traverse.walk(statement):
        used: set[Name] = set()
        traverse.own_names(node, used)
        if used.isdisjoint(shared):
            continue
        if (
            not isinstance(node, core.Index | kernels.CollectiveCopy)
            or node.array != update.array
        ):
            return False
        if _is_row(node.slice, update, definitions):
            return False
    return True


def _is_other_row(
    name: Name, update: core.Update, definitions: Mapping[Name, Stm]
) -> bool:
    """Whether a name is a view within a row of the updated array that the update does
    not write."""
    statement = definitions.get(name)
    match statement and statement.exp:
        case core.Index(array, entries) if array == update.array:
            return not _is_row(entries, update, definitions)
        case core.Index(array, _) | core.Reshape(_, array) | core.Rearrange(_, array):
            return _is_other_row(array, update, definitions)
    return False


def _is_row(
    entries: tuple[Atom | core.DimSlice, ...],
    update: core.Update,
    definitions: Mapping[Name, Stm],
) -> bool:
    """Whether a slice may be of the row of the array that the update writes."""
    read, written = entries[0], update.slice[0]
    if isinstance(read, core.DimSlice) or isinstance(written, core.DimSlice):
        return True
    gap = _size(read, definitions) - _size(written, definitions)
    return gap.as_constant in (None, 0)


def _size(atom: Atom, definitions: Mapping[Name, Stm]) -> Size:
    """An index by its definition."""
    statement = definitions.get(atom) if isinstance(atom, Name) else None
    computed = size_of(statement.exp) if statement is not None else None
    return traverse.atom_size(atom) if computed is None else computed


def _is_beside(
    other: Stm,
    update: core.Update,
    definitions: Mapping[Name, Stm],
    made: dict[Name, int],
    producer: int,
) -> bool:
    """Whether a statement updates another slice by a result of the same producer."""
    exp = other.exp
    if not isinstance(exp, core.Update) or not isinstance(exp.value, Name):
        return False
    if made.get(exp.value) != producer:
        return False
    ranges = [_rows(each, definitions) for each in (exp, update)]
    (low, first), (high, second) = [r or (None, None) for r in ranges]
    if low is None or high is None or first is None or second is None:
        return False
    gaps = (high - (low + first)).as_constant, (low - (high + second)).as_constant
    return any(gap is not None and gap >= 0 for gap in gaps)


def _rows(
    update: core.Update, definitions: Mapping[Name, Stm]
) -> tuple[Size, Size] | None:
    """The first row of an update, and how many there are, one after the other."""
    match update.slice[0]:
        case core.DimSlice(start, length, Constant(1)):
            return _size(start, definitions), length
    return None


def _versions(
    statements: tuple[Stm, ...], made: dict[Name, int], array: Name
) -> set[Name]:
    """The array and those that it was updated from, back to a scratch array of the same
    statements; none if it goes back to something else."""
    family: set[Name] = set()
    while array in made:
        family.add(array)
        statement = statements[made[array]]
        match statement.exp:
            case core.Scratch():
                return family
            case core.Update(earlier, _, _):
                array = earlier
            case kernels.SegMap(body=body):
                position = [p.name for p in statement.pattern].index(array)
                result = body.result[position]
                if not isinstance(result, kernels.WriteReturns):
                    return set()
                array = result.array
            case _:
                return set()
    return set()
