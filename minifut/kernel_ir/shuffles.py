"""Shuffles of one or two vectors as macros, named by lanes and bits of a lane.

    INTERLEAVE_LOW_16X32(a, b)     a0, b0, a1, b1, .. a7, b7
    MOVE_UP_2_16X32(a, b)          a14, a15, b0, b1, .. b13
    REVERSE_16X32(a)               a15, a14, .. a0
    LANES_XOR_1_16X32(a)           a1, a0, a3, a2, .. a15, a14
    EVERY_2_16X32(a, b)            a0, a2, .. a14, b1, b3, .. b15
    JOIN_8X32(a, b)                a0, .. a3, b0, .. b3
    UNPACK_LOW_8X32(a, b)          a0, b0, a1, b1, a4, b4, a5, b5: within 128 bits

    minifut_pack_bytes(a, bits)    the bytes of a word whose bits are 1, side by side
    minifut_count(bits)            how many bits are 1
    minifut_compress_16X32(a, bits)    the lanes whose bits are 1, side by side
    minifut_mask_bits_16(mask)     a bit for each lane: 1 if it is -1, 0 if it is 0
    minifut_first_16_i64(a, mask)      the first lane that is active, of at least one

    any(mask), all(mask)           of lanes that are 0 or -1
    min(a, b), max(a, b)           of two values of one type

Clang's builtin compiles to one or two instructions; OpenCL's `shuffle2`, whose mask
need not be constant, often to a call. So do all functions of PoCL's library, around
which vectors are not kept in registers; `any` tests lane by lane there.
"""

from __future__ import annotations

from minifut.ir.c_types import C_NAMES

STRIDES = (2, 3)
"""of elements that are taken from whole vectors"""
SQUARES = {32: 8, 64: 4}
"""the lanes of 256 bits, of which squares are transposed, by the bits of a lane"""
_MASKS = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}


def interleave(part: str, lanes: int, bits: int) -> str:
    """The name of the macro; `part` is "LOW" or "HIGH", the interleaved half."""
    return f"INTERLEAVE_{part}_{lanes}X{bits}"


def join(lanes: int, bits: int) -> str:
    """The name of the macro that makes a vector of two of half as many lanes."""
    return f"JOIN_{lanes}X{bits}"


def unpack(part: str, lanes: int, bits: int) -> str:
    """The name of the macro that interleaves the "LOW" or "HIGH" halves of each 128
    bits, where the instructions of AVX do."""
    return f"UNPACK_{part}_{lanes}X{bits}"


def move_up(distance: int, lanes: int, bits: int) -> str:
    """The name of the macro that shifts lanes up by a distance."""
    return f"MOVE_UP_{distance}_{lanes}X{bits}"


def reverse(lanes: int, bits: int) -> str:
    """The name of the macro that puts lanes into the opposite order."""
    return f"REVERSE_{lanes}X{bits}"


def partners(operator: str, distance: int, lanes: int, bits: int) -> str:
    """The name of the macro that gives each lane the one whose number is its own,
    combined with a distance by "or" or "xor"."""
    return f"LANES_{operator.upper()}_{distance}_{lanes}X{bits}"


def compress(lanes: int, bits: int) -> str:
    """The name of the macro that puts the lanes whose bits are 1 side by side."""
    return f"minifut_compress_{lanes}X{bits}"


def _compress_definition(lanes: int, bits: int) -> str:
    name, element = compress(lanes, bits), "long" if bits == 64 else "int"
    type_, letter = f"{element}{lanes}", "d" if bits == 64 else "s"
    builtin = f"__builtin_ia32_compress{letter}i{lanes * bits}_mask"
    known = (
        "#if defined(__clang__) && defined(__AVX512VL__)\n"
        f"#define {name}(a, bits) __builtin_astype({builtin}(a, a, bits), {type_})\n"
    )
    if lanes * bits <= 256:
        known += _permuting(name, type_, lanes, bits)
    return (
        f"{known}#else\n"
        f"static inline {type_} {name}({type_} a, ulong bits) {{\n"
        f"  {element} from[{lanes}], to[{lanes}];\n"
        f"  vstore{lanes}(a, 0, from);\n"
        f"  for (int at = 0, count = 0; at < {lanes}; at++) {{\n"
        "    to[count] = from[at];\n"
        "    count += (bits >> at) & 1;\n"
        "  }\n"
        f"  return vload{lanes}(0, to);\n"
        "}\n#endif\n"
    )


