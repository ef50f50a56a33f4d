"""What the default parameters of a kind of device decide, whatever the sizes.

let outer = at_least(n, "f.outer" threshold ("cpu" = never, "gpu" = 32768))
let both = outer and fits                      by default false on a CPU
"""

from __future__ import annotations

from collections.abc import Mapping

from minifut.ir.core import Atom, Constant, Copy, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import NEVER, AtLeast, GetParameter
from minifut.ir.types import BOOL
from minifut.names import Name

ALWAYS = 0
DECIDING = (AtLeast, GetParameter, SizeExp, ScalarOp, Copy)
"""what conditions consist of; all of it can be computed at any time"""


def value_by_default(
    atom: Atom, definitions: Mapping[Name, Stm], kind: str
) -> bool | None:
    """A condition with the default parameters; None if it depends on sizes."""
    if isinstance(atom, Constant):
        return bool(atom.value)
    statement = definitions.get(atom)
    match statement and statement.exp:
        case AtLeast(_, threshold):
            default = dict(threshold.defaults)[kind]
            return {ALWAYS: True, NEVER: False}.get(default)
        case Copy(other):
            return value_by_default(other, definitions, kind)
        case ScalarOp(op, operands) if op.type == BOOL:
            values = [value_by_default(each, definitions, kind) for each in operands]
            if op.name == "not" and values[0] is not None:
                return not values[0]
            if op.name in ("and", "or"):
                return _combined(values, op.name == "or")
    return None


def _combined(values: list[bool | None], decisive: bool) -> bool | None:
    """Operands of "or" (of which true decides) or of "and"."""
    if decisive in values:
        return decisive
    return None if None in values else not decisive
