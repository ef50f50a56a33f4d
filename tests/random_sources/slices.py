"""Statements on slices, windows and updates of slices."""

from __future__ import annotations

from tests.random_sources.maker import I64, Maker, Scope, Type, factor


def _bound(make: Maker, scope: Scope, size: str) -> str:
    """A number from 0 up to and with the size."""
    return f"({make.scalar(scope, 'i64')} % ({factor(size)} + 1))"


def sliced(make: Maker, scope: Scope) -> None:
    """A slice of a size that depends on the data, with a stride."""
    found = make.array(scope, most=3)
    if found is None:
        return
    name, type_ = found
    n = factor(type_.dims[0])
    lower, kept, size = make.fresh("b"), make.fresh("g"), make.fresh("q")
    scope.lines.append(f"let {lower} = {_bound(make, scope, n)}")
    upper = f"{lower} + ({make.scalar(scope, 'i64')} % ({n} - {lower} + 1))"
    slice_ = make.one_of(
        f"[{lower}:]", f"[:{lower}]", f"[{lower}:{upper}]", f"[{lower}:{upper}:2]",
        f"[{lower}::3]", "[::2]", "[::-1]", f"[{n}/2:]",
    )  # fmt: skip
    if len(type_.dims) > 1 and make.chance(0.3):
        slice_ = f"{slice_[:-1]}, ::-1]"
    left = type_.row.of(size)
    scope.lines.append(f"let [{size}] ({kept}: {left}) = {name}{slice_}")
    scope.values += [(kept, left), (size, I64)]


def column(make: Maker, scope: Scope) -> None:
    """A column of a matrix, at an index that is guarded."""
    found = [each for each in scope.values if len(each[1].dims) == 2]
    if not found:
        return
    name, type_ = make.random.choice(found[-6:])
    outer, depth = type_.dims
    result = Type(type_.element, (outer,))
    other = f"(replicate {factor(outer)} {make.literal(type_.element)})"
    index = make.index(scope, depth)
    text = f"if {factor(depth)} == 0 then {other} else {name}[:, {index}]"
    make.bind(scope, result, text)


def windows(make: Maker, scope: Scope) -> None:
    """A map over the windows of an array."""
    found = make.array(scope, most=2)
    if found is None or make.depth_left(scope) < 2:
        return
    name, type_ = found
    width = make.one_of("2", "3")
    size, index, window = make.fresh("q"), make.fresh("ix"), make.fresh("w")
    n = factor(type_.dims[0])
    scope.lines.append(f"let {size} = i64.max 0 ({n} - {int(width) - 1})")
    part = type_.row.of(width)
    result = Type(make.element())
    body = make.body(scope.inner([(index, I64), (window, part)]), [result], 2)
    text = (
        f"map (\\{index} -> let {window} = {name}[{index}:{index} + {width}] "
        f":> {part} {'' if body.startswith('let') else 'in '}{body}) (iota {size})"
    )
    scope.values.append((size, I64))
    make.bind(scope, result.of(size), text)


def updates(make: Maker, scope: Scope) -> None:
    """A copy, updated in place several times: elements, slices, of itself as well."""
    found = make.array(scope, most=2)
    if found is None:
        return
    name, type_ = found
    n, own = factor(type_.dims[0]), make.fresh("up")
    steps = [f"let {own} = copy {name}"]
    for _ in range(make.random.randint(1, 3)):
        value = make.value(scope, type_.row)
        at = make.index(scope, n)
        match make.random.randrange(4):
            case 0:
                new = f"if {n} == 0 then {own} else {own} with [{at}] = {value}"
            case 1:
                half = f"{n} / 2"
                new = f"{own} with [:{half}] = replicate ({half}) {value}"
            case 2:
                new = f"{own} with [::-1] = copy {own}"
            case _:
                other = f"copy {own}[{n} - 1]"
                new = f"if {n} == 0 then {own} else {own} with [0] = {other}"
        steps.append(f"let {own} = {new}")
    make.bind(scope, type_, f"({' '.join(steps)} in {own})")


def for_in(make: Maker, scope: Scope) -> None:
    """A loop over the elements or rows of an array."""
    found = make.array(scope, most=2)
    if found is None:
        return
    array, type_ = found
    carried = make.known_type(scope)
    name, element = make.fresh("c"), make.fresh("x")
    inner = scope.inner([(name, carried), (element, type_.row)])
    body = make.body(inner, [carried], 2)
    start = make.value(scope, carried)
    make.bind(
        scope, carried, f"loop {name} = {start} for {element} in {array} do {body}"
    )
