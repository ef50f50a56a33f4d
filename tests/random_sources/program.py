"""A whole program: declarations, the parameters of main, its statements and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.random_sources import (
    accumulators,
    composites,
    control,
    derivatives,
    folds,
    host,
    maps,
    modules,
    slices,
    writes,
)
from tests.random_sources.maker import (
    ELEMENTS,
    I64,
    Maker,
    Map,
    Scope,
    Statement,
    Type,
)

STATEMENTS: tuple[Statement, ...] = (
    maps.scalar, maps.map_, maps.map_, maps.map_, maps.map_, maps.map_, maps.map_of_map,
    maps.fresh,
    maps.view, maps.stencil, maps.element_of, maps.gathered, maps.irregular,
    maps.filtered, maps.joined,
    folds.reduce, folds.reduce, folds.reduce, folds.scan, folds.scan, folds.pairs,
    folds.rows, folds.affine, folds.table, folds.product,
    control.branch, control.branch, control.for_loop, control.filling_loop,
    control.while_loop, control.branch_of_rows, control.map_of_branches,
    control.map_of_branches, control.map_of_branches,
    writes.update, writes.histogram, writes.scatter,
    slices.sliced, slices.column, slices.windows, slices.updates, slices.for_in,
    composites.record, composites.map_of_records, composites.fold_of_records,
    composites.loop_of_records, composites.sum_type, composites.map_of_sums,
    accumulators.scatter_stream, accumulators.histogram_stream,
    host.scalar_feedback, host.block_updates, host.butterfly, host.compaction,
    modules.functor, modules.polymorphic, modules.function, derivatives.derivative,
)  # fmt: skip
NUMBERS = ELEMENTS[:-1]
EDGES = (0.0, 0.0, 0.05, 0.3)
"""how many literals of a program are edge values"""


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """`lines` are the statements of main, one each; `maps` says what those lines map
    that are one map, by the name that they bind; `make` and `scope` can make more."""

    declarations: tuple[str, ...]
    head: str
    lines: tuple[str, ...]
    results: tuple[str, ...]
    maps: Mapping[str, Map]
    make: Maker
    scope: Scope

    def __str__(self) -> str:
        lines = [*self.lines, f"in ({', '.join(self.results)})"]
        body = "\n  ".join(lines)
        return "\n".join([*self.declarations, f"{self.head} =", f"  {body}", ""])


def random_program(seed: int, small: bool = False) -> RandomProgram:
    """A program with the entry point main; equal seeds give equal ones."""
    make = Maker(seed, STATEMENTS)
    make.edges = make.random.choice(EDGES)
    one, other = make.random.choices(NUMBERS, k=2)
    given = [
        ("xs", Type("i32", ("n",))),
        ("ys", Type(one, ("n",))),
        ("zs", Type(other, ("m",))),
        ("xss", Type(one, ("n", "m"))),
        ("yss", Type(make.one_of(one, "i32"), ("m", "n"))),
        ("k", I64),
        ("flag", Type("bool")),
    ]
    if make.chance(0.5):
        dims = make.random.choice((("n", "m", "3"), ("n", "3", "m"), ("n", "m", "m")))
        given.append(("xsss", Type(other, dims)))
    make.random.shuffle(given)
    scope = Scope([("n", I64), ("m", I64), *given], ("n", "m", "3"))
    before, statements = len(scope.values), make.random.randint(2, 3 if small else 6)
    while len(scope.values) < before + statements:
        make.fill(scope, 1)
    results = [name for name, _ in scope.values[before:][-5:]]
    parameters = " ".join(f"({name}: {type_})" for name, type_ in given)
    return RandomProgram(
        tuple(make.declarations),
        f"def main [n][m] {parameters}",
        tuple(scope.lines),
        tuple(results),
        make.maps,
        make,
        scope,
    )


def random_source(seed: int) -> str:
    """The text of a random program."""
    return str(random_program(seed))
