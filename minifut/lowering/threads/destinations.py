"""Destination passing: results are made in the memory that they are for.

    let xs = scratch([k], t)                       xs is a row of ys itself,
    let zs = loop (zs = xs) for j < k do ..        and the loop writes into it:
    ys[i] = zs                                     nothing is copied

So are arrays of which a result is another shape, and rows of literals. A loop whose
array starts from one that it must not overwrite copies that to its destination.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir import core, kernels, sizes, traverse, types
from minifut.lowering.index_functions import Array
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.threads.builder import KernelBuilder


def pass_destinations(
    k: KernelBuilder,
    body: kernels.KernelBody | core.Body,
    targets: tuple[tuple[core.Atom, Array], ...],
) -> None:
    """Note for what makes each result of the body where it is to be made."""
    makers = {p.name: s for s in body.statements for p in s.pattern}
    passed: set[Name] = set()
    waiting = list(targets)
    while waiting:
        atom, target = waiting.pop(0)
        name = k.host.facts.buffer_reuse.of(body.statements, atom)
        made = makers.get(name) if isinstance(name, Name) else None
        if made is None or name is None or name in passed:
            continue
        passed.add(name)
        match made.exp:
            case core.Reshape(_, array) if array in makers:
                type_ = makers[array].pattern[0].type
                view: Array | None = target
                if target.rank > 1 or len(types.shape_of(type_)) > 1:
                    known = traverse.size_names(type_).isdisjoint(makers)
                    view = target.reshape(k.shape(type_)) if known else None
                if view is not None:
                    waiting.append((array, view))
            case core.ArrayLiteral(rows, types.ArrayType()):
                places = map(sizes.Size.constant, range(len(rows)))
                waiting += [
                    (row, target.row((at,)))
                    for row, at in zip(rows, places, strict=True)
                ]
            case core.Loop(parameters) if are_used_in_rows(k):
                position = [bound.name for bound in made.pattern].index(name)
                k.destinations[parameters[position].name] = target
        if makes_array(made):
            k.destinations[name] = target


def are_used_in_rows(k: KernelBuilder) -> bool:
    """Whether loops write as fast to the memory of results as to scratch memory, in
    which lanes, and threads of a GPU, have the elements of a place side by side."""
    return k.host.schedule == "cpu" and not k.has_lanes


def makes_array(statement: core.Stm) -> bool:
    """Whether the memory of the statement's (only) array comes from `fresh`."""
    return isinstance(
        statement.exp,
        core.Scratch | core.Replicate | core.Iota | core.ArrayLiteral | core.Concat,
    )


def place_of_parameter(k: KernelBuilder, bound: core.Param) -> Array:
    """Memory for the array that a loop carries: its destination if that is known and
    the array is too large for private memory, else new."""
    shape, element = k.shape(bound.type), types.element_of(bound.type)
    given = k.destinations.get(bound.name)
    if given is None or k.is_small(element, sizes.product(shape)):
        return k.new_array(element, shape, bound.name.base)
    return given
