"""Soacs: the core with second-order array combinators.

One form carries scan, reduce and map at once, because fusion brings them together:

    (scanned.., reduced.., mapped..) = screma(width, arrays, scans, reduces, lambda)

The lambda gets one element (row) of each array and returns the operands of the scans,
then those of the reduces, then the elements of the mapped results. `map_`, `redomap`
and `scanomap` are the constructors with the usual names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, TypeVar

from minifut.ir.core import Atom, Body, Lambda, Stm
from minifut.ir.node import divided, node, replace
from minifut.ir.sizes import Size
from minifut.names import Name

T = TypeVar("T")


@node
class Scan:
    """An associative operator with its neutral element, as an inclusive scan."""

    printed = "scan({operator}, {neutral})"
    operator: Lambda
    neutral: tuple[Atom, ...]


@node
class Reduce:
    """An associative operator with its neutral element."""

    printed = "reduce{commutative?}({operator}, {neutral})"
    operator: Lambda
    neutral: tuple[Atom, ...]
    commutative: bool = False


@node
class Screma:
    """Results: those of the scans (arrays), of the reduces, of the map (arrays)."""

    printed = "{head}({width}, {arrays},~<*{scans},~><*{reduces},~>{function})"
    width: Size
    arrays: tuple[Name, ...]
    scans: tuple[Scan, ...]
    reduces: tuple[Reduce, ...]
    function: Lambda

    @property
    def head(self) -> Literal["map", "redomap", "scanomap", "screma"]:
        """The name of the constructor that makes such a one."""
        if self.is_map:
            return "map"
        if self.is_redomap:
            return "redomap"
        return "scanomap" if self.is_scanomap else "screma"

    @property
    def folds(self) -> tuple[Scan | Reduce, ...]:
        """The scans, then the reduces."""
        return (*self.scans, *self.reduces)

    @property
    def is_map(self) -> bool:
        return not self.scans and not self.reduces

    @property
    def is_redomap(self) -> bool:
        return bool(self.reduces) and not self.scans

    @property
    def is_scanomap(self) -> bool:
        return bool(self.scans) and not self.reduces


def map_(width: Size, arrays: tuple[Name, ...], function: Lambda) -> Screma:
    """A plain map."""
    return Screma(width, arrays, (), (), function)


def redomap(
    width: Size, arrays: tuple[Name, ...], reduces: tuple[Reduce, ...], function: Lambda
) -> Screma:
    """A map whose first results are reduced, the others returned as arrays."""
    return Screma(width, arrays, (), reduces, function)


def scanomap(
    width: Size, arrays: tuple[Name, ...], scans: tuple[Scan, ...], function: Lambda
) -> Screma:
    """A map whose first results are scanned, the others returned as arrays."""
    return Screma(width, arrays, scans, (), function)


@node
class ScatterDestination:
    """`array` is written at `rank`-dimensional indices; `count` values per element."""

    printed = "{array} rank {rank} count {count}"
    array: Name
    rank: int
    count: int


@node
class Scatter:
    """Writes values into copies of the destinations; indices out of bounds are ignored,
    and of several writes to one place one wins.

    The lambda returns all indices (destination by destination, value by value, `rank`
    i64 each), then all values in the same order. Results: the new arrays.
    """

    printed = "scatter({width}, {arrays}, {destinations}, {function})"
    width: Size
    arrays: tuple[Name, ...]
    destinations: tuple[ScatterDestination, ...]
    function: Lambda

    @property
    def index_count(self) -> int:
        """How many of what the lambda returns are indices."""
        return sum(d.rank * d.count for d in self.destinations)

    def writes(self, results: Sequence[T]) -> list[list[tuple[tuple[T, ...], T]]]:
        """For each destination its writes, index and value, among what the lambda
        returns."""
        ranks = [d.rank for d in self.destinations for _ in range(d.count)]
        indices = divided(results, ranks)
        pairs = list(zip(indices, results[sum(ranks) :], strict=True))
        return [
            list(own) for own in divided(pairs, [d.count for d in self.destinations])
        ]


@node
class HistOp:
    """A generalised histogram: `destinations` (structure of arrays, leading dimensions
    `shape`) are combined with `operator` at the bins that the lambda names."""

    printed = "bins({shape}, {destinations}, {neutral}, {operator})"
    shape: tuple[Size, ...]
    destinations: tuple[Name, ...]
    neutral: tuple[Atom, ...]
    operator: Lambda


class Combining(Protocol):
    """An operator of a reduction or scan."""

    @property
    def neutral(self) -> tuple[Atom, ...]: ...


def operand_count(operators: Iterable[Combining]) -> int:
    """How many values operators combine."""
    return sum(len(operator.neutral) for operator in operators)


class Histogram(Protocol):
    """An operator of a histogram."""

    @property
    def shape(self) -> tuple[Size, ...]: ...
    @property
    def destinations(self) -> tuple[Name, ...]: ...


def bins_and_values(
    operators: Sequence[Histogram], results: Sequence[T]
) -> list[tuple[tuple[T, ...], tuple[T, ...]]]:
    """For each operator its bin and its values, among what the lambda returns."""
    ranks = [len(operator.shape) for operator in operators]
    counts = [len(operator.destinations) for operator in operators]
    values = divided(results[sum(ranks) :], counts)
    return list(zip(divided(results, ranks), values, strict=True))


@node
class Hist:
    """`reduce_by_index`: the lambda returns for each operator its bin (len(shape) i64
    each), operators in order, then all values in order. Bins out of bounds are ignored.
    """

    printed = "hist({width}, {arrays},~<*{operators},~>{function})"
    width: Size
    arrays: tuple[Name, ...]
    operators: tuple[HistOp, ...]
    function: Lambda


Soac: TypeAlias = Screma | Scatter | Hist
SOAC_EXPRESSIONS = (Screma, Scatter, Hist)


def soac_of(statement: Stm) -> Soac:
    """The SOAC of a statement that has one."""
    assert isinstance(statement.exp, SOAC_EXPRESSIONS)
    return statement.exp


def writes_of_both(first: Scatter, second: Scatter) -> Scatter:
    """Two scatters of as many elements in one, the writes of the first first."""
    f, g = first.function, second.function

    def of_both(own: tuple[T, ...], others: tuple[T, ...]) -> tuple[T, ...]:
        groups = zip(first.writes(own), second.writes(others), strict=True)
        writes = [write for a, b in groups for write in a + b]
        indices = [part for index, _ in writes for part in index]
        return (*indices, *[value for _, value in writes])

    destinations = tuple(
        replace(a, count=a.count + b.count)
        for a, b in zip(first.destinations, second.destinations, strict=True)
    )
    statements = f.body.statements + g.body.statements
    body = Body(statements, of_both(f.body.result, g.body.result))
    results = of_both(f.results, g.results)
    function = Lambda(f.parameters + g.parameters, body, results)
    return Scatter(first.width, first.arrays + second.arrays, destinations, function)
