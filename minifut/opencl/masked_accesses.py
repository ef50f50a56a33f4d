"""Loads and stores of the active lanes of vectors, as helper functions of C.

    minifut_load_masked_16x32(place, mask)           0 in the lanes that are not active
    minifut_store_masked_16x32(place, mask, value)   leaves their elements as they are
    minifut_gather_masked_16x32(start, indices, mask)

Elements of lanes that are not active are not accessed, also where they are outside of
the array. A CPU has instructions for this, which PoCL's compiler offers as builtins;
without them a vector is two of half the lanes, and one of four is done lane by lane.
Stores by AVX2 are slower than that on some processors, and so are gathers, so that
AVX-512 is required. Lane by lane, gathers load the first element for lanes that are
not active, without a branch for each: there is one where a lane is active, and an empty
array has memory.
"""

from __future__ import annotations

from collections.abc import Iterator

NARROWEST = 4
MASK_BITS = 32
INTEGERS = {32: "int", 64: "long"}
SHAPES = tuple((lanes, bits) for bits in INTEGERS for lanes in (4, 8, 16))
"""lanes and bits"""
VECTORS = "minifut_vectors"
PARAMETERS = {
    "load": ("place", "mask"),
    "store": ("place", "mask", "value"),
    "gather": ("start", "at", "mask"),
}
LANE = {
    "load": "mask.s{0} ? place[{0}] : 0",
    "store": "if (mask.s{0}) place[{0}] = value.s{0}",
    "gather": "start[at.s{0}]",
}
"""what is done for one lane"""
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
    integer, stores = INTEGERS[bits], verb == "store"
    vector = f"{integer}{lanes}"
    pointer = f"__global {'' if stores else 'const '}{integer} *"
    types = {"place": pointer, "start": pointer, "mask": f"int{lanes} "}
    types |= {"at": f"long{lanes} ", "value": f"{vector} "}
    given = ", ".join(types[name] + name for name in PARAMETERS[verb])
    result = "void" if stores else vector
    head = f"static {result} {masked_access(verb, lanes, bits)}({given})\n"
    if lanes > NARROWEST:
        parts = [_half(verb, lanes, bits, side) for side in ("lo", "hi")]
    else:
        parts = [LANE[verb].format(n) for n in range(lanes)]
    text = "; ".join(parts) if stores else f"return ({vector})({', '.join(parts)})"
    if lanes == NARROWEST and verb == "gather":
        active = "mask" if bits == MASK_BITS else f"convert_{vector}(mask)"
        text = text.replace(
            "return", f"at &= convert_long{lanes}(mask);\n  return {active} &"
        )
    otherwise = f"{head}{{\n  {text};\n}}\n"
    call = _builtin(verb, lanes, bits)
    if call is None:
        return otherwise
    native = call if stores else f"return __builtin_astype({call}, {vector})"
    feature = AVX2 if verb == "load" and (lanes, bits) in SHORT else AVX512
    condition = f"defined(POCL_DEVICE_ADDRESS_BITS) && defined({feature})"
    return f"#if {condition}\n{head}{{\n  {native};\n}}\n#else\n{otherwise}#endif\n"


def _half(verb: str, lanes: int, bits: int, side: str) -> str:
    """The access of half of the lanes."""
    place = f"place + {lanes // 2}" if side == "hi" else "place"
    whole = {"place": place, "start": "start"}
    given = (whole.get(name, f"{name}.{side}") for name in PARAMETERS[verb])
    return f"{masked_access(verb, lanes // 2, bits)}({', '.join(given)})"


def _builtin(verb: str, lanes: int, bits: int) -> str | None:
    """The call of the instruction, if there is one of this shape."""
    shape, constant = (lanes, bits), "" if verb == "store" else "const "
    zero = f"({INTEGERS[bits]}{lanes})(0)"
    if verb == "gather":
        if lanes != GATHERED_AT_ONCE:
            return None
        return (
            f"__builtin_ia32_gatherdiv{GATHERED[bits]}({_as(zero, *shape)}, "
            f"(void const *)(ulong)start, {_as('at', 8, 64)}, {BITS_8}, {bits // 8})"
        )
    if shape in SHORT:
        at = f"({constant}{TYPES[shape]} *)(ulong)place, {MASKS[shape]}"
        value = "" if verb == "load" else f", {_as('value', *shape)}"
        return f"__builtin_ia32_mask{verb}{SHORT[shape]}({at}{value})"
    if shape in LONG:
        kind, active = LONG[shape]
        at = f"({constant}{INTEGERS[bits]} *)(ulong)place"
        value = _as(zero if verb == "load" else "value", *shape)
        return f"__builtin_ia32_{verb}dqu{kind}512_mask({at}, {value}, {active})"
    return None


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
        for verb in PARAMETERS
        for shape in SHAPES
    },
}
"""the texts by the names of the functions"""
