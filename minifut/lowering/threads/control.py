"""Branches, loops and calls inside a thread; see `threads.builder`.

    let (k: i64, xs: [k]t) = if c then {..} else {..}

Scalars become variables that the branches assign; an array gets memory before the
branch, unless all branches return the same one. If its size is only known inside, it is
relocatable: it is in the thread's arena, at an offset that is a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from minifut.ir import core, kernels
from minifut.ir.core import Body, Param, Stm
from minifut.ir.node import replace
from minifut.ir.scalars import operator
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType, shape_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.hoist_invariants import OPAQUE
from minifut.lowering.index_functions import Array, row_major_strides
from minifut.lowering.threads import destinations, device_functions, rotation
from minifut.lowering.threads.arena import release_after
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile, like, move
from minifut.lowering.threads.relocatable_arrays import (
    RelocatableArray,
    arena_marks,
    offset_in_arena,
    reclaim,
    relocatable_array,
)


def _variables(
    k: KernelBuilder, pattern: tuple[Param, ...]
) -> list[kc.Variable | None]:
    """A variable for each scalar; None for arrays."""
    return [
        k.declare(p.name.base, type_=kc.VectorType(p.type))
        if isinstance(p.type, ScalarType)
        else None
        for p in pattern
    ]


LoopPlace: TypeAlias = kc.Variable | Array | RelocatableArray | RegisterTile


def _results(
    k: KernelBuilder, pattern: tuple[Param, ...], exp: core.If | core.Match
) -> list[LoopPlace]:
    """Storage of the results of branches: variables; for arrays new memory, or the
    array that all branches return."""
    own = {p.name for p in pattern}
    places: list[LoopPlace] = []
    for position, (bound, variable) in enumerate(
        zip(pattern, _variables(k, pattern), strict=True)
    ):
        if variable is not None:
            places.append(variable)
            continue
        tile = k.place_for(bound)
        if tile is not None:
            places.append(tile)
            continue
        outer = k.host.facts.buffer_reuse.step(Stm(pattern, exp), position)
        if outer is not None:
            places.append(k.array(outer))
            continue
        if any(size.names() & own for size in shape_of(bound.type)):
            places.append(relocatable_array(k, bound))
        else:
            places.append(k.fresh(bound))
    return places


def _branch(k: KernelBuilder, body: Body, places: list[LoopPlace]) -> None:
    for place, value in zip(places, k.body(body), strict=True):
        if isinstance(place, RelocatableArray):
            assert isinstance(value, Array)
            k.assign(place.offset, offset_in_arena(k, place, value))
        elif isinstance(place, RegisterTile):
            move(k, place, value)
        elif isinstance(place, Array):
            assert isinstance(value, Array)
            k.copy(place, value)
        else:
            assert isinstance(value, kc.Expression)
            k.assign(place, value)


def lower_if(k: KernelBuilder, stm: Stm, exp: core.If) -> None:
    places = _results(k, stm.pattern, exp)
    with k.branch(k.scalar(exp.condition)):
        _branch(k, exp.then, places)
    with k.otherwise():
        _branch(k, exp.otherwise, places)
    _bind_all(k, stm.pattern, places)


def lower_match(k: KernelBuilder, stm: Stm, exp: core.Match) -> None:
    places = _results(k, stm.pattern, exp)
    scrutinees = [k.scalar(atom) for atom in exp.scrutinees]

    def cases(number: int) -> None:
        if number == len(exp.cases):
            _branch(k, exp.default, places)
            return
        case = exp.cases[number]
        tests = [
            kc.Operation(
                operator("eq", wanted.type), (scrutinee, k.scalar(wanted)), kc.TRUTH
            )
            for scrutinee, wanted in zip(scrutinees, case.values, strict=True)
            if wanted is not None
        ]
        with k.branch(kc.all_of(tests)):
            _branch(k, case.body, places)
        with k.otherwise():
            cases(number + 1)

    cases(0)
    _bind_all(k, stm.pattern, places)


def _bind_all(k: KernelBuilder, pattern: tuple[Param, ...], values: list[Any]) -> None:
    for bound, value in zip(pattern, values, strict=True):
        if isinstance(value, RelocatableArray):
            shape = k.shape(bound.type)
            offset, strides = Size.of(value.offset.name), row_major_strides(shape)
            k.bind(bound.name, Array(value.memory, shape, offset, strides))
        else:
            k.bind(bound.name, value)


def _start(k: KernelBuilder, exp: core.Loop) -> list[LoopPlace]:
    """Storage of the parameters of a loop, with their initial values."""
    own = {p.name for p in exp.parameters}
    initial = [k.atom(atom) for atom in exp.initial]
    places: list[LoopPlace] = []
    for position, (bound, value) in enumerate(
        zip(exp.parameters, initial, strict=True)
    ):
        if isinstance(value, kc.Expression):
            places.append(k.declare(bound.name.base, value))
            continue
        tile = k.place_for(bound)
        if tile is not None:
            move(k, tile, value)
            places.append(tile)
            continue
        assert isinstance(value, Array)
        stays = k.host.facts.buffer_reuse.stays(exp, position)
        if stays and bound.name not in k.host.facts.in_place.copied:
            places.append(value)
            continue
        if any(size.names() & own for size in shape_of(bound.type)):
            relocatable, copied = (
                relocatable_array(k, bound),
                bound.name in k.host.facts.in_place.copied,
            )
            k.assign(relocatable.offset, offset_in_arena(k, relocatable, value, copied))
            places.append(relocatable)
            continue
        place = destinations.place_of_parameter(k, bound)
        k.copy(place, value)
        places.append(place)
    _bind_all(k, exp.parameters, places)
    return places


def _again(
    k: KernelBuilder, places: list[LoopPlace], results: tuple[LoweredValue, ...]
) -> None:
    """Parallel assignment of the results to the parameters. Those that read a parameter
    come first: `(old, new) = (new, made)` needs no temporary array."""
    moving = {p.name for p in places if isinstance(p, kc.Variable)}
    memories = {p.memory for p in places if isinstance(p, Array)}
    families = {p.family for p in places if isinstance(p, RegisterTile)}
    pairs = sorted(
        zip(places, results, strict=True),
        key=lambda pair: (
            not (isinstance(pair[1], Array) and pair[1].memory in memories)
        ),
    )
    taken: list[tuple[Any, Any]] = []
    written: set[kc.Memory] = set()
    for place, result in pairs:
        if isinstance(place, RelocatableArray):
            assert isinstance(result, Array)
            offset = k.declare("offset", offset_in_arena(k, place, result))
            place, result = place.offset, offset
        elif isinstance(place, RegisterTile):
            if isinstance(result, RegisterTile) and result.family in families:
                if result.family == place.family:
                    continue
                kept = like(k, result)
                move(k, kept, result)
                result = kept
        elif isinstance(place, Array):
            assert isinstance(result, Array)
            if place.with_shape(result.shape) == result:
                continue
            written.add(place.memory)
            if result.memory in written:
                temporary = k.new_array(result.memory.element, place.shape, "temporary")
                k.copy(temporary, result)
                result = temporary
        elif isinstance(result, kc.Variable):
            if result.name == place.name:
                continue
            if result.name in moving:
                result = k.declare(result.name.base, result)
        taken.append((place, result))
    for place, result in taken:
        if isinstance(place, Array):
            k.copy(place, result)
        elif isinstance(place, RegisterTile):
            move(k, place, result)
        else:
            k.assign(place, result)


def lower_loop(k: KernelBuilder, stm: Stm, exp: core.Loop) -> None:
    places = _start(k, exp)
    floats = any(
        isinstance(p, kc.Variable | RegisterTile) and p.type.scalar.is_float
        for p in places
    )

    carried = [
        (bound, place)
        for bound, place in zip(exp.parameters, places, strict=True)
        if isinstance(place, RelocatableArray)
    ]

    rounds = [] if carried else rotation.find_rounds(k, exp, places)

    def once(outside: list[kc.Statement]) -> None:
        """One iteration; what it put into arenas is freed, unless the loop carries
        it."""
        with k.nested() as body:
            _again(k, places, k.body(exp.body))
        if carried:
            k.statements.extend(body)
            reclaim(k, carried, arena_marks(k, outside))
        else:
            release_after(k, body)

    reduces = "reduction" in stm.attributes or any(
        isinstance(p, RegisterTile) for p in places
    )
    with k.reassociate(reduces and floats):
        outside = k.statements
        if isinstance(exp.form, core.ForLoop):
            form = exp.form
            type_ = kc.VectorType(form.type)
            bound = k.scalar(form.bound)
            if rounds and type_ != kc.LONG:  # steps of several might overflow
                type_, bound = kc.LONG, kc.Cast(bound, kc.LONG)
            points = "map" in stm.attributes and all(
                isinstance(p, Array) for p in places
            )
            step = len(rounds) or 1
            with k.loop(
                form.index.base, bound, step=step, type_=type_, points=points
            ) as index:
                if rounds:
                    _in_rounds(k, exp, places, rounds, (index, bound))
                else:
                    k.bind(form.index, index)
                    once(outside)
            if points:
                outside[-1] = _parallel(outside[-1], places)
            elif "scatter" in stm.attributes and not carried:
                outside[-1] = _unordered(outside[-1])
        else:
            with k.while_loop(k.scalar(exp.form.condition)):
                if rounds:
                    _in_rounds(k, exp, places, rounds)
                else:
                    once(outside)
    _bind_all(k, stm.pattern, places)


def _in_rounds(
    k: KernelBuilder,
    exp: core.Loop,
    places: list[LoopPlace],
    rounds: Sequence[rotation.Round],
    counter: tuple[kc.Variable, kc.Expression] | None = None,
    number: int = 0,
) -> None:
    """The rounds that bring all arrays back, each if there is one more; the last one
    copies the arrays back."""
    following = rounds[(number + 1) % len(rounds)].places
    now = [following.get(at, place) for at, place in enumerate(places)]
    form = exp.form
    with k.nested() as body:
        if counter is not None:
            assert isinstance(form, core.ForLoop)
            k.bind(form.index, _counted(k, form, counter[0] + number))
        for at, place in rounds[number].places.items():
            k.bind(exp.parameters[at].name, place)
        k.destinations.update(rounds[number].made)
        _again(k, now, k.body(exp.body))
    release_after(k, body)
    if number + 1 == len(rounds):
        return
    if counter is None:
        assert isinstance(form, core.WhileLoop)
        more = k.scalar(form.condition)
    else:
        more = counter[0] + (number + 1) < counter[1]
    with k.branch(more):
        _in_rounds(k, exp, places, rounds, counter, number + 1)
    with k.otherwise():
        values = [place for place in now if not isinstance(place, RelocatableArray)]
        _again(k, places, tuple(values))


def _counted(
    k: KernelBuilder, form: core.ForLoop, count: kc.Expression
) -> kc.Expression:
    """The index of a loop at a count, which is an i64."""
    type_ = kc.VectorType(form.type)
    if type_ == kc.LONG and isinstance(count, kc.Variable):
        return count
    value = count if type_ == kc.LONG else kc.Cast(count, type_)
    return k.declare(form.index.base, value)


def _parallel(loop: kc.Statement, places: Iterable[LoopPlace]) -> kc.Statement:
    """The loop of a map, for the device's compiler to vectorise: no iteration reads
    what another one writes (`passes.short_circuit.regions`), unless each has the same
    arrays of its own."""
    assert isinstance(loop, kc.For)
    results = {place.memory for place in places if isinstance(place, Array)}
    body = loop.body.statements
    alone = not any(nodes_of(kc.For | kc.While, *body)) and all(
        store.memory in results for store in nodes_of(kc.Store, *body)
    )
    return replace(loop, parallel=alone)


def _unordered(loop: kc.Statement) -> kc.Statement:
    """The loop of a scatter, over points if they read no memory that they write."""
    assert isinstance(loop, kc.For)
    body = loop.body.statements
    stored = {store.memory for store in nodes_of(kc.Store, *body)}
    reads = any(load.memory in stored for load in nodes_of(kc.Load, *body))
    known = stored and not any(nodes_of(OPAQUE, *body))
    return replace(loop, points=bool(known and not reads))


def lower_apply(k: KernelBuilder, stm: Stm, exp: core.Apply) -> None:
    """A call of a device function, or its inlined statements."""
    if device_functions.call_function(k, stm, exp):
        return
    function = k.host.program.facts.functions[exp.function]
    for parameter, argument in zip(function.parameters, exp.arguments, strict=True):
        k.bind(parameter.name, k.atom(argument))
    results = k.body(function.body)
    _bind_all(k, stm.pattern, list(results))


def lower_segmap(k: KernelBuilder, stm: Stm, exp: kernels.SegMap) -> None:
    """A segmap inside a thread: loops."""
    if any(not isinstance(result, kernels.Returns) for result in exp.body.result):
        raise NotInKernel("an inner segmap with other results than one per point")
    places = [k.fresh(bound) for bound in stm.pattern]

    def visit(at: tuple[Size, ...]) -> None:
        k.bind_all(exp.space.indices, map(k.size_value, at))
        k.statements_of(exp.body.statements)
        for place, result in zip(places, exp.body.result, strict=True):
            assert isinstance(result, kernels.Returns)
            k.write(place, at, k.atom(result.value))

    k.each(tuple(k.resolve(size) for size in exp.space.sizes), visit)
    _bind_all(k, stm.pattern, places)
