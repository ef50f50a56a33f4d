"""All partial derivatives of an entry point, a row or a column in each run.

f.jacobian(x, wrt="x")     f: [n] -> [m]; an array [m][n]
  forward                  n runs of the jvp, each with a unit tangent: columns
  reverse                  m runs of the vjp, each with a unit adjoint: rows
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError, ending_here
from minifut.gradients.methods import Wrt, like, made, positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from minifut.program import EntryPoint
    from minifut.values.types import ValueType

    Array = np.ndarray[Any, np.dtype[Any]]

MODES = ("auto", "forward", "reverse")


@ending_here
def jacobian(
    entry: EntryPoint,
    *arguments: Any,
    wrt: Wrt = None,
    mode: str = "auto",
    **named: Any,
) -> Any:
    """All partial derivatives of the result, which is an array or a scalar, in the
    parameters `wrt`, which are as well: for each an array whose shape is that of the
    result, then that of the parameter.

    It takes a run for each number of the parameters ("forward"), or of the result
    ("reverse"), or ("auto") for whatever there are fewer of.
    """
    import numpy as np

    if mode not in MODES:
        raise UsageError(f"the mode is one of {', '.join(MODES)}, not {mode!r}")
    chosen = positions(entry, wrt)
    _require_arrays(entry, chosen)
    given, _ = entry.bound(arguments, named)
    result = np.asarray(entry(*given))
    inputs = [_zeros(entry.parameters[i].value_type, given[i]) for i in chosen]
    parts = [np.empty(result.shape + x.shape, result.dtype) for x in inputs]
    count = sum(x.size for x in inputs)
    if mode == "forward" or (mode == "auto" and count <= result.size):
        _columns(made(entry, "jvp", chosen), given, inputs, parts)
    else:
        _rows(made(entry, "vjp", chosen), given, result, parts)
    return like(wrt, parts)


def _columns(
    forward: EntryPoint,
    given: Sequence[Any],
    inputs: Sequence[Array],
    parts: Sequence[Array],
) -> None:
    import numpy as np

    for tangent, part in zip(inputs, parts, strict=True):
        for at in np.ndindex(tangent.shape):
            tangent[at] = 1
            part[(..., *at)] = forward(*given, *(x[()] for x in inputs))[1]
            tangent[at] = 0


def _rows(
    reverse: EntryPoint, given: Sequence[Any], result: Array, parts: Sequence[Array]
) -> None:
    import numpy as np

    adjoint = np.zeros_like(result)
    for at in np.ndindex(result.shape):
        adjoint[at] = 1
        _, *rows = reverse(*given, adjoint[()])
        adjoint[at] = 0
        for part, row in zip(parts, rows, strict=True):
            part[at] = row


def _require_arrays(entry: EntryPoint, chosen: Sequence[int]) -> None:
    parts = (*entry.results, *(entry.parameters[i] for i in chosen))
    if len(entry.results) != 1 or any(part.kind != "array" for part in parts):
        raise UsageError(
            f'entry point "{entry.name}" has no Jacobian: its result and the '
            "parameters must be arrays or scalars; use jvp or vjp"
        )


def _zeros(type_: ValueType | None, value: Any) -> Array:
    import numpy as np

    from minifut.values.foreign import numpy_view
    from minifut.values.types import DTYPES

    assert type_ is not None
    shape = numpy_view(value).shape if type_.rank else ()
    return np.zeros(shape, DTYPES[type_.element])
