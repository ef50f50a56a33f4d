"""Loads and stores of the active lanes of vectors, as helper functions of C.

    minifut_load_masked_16x32(place, mask)           0 in the lanes that are not active
    minifut_store_masked_16x32(place, mask, value)   leaves their elements as they are
    minifut_gather_masked_16x32(start, indices, mask)

Elements of lanes that are not active are not accessed, also where they are outside of
the array. A CPU has instructions for this, which PoCL's compiler offers as builtins;
without them a vector is two of half the lanes, and one of four is done lane by lane.
Stores by AVX2 are slower than that on some processors, and so are gathers, so that
AVX-512 is required.
"""

from __future__ import annotations

from collections.abc import Iterator

NARROWEST = 4
INTEGERS = {32: "int", 64: "long"}
SHAPES = tuple((lanes, bits) for bits in INTEGERS for lanes in (4, 8, 16))
"""lanes and bits"""
VECTORS = "minifut_vectors"
AVX2, AVX512 = "__AVX2__", "__AVX512VL__) && defined(__AVX512DQ__"
TYPES = {
    shape: f"minifut_v{shape[0]}x{shape[1]}"
    for shape in SHAPES
    if shape[0] * shape[1] <= 512
}
"""of vectors as builtins take them, which are none of OpenCL"""


def _as(what: str, lanes: int, bits: int) -> str:
    return f"__builtin_astype({what}, {TYPES[lanes, bits]})"


BITS_16 = f"__builtin_ia32_cvtd2mask512({_as('mask', 16, 32)})"
BITS_8 = f"__builtin_ia32_cvtd2mask256({_as('mask', 8, 32)})"
MASKS = {
    (4, 32): _as("mask", 4, 32),
    (8, 32): _as("mask", 8, 32),
    (4, 64): _as("convert_long4(mask)", 4, 64),
}
GATHERED_AT_ONCE = 8
GATHERED = {32: "16si", 64: "8di"}
"""by indices of 64 bits"""
SHORT = {(4, 32): "d", (8, 32): "d256", (4, 64): "q256"}
LONG = {(16, 32): ("si", BITS_16), (8, 64): ("di", BITS_8)}


def masked_access(verb: str, lanes: int, bits: int) -> str:
    """The name of the function; `verb` is "load", "store" or "gather"."""
    return f"minifut_{verb}_masked_{lanes}x{bits}"


def required(verb: str, lanes: int, bits: int) -> Iterator[str]:
    """The helpers that one is made of, each behind those that it uses."""
    if lanes > NARROWEST:
        yield from required(verb, lanes // 2, bits)
    else:
        yield VECTORS
    yield masked_access(verb, lanes, bits)


def _definition(verb: str, lanes: int, bits: int) -> str:
    """By a builtin, by halves, or lane by lane."""
    integer, loads = INTEGERS[bits], verb == "load"
    type_, half = f"{integer}{lanes}", masked_access(verb, lanes // 2, bits)
    result, constant = (type_, "const ") if loads else ("void", "")
    more = "" if loads else f", {type_} value"
    halves = [
        f"{half}({place}, mask.{side}{'' if loads else f', value.{side}'})"
        for place, side in (("place", "lo"), (f"place + {lanes // 2}", "hi"))
    ]
    numbers = range(lanes)
    each = [f"mask.s{n} ? place[{n}] : 0" for n in numbers]
    if not loads:
        each = [f"if (mask.s{n}) place[{n}] = value.s{n}" for n in numbers]
    parts = halves if lanes > NARROWEST else each
    text = f"return ({type_})({', '.join(parts)})" if loads else "; ".join(parts)
    head = (
        f"static {result} {masked_access(verb, lanes, bits)}("
        f"__global {constant}{integer} *place, int{lanes} mask{more})\n"
    )
    otherwise = f"{head}{{\n  {text};\n}}\n"
    call = _builtin(verb, lanes, bits)
    if call is None:
        return otherwise
    native = f"return __builtin_astype({call}, {type_})" if loads else call
    feature = AVX2 if loads and (lanes, bits) in SHORT else AVX512
    return _either(feature, f"{head}{{\n  {native};\n}}\n", otherwise)


def _gathering(lanes: int, bits: int) -> str:
    """The same for elements at any indices, of which a builtin takes eight."""
    integer = INTEGERS[bits]
    type_, half = f"{integer}{lanes}", masked_access("gather", lanes // 2, bits)
    head = (
        f"static {type_} {masked_access('gather', lanes, bits)}("
        f"__global const {integer} *start, long{lanes} at, int{lanes} mask)\n"
    )
    parts = [f"{half}(start, at.{side}, mask.{side})" for side in ("lo", "hi")]
    if lanes == NARROWEST:
        parts = [f"mask.s{n} ? start[at.s{n}] : 0" for n in range(lanes)]
    otherwise = f"{head}{{\n  return ({type_})({', '.join(parts)});\n}}\n"
    if lanes != GATHERED_AT_ONCE:
        return otherwise
    nothing, indices = _as(f"({type_})(0)", lanes, bits), _as("at", 8, 64)
    call = (
        f"__builtin_ia32_gatherdiv{GATHERED[bits]}({nothing}, "
        f"(void const *)(ulong)start, {indices}, {BITS_8}, {bits // 8})"
    )
    native = f"{head}{{\n  return __builtin_astype({call}, {type_});\n}}\n"
    return _either(AVX512, native, otherwise)


def _builtin(verb: str, lanes: int, bits: int) -> str | None:
    """The call of the instruction, if there is one of this shape."""
    shape, loads = (lanes, bits), verb == "load"
    constant = "const " if loads else ""
    if shape in SHORT:
        at = f"({constant}{TYPES[shape]} *)(ulong)place, {MASKS[shape]}"
        value = "" if loads else f", {_as('value', *shape)}"
        return f"__builtin_ia32_mask{verb}{SHORT[shape]}({at}{value})"
    if shape in LONG:
        kind, active = LONG[shape]
        at = f"({constant}{INTEGERS[bits]} *)(ulong)place"
        value = _as(f"({INTEGERS[bits]}{lanes})(0)" if loads else "value", *shape)
        return f"__builtin_ia32_{verb}dqu{kind}512_mask({at}, {value}, {active})"
    return None


def _either(feature: str, native: str, otherwise: str) -> str:
    condition = f"defined(POCL_DEVICE_ADDRESS_BITS) && defined({feature})"
    return f"#if {condition}\n{native}#else\n{otherwise}#endif\n"


MASKED_ACCESSES = {
    VECTORS: "#ifdef POCL_DEVICE_ADDRESS_BITS\n"
    + "".join(
        f"typedef {INTEGERS[bits]} {name} "
        f"__attribute__((__vector_size__({lanes * bits // 8})));\n"
        for (lanes, bits), name in TYPES.items()
    )
    + "#endif\n",
    **{
        masked_access(verb, *shape): _definition(verb, *shape)
        for verb in ("load", "store")
        for shape in SHAPES
    },
    **{masked_access("gather", *shape): _gathering(*shape) for shape in SHAPES},
}
"""the texts by the names of the functions"""
