"""What is said where two types do not match.

A failed unification raises `Mismatch` deep inside; the caller that required the two
types to be equal has the reason, catches it and turns it into a `CompileError` at the
right place: in the first pass, which compares types, by `type_mismatch`, in the second,
which compares their sizes, by `size_mismatch`, both under one headline.

    Function body does not have expected type.
    Expected: [n]i32
    Actual:   [m]i32
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import error
from minifut.frontend import types
from minifut.frontend.check.messages import quote, show, source_text
from minifut.frontend.check.solver import HasConstructors, HasFields, OneOf

if TYPE_CHECKING:
    from collections.abc import Callable

    from minifut.errors import CompileError, Location
    from minifut.frontend import syntax
    from minifut.frontend.check.inference.state import Inference
    from minifut.frontend.check.messages import Mismatch
    from minifut.frontend.check.sizing.state import Sizing
    from minifut.frontend.types import Type

FUNCTION_BODY = "Function body does not have expected type."
LOOP_BODY = "Loop body does not have expected type."
LOOP_START = "Initial loop values do not have expected type."
BRANCHES = "Branches differ in type."
EXPECTED, FORMER = ("Expected", "Actual"), ("Former", "Latter")
IRREGULAR = (
    "all elements of an array have one shape: make them equally long (if their computed"
    " lengths are equal, say so with ':> [n]t'), or keep one flat array with the sizes"
    " beside it"
)

UNKNOWN_SIZE = (
    "a size that is known only when the program runs is written [], as in []f32"
)


def from_annotation(kind: str) -> str:
    """The headline for a value of another type than written beside it."""
    return f"Expression does not have expected type from {kind}."


def wrong_argument(callee: str | None, argument: syntax.Node | None) -> str:
    """The headline for an argument of another type than the function takes."""
    given = "an argument" if argument is None else quote(source_text(argument))
    named = "function" if callee is None else quote(callee)
    return f"Cannot apply {named} to {given} (invalid type)."


def both(headline: str, labels: tuple[str, str], one: str, other: str) -> str:
    """Two types one above the other."""
    first, second = (f"{label}:".ljust(max(map(len, labels)) + 1) for label in labels)
    return f"{headline}\n{first} {one}\n{second} {other}"


def type_mismatch(
    state: Inference,
    location: Location,
    fault: Mismatch,
    text: str,
    anchor: str = "type-mismatch",
    hint: str | None = None,
) -> CompileError:
    """The error for two types that do not unify; for some faults the same wherever they
    occur."""
    if fault.note == "Occurs check":
        shown = state.show(fault.right)  # type: ignore[arg-type]
        return error(
            location,
            f"Occurs check: cannot instantiate {state.show(fault.left)} "  # type: ignore[arg-type]
            f"with {shown}.",
            "occurs-check",
            "a value would have to contain itself, or a function to take itself",
        )
    if fault.note.startswith("Scope "):
        return error(
            location,
            f"Cannot unify type\n  {state.show(fault.right)}\n"  # type: ignore[arg-type]
            f"with a type from outside (scope violation).\n"
            f"This is because {quote(fault.note[6:])} is rigidly bound in a deeper "
            "scope.",
            "scope-violation",
        )
    details = fault.details()
    one = describe(fault.left, state.in_words)
    other = describe(fault.right, state.in_words)
    if isinstance(fault.right, OneOf):
        one, other = other, one
    if fault.note.startswith("Cannot unify"):
        details += f"\n  {one}\nwith {other}"
    elif fault.path:
        details = f"{details}\nThere {one} meets {other}.".strip()
    return error(location, f"{text}\n{details}" if details else text, anchor, hint)


def describe(thing: object, finish: Callable[[Type], Type]) -> str:
    """A type, or the demand that stands for one not yet known."""
    match thing:
        case OneOf(names):
            return f"type that must be one of {', '.join(names)}"
        case HasFields(fields):
            known = {n: finish(t) for n, t in fields.items()}
            return f"type that must be a record with fields {show(types.record(known))}"
        case HasConstructors(constructors):
            whole = {c: tuple(finish(t) for t in ts) for c, ts in constructors.items()}
            shown = show(types.Sum(tuple(sorted(whole.items()))))
            return f"type that must be a sum type with constructors {shown}"
    if isinstance(thing, types.Type):
        return show(thing, finish)
    return "a type that is not known yet"


def size_mismatch(
    state: Sizing,
    location: Location,
    fault: Mismatch,
    headline: str,
    wanted: Type,
    found: Type,
    labels: tuple[str, str] = EXPECTED,
) -> CompileError:
    """The error for types that differ in their sizes."""
    text = both(headline, labels, state.show(wanted), state.show(found))
    details = fault.details()
    anchor = "size-mismatch" if fault.anchor == "type-mismatch" else fault.anchor
    hint = None
    if "containing anonymous sizes" in fault.note:
        anchor, hint = "irregular-array", IRREGULAR
    elif anchor == "size-mismatch" and "do not match" in fault.note:
        hint = "if the sizes are equal when the program runs, coerce with ':>'"
        declared = headline in (FUNCTION_BODY, from_annotation("explicit ascription"))
        if declared and any(n.startswith("Note:") for n in details.splitlines()):
            hint = f"{UNKNOWN_SIZE}; {hint}"
    return error(location, f"{text}\n\n{details}" if details else text, anchor, hint)
