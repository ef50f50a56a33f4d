"""Statements on records, tuples and sums."""

from __future__ import annotations

from tests.random_sources.maker import Maker, Scope, Type, factor, finished, mapped


def record(make: Maker, scope: Scope) -> None:
    """A record within a tuple within a record, with a field replaced."""
    types = [make.known_type(scope) for _ in range(3)]
    a, b, c = (make.value(scope, type_) for type_ in types)
    name = make.fresh("r")
    scope.lines.append(f"let {name} = {{a = {a}, b = ({b}, {{c = {c}}})}}")
    if make.chance(0.6):
        new = make.value(scope, types[0])
        scope.lines.append(f"let {name} = {name} with a = {new}")
    fields = (f"{name}.a", f"{name}.b.0", f"{name}.b.1.c")
    for field, type_ in zip(fields, types, strict=True):
        if make.chance(0.7):
            make.bind(scope, type_, field)


def map_of_records(make: Maker, scope: Scope) -> None:
    """An array of records, consumed by a second map, or by a reduction over it."""
    found = make.arrays(scope)
    if found is None:
        return
    arrays, types = found
    parts = [make.result_type(scope) for _ in range(2)]
    names = [make.fresh("x") for _ in arrays]
    inner = scope.inner(list(zip(names, [t.row for t in types], strict=True)))
    body = make.body_of(inner, parts, 2, "{{u = {}, v = {}}}")
    name, outer = make.fresh("r"), types[0].dims[0]
    function = f"(\\{' '.join(names)} -> {body})"
    scope.lines.append(f"let {name} = {mapped(arrays, function)}")
    if make.chance(0.5):
        make.bind(scope, parts[0].of(outer), f"map (\\r -> r.u) {name}")
    element = Type(make.element())
    u, v = make.fresh("x"), make.fresh("x")
    given = [(u, parts[0]), (v, parts[1])]
    body = make.body(scope.inner(given), [element], 2)
    pattern = make.one_of(f"{{u = {u}, v = {v}}}", f"{{v = {v}, u = {u}}}")
    make.bind(scope, element.of(outer), f"map (\\{pattern} -> {body}) {name}")


def fold_of_records(make: Maker, scope: Scope) -> None:
    """A reduction or scan whose operator works on records."""
    found = make.array(scope, most=1)
    if found is None:
        return
    array, type_ = found
    element = "i64" if type_.element == "bool" else type_.element
    (one, unit), (two, other) = make.operator(element), make.operator("i32")
    operator = "(\\p q -> {s = p.s `op` q.s, t = p.t `oq` q.t})"
    value = make.scalar(scope.inner(), element) if element != type_.element else "x"
    number = make.scalar(scope, "i32")
    zipped = (
        f"(map (\\x -> {{s = {value}, t = if x == x then {number} else 1}}) {array})"
    )
    word, outer = make.one_of("reduce", "scan"), type_.dims[0]
    name = make.fresh("r")
    neutral = f"{{s = {unit}, t = {other}}}"
    folded = f"let op = {one} let oq = {two} in {word} {operator} {neutral} {zipped}"
    scope.lines.append(f"let {name} = ({folded})")
    for field, part in (("s", Type(element)), ("t", Type("i32"))):
        if word == "reduce":
            make.bind(scope, part, f"{name}.{field}")
        else:
            make.bind(scope, part.of(outer), f"map (.{field}) {name}")


def loop_of_records(make: Maker, scope: Scope) -> None:
    """A loop that carries a record and updates one field, or both."""
    types = [make.known_type(scope) for _ in range(2)]
    a, b = (make.value(scope, type_) for type_ in types)
    name, index = make.fresh("r"), make.fresh("k")
    x, y = make.fresh("x"), make.fresh("x")
    inner = scope.inner([(x, types[0]), (y, types[1]), (index, Type("i64"))])
    new = make.random.choice(("{r} with a = {0}", "{{a = {0}, b = {1}}}"))
    body = make.body_of(inner, types, 2, new.replace("{r}", name))
    bound = make.one_of("2", "3", *scope.sizes)
    scope.lines.append(
        f"let {name} = loop {name} = {{a = {a}, b = {b}}} for {index} < {bound} do "
        f"let {x} = {name}.a let {y} = {name}.b {'' if body.startswith('let') else 'in '}"
        f"{body}"
    )
    make.bind(scope, types[0], f"{name}.a")
    make.bind(scope, types[1], f"{name}.b")


def sum_type(make: Maker, scope: Scope) -> None:
    """A value of a sum type, or an array of such values, taken apart by a match."""
    one, two = make.known_type(scope), Type(make.element())
    whole = f"(#none | #one ({one}) | #two ({two}) i64)"
    result = make.known_type(scope)
    conditions = [make.operation(scope, "bool") for _ in range(2)]
    value = make.value(scope, one)
    made = (
        f"if {conditions[0]} then #one {value} else if {conditions[1]} then "
        f"#two {make.scalar(scope, two.element)} {make.scalar(scope, 'i64')} else #none"
    )
    v, w, k = make.fresh("x"), make.fresh("x"), make.fresh("x")
    cases = (
        f"case #none -> {make.body(scope.inner(), [result], 1)} "
        f"case #one {v} -> {make.body(scope.inner([(v, one)]), [result], 2)} "
        f"case #two {w} {k} -> "
        f"{make.body(scope.inner([(w, two), (k, Type('i64'))]), [result], 2)}"
    )
    name = make.fresh("s")
    scope.lines.append(f"let {name}: {whole} = {made}")
    make.bind(scope, result, f"(match {name} {cases})")


def map_of_sums(make: Maker, scope: Scope) -> None:
    """A map to a sum type, and a map that matches."""
    found = make.array(scope, most=2)
    if found is None or make.depth_left(scope) < 2:
        return
    array, type_ = found
    x, s, w, k = (make.fresh("x") for _ in range(4))
    inner = scope.inner([(x, type_.row)])
    two, result = Type(make.element()), Type(make.element())
    whole = f"(#left ({two}) | #right ({two}) i64 | #neither)"
    make.fill(inner, make.random.randint(0, 2))
    condition, other = (make.operation(inner, "bool") for _ in range(2))
    a, b = (make.value(inner, two) for _ in range(2))
    chosen = (
        f"if {condition} then #left {a} else if {other} "
        f"then #right {b} {make.scalar(inner, 'i64')} else #neither"
    )
    name = make.fresh("s")
    text = finished(inner, [chosen])
    scope.lines.append(f"let {name} = map (\\{x} : {whole} -> {text}) {array}")
    left = make.body(scope.inner([(w, two)]), [result], 2)
    right = make.body(scope.inner([(w, two), (k, Type("i64"))]), [result], 2)
    cases = (
        f"case #left {w} -> {left} case #right {w} {k} -> {right} "
        f"case #neither -> {make.scalar(scope, result.element)}"
    )
    outer = factor(type_.dims[0])
    make.bind(
        scope,
        result.of(type_.dims[0]),
        f"(map (\\({s}: {whole}) -> match {s} {cases}) {name} :> [{outer}]{result})",
    )
