"""Filters, recognised in what they became.

    let (offsets, keep) = scanomap(n, (xs), scan(+), \\x -> (i64 k, k))   k: x is kept
    let m = if n == 0 then 0 else offsets[n - 1]
    let all = scatter(n, (keep, offsets, xs), scratch [n],
                      \\k o x -> (if k then o - 1 else -1, x))
    let ys: [m]t = all[0 :+ m]

A chunk of the result is the same over the chunk, so that the sizes of its chunks are
known only when they are there. m is the sum of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minifut.distributed.chunked import ChunkedSizes
from minifut.distributed.locality import check_elementwise
from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, Constant, Stm
from minifut.ir.soacs import Scatter, Screma
from minifut.ir.traverse import substitute
from minifut.names import Name, NameSource
from minifut.passes.simplify.views import is_whole

CoreDefinitions = Mapping[Name, Stm]
"""the statement that binds each name of the host's body"""


@dataclass(frozen=True, slots=True)
class Filter:
    """`scan`: the prefix sums `offsets` of which elements are kept; `count`: how many
    are; `scatter`: the results before `cuts` cut them to size."""

    scan: Stm
    offsets: Name
    count: Stm
    scatter: Stm
    cuts: tuple[Stm, ...]

    @property
    def statements(self) -> tuple[Stm, ...]:
        """All that it consists of."""
        return (self.scan, self.count, self.scatter, *self.cuts)


def find_filters(statements: Sequence[Stm], chunked: ChunkedSizes) -> list[Filter]:
    """All filters of chunks among the statements."""
    defined = {p.name: s for s in statements for p in s.pattern}
    cuts: dict[int, list[Stm]] = {}
    for statement in statements:
        exp = statement.exp
        if isinstance(exp, core.Index) and isinstance(exp.slice[0], core.DimSlice):
            scatter = defined.get(exp.array)
            if scatter is not None and isinstance(scatter.exp, Scatter):
                cuts.setdefault(id(scatter), []).append(statement)
    found = []
    for group in cuts.values():
        made = _filter(group, defined, chunked)
        if made is not None:
            found.append(made)
    return found


def _filter(
    cuts: Sequence[Stm], defined: CoreDefinitions, chunked: ChunkedSizes
) -> Filter | None:
    """The filter whose results these are; None if it is something else."""
    first: core.Index = cuts[0].exp  # type: ignore[assignment]
    scatter = defined[first.array]
    exp: Scatter = scatter.exp  # type: ignore[assignment]
    at = first.slice[0]
    assert isinstance(at, core.DimSlice)
    count = at.length.as_name
    if count is None or count not in defined or chunked.factors(exp.width) is None:
        return None
    offsets = _offsets_of_count(defined[count])
    scan = None if offsets is None else defined.get(offsets)
    if offsets is None or scan is None or not _compacts(exp, scan, offsets, defined):
        return None
    if not all(_from_zero(cut.exp, at) for cut in cuts):
        return None
    return Filter(scan, offsets, defined[count], scatter, tuple(cuts))


def _from_zero(cut: object, at: core.DimSlice) -> bool:
    first = cut.slice[0] if isinstance(cut, core.Index) else None
    return is_whole(first, at.length)


def _offsets_of_count(count: Stm) -> Name | None:
    """The array that the count is the last element of, 0 if there is none."""
    if not isinstance(count.exp, core.If) or len(count.pattern) != 1:
        return None
    for empty, full in (
        (count.exp.then, count.exp.otherwise),
        (count.exp.otherwise, count.exp.then),
    ):
        if empty.result != (i64(0),) or not full.statements:
            continue
        last = full.statements[-1]
        if (
            not isinstance(last.exp, core.Index)
            or last.pattern[0].name != full.result[0]
        ):
            continue
        return last.exp.array
    return None


