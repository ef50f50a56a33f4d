"""The methods of entry points that differentiate.

    loss.grad(w, xs, ys, wrt="w")              dw
    loss.value_and_grad(w, xs, ys, wrt="w")    loss, dw
    f.jvp((x, y), (dx, None))                  f(x, y), its tangent
    f.vjp((x, y), adjoint, wrt=("x", "y"))     f(x, y), (adjoint of x, adjoint of y)

`wrt` names the parameters to differentiate in, or gives their positions: one, or
several in a sequence, when the derivatives are a tuple. Without it they are all
parameters of floats. A parameter of floats is a scalar, an array, a record or a tuple;
its derivative has the same form. Arguments are those of a call, also by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, get_args

from minifut.errors import ArgumentError, UsageError, counted, ending_here
from minifut.gradients.derivative import Derivative
from minifut.suggestions import unknown

if TYPE_CHECKING:
    from minifut.passes.differentiate.entries import DerivativeMode
    from minifut.program import EntryPoint
    from minifut.signature import Parameter

Wrt = str | int | Sequence[str | int] | None

ONE = (str, Integral)
"""what names one parameter"""

ONCE = (
    "the derivative of an entry point cannot be differentiated by another library: for "
    "second derivatives, write an entry point with vjp or jvp, and differentiate that"
)

_NOT_TYPES = re.compile(r"[*(){}, ]|\[[^]]*\]|\w+:")
"""what a type has besides the types of its leaves"""


def derivative(entry: EntryPoint, mode: DerivativeMode, wrt: Wrt = None) -> EntryPoint:
    """The entry point that computes a derivative, with tuning parameters of its own:
    those of its `program`.

    Its parameters are those of the entry point, then, for "vjp", an adjoint of each
    result or, for "jvp", a tangent of each parameter in `wrt`. Its results are those
    of the entry point, then the adjoints of the parameters, or the tangents of the
    results. "grad" is "vjp" without the results of the entry point.
    Raises `UsageError` for parameters that cannot be differentiated.
    """
    from minifut.passes.differentiate.entries import DerivativeMode

    modes = get_args(DerivativeMode)
    if mode not in modes:
        raise UsageError(f"the mode is one of {', '.join(modes)}, not {mode!r}")
    return made(entry, mode, positions(entry, wrt))


@ending_here
def value_and_grad(
    entry: EntryPoint, *arguments: Any, wrt: Wrt = None, **named: Any
) -> tuple[Any, Any]:
    """The result, which must be one float, and its gradient in the parameters `wrt`."""
    require_scalar(entry)
    chosen = positions(entry, wrt)
    given, options = entry.bound(arguments, named)
    value, *gradients = made(entry, "vjp", chosen)(*given, 1.0, **options)
    return value, like(wrt, gradients)


@ending_here
def grad(entry: EntryPoint, *arguments: Any, wrt: Wrt = None, **named: Any) -> Any:
    """The gradient of the result, which must be one float, in the parameters `wrt`.
    What only the result needs is not computed."""
    require_scalar(entry)
    chosen = positions(entry, wrt)
    given, options = entry.bound(arguments, named)
    return like(wrt, made(entry, "grad", chosen).call((*given, 1.0), **options))


@ending_here
def vjp(
    entry: EntryPoint,
    arguments: Sequence[Any],
    adjoints: Any,
    wrt: Wrt = None,
    **options: Any,
) -> tuple[Any, Any]:
    """The results, and the adjoints of the parameters `wrt` for given adjoints of the
    results: one, or for several results a tuple."""
    given, options = entry.bound(_tuple(entry, arguments), options)
    seeds = (adjoints,) if len(entry.results) == 1 else _tuple(entry, adjoints)
    if len(seeds) != len(entry.results):
        raise ArgumentError(
            f"{entry.name}: {len(entry.results)} results have as many adjoints, "
            f"{len(seeds)} were given"
        )
    found = made(entry, "vjp", positions(entry, wrt)).call((*given, *seeds), **options)
    count = len(entry.results)
    return one_or_all(found[:count]), like(wrt, found[count:])


@ending_here
def jvp(
    entry: EntryPoint,
    arguments: Sequence[Any],
    tangents: Sequence[Any],
    wrt: Wrt = None,
    **options: Any,
) -> tuple[Any, Any]:
    """The results, and their tangents for given tangents of the parameters `wrt`.
    Without `wrt` there is a tangent for each parameter, None for a constant."""
    given, options = entry.bound(_tuple(entry, arguments), options)
    every = tuple(range(len(given)))
    chosen = every if wrt is None else positions(entry, wrt)
    tangents = (tangents,) if isinstance(wrt, ONE) else _tuple(entry, tangents)
    if len(tangents) != len(chosen):
        raise ArgumentError(
            f"{entry.name}: {counted(len(chosen), 'parameter')} with as many tangents "
            f"(None for a constant), {len(tangents)} given"
        )
    chosen = tuple(i for i, t in zip(chosen, tangents, strict=True) if t is not None)
    tangents = [t for t in tangents if t is not None]
    found = made(entry, "jvp", chosen).call((*given, *tangents), **options)
    count = len(entry.results)
    return one_or_all(found[:count]), one_or_all(found[count:])


def _tuple(entry: EntryPoint, values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call, which an array alone is not."""
    if not isinstance(values, tuple | list):
        raise ArgumentError(
            f"{entry.name}: give a tuple (x,), no {type(values).__name__}"
        )
    return tuple(values)


