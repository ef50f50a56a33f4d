"""Statements whose loops run on the host: scalars that kernels compute and later rounds
use, blocks updated in place, indices by exclusive or, and compaction by a scan."""

from __future__ import annotations

from tests.random_sources.maker import ELEMENTS, I64, Maker, Scope, Type, factor

SCALARS = (*ELEMENTS, "i8", "u16", "u32", "u64", "f16")


def scalar_feedback(make: Maker, scope: Scope) -> None:
    """A loop whose rounds reduce an array to a scalar, choose by it, check, and map
    with what was chosen."""
    found = make.array(scope, most=1)
    if found is None or make.depth_left(scope) < 2:
        return
    array, type_ = found
    element, n = make.one_of(*SCALARS), factor(type_.dims[0])
    own = Type(element)
    name, last, count, index = (make.fresh(base) for base in ("c", "s", "s", "k"))
    given = [(name, type_), (last, own), (count, I64), (index, I64)]
    inner = scope.inner(given)
    operator, neutral = make.operator(element)
    weighed = f"map {make.function(inner, [type_.row], [own], 1)} {name}"
    make.bind(inner, own, f"reduce {operator} {neutral} ({weighed})")
    for _ in range(make.random.randint(0, 2)):
        nested = make.operation(inner, element)
        if make.chance(0.6):
            nested = f"if {make.operation(inner, 'bool')} then {nested} else {last}"
        other = make.operation(inner, element)
        condition = make.operation(inner, "bool")
        make.bind(inner, own, f"if {condition} then ({nested}) else ({other})")
    if make.chance(0.4):
        number = f"({make.scalar(inner, 'i64')} % 9)"
        make.bind(inner, I64, f"assert ({number} < 9 && {count} == {count}) {number}")
    if make.chance(0.4):
        at = f"{name}[({count}) % {n}]"
        none = make.literal(type_.element)
        make.bind(inner, type_.row, f"if {n} == 0 then {none} else {at}")
    mapped = f"map {make.function(inner, [type_.row], [type_.row], 2)} {name}"
    results = [mapped, make.scalar(inner, element), make.scalar(inner, "i64")]
    start = f"({array}, {make.scalar(scope, element)}, {make.scalar(scope, 'i64')})"
    bound = make.one_of(
        "2", "5", f"i64.min 9 {n}", f"({make.scalar(scope, 'i64')} & 7)"
    )
    body = " ".join([*inner.lines, f"in ({', '.join(results)})"])
    text = f"loop ({name}, {last}, {count}) = {start} for {index} < {bound} do {body}"
    make.bind_all(scope, [type_, own, I64], text)


def block_updates(make: Maker, scope: Scope) -> None:
    """A loop that updates slices of an array by maps of other slices of it, which
    overlap, are empty, or run backwards."""
    found = make.array(scope, most=2)
    if found is None or make.depth_left(scope) < 2:
        return
    array, type_ = found
    n, name, index = factor(type_.dims[0]), make.fresh("c"), make.fresh("k")
    inner = scope.inner([(index, I64)])
    for _ in range(make.random.randint(1, 3)):
        at = make.bind(
            inner, I64, f"({make.scalar(inner, 'i64')} + {index}) % ({n} + 1)"
        )
        inner.lines.append(f"let {name} = {_updated(make, inner, name, type_, at)}")
    bound = make.one_of(
        "2", "4", f"i64.min 6 {n}", f"({make.scalar(scope, 'i64')} & 3)"
    )
    body = " ".join([*inner.lines, f"in {name}"])
    text = f"loop {name} = copy {array} for {index} < {bound} do {body}"
    make.bind(scope, type_, text)


