"""The built-in operators and the numeric modules, as tables.

Nothing here is parsed: types are made from one-letter signatures when a program first
mentions a name. In a signature `t` is the module's own type, `b` bool, `u` the
integer type of the same width (floats), `I` i32, `L` i64, `D` f64; the last letter is
the result.
"""

from __future__ import annotations

from minifut.frontend.types import BOOL, I32, I64, SCALAR_NAMES, Arrow, Scalar, Type

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")
NUMBERS = (*INTEGERS, *FLOATS)

OPERATORS: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "**"), (NUMBERS, "ttt")),
    **dict.fromkeys(("//", "%%", ">>", "<<"), (INTEGERS, "ttt")),
    **dict.fromkeys(("&", "|", "^"), ((*INTEGERS, "bool"), "ttt")),
    **dict.fromkeys(("<", ">", "<=", ">="), ((*NUMBERS, "bool"), "ttb")),
    **dict.fromkeys(("==", "!="), ((), "ttb")),
    **dict.fromkeys(("&&", "||"), (("bool",), "ttb")),
}
"""operator to the scalar types it is defined for (none: all types) and its signature"""

_ARITHMETIC = ("+", "-", "*", "/", "%", "**", "max", "min")
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
_REAL_FUNCTIONS = (
    "recip",
    "sqrt",
    "rsqrt",
    "cbrt",
    "exp",
    "sin",
    "cos",
    "tan",
    "sinpi",
    "cospi",
    "tanpi",
    "asin",
    "acos",
    "atan",
    "asinpi",
    "acospi",
    "atanpi",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "gamma",
    "lgamma",
    "erf",
    "erfc",
    "log",
    "log2",
    "log10",
    "log1p",
    "ceil",
    "floor",
    "trunc",
    "round",
)

_NUMERIC = {
    **dict.fromkeys(_ARITHMETIC, "ttt"),
    **dict.fromkeys(_COMPARISONS, "ttb"),
    **dict.fromkeys(("neg", "abs", "sgn"), "tt"),
    **dict.fromkeys(("highest", "lowest"), "t"),
    "to_i64": "tL",
}

_INTEGRAL = {
    **_NUMERIC,
    **dict.fromkeys(("//", "%%", "&", "|", "^", "<<", ">>", ">>>", "mul_hi"), "ttt"),
    "not": "tt",
    "mad_hi": "tttt",
    "num_bits": "I",
    **dict.fromkeys(("popc", "clz", "ctz"), "tI"),
}

_FLOAT = {
    **_NUMERIC,
    **dict.fromkeys(_REAL_FUNCTIONS, "tt"),
    **dict.fromkeys(("atan2", "atan2pi", "hypot", "nextafter", "copysign"), "ttt"),
    **dict.fromkeys(("lerp", "mad", "fma"), "tttt"),
    **dict.fromkeys(("inf", "nan", "pi", "e", "epsilon"), "t"),
    **dict.fromkeys(("isinf", "isnan"), "tb"),
    "from_fraction": "LLt",
    "to_f64": "tD",
    "ldexp": "tIt",
    "from_bits": "ut",
    "to_bits": "tu",
    "num_bits": "I",
}

TEMPLATES = {
    "numeric": ("sum", "product", "maximum", "minimum"),
    "bits": ("get_bit", "set_bit"),
}
"""values of the numeric modules that are defined in prelude/numeric.fut"""


def module_table(module: str) -> dict[str, str]:
    """The intrinsic values of a numeric module with their signatures."""
    table = dict.fromkeys(SCALAR_NAMES, "?")
    if module == "bool":
        return table
    return {**table, **(_FLOAT if module in FLOATS else _INTEGRAL)}


def template_names(module: str) -> tuple[str, ...]:
    """The values of a numeric module that have a definition in Futhark."""
    if module == "bool":
        return ()
    return (*TEMPLATES["numeric"], *TEMPLATES["bits"])


def bits_type(module: str) -> Scalar:
    """The integer type with the width of a float type."""
    return Scalar("u" + module[1:])


def intrinsic_type(module: str, name: str, signature: str) -> Type:
    """The type of a value of a numeric module."""
    if signature == "?":
        return Arrow(None, Scalar(name), Scalar(module))
    letters: dict[str, Type] = {
        "t": Scalar(module),
        "b": BOOL,
        "I": I32,
        "L": I64,
        "D": Scalar("f64"),
    }
    if "u" in signature:
        letters["u"] = bits_type(module)
    return from_letters(signature, letters)


def from_letters(signature: str, letters: dict[str, Type]) -> Type:
    """`ttb` as t -> t -> b."""
    type_ = letters[signature[-1]]
    for letter in reversed(signature[:-1]):
        type_ = Arrow(None, letters[letter], type_)
    return type_
