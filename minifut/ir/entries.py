"""Entry points of programs, as they look from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minifut.ir.node import immutable
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.ir.core import Param


@immutable
class EntryType:
    """How one parameter or result of an entry point looks from outside.

    `text` is the Futhark type without sizes (`[][]f32`, or an opaque type's name),
    `kind` is "array" (scalars included), "tuple", "record", "array_of" (of anything but
    scalars), "sum", "constructor" (of a sum) or "opaque"; `leaves` is how many core
    parameters or results stand for it, `parts` are the components, the element of
    an "array_of", or the constructors of a sum, with the positions of their leaves
    among those of the sum in `slots`; `name` is the parameter's or field's name.
    """

    printed = "{name} {text} {kind} {leaves}{unique?}<? slots {slots}><? {parts}>"
    name: str
    text: str
    kind: str
    leaves: int
    unique: bool = False
    parts: tuple[EntryType, ...] = ()
    slots: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of leaves."""
        return self.leaves


@immutable
class Entry:
    """An entry point: the function of the same `function` name, seen from outside.

    Size parameters come first among the core function's parameters: `sizes` of them,
    each found from the shapes of the arrays that follow; where several arrays mention
    the same size, the runtime checks that they agree and names the culprit.
    """

    printed = (
        "entry {name} = {function} sizes {sizes} {parameters} -> {results}"
        "<* attribute {attributes}>"
    )
    name: str
    function: Name
    sizes: int
    parameters: tuple[EntryType, ...]
    results: tuple[EntryType, ...]
    attributes: tuple[str, ...] = ()

    def scalars(self, parameters: Sequence[Param]) -> dict[Name, str]:
        """The parameters of the core function that are one of the entry point's each,
        of which results may have the size: `n` in `(n: i64): [n]f32`."""
        found, at = {}, self.sizes
        for outside in self.parameters:
            if outside.kind == "array":
                found[parameters[at].name] = outside.name
            at += outside.leaves
        return found
