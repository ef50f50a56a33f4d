"""A derivative of an entry point as a value, and the program that computes it.

Derivative("loss", "vjp", (0,))
entry loss (w: [d]f32) (xs: [n][d]f32): f32
->
entry loss_vjp_wrt_w (w: [d]f32) (xs: [n][d]f32) (adjoint: f32): (f32, [d]f32)

"grad" is "vjp" without the results of the entry point: what only they need is dead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minifut.immutables import immutable

if TYPE_CHECKING:
    from minifut.ir.core import Program as CoreProgram
    from minifut.parameters.file import FileSettings
    from minifut.passes.differentiate.entries import DerivativeMode

_OF_DERIVATIVE = re.compile(r"[^.]+_(?:jvp|vjp|grad)_wrt_[^.]+\.")
"""how the names of a derivative's tuning parameters begin"""


@immutable
class Derivative:
    """The derivative of an entry point in the parameters at the positions `wrt`."""

    entry: str
    mode: DerivativeMode
    wrt: tuple[int, ...]

    def program(self, core: CoreProgram) -> CoreProgram:
        """The core program with the derivative as its only entry point. Raises
        `UsageError` for parameters that cannot be differentiated."""
        from minifut.ir.node import replace
        from minifut.ir.parser import names_after
        from minifut.passes.differentiate.entries import add_derivative

        entry = next(e for e in core.entries if e.name == self.entry)
        names = [
            p.name if p.name.isidentifier() else str(number)
            for number, p in enumerate(entry.parameters)
        ]
        name = "_".join((self.entry, self.mode, "wrt", *(names[i] for i in self.wrt)))
        made = add_derivative(core, names_after(core), entry, name, self.mode, self.wrt)
        return replace(made, entries=made.entries[-1:])


def tuned_part(settings: FileSettings, derivative: Derivative | None) -> FileSettings:
    """What a tuning file says for a derivative, or (None) for the program itself."""
    if derivative is None:
        return settings.where(lambda name: not _OF_DERIVATIVE.match(name))
    start = f"{derivative.entry}_{derivative.mode}_wrt_"
    return settings.where(lambda name: name.startswith(start) or "." not in name)
