"""Statements that reduce and scan."""

from __future__ import annotations

from tests.random_sources.maker import (
    DEEPEST,
    I64,
    Maker,
    Scope,
    Type,
    factor,
    mapped,
)

GREATEST = "(\\(v, i) (w, j) -> if v > w || (v == w && i < j) then (v, i) else (w, j))"
COMPOSED = "(\\(a, b) (c, d) -> (a * c, b * c + d))"
SEGMENTED = "(\\(f, v) (g, w) -> (f || g, if g then w else v + w))"


def folded(make: Maker, scope: Scope) -> tuple[str, Type] | None:
    """An array of scalars, or a map over arrays of the scope, that is to be folded."""
    found = make.arrays(scope)
    if found is None:
        return None
    arrays, types = found
    if not types[0].row.dims and make.chance(0.3):
        return arrays[0], types[0]
    element = make.element()
    function = make.function(scope, [t.row for t in types], [Type(element)], 2)
    return f"({mapped(arrays, function)})", Type(element, types[0].dims[:1])


def reduce(make: Maker, scope: Scope) -> None:
    found = folded(make, scope)
    if found is None:
        return
    operator, neutral = make.operator(found[1].element)
    word = make.one_of("reduce", "reduce", "reduce_comm")
    make.bind(scope, found[1].row, f"{word} {operator} {neutral} {found[0]}")


def scan(make: Maker, scope: Scope) -> None:
    found = folded(make, scope)
    if found is not None:
        operator, neutral = make.operator(found[1].element)
        make.bind(scope, found[1], f"scan {operator} {neutral} {found[0]}")


def pairs(make: Maker, scope: Scope) -> None:
    """Operators on pairs: the place of a maximum, functions composed, segments."""
    found = folded(make, scope)
    if found is None:
        return
    array, type_ = found
    element, outer = type_.element, type_.dims[0]
    name = make.fresh("p")
    scope.lines.append(f"let {name} = {array}")
    if element in ("i32", "i64") and make.chance(0.4):
        operator, neutral = COMPOSED, f"(1{element}, 0{element})"
        zipped, types = f"(map (\\v -> (v % 3, v)) {name})", [type_.row, type_.row]
    elif element != "bool" and make.chance(0.5):
        operator, neutral = SEGMENTED, f"(false, 0{element})"
        flags = make.function(scope, [type_.row], [Type("bool")], 1)
        zipped, types = f"(zip (map {flags} {name}) {name})", [Type("bool"), type_.row]
    elif element != "bool":
        operator, neutral = GREATEST, f"({element}.lowest, i64.highest)"
        zipped, types = f"(zip {name} (iota {factor(outer)}))", [type_.row, I64]
    else:
        return
    if make.chance(0.5):
        make.bind_all(scope, types, f"reduce {operator} {neutral} {zipped}")
    else:
        text = f"scan {operator} {neutral} {zipped}"
        make.bind_all(scope, [t.of(outer) for t in types], text, unzip=True)


def rows(make: Maker, scope: Scope) -> None:
    """A reduction or scan whose operator works on rows."""
    found = make.array(scope, most=2)
    if found is None or not found[1].row.dims:
        return
    name, type_ = found
    operator, neutral = make.operator(type_.element)
    neutrals = f"(replicate {factor(type_.row.dims[0])} {neutral})"
    if make.chance(0.6):
        text = f"reduce (map2 {operator}) {neutrals} {name}"
        make.bind(scope, type_.row, text)
    else:
        make.bind(scope, type_, f"scan (map2 {operator}) {neutrals} {name}")