def _updated(make: Maker, scope: Scope, name: str, type_: Type, at: str) -> str:
    """One update of a block that begins or ends at a number from 0 to the size."""
    n, row = factor(type_.dims[0]), type_.row
    function = make.function(scope, [row], [row], 1)
    function = (
        make.one_of(function, function, "(\\x -> x)") if not row.dims else function
    )
    rest = f"{n} - {at}"
    if row.dims:
        m = factor(row.dims[0])
        other = make.bind(scope, I64, f"{make.scalar(scope, 'i64')} % ({m} + 1)")
        cell = make.function(scope, [Type(row.element)], [Type(row.element)], 1)
        match make.random.randrange(4):
            case 0:
                block = f"[{at}:, :{other}]"
                source = f"map (map {cell}) {name}[:{rest}, {m} - {other}:]"
                size = f"[{rest}][{other}]{row.element}"
                return f"{name} with {block} = ({source} :> {size})"
            case 1:
                block = f"[:{at}, {other}:]"
                size = f"[{at}][{m} - {other}]{row.element}"
                source = f"map (map {cell}) {name}[{rest}:, :{m} - {other}][::-1]"
                return f"{name} with {block} = ({source} :> {size})"
            case 2:  # as an elimination
                none = f"replicate {m} {make.literal(row.element)}"
                pivot = f"(if {n} == 0 then {none} else copy {name}[{at} % {n}])"
                least = f"{row.element}.min" if row.element != "bool" else "(!=)"
                source = (
                    f"let p = {pivot} in map (\\r -> map2 {least} r p) {name}[{at}:]"
                )
                return f"let q = ({source}) :> [{rest}]{row} in {name} with [{at}:] = q"
    match make.random.randrange(3):
        case 0:
            source = f"map {function} {name}[:{rest}]"
            return f"{name} with [{at}:] = ({source} :> [{rest}]{row})"
        case 1:
            source = f"map {function} {name}[{rest}:][::-1]"
            return f"{name} with [:{at}] = ({source} :> [{at}]{row})"
        case _:
            source = f"map {function} {name}[{rest}:]"
            return f"{name} with [:{at}] = rotate 1 ({source} :> [{at}]{row})"


def butterfly(make: Maker, scope: Scope) -> None:
    """A loop that combines elements whose indices differ in one bit."""
    found = make.array(scope, most=1)
    if found is None or make.depth_left(scope) < 2:
        return
    array, type_ = found
    n = factor(type_.dims[0])
    name, bit, i, j = (make.fresh(base) for base in ("c", "k", "at", "j"))
    x, y = make.fresh("x"), make.fresh("x")
    given = [(bit, I64), (i, I64), (j, I64), (x, type_.row), (y, type_.row)]
    inner = scope.inner(given)
    one, other = (
        make.operation(inner, type_.element),
        make.operation(inner, type_.element),
    )
    bound = make.one_of("2", "3", "7")
    shift = make.one_of(bit, f"({bound} - 1 - {bit})")
    body = (
        f"tabulate {n} (\\{i} -> let {j} = {i} ^ (1 << {shift}) let {x} = {name}[{i}] "
        f"let {y} = if {j} < {n} then {name}[{j}] else {x} "
        f"in if {i} < {j} then ({one}) else ({other}))"
    )
    text = f"loop {name} = {make.one_of(array, f'copy {array}')} for {bit} < {bound} do {body}"
    make.bind(scope, type_, text)


def compaction(make: Maker, scope: Scope) -> None:
    """A scatter to places that a scan computes; what is not kept goes nowhere."""
    found = make.array(scope, most=1)
    if found is None:
        return
    array, type_ = found
    keeps = make.function(scope, [type_.row], [Type("bool")], 1)
    flags, places = make.fresh("flag"), make.fresh("o")
    target = make.one_of(f"(copy {array})", f"(map (\\x -> x) {array})")
    scope.lines += [
        f"let {flags} = map (\\x -> i64.bool ({keeps} x)) {array}",
        f"let {places} = map2 (\\f o -> if f == 1 then o - 1 else -1) {flags} "
        f"(scan (+) 0 {flags})",
    ]
    values = array
    if make.chance(0.5):
        values = f"(map {make.function(scope, [type_.row], [type_.row], 1)} {array})"
    make.bind(scope, type_, f"scatter {target} {places} {values}")
