"""Statements that differentiate, in both modes, and compare the modes.

    let f = \\v -> let d1 = map (\\x -> x * x) v let d2 = scan (+) 0 d1 in d2
    let g = vjp f xs ys    let j = jvp f xs dxs
    let g = assert (sum (ys * j) == sum (g * dxs)) g

Functions are polynomials of low degree of small whole numbers, so that f64 holds all
that occurs.
"""

from __future__ import annotations

from tests.random_sources.maker import Maker, Scope, Type, factor


def derivative(make: Maker, scope: Scope) -> None:
    found = [
        (name, type_)
        for name, type_ in scope.values
        if len(type_.dims) == 1 and type_.element in ("i32", "i64", "i16", "u8")
    ]
    if not found or make.depth_left(scope) < 2:
        return
    name, type_ = make.random.choice(found[-6:])
    size = factor(type_.dims[0])
    x, dx, dy, f, g = (make.fresh(base) for base in ("v", "v", "v", "df", "g"))
    number = f"f64.{type_.element}"
    scope.lines += [
        f"let {x} = map (\\e -> {number} (e % 4)) {name}",
        f"let {dx} = map (\\i -> f64.i64 (i % 3)) (iota {size})",
        f"let {dy} = map (\\i -> f64.i64 (2 - i % 4)) (iota {size})",
        f"let {f} = \\(v: [{size}]f64) -> {_function(make, scope, size)}",
    ]
    result = Type("f64", type_.dims)
    scope.lines.append(f"let {g} = vjp {f} {x} {dy}")
    make.bind(scope, result, f"jvp {f} {x} {dx}")
    j = scope.values[-1][0]
    if make.chance(0.5):  # at a second place, under a map
        c = make.one_of("1.0", "2.0")
        text = f"map (\\c -> f64.sum (jvp {f} (map (* c) {x}) {dx})) [0.0, {c}, -1.0]"
        make.bind(scope, Type("f64", ("3",)), text)
    make.bind(
        scope,
        result,
        f"assert (f64.sum (map2 (*) {dy} {j}) == f64.sum (map2 (*) {g} {dx})) {g}",
    )


def _function(make: Maker, scope: Scope, size: str) -> str:
    """Steps on vectors, of which few multiply."""
    lines, last, products = [], "v", 0
    values = ["v"]
    for _ in range(make.random.randint(1, 4)):
        c = make.one_of("0.5", "2.0", "-1.0", "3.0")
        other = make.random.choice(values)
        steps = [
            f"map (\\x -> {c} * x + 1) {last}",
            f"scan (+) 0 {last}",
            f"rotate 1 {last}",
            f"map2 (\\x y -> x - {c} * y) {last} {other}",
            f"map (\\x -> if x < {c} then {c} * x else x + 1) {last}",
            f"map (\\i -> {last}[(2 * i) % {size}]) (iota {size})",
            f"loop w = {last} for k < 2 do map2 (+) w {other}",
            f"reduce_by_index (replicate {size} 0) (+) 0 "
            f"(map (% 2) (iota {size})) {last}",
            f"let t = f64.sum {last} in map (+ t) {other}",
            f"copy {last} with [::-1] = map (* {c}) {last}",
            f"tabulate {size} (\\i -> f64.sum (map (\\x -> x + {last}[i]) {other}))",
        ]
        if products < 1 and make.chance(0.5):
            products += 1
            steps = [
                f"map (\\x -> x * x) {last}",
                f"map2 (*) {last} {other}",
                f"map (\\x -> x * {last}[0]) {other}",
            ]
        name = make.fresh("d")
        lines.append(f"let {name} = {make.random.choice(steps)}")
        values.append(name)
        last = name
    return f"{' '.join(lines)} in {last}"
