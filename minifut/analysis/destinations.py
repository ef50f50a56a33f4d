"""Which kernels may write their result into the slice that it becomes.

    let all = scratch(f32, [n])
    let xs = segmap grid (i < k) {..}           writes into all[1:k + 1] itself
    let ys = all with [1 :+ k] = xs             then has nothing to copy

The slice must be of memory that nothing else has: a scratch array of the same body that
nothing but updates has seen. And the update must be all that uses the result.
"""

from __future__ import annotations

from collections import Counter

from minifut.ir.core import Atom, Scratch, Stm, Update
from minifut.ir.kernels import SegMap, WriteReturns
from minifut.ir.traverse import free_names
from minifut.names import Name


def destinations(
    statements: tuple[Stm, ...], results: tuple[Atom, ...]
) -> dict[Name, Stm]:
    """The updates of whose slices results of kernels may be written, by the results,
    among the statements of a body."""
    if not any(isinstance(s.exp, Update) for s in statements):
        return {}
    found: dict[Name, Stm] = {}
    free = [free_names(statement) for statement in statements]
    uses = Counter(name for names in free for name in names)
    uses.update(atom for atom in results if isinstance(atom, Name))
    made = {p.name: at for at, s in enumerate(statements) for p in s.pattern}
    for last, statement in enumerate(statements):
        exp = statement.exp
        if not isinstance(exp, Update) or not isinstance(exp.value, Name):
            continue
        first = made.get(exp.value)
        if first is None or uses[exp.value] != 1:
            continue
        family = _versions(statements, made, exp.array)
        between = set().union(*free[first:last])
        if family and max(made[name] for name in family) < first:
            start = min(made[name] for name in family)
            seen = set().union(*(
                names for at, names in enumerate(free[start:last], start)
                if not any(p.name in family for p in statements[at].pattern)
            ))  # fmt: skip
            if family.isdisjoint(between | seen):
                found[exp.value] = statement
    return found


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
            case Scratch():
                return family
            case Update(earlier, _, _):
                array = earlier
            case SegMap(body=body):
                position = [p.name for p in statement.pattern].index(array)
                result = body.result[position]
                if not isinstance(result, WriteReturns):
                    return set()
                array = result.array
            case _:
                return set()
    return set()
