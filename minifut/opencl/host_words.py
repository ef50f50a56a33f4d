"""Words of generated modules: which names are taken, and which helpers are called."""

from __future__ import annotations

import builtins
import keyword
import re

_WORDS = """
    run kernels rt np program ceil_div quiet PRELUDE covering f16 f32 f64 fmin fmax sqrt
    sign truncate quotient remainder floor_div floor_mod shift_left shift_right power
    trailing_zeros equal_parts
"""
RESERVED = frozenset((*keyword.kwlist, *dir(builtins), *_WORDS.split()))
_OWN = re.compile(r"(?:TEXT|program|wrap)_\w+")
_HELPER = re.compile(
    r"\b(wrap_[iu]\d+|floor_div|floor_mod|quotient|remainder|sign|truncate|"
    r"shift_left|shift_right|power|trailing_zeros|ceil_div|covering|equal_parts|"
    r"f16|f32|f64|fmin|fmax|sqrt|quiet)\("
)


def is_word(text: str) -> bool:
    """Whether a name of the module may not be that: words of Python, its own, and its
    helpers."""
    return text in RESERVED or _OWN.fullmatch(text) is not None


def helpers_of(text: str) -> set[str]:
    """The functions of `runtime.host_scalars` that host code calls."""
    return set(_HELPER.findall(text))


def uses_floats(helpers: set[str]) -> bool:
    """Whether host code computes with floats, so that NumPy might warn."""
    return not {"f16", "f32", "f64", "sqrt", "fmin", "fmax"}.isdisjoint(helpers)
