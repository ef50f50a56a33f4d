"""Statements that write: updates, scatters and histograms."""

from __future__ import annotations

from tests.random_sources.maker import I64, Maker, Scope, factor, mapped


def update(make: Maker, scope: Scope) -> None:
    found = make.array(scope)
    if found is None:
        return
    name, type_ = found
    size, value = factor(type_.dims[0]), make.value(scope, type_.row)
    text = (
        f"if {size} == 0 then copy {name} else "
        f"(copy {name}) with [{make.index(scope, size)}] = {value}"
    )
    make.bind(scope, type_, text)


def histogram(make: Maker, scope: Scope) -> None:
    found, target = make.arrays(scope), make.array(scope, most=2)
    if found is None or target is None:
        return
    (arrays, types), (name, type_) = found, target
    if not set(type_.row.dims) <= set(scope.sizes):
        return
    function = make.function(scope, [t.row for t in types], [I64, type_.row], 2)
    operator, neutral = make.operator(type_.element)
    if type_.row.dims:
        operator = f"(map2 {operator})"
        neutral = f"(replicate {factor(type_.row.dims[0])} {neutral})"
    at, values = make.fresh("h"), make.fresh("h")
    scope.lines.append(f"let ({at}, {values}) = unzip ({mapped(arrays, function)})")
    text = f"reduce_by_index (copy {name}) {operator} {neutral} {at} {values}"
    make.bind(scope, type_, text)


def scatter(make: Maker, scope: Scope) -> None:
    found, target = make.arrays(scope), make.array(scope, most=2)
    if found is None or target is None:
        return
    (arrays, types), (name, type_) = found, target
    if not set(type_.row.dims) <= set(scope.sizes):
        return
    outer = factor(types[0].dims[0])
    function = make.function(scope, [t.row for t in types], [type_.row], 2)
    place = make.one_of("i", "2 * i", "i - 1", f"{outer} - 1 - i", "3 - i")
    places = f"(map (\\i -> {place}) (iota {outer}))"
    values = f"({mapped(arrays, function)})"
    make.bind(scope, type_, f"scatter (copy {name}) {places} {values}")
