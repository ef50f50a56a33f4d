"""Statements of branches and loops."""

from __future__ import annotations

from tests.random_sources.maker import (
    FLOATS,
    I64,
    Maker,
    Scope,
    Type,
    factor,
    finished,
    mapped,
)


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
    text = (
        f"loop ({name}: {carried}, {total}) = {start} for {index} < {bound} do {body}"
    )
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
        f"loop ({name}: {carried}, {count}) = ({make.value(scope, carried)}, "
        f"{make.scalar(scope, 'i64')} % 4) while {count} > 0 do "
        f"let w = ({body}) in (w, {count} - 1)"
    )
    make.bind_all(scope, [carried, I64], text)


def computed_row(make: Maker, scope: Scope, type_: Type) -> tuple[str, str] | None:
    """A row of an array of these, recent ones likelier, at an index computed of what
    varies most; and the size that must not be zero."""
    holders = [(n, t) for n, t in scope.values if t.dims and t.row == type_]
    if not holders:
        return None
    name, holder = make.random.choice(holders[-3:])
    size = factor(holder.dims[0])
    numbers = [(n, t) for n, t in scope.values if not t.dims and t.element != "bool"]
    number, given = make.random.choice(numbers[-3:] or [("1i64", I64)])
    index = number if given == I64 else f"i64.{given.element} {number}"
    if given.element in FLOATS:
        index = make.scalar(scope, "i64")
    offset = make.one_of("", " + 1", " * 2", f" + {make.scalar(scope, 'i64')}")
    return f"{name}[({index}{offset}) % {size}]", size


def side(make: Maker, scope: Scope, type_: Type) -> str:
    """An array of a type, as an expression: something parallel, a view, or again a
    branch."""
    row, value = type_.row, make.value(scope, type_)
    match make.random.randrange(7):
        case 0 | 1 | 2:
            return f"map {make.function(scope, [row], [row], 1)} {value}"
        case 3 if not row.dims:
            operator, neutral = make.operator(row.element)
            return f"scan {operator} {neutral} {value}"
        case 4:
            return f"rotate {make.scalar(scope, 'i64')} {value}"
        case 5 if make.depth_left(scope) > 1:
            return choice(make, scope.inner(), type_)
        case _:
            return value


def choice(make: Maker, scope: Scope, type_: Type) -> str:
    """A branch between computed arrays of a type."""
    picked = computed_row(make, scope, type_) if make.chance(0.7) else None
    one, guard = picked or (side(make, scope, type_), "1")
    other = side(make, scope, type_)
    chosen = condition(make, scope)
    if guard.isdecimal():
        return f"if {chosen} then ({one}) else ({other})"
    return f"if ({chosen}) && {guard} > 0 then ({one}) else ({other})"


def condition(make: Maker, scope: Scope) -> str:
    """Often one that is the same for all that is within maps."""
    outside = {name for name, _ in scope.values} >= {"flag", "n", "m", "k"}
    if outside and make.chance(0.6):
        return make.one_of("flag", "!flag", "n < m", "k % 2 == 0")
    return make.operation(scope, "bool")


def branch_of_rows(make: Maker, scope: Scope) -> None:
    """A branch whose sides are computed arrays of one type."""
    types = [t for t in make.known_types(scope) if t.dims]
    if types and make.depth_left(scope):
        type_ = make.random.choice(types[-8:])
        make.bind(scope, type_, choice(make, scope, type_))


def map_of_branches(make: Maker, scope: Scope) -> None:
    """A map whose function chooses between rows of its argument, or something else that
    is computed."""
    found = [each for each in scope.values if len(each[1].dims) > 2]
    found = found or [each for each in scope.values if len(each[1].dims) == 2]
    if not found or make.depth_left(scope) < 2:
        return
    name, type_ = make.random.choice(found[-4:])
    outer = type_.dims[0]
    same = [(n, t) for n, t in scope.values if t.dims == (outer,)] or [(name, type_)]
    arrays = [
        (name, type_),
        *make.random.choices(same, k=make.random.choice((0, 1, 1))),
    ]
    names = [make.fresh("x") for _ in arrays]
    rows = [t.row for _, t in arrays]
    inner = scope.inner(list(zip(names, rows, strict=True)))
    make.fill(inner, make.random.choice((0, 0, 1)))
    wanted = type_.row.row if type_.row.row.dims else type_.row
    chosen = make.bind(inner, wanted, choice(make, inner, wanted))
    make.fill(inner, make.random.choice((0, 0, 1)))
    function = f"(\\{' '.join(names)} -> {finished(inner, [chosen])})"
    text = mapped([n for n, _ in arrays], function)
    make.bind(scope, wanted.of(outer), text)
