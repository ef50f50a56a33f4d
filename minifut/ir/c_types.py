"""What OpenCL C calls the types of scalars in registers, by their names."""

from __future__ import annotations

C_NAMES = {
    "i8": "char", "i16": "short", "i32": "int", "i64": "long",
    "u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong",
    "f16": "float", "f32": "float", "f64": "double", "bool": "bool",
}  # fmt: skip
