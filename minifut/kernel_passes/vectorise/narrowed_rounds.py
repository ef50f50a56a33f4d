"""Loops of which most rounds do nothing for a point: only the others are done.

    for (j = 0; j < n; j++)             for (j = max(0, i - m + 1);
        if (0 <= i - j && i - j < m)  →      j < min(n, i + 1); j++)
            s = s + a[j] * b[i - j];        s = s + a[j] * b[i - j];

Also those that add nothing: `s = s + (c ? x : 0)`. The condition is one on the position
in the loop, and holds in one range of rounds, which differs from point to point: then
it is the bounds of loops that differ, as in `shared_rounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.node import replace
from minifut.ir.scalars import identities
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.position_ranges import extreme, used
from minifut.kernel_passes.position_splits import SplitFinder
from minifut.names import Name


def narrowed(loop: kc.For, k: CodeBuilder) -> tuple[kc.For, list[kc.Expression]] | None:
    """The loop with the rounds that do something, and what must hold for that; None if
    it is not known which."""
    if not loop.counts_by_ones or not any(
        isinstance(s, kc.Branch) for s in loop.body.statements
    ):
        return None
    finder = SplitFinder(loop, k)
    found = finder.branch()
    if found is None or found.where.uniform or found.where.single:
        return None
    body = found.inside(loop)
    if not does_nothing(found.outside(loop)):
        return None
    start = extreme("max", [loop.start, *found.where.lows])
    bound = extreme("min", [loop.bound, *found.where.highs])
    fewer = replace(loop, start=start, bound=bound, body=kc.Block(used(body)))
    return fewer, finder.conditions.assumptions


def does_nothing(statements: Sequence[kc.Statement]) -> bool:
    """Whether variables from outside keep their values, and nothing else is done."""
    own = declared(statements)
    made: dict[Name, kc.Expression] = {}

    def value(exp: kc.Expression) -> kc.Expression:
        while isinstance(exp, kc.Variable) and exp.name in made:
            exp = made[exp.name]
        return exp

    for statement in statements:
        match statement:
            case kc.Comment() | kc.Declare(_, None):
                continue
            case kc.Declare(kc.Variable(name), kc.Expression() as init):
                made[name] = value(init)
                continue
            case kc.Assign(kc.Variable(name), exp) if name in own:
                made[name] = value(exp)
                continue
            case kc.Assign(kc.Variable(name), exp):
                kept = _without_neutral(value(exp), value)
                if isinstance(kept, kc.Variable) and kept.name == name:
                    continue
        return False
    return True


def _without_neutral(
    exp: kc.Expression, value: Callable[[kc.Expression], kc.Expression]
) -> kc.Expression:
    """The other operand where one changes nothing."""
    match exp:
        case kc.Operation(operator, (left, right), _):
            known = identities(operator)
            left, right = value(left), value(right)
            if is_number(right, known.right_neutral):
                return left
            if is_number(left, known.left_neutral):
                return right
    return exp


def is_number(exp: kc.Expression, number: int | float | None) -> bool:
    """Whether an expression is this number."""
    return (
        number is not None
        and isinstance(exp, kc.Literal)
        and float(exp.value) == float(number)
    )
