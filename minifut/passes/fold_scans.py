r"""Pass: scans of which only the last element is read become reductions.

    let ends = scanomap(n, (xs), scan(add, 0), f)
    let last = size(n - 1)                            let sum = redomap(n, (xs),
    let sum = ends[last]                        →       reduce(add, 0), f)

Programs that number what they keep, such as words by flags at their beginnings, read
the last number for how many there are. Where they read nothing else, what is between
need not be stored. Where there are no elements, nothing reads the neutral element.

It comes before fusion, which then finds reductions to fuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, TypeAlias

from minifut.analysis.work import size_of
from minifut.ir.core import Body, Constant, Copy, Index, Param, Program, Stm
from minifut.ir.node import divided, replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import Reduce, Scan, Screma
from minifut.ir.traverse import atom_size, free_names, map_children
from minifut.ir.types import row_type, shape_of
from minifut.names import Name, NameSource
from minifut.rewrite.trace import Trace

NamedSizes: TypeAlias = Mapping[Any, Size]
"""what names of statements are by operators on sizes"""


def fold_scans(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Reduce where nothing but the last element of a scan is read."""
    if not contains(program, Scan):
        return program
    sizes = {
        bound.name: size
        for node in nodes_of(Stm, program)
        if (size := size_of(node.exp)) is not None
        for bound in node.pattern
    }
    changed: Program = _changed(program, sizes, names)
    return changed


def _changed(node: Any, sizes: NamedSizes, names: NameSource) -> Any:
    node = map_children(node, lambda child: _changed(child, sizes, names))
    return _folded(node, sizes, names) if isinstance(node, Body) else node


def _folded(body: Body, sizes: NamedSizes, names: NameSource) -> Body:
    """A body, each of whose scans is tried with what follows it."""
    for at, statement in enumerate(body.statements):
        if isinstance(statement.exp, Screma) and statement.exp.scans:
            rest = Body(body.statements[at + 1 :], body.result)
            old = statement, rest
            for number in reversed(range(len(statement.exp.scans))):
                statement, rest = _fold(statement, number, rest, sizes, names)
            if (statement, rest) != old:
                earlier = body.statements[:at]
                done = (*earlier, statement, *rest.statements)
                body = replace(body, statements=done, result=rest.result)
    return body


def _fold(
    statement: Stm, number: int, rest: Body, sizes: NamedSizes, names: NameSource
) -> tuple[Stm, Body]:
    """The statement and those behind it, with one of the scans as a reduction if these
    read nothing but its end."""
    exp = statement.exp
    assert isinstance(exp, Screma)
    counts = [len(fold.neutral) for fold in exp.folds]
    counts.append(len(statement.pattern) - sum(counts))
    *own, mapped = divided(statement.pattern, counts)
    scanned = own[number]
    totals = {p.name: _element(p, names) for p in scanned if _is_flat(p)}
    values_of = {name: p.name for name, p in totals.items()}
    read = _read_ends(rest, exp.width - 1, values_of, sizes)
    if len(totals) < len(scanned) or read is rest or free_names(read) & totals.keys():
        return statement, rest

    def moved(parts: list[Any], instead: Any) -> tuple[Any, ...]:
        """What belongs to the folds, with the scan behind the others."""
        left = [part for at, part in enumerate(parts) if at != number]
        kept = len(exp.scans) - 1
        return (*left[:kept], instead, *left[kept:])

    scan, function = exp.scans[number], exp.function
    *values, elements = divided(function.body.result, counts)
    *types, others = divided(function.results, counts)
    result = (*chain(*moved(values, values[number])), *elements)
    function = replace(
        function,
        body=replace(function.body, result=result),
        results=(*chain(*moved(types, types[number])), *others),
    )
    scans = tuple(other for other in exp.scans if other is not scan)
    reduces = (Reduce(scan.operator, scan.neutral), *exp.reduces)
    made = replace(exp, scans=scans, reduces=reduces, function=function)
    pattern = (*chain(*moved(own, tuple(totals.values()))), *mapped)
    return replace(statement, pattern=pattern, exp=made), read


def _is_flat(bound: Param) -> bool:
    return len(shape_of(bound.type)) == 1


def _element(bound: Param, names: NameSource) -> Param:
    return Param(names.fresh(bound.name.base), row_type(bound.type))


def _read_ends(
    body: Body, last: Size, totals: Mapping[Name, Name], sizes: NamedSizes
) -> Body:
    """The body with totals in place of what it reads at the end of the arrays."""

    def change(node: Any) -> Any:
        match node:
            case Index(array, (Name() | Constant() as at,)) if array in totals:
                if last in (atom_size(at), sizes.get(at)):
                    return Copy(totals[array])
        return map_children(node, change)

    changed: Body = change(body)
    return changed
