"""Vectorisation rules: their common context.

Rules for loops are applied by the lowering and have a `LoopContext`; rules for
statements and loads in the body of a point are applied while it is vectorised, and have
the vectoriser or its lanes. `NotVectorisable`, raised anywhere inside, declines the
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from minifut.ir.kernels import Parameter
from minifut.ir.node import mutable
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext
from minifut.kernel_passes.vectorise.varying import changed_types
from minifut.names import Name
from minifut.rewrite.rule import Decline, Declined, Remark
from minifut.rewrite.trace import untraced

LoadOutcome: TypeAlias = kc.Expression | Declined
"""of a rule for loads"""
LIFT = "Matrix multiplication beyond auto-tuning (Lift)"

NOTHING = kc.Block(())


class NotVectorisable(Decline):
    """The body has something that cannot be vectorised; the message says what."""


@mutable
class LoopContext(CodeContext):
    """The context of a loop over points: candidate numbers of lanes, largest first, of
    which the first one is selected when the kernel is built that no parameter of
    `limits` is below (there may be just one, without limits). There is code for those
    that are the default of a limit for some device, and for the largest: they are added
    to `widths`, and `governing` has chosen the only one. Registers
    in `numbers` never hold a NaN. `fresh`: what the kernel writes is no other parameter
    of it; `around`: its statements. `inside`: another loop is around, so that points
    may be those of a short row. What must hold for shared rounds is added to `assumed`.
    """

    choices: tuple[int, ...]
    limits: tuple[Parameter, ...] = ()
    governing: tuple[Parameter, ...] = ()
    numbers: frozenset[Name] = frozenset()
    fresh: bool = False
    around: Sequence[kc.Statement] = ()
    inside: bool = False
    widths: list[int] = field(default_factory=list)
    assumed: list[kc.Expression] = field(default_factory=list)

    def by_width(
        self,
        body: Sequence[kc.Statement],
        make: Callable[[int], None],
        single: kc.Block = NOTHING,
    ) -> kc.Block:
        """The code of `make` for the width that is selected when the kernel is built;
        `single` for single points. Where variables of 64 bits are assigned, a vector
        has half as many lanes."""
        share = share_of(body)
        chosen = single
        usual = {number for p in self.limits for _, number in p.defaults}
        widths = [w for w in self.choices if w == self.choices[0] or w in usual]
        for number, width in reversed([*enumerate(widths)]):
            with self.k.nested() as statements, untraced(self.k, number > 0):
                make(width // share)
            block = kc.Block(tuple(statements))
            if self.limits:
                least = self.choices[-1] if width == widths[-1] else width
                allow = [self.k.build_constant(p) >= least for p in self.limits]
                block = kc.Block((kc.StaticIf(kc.all_of(allow), block, chosen),))
            chosen = block
            self.widths.insert(0, width // share)
        return chosen


def share_of(body: Sequence[kc.Statement]) -> int:
    """By how much variables of 64 bits divide the lanes of a vector."""
    return 2 if any(t.bits == 64 for t in changed_types(body)) else 1


WIDTHS = (16, 8)
LANES = Parameter(
    "lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1)),
    (1, 16),
    "lanes of explicit vectors, for elements of 32 bits: 16 (or 8) or 1",
)


def loop_context(
    k: CodeBuilder,
    fresh: bool = False,
    around: Sequence[kc.Statement] = (),
    limits: tuple[Parameter, ...] = (),
    inside: bool = False,
) -> LoopContext:
    """A loop whose vector width is chosen by the parameter, and is not above others."""
    return LoopContext(
        k, WIDTHS, (LANES, *limits), fresh=fresh, around=around, inside=inside
    )


def widths_of(_: Any, context: LoopContext) -> Remark:
    """The widths for which there is code."""
    numbers = " or ".join(map(str, context.widths))
    return Remark(
        (f"{numbers} lanes in {context.k.base}",), (*context.limits, *context.governing)
    )
