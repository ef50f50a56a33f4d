"""Rules that lift to lanes: what they share.

Rules for loops are asked by the lowering and have a `LoopSite`; rules for what stands
in the body of a point are asked while it is lifted, and have the lifter or its lanes.
`NotLifted`, anywhere inside, is the rule's refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from minifut.ir.kernels import Parameter
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.rule import (
    CodeRule,
    CodeSite,
    Refused,
    Told,
    code_rule,
    unnoted,
)
from minifut.kernel_passes.vectorise.varying import changed_types
from minifut.names import Name
from minifut.rewrite.rule import Declined

LIFT = "Matrix multiplication beyond auto-tuning (Lift)"
MASKS = "Whole-function vectorization"

Outcome: TypeAlias = tuple[kc.Statement, ...] | Declined | None


class NotLifted(Refused):
    """The body needs something that lanes do not have; the message says what."""


@dataclass(slots=True)
class LoopSite(CodeSite):
    """Where a loop over points stands, and the numbers of lanes to choose from, most
    first, by what `is_wanted` tells when the kernel is built (there may be one number
    only); those for which there is code end up in `widths`. Registers in `numbers`
    never hold a NaN."""

    choices: tuple[int, ...]
    is_wanted: Callable[[int], kc.Expression] | None = None
    governing: tuple[Parameter, ...] = ()
    numbers: frozenset[Name] = frozenset()
    widths: list[int] = field(default_factory=list)

    def by_width(
        self, body: Sequence[kc.Statement], make: Callable[[int], None]
    ) -> kc.Block:
        """What `make` emits for the width that is chosen when the kernel is built;
        nothing for single points. Where variables of 64 bits change, half as many
        fill a vector."""
        share = 2 if any(t.bits == 64 for t in changed_types(body)) else 1
        chosen = kc.Block(())
        for number, width in reversed([*enumerate(self.choices)]):
            with self.k.nested() as statements, unnoted(self.k, number > 0):
                make(width // share)
            block = kc.Block(tuple(statements))
            if self.is_wanted is not None:
                choice = kc.Chosen(self.is_wanted(width), block, chosen)
                block = kc.Block((choice,))
            chosen = block
            self.widths.insert(0, width // share)
        return chosen

    def told(self) -> Told:
        """The code there is now, in words."""
        numbers = " or ".join(map(str, self.widths))
        return Told((f"{numbers} lanes in {self.k.base}",), self.governing)


def lane_rule(
    label: str = "", paper: str = ""
) -> Callable[[Callable[[Any, Any], Outcome]], CodeRule]:
    """Makes a function a rule for loops over points."""
    return code_rule(label, paper, lambda _, site: site.told())
