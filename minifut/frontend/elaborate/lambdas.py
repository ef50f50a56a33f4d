"""Functions as lambdas of the core, for the operands of SOACs.

    map (\\i -> replicate (n / 2) i) xs

The size of a row must be known outside of the lambda. One that is computed inside from
outer values is moved out; one known to the checker is taken from the type of the
whole application.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minifut.errors import error
from minifut.frontend.elaborate import application, branches, static_types, values
from minifut.frontend.elaborate.values import Call, Value
from minifut.frontend.elaborate.work import Work
from minifut.immutables import quick_dataclass
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Lambda, Param, Stm
from minifut.ir.sizes import Size
from minifut.names import Name


@quick_dataclass
class Made:
    """A lambda and what its results stand for."""

    function: Lambda
    result: Value


def make_lambda(
    call: Call,
    function: Value,
    parameters: Sequence[Param],
    arguments: Sequence[Value],
    sizes: list[Size] | None = None,
) -> Made:
    """The function on these arguments, whose leaves are the parameters.

    `sizes` are what the result must have; else they are found, if need be from the
    expected type of the call, which is that of the array of all results."""
    work = call.work
    mark = min((p.name.tag for p in parameters), default=work.mark()) - 1
    for parameter in parameters:
        work.build.scope[parameter.name] = parameter.type
    with work.nested() as build:
        work.mode = replace(work.mode, in_soac=True)
        result = application.apply(work, function, arguments, call.location)
    work.location = call.location
    if values.has_function(result):
        raise error(
            call.location,
            f"{call.name} of a function that returns functions is not supported",
            "not-supported",
        )
    own = values.array_sizes(result)
    wanted = sizes
    if wanted is None:
        wanted = _outer_sizes(call, build, parameters, own, mark)
    with branches.within(work, build):
        result = branches.coerce(work, result, wanted)
    leaves = values.leaves(result)
    body = build.finish(*[leaf.atom for leaf in leaves])
    types = tuple(leaf.type for leaf in leaves)
    return Made(Lambda(tuple(parameters), body, types), result)


def _outer_sizes(
    call: Call, build: Builder, parameters: Sequence[Param], own: list[Size], mark: int
) -> list[Size]:
    """The sizes of the results in terms of what is known outside."""
    work = call.work
    if not any(work.is_inner(size, mark) for size in own):
        return own
    hoist(work, build, own, mark)
    hidden = {p.name for statement in build.statements for p in statement.pattern}
    hidden.update(p.name for p in parameters)
    found = [None if size.names() & hidden else size for size in own]
    if None in found and call.expected is not None:
        expected = call.expected
        static = static_types.resolve_type(expected.type, expected.env, work, emit=True)
        known = static_types.static_sizes(static)
        # all results in an array, or (derivatives) the result in front of another
        known = (
            known[1:]
            if isinstance(static, static_types.StaticArray)
            else known[: len(found)]
        )
        if len(known) == len(found):
            found = [
                f if f is not None else k for f, k in zip(found, known, strict=True)
            ]
    if None in found:
        raise error(
            call.location,
            f"the size of the results of the function given to {call.name} differs"
            " between elements",
            "irregular-array",
            "all elements of an array must have the same size",
        )
    return [size for size in found if size is not None]


def hoist(work: Work, build: Builder, sizes: list[Size], mark: int) -> None:
    """Move the computation of sizes out of a body where it needs nothing inside it and
    cannot fail."""
    made: dict[Name, Stm] = {
        p.name: statement for statement in build.statements for p in statement.pattern
    }
    movable: dict[Name, bool] = {}

    def can_move(name: Name) -> bool:
        if name.tag <= mark or name in work.known.globals:
            return True
        if name not in movable:
            statement = made.get(name)
            movable[name] = statement is not None and all(
                can_move(n) for n in _needs(statement)
            )
        return movable[name]

    wanted: set[Name] = set()
    waiting = [n for size in sizes for n in size.names() if can_move(n)]
    while waiting:
        name = waiting.pop()
        if name in made and name not in wanted:
            wanted.add(name)
            waiting.extend(_needs(made[name]))
    if not wanted:
        return
    kept: list[Stm] = []
    for statement in build.statements:
        moves = any(p.name in wanted for p in statement.pattern)
        (work.build.statements if moves else kept).append(statement)
    build.statements[:] = kept


def _needs(statement: Stm) -> list[Name]:
    """What a total scalar statement needs; a name that cannot be moved, for any
    other."""
    match statement.exp:
        case core.ScalarOp(_, operands):
            return [a for a in operands if isinstance(a, Name)]
        case core.SizeExp(size):
            return list(size.names())
        case core.Copy(Name() as atom):
            return [atom]
        case _:
            return [Name("", _NEVER)]


_NEVER = 1 << 62


def is_trivial(body: Body) -> bool:
    """Does it compute nothing?"""
    return not body.statements
