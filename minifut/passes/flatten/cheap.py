"""What may be computed again for each point of an inner dimension.

Before the inner SOAC of a map's body there may be statements. Done once per outer point
they would need an array to be remembered in; done again per inner point they need
nothing. So views (slices, rearranged and reshaped arrays), scalar operators, reads of
one element, numbers of an `iota` or `replicate` (which simplification turns into
scalars once they are indexed) and branches over these may occur in a nest. Loops, SOACs
and whatever makes an array may not: then the body stays in one thread.

Checks may too, with one exception seen to by `map_nest`: an inner dimension of size
zero would never run them.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir import core
from minifut.ir.core import Stm
from minifut.ir.search import contains, nodes_of
from minifut.ir.types import AccType, ArrayType, ScalarType

CHEAP = (
    *(core.Assert, core.Copy, core.Index, core.Iota, core.Opaque, core.Rearrange),
    *(core.Replicate, core.Reshape, core.ScalarOp, core.SizeExp),
)


def is_cheap(statement: Stm) -> bool:
    """Whether the statement may be done again for each inner point."""
    if any(isinstance(p.type, AccType) for p in statement.pattern):
        return False
    exp = statement.exp
    if isinstance(exp, core.If):
        scalars = not any(isinstance(p.type, ArrayType) for p in statement.pattern)
        inner = (*exp.then.statements, *exp.otherwise.statements)
        return scalars and all_cheap(inner)
    return isinstance(exp, CHEAP)


def all_cheap(statements: Iterable[Stm]) -> bool:
    """Whether all statements may be done again for each inner point."""
    return all(is_cheap(statement) for statement in statements)


SCALAR = (core.Copy, core.If, core.Index, core.ScalarOp, core.SizeExp)
CHEAP_STATEMENTS = 48
"""number of statements above which copies of a body cost more compile time than they
gain"""


def is_scalar_code(
    statements: Iterable[Stm], most: int = CHEAP_STATEMENTS, checked: bool = False
) -> bool:
    """Whether there are few statements, on scalars, without loops, and without checks
    unless `checked`."""
    allowed = (*SCALAR, core.Assert) if checked else SCALAR
    return all(
        number < most
        and isinstance(s.exp, allowed)
        and all(isinstance(p.type, ScalarType) for p in s.pattern)
        for number, s in enumerate(nodes_of(Stm, *statements))
    )


def has_check(statements: Iterable[Stm]) -> bool:
    """Whether there is a check inside."""
    return any(contains(statement, core.Assert) for statement in statements)