def _compacts(exp: Scatter, scan: Stm, offsets: Name, defined: CoreDefinitions) -> bool:
    """Whether every kept element is written to its prefix sum, less one."""
    if any(
        d.rank != 1 or not isinstance(defined[d.array].exp, core.Scratch)
        for d in exp.destinations
        if d.array in defined
    ):
        return False
    source = dict(
        zip((p.name for p in exp.function.parameters), exp.arrays, strict=True)
    )
    local = {p.name: s for s in exp.function.body.statements for p in s.pattern}
    positions = exp.index_count
    for index in exp.function.body.result[:positions]:
        pair = _position(index, local)
        if pair is None:
            return False
        flag, offset = (source.get(name) for name in pair)
        if offset != offsets or not _counts(scan, flag, offsets):
            return False
    return True


def _position(index: Atom, local: CoreDefinitions) -> tuple[Name, Name] | None:
    """(flag, offset) where the index is `if flag then offset - 1 else -1`."""
    made = local.get(index) if isinstance(index, Name) else None
    if made is None or not isinstance(made.exp, core.If):
        return None
    then, otherwise = made.exp.then, made.exp.otherwise
    if otherwise.result != (Constant(-1, i64(0).type),) or not then.statements:
        return None
    step = then.statements[-1]
    condition, exp = made.exp.condition, step.exp
    if not isinstance(exp, core.ScalarOp) or str(exp.operator) != "sub_i64":
        return None
    offset, one = exp.operands
    right = one == i64(1) and isinstance(offset, Name) and isinstance(condition, Name)
    return (condition, offset) if right else None  # type: ignore[return-value]


def _counts(scan: Stm, flag: Name | None, offset: Name) -> bool:
    """Whether `offset` is the scan's result over the numbers of the flags `flag`."""
    exp = scan.exp
    if not isinstance(exp, Screma):
        return False
    names = [p.name for p in scan.pattern]
    if offset not in names or flag not in names:
        return False
    at = names.index(offset)
    if at >= len(exp.scans) or len(exp.scans[at].neutral) != 1:
        return False
    operator = exp.scans[at].operator.body
    adds = (
        len(operator.statements) == 1
        and isinstance(operator.statements[0].exp, core.ScalarOp)
        and str(operator.statements[0].exp.operator) == "add_i64"
    )
    result = exp.function.body.result
    number, truth = result[at], result[names.index(flag)]
    for statement in exp.function.body.statements:
        if statement.pattern and statement.pattern[0].name == number:
            converted = statement.exp
            return (
                adds
                and isinstance(converted, core.ScalarOp)
                and str(converted.operator) == "convert_bool_i64"
                and converted.operands == (truth,)
            )
    return False


def on_chunk(
    found: Filter, chunked: ChunkedSizes, names: NameSource
) -> tuple[tuple[Stm, ...], Name]:
    """What a chunk does, with the program's names for the results, and the name of the
    number of elements that it keeps, which is the size of the results there."""
    exp = found.scan.exp
    assert isinstance(exp, Screma) and isinstance(found.scatter.exp, Scatter)
    check_elementwise(exp.function, chunked)
    check_elementwise(found.scatter.exp.function, chunked)
    build = Builder(names, chunked.scope, found.scan.location)
    renamed = build.copy(found.scan)
    build.append(renamed)
    fresh = dict(
        zip(
            (p.name for p in found.scan.pattern),
            (p.name for p in renamed.pattern),
            strict=True,
        )
    )
    whole = build.size_atom(chunked.on_chunk(exp.width))
    empty = build.op("eq", whole, i64(0))
    inner = build.nested()
    last = inner.index(fresh[found.offsets], inner.sub(whole, i64(1)))
    count = build.let(core.If(empty, Body((), (i64(0),)), inner.finish(last)), "count")
    scatter = build.copy(substitute(found.scatter, fresh))
    build.append(scatter)
    places = {
        old.name: new.name
        for old, new in zip(found.scatter.pattern, scatter.pattern, strict=True)
    }
    cuts = [substitute(cut, places) for cut in found.cuts]
    return (*build.statements, *cuts), count
