"""Arrays of other libraries as NumPy arrays, without a copy where they allow it.

numpy_view(tensor)   by __array_interface__, __array__, DLPack or buffer protocol:
                     pandas, xarray, PyTorch and JAX on the CPU, memoryview, ..
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minifut.values.types import element_name


class NoView(Exception):
    """The value is no array that can be read as it is; the message says why, and what
    to do."""


def numpy_view(value: Any) -> np.ndarray:
    """The value as a NumPy array. Raises `NoView`."""
    if isinstance(value, np.ma.MaskedArray):
        raise NoView("the mask of a masked array would be lost; use .filled(value)")
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    try:
        if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        try:
            return np.asarray(memoryview(value))
        except TypeError:
            raise TypeError(_how_to_make_one(value)) from None
    except (TypeError, ValueError, BufferError, RuntimeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        if is_tensor(value) and "unsupported ScalarType" in reason:
            reason += "; use .to(torch.float32)"
        elif is_tensor(value) and "requires grad" in reason:
            reason += " Gradients pass through minifut.torch.function(entry)."
        elif any(kind.__name__ == "Tracer" for kind in type(value).__mro__):
            reason += "; inside of jit, grad or vmap use minifut.jax.function(entry)"
        raise NoView(f"{type(value).__name__} gives no array: {reason}") from None


def elements_view(value: Any) -> np.ndarray:
    """The same of elements that Futhark has, in the machine's order of bytes. Raises
    `NoView`."""
    array = numpy_view(value)
    if element_name(array.dtype) is not None:
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.names:
        fields = ", ".join(map(repr, array.dtype.names))
        raise NoView(f"a structured array has several: give each of {fields} alone")
    raise NoView(f"NumPy's {array.dtype} is not an element type of Futhark")


def scalar_of(value: Any) -> Any:
    """The scalar that an array without dimensions holds; other values as they are."""
    if getattr(value, "shape", None) != ():
        return value
    try:
        return numpy_view(value)[()]
    except NoView:
        return value


def _how_to_make_one(value: Any) -> str:
    """What to do with a value that no array can be read from."""
    if isinstance(value, list | tuple):
        return "make one first, with np.array(.., dtype)"
    if isinstance(value, Mapping):
        return "each of its values may be one"
    if isinstance(value, Iterable):
        return "make one first, with np.array(list(..), dtype)"
    return "make one first"


def astype_hint(came: np.dtype[Any], wanted: np.dtype[Any], given: Any = None) -> str:
    """How an array of one type becomes one of another, for the end of a message;
    `given`: what it is a view of, if it is no array of NumPy itself."""
    if came.kind not in "biufc":
        return "; it does not hold numbers, and has to be converted to them first"
    if isinstance(given, bytes | bytearray):
        return f"; use np.frombuffer(value, np.{wanted.name}) or a list of numbers"
    if is_tensor(given):
        real = ".real" if came.kind == "c" else ""
        return f"; use {real}.to(torch.{wanted.name})"
    # NumPy has had the name `bool` since version 2 only.
    name = "bool" if wanted.kind == "b" else f"np.{wanted.name}"
    if came.kind == "c":
        return f"; its imaginary part would be lost: use .real.astype({name})"
    if given is not None and not hasattr(given, "astype"):
        return f"; use np.asarray(value, {name})"
    return f"; use .astype({name})"


def is_tensor(value: Any) -> bool:
    """Whether it is of PyTorch, which this does not import."""
    return type(value).__module__.partition(".")[0] == "torch"
