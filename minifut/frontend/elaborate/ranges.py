"""Ranges: a..b...c, a..<b, a..>b.

a..<b      iota(b - a, a, 1), if a <= b
a..b...c   (c - a) / (b - a) + 1 numbers, if c is in the direction of b
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend import syntax
from minifut.frontend.elaborate import checks, numeric
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.values import ArrayValue, Leaf, Value, constant, size_of
from minifut.ir import core
from minifut.ir.core import Atom, Constant
from minifut.ir.sizes import Size
from minifut.ir.types import I64

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def range_(exp: syntax.RangeExp, env: Environment, work: Work) -> Value:
    """See the module."""
    from minifut.frontend.elaborate.expressions import evaluate_leaf

    start = evaluate_leaf(exp.start, env, work)
    second = evaluate_leaf(exp.second, env, work) if exp.second is not None else None
    end = evaluate_leaf(exp.end, env, work)
    work.location = exp.location
    type_ = start.scalar_type
    if second is None:
        step = constant(-1 if exp.kind == "..>" else 1, type_)
        if type_.kind == "uint" and exp.kind == "..>":
            step = numeric.negate(work, constant(1, type_), exp.location)
    else:
        step = numeric.apply_named(work, "sub", (second, start), exp.location)
    length = _length(exp, work, start, second, end, step)
    iota = core.Iota(length, start.atom, step.atom, type_)
    leaf = work.leaf(iota, "range")
    if (
        type_ == I64
        and start.atom == Constant(0, I64)
        and step.atom == Constant(1, I64)
    ):
        work.known.iotas[leaf.name] = length
    return ArrayValue(length, leaf)


def _length(
    exp: syntax.RangeExp,
    work: Work,
    start: Leaf,
    second: Leaf | None,
    end: Leaf,
    step: Leaf,
) -> Size:
    """How many numbers there are, after checking that the range makes sense."""
    step_size = _known(step)
    if step_size in (1, -1):
        low, high = (start, end) if step_size == 1 else (end, start)
        distance = _wide(work, high, low)
        length = size_of(distance) + (1 if exp.kind == "..." else 0)
        if not checks.never_negative(work, length) and not work.mode.unsafe:
            count = work.size_leaf(length)
            valid = work.op("le", constant(0, I64), count)
            checks.check(work, valid, _message(exp, start, second, end), exp.location)
        work.assume_natural(length)
        return length
    return _general(exp, work, start, second, end, step)


def _known(step: Leaf) -> int | None:
    if isinstance(step.atom, Constant):
        number = int(step.atom.value)
        type_ = step.scalar_type
        if type_.kind == "uint" and number >> (type_.bits - 1):
            number -= 1 << type_.bits
        return number
    return None


def _wide(work: Work, left: Leaf, right: Leaf) -> Leaf:
    """left - right as i64."""
    a, b = work.convert(left, I64), work.convert(right, I64)
    location = work.location
    assert location is not None
    return numeric.apply_named(work, "sub", (a, b), location)


def _general(
    exp: syntax.RangeExp,
    work: Work,
    start: Leaf,
    second: Leaf | None,
    end: Leaf,
    step: Leaf,
) -> Size:
    zero, one = constant(0, I64), constant(1, I64)
    width = _signed(work, step)
    distance = _wide(work, end, start)
    sign = work.op("sgn", width)
    if exp.kind == "...":
        count = work.op("add", work.op("quot", distance, width), one)
    else:
        rounded = work.op("sub", work.op("add", distance, width), sign)
        count = work.op("quot", rounded, width)
    if not work.mode.unsafe:
        nonzero = work.op("ne", width, zero)
        same = work.op("ge", work.op("mul", sign, work.op("sgn", distance)), zero)
        conditions = [nonzero, same]
        if exp.kind == "..<":
            conditions.append(work.op("gt", width, zero))
        elif exp.kind == "..>":
            conditions.append(work.op("lt", width, zero))
        valid = checks.all_of(work, conditions)
        checks.check(work, valid, _message(exp, start, second, end), exp.location)
    work.assume_natural(size_of(count))
    return size_of(count)


def _signed(work: Work, step: Leaf) -> Leaf:
    """The step as i64; that of unsigned numbers may be negative."""
    from minifut.ir.types import SCALARS

    type_ = step.scalar_type
    if type_.kind == "uint":
        step = work.convert(step, SCALARS["i" + type_.name[1:]])
    return work.convert(step, I64)


def _message(
    exp: syntax.RangeExp, start: Leaf, second: Leaf | None, end: Leaf
) -> tuple[str | Atom, ...]:
    middle: list[str | Atom] = ["..", second.atom] if second is not None else []
    kind = {"...": "...", "..<": "..<", "..>": "..>"}[exp.kind]
    return ("Range ", start.atom, *middle, kind, end.atom, " is invalid.")
