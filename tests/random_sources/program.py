"""A whole program: the parameters of main, its statements and results."""

from __future__ import annotations

from tests.random_sources import control, folds, maps, writes
from tests.random_sources.maker import ELEMENTS, I64, Maker, Scope, Statement, Type

STATEMENTS: tuple[Statement, ...] = (
    maps.scalar, maps.map_, maps.map_, maps.map_, maps.fresh, maps.view, maps.stencil,
    maps.element_of, maps.gathered, maps.irregular, maps.filtered, maps.joined,
    folds.reduce, folds.reduce, folds.scan, folds.pairs, folds.rows, folds.product,
    control.branch, control.for_loop, control.filling_loop, control.while_loop,
    writes.update, writes.histogram, writes.scatter,
)  # fmt: skip
NUMBERS = ELEMENTS[:-1]


def random_source(seed: int) -> str:
    """The text of a program with the entry point main; equal seeds give equal ones."""
    make = Maker(seed, STATEMENTS)
    one, other = make.random.choices(NUMBERS, k=2)
    given = [
        ("xs", Type("i32", ("n",))),
        ("ys", Type(one, ("n",))),
        ("zs", Type(other, ("m",))),
        ("xss", Type(one, ("n", "m"))),
        ("yss", Type(make.one_of(one, "i32"), ("m", "n"))),
        ("k", I64),
    ]
    if make.chance(0.2):
        given.append(("xsss", Type(other, ("n", "m", "3"))))
    make.random.shuffle(given)
    scope = Scope([("n", I64), ("m", I64), *given], ("n", "m", "3"))
    before, statements = len(scope.values), make.random.randint(2, 6)
    while len(scope.values) < before + statements:
        make.fill(scope, 1)
    results = [name for name, _ in scope.values[before:][-5:]]
    parameters = " ".join(f"({name}: {type_})" for name, type_ in given)
    lines = [*scope.lines, f"in ({', '.join(results)})"]
    return f"def main [n][m] {parameters} =\n  " + "\n  ".join(lines) + "\n"