def _permuting(name: str, type_: str, lanes: int, bits: int) -> str:
    """The function in instructions of AVX2: words of 32 bits are taken from places that
    are packed as bytes."""
    words = lanes * bits // 32
    one = "0001" * (words // 2) if bits == 64 else "01" * words
    vector, permuted = {
        4: ("float4", "__builtin_ia32_vpermilvarps"),
        8: ("int8", "__builtin_ia32_permvarsi256"),
    }[words]
    bytes_ = f"as_uchar{words}({'(uint)' * (words == 4)}taken)"
    return (
        "#elif defined(__clang__) && defined(__AVX2__) && defined(__BMI2__)\n"
        f"static inline {type_} {name}({type_} a, ulong bits) {{\n"
        f"  ulong taken = __builtin_ia32_pdep_di(bits, 0x{one}UL)"
        f" * {(1 << bits // 4) - 1};\n"
        "  taken = __builtin_ia32_pext_di(0x0706050403020100UL, taken);\n"
        f"  int{words} places = __builtin_convertvector({bytes_}, int{words});\n"
        "  return __builtin_astype(\n"
        f"      {permuted}(as_{vector}(a), places), {type_});\n"
        "}\n"
    )


def mask_bits(lanes: int) -> str:
    """The name of the macro that gives the bits of a mask."""
    return f"minifut_mask_bits_{lanes}"


def _mask_bits_definition(lanes: int) -> str:
    name = mask_bits(lanes)
    wide, half = f"__builtin_ia32_cvtd2mask{lanes * 32}", "__builtin_ia32_movmskps"
    own = f"u{'short' if lanes == 16 else 'char'}"
    bits = {
        4: f"{half}(as_float4(mask))",
        8: f"{half}256(as_float8(mask))",
        16: f"({half}256(as_float8((mask).lo)) | {half}256(as_float8((mask).hi)) << 8)",
    }[lanes]
    return (
        "#if defined(__clang__) && defined(__AVX512VL__) && defined(__AVX512DQ__)\n"
        f"#define {name}(mask) ((ulong)({own}){wide}(mask){' & 15' * (lanes < 8)})\n"
        "#elif defined(__clang__) && defined(__AVX2__)\n"
        f"#define {name}(mask) ((ulong){bits})\n"
        "#else\n"
        f"static inline ulong {name}(int{lanes} mask) {{\n"
        f"  int lane[{lanes}];\n"
        "  ulong bits = 0;\n"
        f"  vstore{lanes}(mask, 0, lane);\n"
        f"  for (int at = 0; at < {lanes}; at++) bits |= (ulong)(lane[at] & 1) << at;\n"
        "  return bits;\n"
        "}\n#endif\n"
    )


def first_active(lanes: int, element: str) -> str:
    """The name of the function that gives the first active lane of a vector."""
    return f"minifut_first_{lanes}_{element}"


def _first_definition(lanes: int, name: str) -> str:
    element = C_NAMES[name] if name != "bool" else "int"  # as masks are
    return (
        f"static {element} {first_active(lanes, name)}({element}{lanes} a, "
        f"int{lanes} mask) {{\n"
        f"  {element} values[{lanes}]; int active[{lanes}], at = 0;\n"
        f"  vstore{lanes}(a, 0, values); vstore{lanes}(mask, 0, active);\n"
        "  while (!active[at]) at++;\n"
        "  return values[at];\n"
        "}\n"
    )


def every(stride: int, lanes: int, bits: int) -> str:
    """The name of the macro that takes every 2nd or 3rd element of a row from as many
    vectors of it: of neighbours, but that the last one ends with the last element
    that is taken."""
    return f"EVERY_{stride}_{lanes}X{bits}"


def _every_definition(stride: int, lanes: int, bits: int) -> str:
    name, mask_type = every(stride, lanes, bits), f"{_MASKS[bits]}{lanes}"
    vectors = "abc"[:stride]
    own = clang = "a"
    for number in range(1, stride):
        is_last = number == stride - 1
        begin = (stride - 1) * (lanes - 1) if is_last else number * lanes
        places = [
            lanes + lane * stride - begin
            if number * lanes <= lane * stride < begin + lanes
            else lane
            if number > 1
            else min(lane * stride, lanes - 1)
            for lane in range(lanes)
        ]
        numbers = ", ".join(map(str, places))
        clang = f"__builtin_shufflevector({clang}, {vectors[number]}, {numbers})"
        own = f"shuffle2({own}, {vectors[number]}, ({mask_type})({numbers}))"
    given = ", ".join(vectors)
    return (
        "#if defined(__clang__)\n"
        f"#define {name}({given}) {clang}\n"
        f"#else\n#define {name}({given}) {own}\n#endif\n"
    )


def _definition(
    name: str, lanes: int, bits: int, places: list[int], second: str = "b"
) -> str:
    numbers = ", ".join(map(str, places))
    mask = f"({_MASKS[bits]}{lanes})({numbers})"
    given = ", ".join(dict.fromkeys(("a", second)))
    return (
        "#if defined(__clang__)\n"
        f"#define {name}({given}) __builtin_shufflevector(a, {second}, {numbers})\n"
        "#else\n"
        f"#define {name}({given}) shuffle2(a, {second}, {mask})\n"
        "#endif\n"
    )


def _interleaved(part: str, lanes: int) -> list[int]:
    first = 0 if part == "LOW" else lanes // 2
    return [i for n in range(lanes // 2) for i in (first + n, lanes + first + n)]


def _unpacked(part: str, lanes: int, bits: int) -> list[int]:
    few = 128 // bits
    within = [i if i < few else i - few + lanes for i in _interleaved(part, few)]
    return [first + i for first in range(0, lanes, few) for i in within]


PACK_BYTES = """\
#ifdef __BMI2__
#define minifut_pack_bytes(bytes, bits) __builtin_ia32_pext_di(bytes, (bits) * 255)
#else
static inline ulong minifut_pack_bytes(ulong bytes, ulong bits) {
  ulong packed = 0;
  for (int at = 0, to = 0; at < 64; at += 8) {
    ulong bit = (bits >> at) & 1;
    packed |= ((bytes >> at) & (255 * bit)) << to;
    to += 8 * (int)bit;
  }
  return packed;
}
#endif
"""

COUNT = """\
#ifdef POCL_DEVICE_ADDRESS_BITS
#define minifut_count(bits) ((ulong)__builtin_popcountl(bits))
#else
#define minifut_count(bits) popcount(bits)
#endif
"""
"""PoCL's popcount is a call"""


def _inlined(name: str, parameters: str, value: str) -> str:
    """A macro in the place of a function of PoCL's library."""
    return (
        "#if defined(POCL_DEVICE_ADDRESS_BITS) && defined(__has_builtin)\n"
        "#if __has_builtin(__builtin_reduce_or)\n"
        f"#undef {name}\n"
        f"#define {name}({parameters}) ({value})\n"
        "#endif\n#endif\n"
    )


def _least(name: str, test: str) -> str:
    """`name` of two operands, the second one if the test holds; they are evaluated once
    each, and have no address space."""
    own = "".join(
        f"__typeof__(({letter}) + 0) minifut_{letter} = ({letter}); " for letter in "ab"
    )
    return _inlined(name, "a, b", f"{{ {own}{test} ? minifut_b : minifut_a; }}")


SHUFFLES: dict[str, str] = (
    {
        "any": _inlined("any", "mask", "__builtin_reduce_or(mask) != 0"),
        "all": _inlined("all", "mask", "__builtin_reduce_or(~(mask)) == 0"),
        "min": _least("min", "minifut_b < minifut_a"),
        "max": _least("max", "minifut_a < minifut_b"),
        "minifut_pack_bytes": PACK_BYTES,
        "minifut_count": COUNT,
    }
    | {
        compress(lanes, bits): _compress_definition(lanes, bits)
        for lanes, bits in ((16, 32), (8, 32), (4, 32), (8, 64), (4, 64))
    }
    | {mask_bits(lanes): _mask_bits_definition(lanes) for lanes in (4, 8, 16)}
    | {
        first_active(lanes, name): _first_definition(lanes, name)
        for name in C_NAMES
        for lanes in (4, 8, 16)
    }
    | {
        interleave(part, lanes, bits): _definition(
            interleave(part, lanes, bits), lanes, bits, _interleaved(part, lanes)
        )
        for part in ("LOW", "HIGH")
        for lanes, bits in ((16, 8), (16, 16), (16, 32), (8, 32), (8, 64))
    }
    | {
        join(lanes, bits): _definition(
            join(lanes, bits), lanes, bits, list(range(lanes))
        )
        for bits, lanes in SQUARES.items()
    }
    | {
        unpack(part, lanes, bits): _definition(
            unpack(part, lanes, bits), lanes, bits, _unpacked(part, lanes, bits)
        )
        for part in ("LOW", "HIGH")
        for bits, lanes in SQUARES.items()
    }
    | {
        move_up(distance, lanes, bits): _definition(
            move_up(distance, lanes, bits),
            lanes,
            bits,
            list(range(lanes - distance, 2 * lanes - distance)),
        )
        for lanes in (4, 8, 16)
        for bits in _MASKS
        for distance in (1, 2, 4, 8)
        if distance < lanes
    }
    | {
        reverse(lanes, bits): _definition(
            reverse(lanes, bits), lanes, bits, list(reversed(range(lanes))), "a"
        )
        for lanes in (4, 8, 16)
        for bits in _MASKS
    }
    | {
        every(stride, lanes, bits): _every_definition(stride, lanes, bits)
        for stride in STRIDES
        for lanes in (4, 8, 16)
        for bits in _MASKS
    }
    | {
        partners(name, distance, lanes, bits): _definition(
            partners(name, distance, lanes, bits),
            lanes,
            bits,
            [combine(n, distance) for n in range(lanes)],
            "a",
        )
        for name, combine in (("or", int.__or__), ("xor", int.__xor__))
        for lanes in (4, 8, 16)
        for bits in _MASKS
        for distance in (1, 2, 4, 8)
        if distance < lanes
    }
)
