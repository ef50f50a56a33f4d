"""Loads and stores of the active lanes of vectors, as helper functions of C.

    minifut_load_masked_16x32(place, mask)           0 in the lanes that are not active
    minifut_store_masked_16x32(place, mask, value)   leaves their elements as they are

Elements of lanes that are not active are not accessed, also where they are outside of
the array. A CPU has instructions for this, which PoCL's compiler offers as builtins;
without them a vector is two of half the lanes, and one of four is done lane by lane.
Stores by AVX2 are slower than that on some processors, so that AVX-512 is required.
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
SHORT = {(4, 32): "d", (8, 32): "d256", (4, 64): "q256"}
LONG = {(16, 32): ("si", BITS_16), (8, 64): ("di", BITS_8)}


def masked_access(verb: str, lanes: int, bits: int) -> str:
    """The name of the function; `verb` is "load" or "store"."""
    return f"minifut_{verb}_masked_{lanes}x{bits}"


def required(verb: str, lanes: int, bits: int) -> Iterator[str]:
    """The helpers that one is made of, each behind those that it uses."""
    if lanes > NARROWEST:
        yield from required(verb, lanes // 2, bits)
    else:
        yield VECTORS
    yield masked_access(verb, lanes, bits)


def _load(lanes: int, bits: int) -> str:
    """By a builtin, by halves, or lane by lane."""
    type_, shape = f"{INTEGERS[bits]}{lanes}", (lanes, bits)
    if lanes > NARROWEST:
        half = masked_access("load", lanes // 2, bits)
        parts = f"{half}(place, mask.lo), {half}(place + {lanes // 2}, mask.hi)"
    else:
        parts = ", ".join(f"mask.s{n} ? place[{n}] : 0" for n in range(lanes))
    head = (
        f"static {type_} {masked_access('load', lanes, bits)}("
        f"__global const {INTEGERS[bits]} *place, int{lanes} mask)\n"
    )
    otherwise = f"{head}{{\n  return ({type_})({parts});\n}}\n"
    if shape in SHORT:
        at = f"(const {TYPES[shape]} *)(ulong)place"
        call = f"__builtin_ia32_maskload{SHORT[shape]}({at}, {MASKS[shape]})"
        return _either(
            AVX2, f"{head}{{\n  return {_back(call, type_)};\n}}\n", otherwise
        )
    if shape in LONG:
        kind, active = LONG[shape]
        at, zero = (
            f"(const {INTEGERS[bits]} *)(ulong)place",
            _as(f"({type_})(0)", *shape),
        )
        call = f"__builtin_ia32_loaddqu{kind}512_mask({at}, {zero}, {active})"
        return _either(
            AVX512, f"{head}{{\n  return {_back(call, type_)};\n}}\n", otherwise
        )
    return otherwise


def _store(lanes: int, bits: int) -> str:
    """The same."""
    type_, shape = f"{INTEGERS[bits]}{lanes}", (lanes, bits)
    if lanes > NARROWEST:
        half = masked_access("store", lanes // 2, bits)
        parts = [
            f"{half}(place, mask.lo, value.lo);",
            f"{half}(place + {lanes // 2}, mask.hi, value.hi);",
        ]
    else:
        parts = [f"if (mask.s{n}) place[{n}] = value.s{n};" for n in range(lanes)]
    head = (
        f"static void {masked_access('store', lanes, bits)}("
        f"__global {INTEGERS[bits]} *place, int{lanes} mask, {type_} value)\n"
    )
    otherwise = f"{head}{{\n  {' '.join(parts)}\n}}\n"
    if shape in SHORT:
        at = f"({TYPES[shape]} *)(ulong)place"
        value = _as("value", *shape)
        call = f"__builtin_ia32_maskstore{SHORT[shape]}({at}, {MASKS[shape]}, {value})"
        return _either(AVX512, f"{head}{{\n  {call};\n}}\n", otherwise)
    if shape in LONG:
        kind, active = LONG[shape]
        at, value = f"({INTEGERS[bits]} *)(ulong)place", _as("value", *shape)
        call = f"__builtin_ia32_storedqu{kind}512_mask({at}, {value}, {active})"
        return _either(AVX512, f"{head}{{\n  {call};\n}}\n", otherwise)
    return otherwise


def _back(call: str, type_: str) -> str:
    return f"__builtin_astype({call}, {type_})"


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
    **{masked_access("load", *shape): _load(*shape) for shape in SHAPES},
    **{masked_access("store", *shape): _store(*shape) for shape in SHAPES},
}
"""the texts by the names of the functions"""
