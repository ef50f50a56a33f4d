"""Streams of updates: `scatter_stream`, `hist_stream` and `acc_write`.

    hist_stream dest op ne f bs
    ->
    with_acc((acc([k], (dest), (ne), op)), \\a -> map(n, (a, bs), \\b x -> f b x))

An accumulator is a leaf whose type says what it takes; an array of pairs is one
accumulator of two arrays.
"""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend.elaborate import branches, lambdas, values
from minifut.frontend.elaborate.soacs import element_parameters, names_of, operation
from minifut.frontend.elaborate.static_types import build, static_of
from minifut.frontend.elaborate.values import ArrayValue, Call, Leaf, Value
from minifut.ir import core, soacs, traverse, verify_accumulators
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.sizes import Size
from minifut.ir.types import AccType
from minifut.names import Name


def check_accumulators(program: core.Program) -> None:
    """Uniqueness types leave little to be found here: what is observed twice but never
    consumed."""
    names = frozenset(
        node.name
        for node in traverse.walk(program)
        if isinstance(node, core.Param) and isinstance(node.type, AccType)
    )
    try:
        verify_accumulators.check_linear(program, names)
    except verify_accumulators.NotLinear as misuse:
        at = misuse.statement
        raise error(
            None if at is None else at.location,
            "an accumulator is used more than once, or never",
            "accumulator-use",
            "go on with the accumulator that the last `acc_write` gave",
        ) from None


def scatter_stream(call: Call) -> Value:
    """`scatter_stream dest f bs`: written values take the place of what was there."""
    destination, function, given = call.arguments
    item = AccInput(*_space(destination), (), None)
    return _stream(call, destination, item, function, given)


def hist_stream(call: Call) -> Value:
    """`hist_stream dest op ne f bs`: written values are combined with what is there."""
    destination, operator, neutral, function, given = call.arguments
    if not values.leaves(destination):
        return destination
    _, made, start = operation(call, operator, neutral, destination)
    item = AccInput(*_space(destination), start, made)
    return _stream(call, destination, item, function, given)


def _space(destination: Value) -> tuple[tuple[Size], tuple[Name, ...]]:
    """The index space and the arrays of a destination."""
    assert isinstance(destination, ArrayValue)
    return (destination.size,), tuple(names_of(destination))


def _stream(
    call: Call, destination: Value, item: AccInput, function: Value, given: Value
) -> Value:
    """The function at every element, with the destination as an accumulator."""
    work = call.work
    assert isinstance(given, ArrayValue)
    if not item.arrays:
        return destination
    root = work.build.accumulator(item)
    work.build.scope[root.name] = root.type
    inside = core.Param(work.names.like(root.name), root.type)
    parameters, element = element_parameters(call, given)
    arguments = [Leaf(inside.name, root.type), element]
    made = lambdas.make_lambda(call, function, [inside, *parameters], arguments, [])
    if made.function.results != (root.type,):
        raise error(
            call.location,
            f"the function given to {call.name} gives back another accumulator than"
            " the one it was given",
            "accumulator-use",
            "return the accumulator that the last `acc_write` gave",
        )
    work.has_accumulators = True
    work.build.location = work.place_of(call.location)
    with work.nested() as build:
        inputs = (root.name, *names_of(given))
        mapped = build.let_many(soacs.map_(given.size, inputs, made.function))
        body = build.finish(*mapped)
    whole = WithAcc((item,), core.Lambda((root,), body, (root.type,)))
    results = work.build.let_many(whole, ["updated"] * len(item.arrays))
    return values.with_atoms(destination, iter(results))


def acc_write(call: Call) -> Value:
    """`acc_write acc i v`: the accumulator after the update."""
    work = call.work
    accumulator, index, given = call.arguments
    assert isinstance(accumulator, Leaf) and isinstance(index, Leaf)
    if not isinstance(accumulator.type, AccType):
        return accumulator
    wanted = [
        Leaf(leaf.atom, type_)
        for leaf, type_ in zip(
            values.leaves(given), accumulator.type.elements, strict=True
        )
    ]
    sizes = values.array_sizes(build(static_of(given), iter(wanted), work))
    atoms = values.atoms(branches.coerce(work, given, sizes))
    work.build.location = work.place_of(call.location)
    exp = UpdateAcc(accumulator.name, (index.atom,), atoms)
    return work.leaf(exp, accumulator.name.base)
