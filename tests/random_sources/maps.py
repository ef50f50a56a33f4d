"""Statements of scalars, maps and views."""

from __future__ import annotations

from tests.random_sources.maker import I64, Maker, Map, Scope, Type, factor, mapped

ATTRIBUTES = (
    "sequential", "sequential_outer", "sequential_inner", "no_fuse", "blocked",
    "incremental_flattening(no_outer)", "incremental_flattening(only_inner)",
    "incremental_flattening(no_intra)", "incremental_flattening(only_intra)",
)  # fmt: skip


def scalar(make: Maker, scope: Scope) -> None:
    element = make.element()
    make.bind(scope, Type(element), make.operation(scope, element))


def map_(make: Maker, scope: Scope) -> None:
    found = make.arrays(scope)
    if found is None:
        return
    arrays, types = found
    number = make.random.choice((1, 1, 1, 2, 3))
    gives = [make.result_type(scope) for _ in range(number)]
    function = make.function(scope, [t.row for t in types], gives)
    text = mapped(arrays, function)
    if make.chance(0.08):
        text = f"#[{make.one_of(*ATTRIBUTES)}] {text}"
    outer = types[0].dims[0]
    names = make.bind_all(scope, [t.of(outer) for t in gives], text, unzip=True)
    if number == 1:
        make.maps[names[0]] = Map(tuple(arrays), function, gives[0].of(outer))


def map_of_map(make: Maker, scope: Scope) -> None:
    """A map, and one of what it makes."""
    before = len(scope.values)
    map_(make, scope)
    for name, type_ in scope.values[before:]:
        result = make.result_type(scope)
        function = make.function(scope, [type_.row], [result], 2)
        second = make.bind(scope, result.of(type_.dims[0]), f"map {function} {name}")
        make.maps[second] = Map((name,), function, result.of(type_.dims[0]))


def fresh(make: Maker, scope: Scope) -> None:
    size = make.random.choice(scope.sizes)
    if make.chance(0.4):
        make.bind(scope, Type("i64", (size,)), f"iota {size}")
    else:
        element = make.element()
        text = f"replicate {size} ({make.operation(scope, element)})"
        make.bind(scope, Type(element, (size,)), text)


def view(make: Maker, scope: Scope) -> None:
    found = make.array(scope)
    if found is None:
        return
    name, type_ = found
    if len(type_.dims) >= 2 and make.chance(0.7):
        first, second, *rest = type_.dims
        if make.chance(0.6) or " " in first + second:
            turned = Type(type_.element, (second, first, *rest))
            make.bind(scope, turned, f"transpose {name}")
        else:
            flat = Type(type_.element, (f"{first} * {second}", *rest))
            make.bind(scope, flat, f"flatten {name}")
        return
    by = make.scalar(scope, "i64")
    make.bind(scope, type_, make.one_of(f"reverse {name}", f"rotate {by} {name}"))


def stencil(make: Maker, scope: Scope) -> None:
    """Neighbours of elements, within the edges."""
    found = make.array(scope, most=2)
    if found is None or found[1].element == "bool":
        return
    name, type_ = found
    if len(type_.dims) == 2 and make.chance(0.5):
        n, m = (factor(d) for d in type_.dims)
        left, up = (
            f"{name}[i, i64.max 0 (j - 1)]",
            f"{name}[i64.min ({n} - 1) (i + 1), j]",
        )
        text = f"tabulate_2d {n} {m} (\\i j -> {left} + {name}[i, j] - {up})"
    elif len(type_.dims) == 1:
        n = factor(type_.dims[0])
        left, right = f"{name}[i64.max 0 (i - 1)]", f"{name}[i64.min ({n} - 1) (i + 2)]"
        text = f"tabulate {n} (\\i -> {left} + {name}[i] - {right})"
    else:
        return
    make.bind(scope, type_, text)


def element_of(make: Maker, scope: Scope) -> None:
    """An element or a row, at an index that is guarded."""
    found = make.array(scope)
    if found is None:
        return
    name, type_ = found
    size, other = factor(type_.dims[0]), make.value(scope, type_.row)
    if not set(type_.row.dims) <= set(scope.sizes):
        return
    index = make.index(scope, size)
    text = f"if {size} == 0 then {other} else {name}[{index}]"
    make.bind(scope, type_.row, text)


def gathered(make: Maker, scope: Scope) -> None:
    """Elements of one array where another one says."""
    found = make.array(scope, most=1)
    places = make.find(scope, lambda t: t.element == "i64" and len(t.dims) == 1)
    if found is None or places is None:
        return
    name, type_ = found
    size = factor(type_.dims[0])
    outer = next(t.dims[0] for n, t in reversed(scope.values) if n == places)
    nothing = make.literal(type_.element)
    text = (
        f"map (\\i -> if {size} == 0 then {nothing} else {name}[i % {size}]) {places}"
    )
    make.bind(scope, Type(type_.element, (outer,)), text)


def irregular(make: Maker, scope: Scope) -> None:
    """A nest over as many numbers as the data say, folded to what has a known size."""
    size, count = make.fresh("q"), make.scalar(scope, "i64")
    scope.lines.append(f"let {size} = {count} & 7")
    inner = scope.inner([(size, I64)])
    numbers = make.bind(inner, Type("i64", (size,)), f"iota {size}")
    make.fill(inner, make.random.randint(0, 2))
    element = make.element()
    found = make.arrays(inner)
    arrays, types = found if found else ([numbers], [Type("i64", (size,))])
    if types[0].dims[0] != size:
        arrays, types = [numbers], [Type("i64", (size,))]
    function = make.function(inner, [t.row for t in types], [Type(element)], 2)
    operator, neutral = make.operator(element)
    folded = f"reduce {operator} {neutral} ({mapped(arrays, function)})"
    text = " ".join([*inner.lines, f"in {folded}"])
    make.bind(scope, Type(element), f"({text})")


def filtered(make: Maker, scope: Scope) -> None:
    """A filter, whose size nothing knows, and something made of what is left."""
    found = make.array(scope, most=2)
    if found is None:
        return
    name, type_ = found
    if len(type_.dims) == 1:
        keep = make.function(scope, [type_.row], [Type("bool")], 2)
    else:
        keep = make.function(scope, [type_.row], [Type("bool")], 1)
    kept, size = make.fresh("g"), make.fresh("q")
    left = Type(type_.element, (size, *type_.row.dims))
    scope.lines.append(f"let [{size}] ({kept}: {left}) = filter {keep} {name}")
    scope.values.append((kept, left))
    scope.values.append((size, I64))


def joined(make: Maker, scope: Scope) -> None:
    """Two arrays of the same type, one behind the other."""
    found = make.array(scope, most=2)
    if found is None:
        return
    name, type_ = found
    row = type_.row
    other = make.find(scope, lambda t: bool(t.dims) and t.row == row)
    size, both = make.fresh("q"), make.fresh("b")
    left = row.of(size)
    scope.lines.append(f"let [{size}] ({both}: {left}) = {name} ++ {other}")
    scope.values += [(both, left), (size, I64)]
