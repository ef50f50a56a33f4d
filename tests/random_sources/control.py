"""Statements of branches and loops."""

from __future__ import annotations

from tests.random_sources.maker import I64, Maker, Scope, factor


def branch(make: Maker, scope: Scope) -> None:
    types = [make.known_type(scope) for _ in range(make.random.choice((1, 2)))]
    condition = make.operation(scope, "bool")
    then, otherwise = (f"({make.body(scope.inner(), types, 2)})" for _ in range(2))
    make.bind_all(scope, types, f"if {condition} then {then} else {otherwise}")


def for_loop(make: Maker, scope: Scope) -> None:
    """A loop that carries a value and a number."""
    carried = make.known_type(scope)
    name, total, index = make.fresh("c"), make.fresh("s"), make.fresh("k")
    bound = make.one_of(*scope.sizes, "2", f"({make.scalar(scope, 'i64')} & 3)")
    inner = scope.inner([(name, carried), (total, I64), (index, I64)])
    body = make.body(inner, [carried, I64])
    start = f"({make.value(scope, carried)}, {make.scalar(scope, 'i64')})"
    text = f"loop ({name}, {total}) = {start} for {index} < {bound} do {body}"
    make.bind_all(scope, [carried, I64], text)


def filling_loop(make: Maker, scope: Scope) -> None:
    """A loop that updates an array in place, element by element or row by row."""
    found = make.array(scope, most=2)
    if found is None:
        return
    array, type_ = found
    name, total, index = make.fresh("c"), make.fresh("s"), make.fresh("k")
    size = type_.dims[0]
    inner = scope.inner([(total, I64), (index, I64), (array, type_)])
    row = make.body(inner, [type_.row, I64], 2)
    old = f"copy {name}[{index}]" if type_.row.dims else f"{name}[{index}]"
    text = (
        f"loop ({name}, {total}) = (copy {array}, {make.scalar(scope, 'i64')}) "
        f"for {index} < {size} do let o = {old} let (v, t) = ({row}) "
        f"let w = if t % 2 == 0 then v else o in ({name} with [{index}] = w, t)"
    )
    make.bind_all(scope, [type_, I64], text)


def while_loop(make: Maker, scope: Scope) -> None:
    """A loop of as many rounds as the data say."""
    carried = make.known_type(scope)
    name, count = make.fresh("c"), make.fresh("s")
    inner = scope.inner([(name, carried), (count, I64)])
    body = make.body(inner, [carried], 2)
    text = (
        f"loop ({name}, {count}) = ({make.value(scope, carried)}, "
        f"{make.scalar(scope, 'i64')} % 4) while {count} > 0 do "
        f"let w = ({body}) in (w, {count} - 1)"
    )
    make.bind_all(scope, [carried, I64], text)


def row_or_map(make: Maker, scope: Scope) -> None:
    """A row at a computed index on one side, a map on the other one."""
    found = [
        (name, type_)
        for name, type_ in scope.values
        if len(type_.dims) >= 2 and set(type_.row.dims) <= set(scope.sizes)
    ]
    if not found or make.depth_left(scope) < 1:
        return
    name, type_ = make.random.choice(found[-6:])
    row = type_.row
    size, condition = factor(type_.dims[0]), make.operation(scope, "bool")
    function = make.function(scope, [row.row], [row.row], 1)
    parallel = f"map {function} {make.value(scope, row)}"
    sides = [f"{name}[{make.index(scope, size)}]", parallel]
    make.bind(
        scope, row, f"if ({condition}) && {size} > 0 then {sides[0]} else {sides[1]}"
    )
