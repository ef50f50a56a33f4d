r"""Perfectly nested maps: the outer map becomes dimensions of the inner SOAC's space.

    before:  map (\xs -> let v = <cheap> in <soac over j < m>) xss
    after:   <soac> in the nest (i < n) { let xs = xss[i]  let v = <cheap> }

Conditions: the body is cheap statements (`flatten.cheap`), then one SOAC that gives all
results; its width is the same for all points (regular). If a check stands among the
cheap statements and the inner dimension is empty, no point would run it: then a kernel
that only checks runs instead.

Source: "Regular flattening": rule G2 (manifest a perfect nest).
"""

from __future__ import annotations

from minifut.ir.builder import i64
from minifut.ir.core import Body, If, Lambda, Param, ScalarOp, Stm
from minifut.ir.kernels import GRID, SegMap
from minifut.ir.scalars import operator
from minifut.ir.sizes import Size
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import rename
from minifut.ir.types import I64
from minifut.names import Name
from minifut.passes.flatten.cheap import all_cheap, has_check
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns

KEEP_INNER_SEQUENTIAL = frozenset({"sequential", "sequential_inner"})


def flatten_perfect_nest(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Grow the nest by a map whose body is cheap statements and a SOAC."""
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_map:
        return False
    if KEEP_INNER_SEQUENTIAL & set(statement.attributes):
        return False
    parts = split_perfect(exp.function)
    if parts is None:
        return False
    before, inner, order = parts
    if "sequential" in inner.attributes:
        return False
    index = site.fresh_index("i")
    outer = nest.over(index, exp.width, exp.arrays, exp.function).then(before)
    assert isinstance(inner.exp, SOAC_EXPRESSIONS)
    width = inner.exp.width
    if outer.size_varies(width):
        return False
    if has_check(outer.statements):
        _check_if_empty(site, outer, width)
    inner_pattern = tuple(pattern[position] for position in order)
    return site.again(site, outer, inner, inner_pattern)


def split_perfect(
    function: Lambda,
) -> tuple[tuple[Stm, ...], Stm, tuple[int, ...]] | None:
    """The cheap statements, the SOAC behind them, and for each of its results the
    position among the lambda's results; None if the body is no perfect nest."""
    *before, last = function.body.statements or (None,)
    if last is None or not isinstance(last.exp, SOAC_EXPRESSIONS):
        return None
    if not all_cheap(before):
        return None
    names = [parameter.name for parameter in last.pattern]
    result = function.body.result
    if len(set(result)) != len(result) or set(result) != set(names):
        return None
    return tuple(before), last, tuple(result.index(name) for name in names)


def _check_if_empty(site: Site, nest: Nest, width: Size) -> None:
    """Emit the kernel that runs the nest's checks if the next dimension is empty."""
    build = site.build
    known = width.as_constant
    if known is not None and known > 0:
        return
    test = ScalarOp(operator("le", I64), (build.size_atom(width), i64(0)))
    empty: Name = build.let(test, "empty")
    kernel = rename(
        SegMap(GRID, nest.space, returns(nest.statements, ()), ()), build.names
    )
    then = Body((Stm((), kernel, (), build.location),), ())
    site.emit((), If(empty, then, Body((), ())))
