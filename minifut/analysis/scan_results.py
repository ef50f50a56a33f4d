"""The layout of results of scans in memory, by what uses them.

    let (solved, factors) = segscan ..          nothing uses `factors`: it is not stored
    let sums = segscan ..                       `sums` is stored from its end, so that
    let result = sums[last :+ n by -1]          this slice is the whole memory, no copy

Adjoints of scans are scans from the end, of linear functions where the operator is not
a sum: of those only the constant terms are needed.
"""

from __future__ import annotations

from minifut.ir import builder, kernels, sizes, soacs, traverse
from minifut.ir.core import Atom, Constant, DimSlice, Index, Stm
from minifut.ir.types import ArrayType, Type
from minifut.names import Name


def scan_results(
    statements: tuple[Stm, ...], results: tuple[Atom, ...]
) -> dict[Name, Index | None]:
    """Of scanned arrays of a body: None for those that nothing uses; for those that
    nothing but a slice with reversed dimensions uses, that slice, which is its own
    inverse."""
    found: dict[Name, Index | None] = {}
    types: dict[Name, Type] = {}
    for statement in statements:
        exp = statement.exp
        for name in found.keys() & traverse.free_names(statement):
            if _is_reversal(exp, name, types[name]) and found[name] in (None, exp):
                assert isinstance(exp, Index)
                found[name] = exp
            else:
                del found[name]
        if isinstance(exp, kernels.SegScan):
            scanned = statement.pattern[: soacs.operand_count(exp.operators)]
            types |= {p.name: p.type for p in scanned}
            found |= dict.fromkeys(p.name for p in scanned)
    return {name: slice_ for name, slice_ in found.items() if name not in results}


def _is_reversal(exp: object, array: Name, type_: Type) -> bool:
    """Whether it is a slice of all elements, of some dimensions from the last one."""
    if not isinstance(exp, Index) or exp.array != array:
        return False
    assert isinstance(type_, ArrayType)
    return all(map(_is_whole, exp.slice, type_.shape))


def _is_whole(entry: Atom | DimSlice, size: sizes.Size) -> bool:
    match entry:
        case DimSlice(start, length, Constant(step)) if length == size:
            return step == -1 or (step == 1 and start == builder.i64(0))
    return False
