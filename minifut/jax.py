"""Entry points as differentiable functions of JAX.

    loss = minifut.jax.function(minifut.compile("model.fut").loss)
    jax.grad(loss)(w, xs, ys)           # by minifut's derivative, also inside jit

A call becomes a `pure_callback`, whose results have the shapes that the entry point's
sizes give for the arguments. The derivative is the entry point's `vjp` in the arguments
that are differentiated; an entry point whose result is one float runs once for both its
value and its gradient. Needs the extra `jax`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minifut.errors import ArgumentError, UsageError, needing
from minifut.gradients.functions import arguments_of, as_entry
from minifut.gradients.methods import ONCE, is_scalar, made, one_or_all
from minifut.program import EntryPoint
from minifut.signature import Parameter
from minifut.values.argument_sizes import KnownSizes, check_sizes
from minifut.values.foreign import NoView, numpy_view
from minifut.values.types import DTYPES

with needing("jax"):
    import jax
    import jax.numpy as jnp


def function(entry: EntryPoint) -> Callable[..., Any]:
    """The entry point as a function of JAX arrays: an array, or for several results a
    tuple. Its parameters and results are arrays and scalars.

    Raises `UsageError` for what is no entry point, for entry points with other types,
    for f64 or 64-bit integers where `jax_enable_x64` is off, and, when it is called,
    for results whose sizes do not follow from the shapes of arguments. A call raises
    `ArgumentError` for arguments of other shapes, and for those that would lose by a
    conversion: floats where integers are expected, integers that are too large. Its
    derivative cannot be differentiated.
    """
    return _Function(as_entry(entry, "jax"))


class _Function:
    """A function, and what `jax.custom_vjp` requires.

    The residual holds the positions of the parameters to differentiate in as the keys
    of a dict: they are part of its structure, not traced values. The dict has their
    gradients if the result is one float; otherwise the arguments are beside it.
    """

    def __init__(self, entry: EntryPoint) -> None:
        self.entry = entry
        self.dtypes = [_dtype(entry, parameter) for parameter in entry.parameters]
        self.results = [_dtype(entry, result) for result in entry.results]
        self.scalar = is_scalar(entry)
        self.differentiable = jax.custom_vjp(self.primal)
        self.differentiable.defvjp(self.forward, self.backward, symbolic_zeros=True)
        self.__name__, self.__doc__ = entry.name, entry.__doc__
        self.__signature__ = vars(entry)["__signature__"]

    def __repr__(self) -> str:
        return f"<{self.entry.signature_text()} of JAX>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _Function, (self.entry,)

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        given = arguments_of(self.entry, arguments, named)
        parts = zip(self.entry.parameters, given, self.dtypes, strict=True)
        return self.differentiable(*(_converted(self.entry, *part) for part in parts))

    def primal(self, *arguments: Any) -> Any:
        return one_or_all(_run(self.entry.call, self.types(arguments), arguments))

    def forward(self, *primals: Any) -> tuple[Any, Any]:
        arguments = [p.value for p in primals]
        pairs = enumerate(zip(primals, self.dtypes, strict=True))
        wanted = [i for i, (p, dtype) in pairs if p.perturbed and dtype.kind == "f"]
        if not self.scalar or not wanted:
            return self.primal(*arguments), (dict.fromkeys(wanted), arguments)

        def both(given: Sequence[Any]) -> tuple[Any, ...]:
            return made(self.entry, "vjp", tuple(wanted)).call((*given, 1.0))

        types = [*self.types(arguments), *(_type_of(arguments[i]) for i in wanted)]
        value, *gradients = _run(both, types, arguments)
        return value, (dict(zip(wanted, gradients, strict=True)), ())

    def backward(self, residual: Any, adjoints: Any) -> tuple[Any, ...]:
        found, arguments = residual
        if not self.scalar and found:
            found = self.adjoints(list(found), arguments, adjoints)
        elif found:
            found = {i: gradient * adjoints for i, gradient in found.items()}
        return tuple(found.get(i) for i in range(len(self.dtypes)))

    def adjoints(
        self, wanted: list[int], arguments: Sequence[Any], adjoints: Any
    ) -> dict[int, Any]:
        """The adjoints of the parameters at these positions."""
        types = self.types(arguments)
        own = adjoints if len(types) > 1 else (adjoints,)
        seeds = [_seed(t, adjoint) for t, adjoint in zip(types, own, strict=True)]

        run = made(self.entry, "grad", tuple(wanted)).call
        shapes = [_type_of(arguments[i]) for i in wanted]
        values = _run(run, shapes, [*arguments, *seeds])
        return dict(zip(wanted, values, strict=True))

    def types(self, arguments: Sequence[Any]) -> list[Any]:
        """The types of the results of a call, from the shapes of its arguments."""
        sizes = _sizes(self.entry, arguments)
        return [
            jax.ShapeDtypeStruct(_shape(self.entry, result, sizes), dtype)
            for result, dtype in zip(self.entry.results, self.results, strict=True)
        ]


def _run(
    run: Callable[[Sequence[Any]], Iterable[Any]], types: Any, arguments: Sequence[Any]
) -> Any:
    """The results of a call outside of JAX."""

    def outside(*given: Any) -> tuple[Any, ...]:
        values = run([numpy_view(value)[()] for value in given])
        return tuple(np.asarray(value) for value in values)

    def call(*given: Any) -> Any:
        return jax.pure_callback(
            outside, tuple(types), *given, vmap_method="sequential"
        )

    def refuse(primals: Any, tangents: Any) -> Any:
        raise UsageError(ONCE)

    once = jax.custom_jvp(call)
    once.defjvp(refuse)
    return once(*arguments)


def _seed(type_: Any, adjoint: Any) -> Any:
    """The adjoint of a result; zeros where there is none, as for integers."""
    if isinstance(adjoint, jax.custom_derivatives.SymbolicZero):
        return jnp.zeros(type_.shape, type_.dtype)
    return adjoint if adjoint.dtype == type_.dtype else jnp.zeros_like(type_)


PLAIN = (bool, int, float, complex, list, tuple, range)
"""what NumPy makes an array of"""


def _converted(entry: EntryPoint, part: Parameter, given: Any, dtype: Any) -> Any:
    """An argument as an array of JAX, of the type of its parameter."""
    where = f"{entry.name}: argument {part.name}: expected {part.sized_text}, got"
    if not isinstance(given, jax.Array):
        try:
            is_plain = isinstance(given, PLAIN)
            given = np.array(given) if is_plain else numpy_view(given)
        except (NoView, ValueError, TypeError) as reason:
            raise ArgumentError(f"{where} {given!r:.40}: {reason}") from None
        fits = given.dtype.kind not in "iu" or dtype.kind not in "iu"
        if not (fits or np.array_equal(given, given.astype(dtype))):
            raise ArgumentError(f"{where} {_shown(given)}, which does not fit")
    kinds = (np.bool_, np.integer, np.floating)
    rank, most = (
        next((n for n, kind in enumerate(kinds) if jnp.issubdtype(t, kind)), len(kinds))
        for t in (given.dtype, dtype)
    )
    if rank > most:
        hint = f"; use .astype(jnp.{dtype.name})" if rank < len(kinds) else ""
        raise ArgumentError(f"{where} {_shown(given)}{hint}")
    return jnp.asarray(given, dtype)


def _shown(given: Any) -> str:
    is_number = isinstance(given, np.ndarray) and not given.shape
    return repr(given.item()) if is_number else f"an array of {given.dtype}"


def _sizes(entry: EntryPoint, arguments: Sequence[Any]) -> dict[Any, int]:
    """The sizes of arguments, by name. Raises `ArgumentError` if they do not fit."""
    known: KnownSizes = {}
    for parameter, argument in zip(entry.parameters, arguments, strict=True):
        shape = parameter.shape or ()
        if len(shape) != len(argument.shape):
            raise ArgumentError(
                f"{entry.name}: argument {parameter.name}: expected "
                f"{parameter.sized_text}, got an array of shape {argument.shape}"
            )
        check_sizes(entry.name, parameter.name, shape, argument.shape, known)
    return {name: size for name, (size, _) in known.items()}


def _shape(
    entry: EntryPoint, result: Parameter, sizes: dict[Any, int]
) -> tuple[int, ...]:
    found = []
    for size in result.shape or ():
        known = size if isinstance(size, int) else sizes.get(size or "")
        if known is None:
            raise UsageError(
                f'entry point "{entry.name}" gives {result.sized_text}: JAX needs the '
                "sizes of results, and these do not follow from shapes of arguments"
            )
        found.append(known)
    return tuple(found)


def _dtype(entry: EntryPoint, part: Parameter) -> np.dtype[Any]:
    type_ = part.value_type
    if type_ is None:
        raise UsageError(
            f'entry point "{entry.name}": {part.type_text} is no array or scalar, the '
            "only types that JAX has"
        )
    dtype = DTYPES[type_.element]
    if dtype.itemsize == 8 and not jax.config.jax_enable_x64:
        raise UsageError(
            f'entry point "{entry.name}" has {type_}, which JAX leaves out unless '
            'jax.config.update("jax_enable_x64", True) was called'
        )
    return dtype


def _type_of(value: Any) -> Any:
    return jax.ShapeDtypeStruct(value.shape, value.dtype)
