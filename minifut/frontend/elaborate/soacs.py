"""map, reduce, scan, scatter and reduce_by_index over arrays of anything.

An array of tuples is a tuple of arrays already, so that `map f (zip xs ys)` gives one
Screma over the leaves of xs and ys.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.frontend.elaborate import arrays, values
from minifut.frontend.elaborate.branches import coerce
from minifut.frontend.elaborate.lambdas import Made, is_trivial, make_lambda
from minifut.frontend.elaborate.values import ArrayValue, Call, Leaf, Value, constant
from minifut.ir import core, soacs
from minifut.ir.core import Atom, Body, Lambda, Param
from minifut.ir.sizes import Size
from minifut.ir.types import I64, Type, array_of, shape_of
from minifut.names import Name


def names_of(value: Value) -> list[Name]:
    """The arrays that an array of anything consists of."""
    return [leaf.name for leaf in values.leaves(value)]


def with_width(call: Call, value: Value, width: Size) -> Value:
    """An array with its outer size written as `width`, to which it is equal."""
    sizes = values.array_sizes(value)
    if sizes[0] == width:
        return value
    return coerce(call.work, value, [width, *sizes[1:]])


def element_parameters(call: Call, array: Value) -> tuple[list[Param], Value]:
    """Parameters for one element of an array, and the element made of them."""
    work = call.work
    parameters = []
    for leaf, row in zip(values.leaves(array), arrays.row_leaves(array), strict=True):
        name = work.names.like(leaf.name)
        parameters.append(Param(name, row))
        if leaf.name in work.known.iotas:
            work.known.below[name] = work.known.iotas[leaf.name]
    element = arrays.rows_like(array, [p.name for p in parameters])
    return parameters, element


# --- map ---------------------------------------------------------------------------


def map_(call: Call) -> Value:
    """`map f xs`."""
    function, array = call.arguments
    assert isinstance(array, ArrayValue)
    width = array.size
    parameters, element = element_parameters(call, array)
    made = make_lambda(call, function, parameters, [element])
    return map_made(call, width, names_of(array), made)


def map_made(call: Call, width: Size, inputs: Sequence[Name], made: Made) -> Value:
    """The map with a lambda that has been made."""
    work = call.work
    function = made.function
    lifted = lift(made.result, width)
    if is_trivial(function.body):
        return _rearranged(call, width, inputs, function, lifted)
    used = list(inputs)
    if not used:
        index = work.names.fresh("i")
        parameters = (Param(index, I64),)
        function = Lambda(parameters, function.body, function.results)
        used = names_of(arrays.iota(work, width))
    work.build.location = work.place_of(call.location)
    results = work.build.let_many(soacs.map_(width, tuple(used), function), ["mapped"])
    return values.with_atoms(lifted, iter(results))


def lift(row: Value, width: Size) -> ArrayValue:
    """An array of such rows; its atoms are still those of the row."""
    element = values.map_leaves(
        row, lambda leaf: Leaf(leaf.atom, array_of(leaf.type, (width,)))
    )
    return ArrayValue(width, element)


def _rearranged(
    call: Call, width: Size, inputs: Sequence[Name], function: Lambda, lifted: Value
) -> Value:
    """A map that computes nothing: its results are inputs or the same everywhere."""
    arrays_of = dict(zip((p.name for p in function.parameters), inputs, strict=True))
    results: list[Atom] = []
    for atom in function.body.result:
        if isinstance(atom, Name) and atom in arrays_of:
            results.append(arrays_of[atom])
        else:
            exp = core.Replicate((width,), atom)
            results.append(call.work.leaf(exp, "replicated").atom)
    return values.with_atoms(lifted, iter(results))


# --- reduce and scan -----------------------------------------------------------------


def operation(
    call: Call, function: Value, neutral: Value, array: Value
) -> tuple[Value, Lambda, tuple[Atom, ...]]:
    """An element of an array that is combined, by which operator, and from what on."""
    work = call.work
    _, row = element_parameters(call, array)
    sizes = values.array_sizes(row)
    parameters: list[Param] = []
    sides = []
    for _ in range(2):
        own = []
        for leaf in values.leaves(row):
            base = leaf.atom.base if isinstance(leaf.atom, Name) else "x"
            own.append(Param(work.names.fresh(base), leaf.type))
        names: list[Atom] = [p.name for p in own]
        sides.append(values.with_atoms(row, iter(names)))
        parameters += own
    made = make_lambda(call, function, parameters, sides, sizes)
    return row, made.function, values.atoms(coerce(work, neutral, sizes))


def _identity(call: Call, types: Sequence[Type]) -> Lambda:
    names = tuple(Param(call.work.names.fresh("x"), type_) for type_ in types)
    return Lambda(names, Body((), tuple(p.name for p in names)), tuple(types))


def reduce(
    call: Call, function: Value, neutral: Value, array: Value, commutative: bool = False
) -> Value:
    """`reduce f ne xs`."""
    assert isinstance(array, ArrayValue)
    if not values.leaves(array):
        return neutral
    row, operator, start = operation(call, function, neutral, array)
    exp = soacs.redomap(
        array.size,
        tuple(names_of(array)),
        (soacs.Reduce(operator, start, commutative),),
        _identity(call, arrays.row_leaves(array)),
    )
    return _emitted(call, exp, "reduced", row)


def scan(call: Call) -> Value:
    """`scan f ne xs`."""
    function, neutral, array = call.arguments
    assert isinstance(array, ArrayValue)
    if not values.leaves(array):
        return array
    _, operator, start = operation(call, function, neutral, array)
    exp = soacs.scanomap(
        array.size,
        tuple(names_of(array)),
        (soacs.Scan(operator, start),),
        _identity(call, arrays.row_leaves(array)),
    )
    return _emitted(call, exp, "scanned", array)


# --- scatter and histograms ----------------------------------------------------------


def _emitted(call: Call, exp: soacs.Soac, base: str, like: Value) -> Value:
    """The results of a SOAC, as a value with the structure of `like`."""
    build = call.work.build
    build.location = call.work.place_of(call.location)
    results = build.let_many(exp, [base] * len(values.leaves(like)))
    return values.with_atoms(like, iter(results))


def scatter(call: Call, rank: int) -> Value:
    """`scatter dest is vs`, with indices of `rank` dimensions."""
    work = call.work
    destination, indices, given = call.arguments
    assert isinstance(indices, ArrayValue)
    width = indices.size
    if not values.leaves(destination):
        return destination
    own = values.array_sizes(destination)
    given = with_width(call, given, width)
    given = coerce(work, given, [width, *own[rank:]])
    index_names = names_of(indices)
    value_names = names_of(given)
    types = [I64] * rank + arrays.row_leaves(given)
    parameters = [Param(work.names.fresh("x"), type_) for type_ in types]
    at: list[Atom] = [p.name for p in parameters[:rank]]
    result = [*at * len(value_names), *[p.name for p in parameters[rank:]]]
    results = [I64] * (rank * len(value_names)) + types[rank:]
    function = Lambda(tuple(parameters), Body((), tuple(result)), tuple(results))
    destinations = tuple(
        soacs.ScatterDestination(name, rank, 1) for name in names_of(destination)
    )
    exp = soacs.Scatter(width, (*index_names, *value_names), destinations, function)
    return _emitted(call, exp, "scattered", destination)


def reduce_by_index(call: Call, rank: int) -> Value:
    """`reduce_by_index dest f ne is vs`, with bins of `rank` dimensions."""
    work = call.work
    destination, function, neutral, indices, given = call.arguments
    assert isinstance(indices, ArrayValue)
    width = indices.size
    own = values.array_sizes(destination)
    given = coerce(work, given, [width, *own[rank:]])
    if not values.leaves(given):
        return destination
    _, operator, start = operation(call, function, neutral, given)
    types = [I64] * rank + arrays.row_leaves(given)
    exp = soacs.Hist(
        width,
        (*names_of(indices), *names_of(given)),
        (
            soacs.HistOp(
                tuple(own[:rank]), tuple(names_of(destination)), start, operator
            ),
        ),
        _identity(call, types),
    )
    return _emitted(call, exp, "histogram", destination)


# --- shapes --------------------------------------------------------------------------


def reshape_outer(
    call: Call, value: Value, outer: Sequence[Size], dropped: int
) -> Value:
    """The outer `dropped` dimensions replaced by others with as many elements."""
    element = value
    for _ in range(dropped):
        assert isinstance(element, ArrayValue)
        element = element.element

    def change(leaf: Leaf) -> Leaf:
        shape = (*outer, *shape_of(leaf.type)[dropped:])
        return call.work.leaf(core.Reshape(shape, leaf.name), leaf.name.base)

    result = values.map_leaves(element, change)
    for size in reversed(outer):
        result = ArrayValue(size, result)
    return result


def transpose(call: Call, value: Value) -> Value:
    """The outer two dimensions exchanged."""
    assert isinstance(value, ArrayValue) and isinstance(value.element, ArrayValue)
    inner = value.element

    def change(leaf: Leaf) -> Leaf:
        order = (1, 0, *range(2, len(shape_of(leaf.type))))
        return call.work.leaf(core.Rearrange(order, leaf.name), leaf.name.base)

    return ArrayValue(
        inner.size, ArrayValue(value.size, values.map_leaves(inner.element, change))
    )


def concat(call: Call, left: Value, right: Value) -> Value:
    """One array after the other."""
    work = call.work
    assert isinstance(left, ArrayValue) and isinstance(right, ArrayValue)
    size = left.size + right.size
    own = values.array_sizes(left)
    right = coerce(work, right, [right.size, *own[1:]])
    new = []
    for a, b in zip(values.leaves(left), values.leaves(right), strict=True):
        new.append(work.leaf(core.Concat(0, (a.name, b.name), size), "joined"))
    return ArrayValue(size, values.with_leaves(left.element, iter(new)))


def reverse(call: Call, value: Value) -> Value:
    """`xs[::-1]`."""
    backwards = arrays.Slice(None, None, constant(-1, I64))
    return arrays.index(call.work, value, [backwards], call.location)