def affine(make: Maker, scope: Scope) -> None:
    """A fold, scan or histogram by an operator on arrays that is no map: maps
    x -> p[0] * x + p[i] are composed, of few or of many i."""
    element = make.one_of("i32", "i64", "u8", "i16")
    matrix = make.find(scope, lambda t: len(t.dims) == 2 and t.element == element)
    shape = dict(scope.values)[matrix].dims if matrix else ()
    if matrix is None or make.chance(0.6):
        array = make.find(scope, lambda t: len(t.dims) == 1 and t.element == element)
        if array is None:
            return
        few = make.random.randint(1, 4)
        shape = (*dict(scope.values)[array].dims, str(few))
        entries = [make.one_of("v", "v % 3", make.literal(element)) for _ in range(few)]
        rows_ = f"(map (\\v -> [{', '.join(entries)}]) {array})"
        sums = [f"first[0] * second[{i}] + first[{i}]" for i in range(1, few)]
        operator = f"(\\first second -> [{', '.join(['first[0] * second[0]', *sums])}])"
        neutral = f"[{', '.join([f'1{element}', *['0'] * (few - 1)])}]"
    else:
        rows_, size = matrix, factor(shape[1])
        inner = "\\x y i -> first[0] * y + (if i == 0 then 0 else x)"
        operator = f"(\\first second -> map3 ({inner}) first second (iota {size}))"
        neutral = f"(tabulate {size} (\\i -> if i == 0 then 1 else 0{element}))"
    row = Type(element, shape[1:])
    match make.one_of("reduce", "scan", "bins"):
        case "reduce":
            make.bind(scope, row, f"reduce {operator} {neutral} {rows_}")
        case "scan":
            text = f"scan {operator} {neutral} {rows_}"
            make.bind(scope, row.of(shape[0]), text)
        case _:
            places = f"(map (\\i -> i % 4 - 1) (iota {factor(shape[0])}))"
            bins = f"(replicate 3 {make.value(scope, row)})"
            # bins need an operator that commutes
            each = "map3 (\\x y i -> if i == 0 then x * y else x + y)"
            operator = (
                f"(\\first second -> {each} first second (iota {factor(shape[1])}))"
            )
            text = f"reduce_by_index {bins} {operator} {neutral} {places} {rows_}"
            make.bind(scope, row.of("3"), text)


def table(make: Maker, scope: Scope) -> None:
    """A fold or a map over a small literal, at each element of an array."""
    found = make.array(scope, most=2)
    if found is None:
        return
    name, type_ = found
    key, result = Type(make.element()), Type(make.element())
    count = make.random.randint(1, 4)
    keys = ", ".join(make.literal(key.element) for _ in range(count))
    row = make.fresh("z")
    inner = scope.inner([(row, type_.row)])
    function = make.function(inner, [key], [result], 1)
    if make.chance(0.3):
        result, text = result.of(str(count)), f"map {function} [{keys}]"
    else:
        operator, neutral = make.operator(result.element)
        text = f"reduce {operator} {neutral} (map {function} [{keys}])"
    make.bind(scope, result.of(type_.dims[0]), f"map (\\{row} -> {text}) {name}")


def product(make: Maker, scope: Scope) -> None:
    """Rows of one matrix combined with rows of another one, as in a product."""
    matrices = [each for each in scope.values if len(each[1].dims) == 2]
    if not matrices:
        return
    name, type_ = make.random.choice(matrices[-8:])
    depth = type_.dims[1]
    others = [
        (text, rows_)
        for other, t in matrices
        for text, rows_ in ((other, t.dims), (f"(transpose {other})", t.dims[::-1]))
        if rows_[1] == depth and t.element == type_.element
    ]
    other, shape = make.random.choice(others)
    row = Type(type_.element, (depth,))
    element = Type(make.element())
    narrow = Scope(scope.values, scope.sizes, DEEPEST)  # it is called very often
    combine = make.function(narrow, [row.row, row.row], [element], 1)
    operator, neutral = make.operator(element.element)
    inner = f"reduce {operator} {neutral} (map2 {combine} r c)"
    if make.chance(0.2):
        inner = f"({make.scalar(scope, element.element)}, {inner})"
        text = f"map (\\r -> unzip (map (\\c -> {inner}) {other})) {name}"
        types = [element.of(shape[0]).of(type_.dims[0])] * 2
        make.bind_all(scope, types, text, unzip=True)
        return
    text = f"map (\\r -> map (\\c -> {inner}) {other}) {name}"
    make.bind(scope, element.of(shape[0]).of(type_.dims[0]), text)
