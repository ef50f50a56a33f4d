"""Folds that loops of a thread do in vectors (`kernel_passes.vectorise.row_folds`), or
as part of the loop that scans what they fold (`passes.join_loops`)."""

from __future__ import annotations

from minifut.analysis.operators import combines_by
from minifut.ir.core import If, Lambda, ScalarOp
from minifut.ir.scalar_opencl import calls_library
from minifut.ir.search import contains, nodes_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import free_names
from minifut.ir.types import FLOATS, ScalarType

REORDERED = ("add", "mul", "min", "max")


def folds_calls(function: Lambda, but_plain: bool = False) -> bool:
    """Whether a point folds what functions give that are best done on vectors; other
    than by plain folds."""
    return any(
        has_calls(node.function) and not (but_plain and is_plain_fold(node))
        for node in nodes_of(Screma, function.body)
        if not node.is_map
    )


def has_calls(function: Lambda) -> bool:
    """Whether there is a call of a function that is best done on vectors."""
    return any(calls_library(exp.operator) for exp in nodes_of(ScalarOp, function))


def is_plain_fold(soac: Screma) -> bool:
    """Whether a thread folds the row in vectors: sums, products or extremes of floats,
    computed without branches."""
    return (
        soac.is_redomap
        and not contains(soac.function.body, If)
        and all(combines_by(f.operator, REORDERED, FLOATS) for f in soac.reduces)
    )


def folds_scans(function: Lambda) -> bool:
    """Whether all that a point does with what it scans, floats, is to fold it."""
    body = function.body
    scans = [s for s in body.statements if isinstance(s.exp, Screma) and s.exp.scans]
    scanned = {p.name for s in scans for p in s.pattern}
    floats = all(
        isinstance(t, ScalarType) and t.is_float
        for s in scans
        for scan in s.exp_of(Screma).scans
        for t in scan.operator.results
    )
    return (
        bool(scans)
        and floats
        and scanned.isdisjoint(body.result)
        and all(
            scanned.isdisjoint(free_names(s))
            or (isinstance(s.exp, Screma) and s.exp.is_redomap)
            for s in body.statements
        )
        and not any(
            contains(s.exp.function.body, SOAC_EXPRESSIONS)
            for s in body.statements
            if isinstance(s.exp, Screma)
        )
    )
