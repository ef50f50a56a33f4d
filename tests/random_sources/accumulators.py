"""Statements that update accumulators: streams of scatters and of histograms."""

from __future__ import annotations

from tests.random_sources.maker import I64, Maker, Scope, factor


def scatter_stream(make: Maker, scope: Scope) -> None:
    """Writes to different places, one or three for each element."""
    found, target = make.array(scope, most=2), make.array(scope, most=1)
    if found is None or target is None or make.depth_left(scope) < 2:
        return
    (array, type_), (name, goal) = found, target
    x, i = make.fresh("x"), make.fresh("ix")
    inner = scope.inner([(x, type_.row), (i, I64)])
    n = factor(type_.dims[0])
    if make.chance(0.5):
        place = make.one_of(i, f"2 * {i}", f"{i} - 1", f"{n} - 1 - {i}")
        condition = make.operation(scope, "bool")
        value = make.body(inner, [goal.row], 2)
        write = f"intrinsics.acc_write acc ({place}) ({value})"
        body = f"if {condition} then {write} else acc" if make.chance(0.3) else write
    else:
        j = make.fresh("j")
        value = make.body(inner.inner([(j, I64)]), [goal.row], 1)
        body = (
            f"loop acc for {j} < 3 do "
            f"intrinsics.acc_write acc (3 * {i} + {j}) ({value})"
        )
    acc = f"(acc: *intrinsics.acc ([{goal.dims[0]}]{goal.element}))"
    text = (
        f"intrinsics.scatter_stream (copy {name}) (\\{acc} ({x}, {i}) -> {body}) "
        f"(zip {array} (iota {n}))"
    )
    make.bind(scope, goal, text)


def histogram_stream(make: Maker, scope: Scope) -> None:
    """One or two updates of a histogram for each element."""
    found, target = make.array(scope, most=2), make.array(scope, most=1)
    if found is None or target is None or make.depth_left(scope) < 2:
        return
    (array, type_), (name, goal) = found, target
    x = make.fresh("x")
    operator, neutral = make.operator(goal.element)
    inner = scope.inner([(x, type_.row)])
    make.fill(inner, make.random.randint(0, 2))
    places = [make.scalar(inner, "i64") for _ in range(2)]
    values = [f"({make.value(inner, goal.row)})" for _ in range(2)]
    update = f"intrinsics.acc_write acc ({places[0]} % 9) {values[0]}"
    if make.chance(0.5):
        update = f"intrinsics.acc_write ({update}) ({places[1]} & 3) {values[1]}"
    acc = f"(acc: *intrinsics.acc ([{goal.dims[0]}]{goal.element}))"
    body = f"{' '.join(inner.lines)} in {update}" if inner.lines else update
    text = (
        f"intrinsics.hist_stream (copy {name}) {operator} {neutral} "
        f"(\\{acc} {x} -> {body}) {array}"
    )
    make.bind(scope, goal, text)
