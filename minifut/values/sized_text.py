"""Types of parameters and results with their sizes, as users read them.

[]f32            of a leaf of shape (n,)             [n]f32
[]point          of leaves of shapes (n,), (n,)      [n]point
{p: []f32}       of a leaf of shape (d,)             {p: [d]f32}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from minifut.values.structured import Described, grouped

ParameterShape = tuple["int | str | None", ...]
"""dimensions: a number, the name of a size, or any"""


def sized_text(type_: Described, shapes: Sequence[ParameterShape | None]) -> str:
    """The type, whose leaves have these dimensions (None: a scalar). What the program
    has a name for keeps it, without sizes."""
    text = type_.text
    match type_.kind:
        case "array":
            return _dimensions(shapes[0] or ()) + text.lstrip("*[]")
        case "array_of" if text.startswith("[]"):
            outer = next((shape[:1] for shape in shapes if shape), (None,))
            inner = [shape[1:] if shape else None for shape in shapes]
            element = sized_text(type_.parts[0], inner)
            return _dimensions(outer) + (
                f"({element})" if " | " in element else element
            )
        case "tuple" if text.startswith("("):
            parts = (sized_text(p, own) for p, own in grouped(type_.parts, shapes))
            return f"({', '.join(parts)})"
        case "record" if text.startswith("{"):
            fields = (
                f"{part.name}: {sized_text(part, own)}"
                for part, own in grouped(type_.parts, shapes)
            )
            return f"{{{', '.join(fields)}}}"
        case "sum" if text.startswith("#"):
            return " | ".join(
                sized_text(part, [shapes[slot] for slot in part.slots])
                for part in type_.parts
            )
        case "constructor":
            parts = (sized_text(p, own) for p, own in grouped(type_.parts, shapes))
            return " ".join((f"#{type_.name}", *parts))
    return text


class Sized(Protocol):
    """A parameter or a result of an entry point."""

    @property
    def name(self) -> str: ...
    @property
    def sized_text(self) -> str: ...


def signature_text(
    name: str, parameters: Sequence[Sized], results: Sequence[Sized]
) -> str:
    """`main (xs: [n]f32) (k: i64): [n]f32`."""
    given = "".join(f" ({p.name}: {p.sized_text})" for p in parameters)
    return f"{name}{given}: {results_text(results)}"


def results_text(results: Sequence[Sized]) -> str:
    """The type of what a call gives: several results are a tuple."""
    text = ", ".join(result.sized_text for result in results)
    return text if len(results) == 1 else f"({text})"


def _dimensions(shape: ParameterShape) -> str:
    return "".join(f"[{'' if size is None else size}]" for size in shape)
