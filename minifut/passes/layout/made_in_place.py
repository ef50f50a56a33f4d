"""The arrays of a thread that become its results without a copy.

    segmap grid (i < n) {
      let b = loop (c = a) for k < m {let d = c with [k] = x    b, c and d are the
                                      return d}                 row of the result
      return returns b
    }

So what a thread reads and writes of them, it does in the result, whatever its order.
"""

from __future__ import annotations

from collections.abc import Iterator

from minifut.ir import core, kernels, traverse, types
from minifut.names import Name


def made_in_place(statement: core.Stm) -> Iterator[tuple[core.Param, set[Name]]]:
    """The results of a kernel that are arrays of each point, with the names that these
    have within it."""
    kernel = statement.exp
    if not isinstance(kernel, kernels.SegMap):
        return
    rank = len(kernel.space.indices)
    for bound, result in zip(statement.pattern, kernel.body.result, strict=True):
        is_array = isinstance(bound.type, types.ArrayType) and bound.type.rank > rank
        if is_array and isinstance(result, kernels.Returns):
            names = _names(result.value)
            _add_sources(kernel.body.statements, names)
            # what is passed on first may be an array of the host, which is copied
            yield bound, names - traverse.free_names(kernel)


def _add_sources(statements: tuple[core.Stm, ...], names: set[Name]) -> None:
    """Add what the arrays of these names are made of in place: updated arrays, what
    loops pass on, results of branches."""
    for statement in reversed(statements):
        for position, bound in enumerate(statement.pattern):
            if bound.name not in names:
                continue
            match statement.exp:
                case core.Update(array, _, _):
                    names.add(array)
                case core.Loop(parameters, initial, _, body):
                    names.add(parameters[position].name)
                    names |= _names(initial[position])
                    names |= _names(body.result[position])
                    _add_sources(body.statements, names)
                case core.If() | core.Match() as choice:
                    for body in choice.branches:
                        names |= _names(body.result[position])
                        _add_sources(body.statements, names)


def _names(atom: core.Atom) -> set[Name]:
    return {atom} if isinstance(atom, Name) else set()