def positions(entry: EntryPoint, wrt: Wrt) -> tuple[int, ...]:
    """The positions of the parameters that `wrt` stands for. Raises `UsageError`."""
    names = [p.name for p in entry.parameters]
    if wrt is None:
        found = tuple(i for i, p in enumerate(entry.parameters) if of_floats(p))
        if not found:
            raise UsageError(f'entry point "{entry.name}" has no parameter of floats')
        return found
    single = isinstance(wrt, ONE) or not hasattr(wrt, "__iter__")
    listed: tuple[Any, ...] = (wrt,) if single else tuple(wrt)  # type: ignore[arg-type]
    chosen = []
    for item in listed:
        if not isinstance(item, ONE):
            raise UsageError(
                f"{entry.name}: wrt has names and positions of parameters, not {item!r}"
            )
        if isinstance(item, str):
            if item not in names:
                raise UsageError(f"{entry.name}: {unknown('parameter', item, names)}")
            item = names.index(item)
        if not -len(names) <= item < len(names):
            raise UsageError(f"{entry.name}: there is no parameter number {item}")
        chosen.append(item % len(names))
    if len(set(chosen)) != len(chosen) or not chosen:
        raise UsageError(f"{entry.name}: wrt names each parameter once, and some")
    return tuple(chosen)


def of_floats(parameter: Parameter) -> bool:
    """Whether a scalar, array, tuple or record consists of floats, as its type says."""
    words = _NOT_TYPES.sub(" ", parameter.type_text).split()
    return all(word in ("f16", "f32", "f64") for word in words)


def is_scalar(entry: EntryPoint) -> bool:
    """Whether the result is one float."""
    types = [result.value_type for result in entry.results]
    return len(types) == 1 and str(types[0]) in ("f16", "f32", "f64")


def require_scalar(entry: EntryPoint) -> None:
    """Raises `UsageError` if the result is not one float."""
    if not is_scalar(entry):
        raise UsageError(
            f"only one float has a gradient, but the entry point is "
            f"{entry.signature_text()}; use vjp or jacobian"
        )


def made(
    entry: EntryPoint, mode: DerivativeMode, chosen: tuple[int, ...]
) -> EntryPoint:
    """The entry point of a derivative in the parameters at these positions."""
    program = entry.program
    if program is None or program.derivatives is None:
        raise UsageError(
            f'entry point "{entry.name}" cannot be differentiated: it is a derivative '
            "(use vjp and jvp in the program for higher ones), or its program was "
            "loaded without its source; use minifut.compile"
        )
    return program.derivatives.entry(Derivative(entry.name, mode, chosen))


def one_or_all(values: Sequence[Any]) -> Any:
    """The value, or several as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def like(wrt: Wrt, values: Sequence[Any]) -> Any:
    """One derivative for one parameter, a tuple for several and for a sequence."""
    one = wrt is None and len(values) == 1
    return values[0] if one or isinstance(wrt, ONE) else tuple(values)
