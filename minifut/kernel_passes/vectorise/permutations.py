"""Lanes that read each other's elements.

    y = xs[i ^ 1]     i = 8, 9, 10, 11     elements 9, 8, 11, 10: a shuffle of xs[8 ..]

Where the number of the first lane is a multiple of the lanes, `i ^ d`, `i | d` and
`i & d` with a constant d below it combine the number of the lane alone. So partners in
butterflies and sorting networks are in the vector of the lanes' own elements, which is
there if all points read those. Shifted to the right, such numbers are those of the
first lane joined with those of the lane alone, which no iteration changes.

Source: Hacker's Delight, 7-6 (Warren, 2012), the exchange of bits of an index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from minifut.ir.alpha import alpha_equal
from minifut.ir.node import mutable
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import partners
from minifut.kernel_passes.vectorise.affine import Affine, affine
from minifut.kernel_passes.vectorise.context import LIFT, LoadOutcome
from minifut.kernel_passes.vectorise.vectors import lane_bits, stored_type
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser

COMBINED: dict[str, Callable[[int, int], int]] = {
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
}
ENDS = (kc.Fail, kc.Return, kc.Break)
"""statements after which not all points go on"""
SYMBOLS = {"&": "and", "|": "or", "^": "xor"}


@mutable
class OwnBlock:
    """Points whose numbers begin at a multiple of the lanes, `first`. All of them read
    their own elements of the memories in `read`."""

    first: kc.Expression
    read: frozenset[kc.Memory]
    combined: dict[Name, tuple[str, int]] = field(default_factory=dict)
    """variables that are the number combined with a constant, once declared"""


def combined_number(
    exp: kc.Expression, lanes: ExpressionVectoriser
) -> tuple[str, int] | None:
    """The operator by which a lane's number is combined, and the power of two, less
    than there are lanes, that it is combined with; None if it is not."""
    block = lanes.own_block
    if block is None or exp.type != kc.LONG:
        return None
    if isinstance(exp, kc.Variable):
        return block.combined.get(exp.name)
    match kc.infix(exp):
        case sign, left, kc.Literal(int(value), _) if (
            sign in SYMBOLS and 0 < value < lanes.width and not value & (value - 1)
        ):
            return (SYMBOLS[sign], value) if _is_number(left, lanes) else None
    return None


def combined_numbers(
    exp: kc.Expression, lanes: ExpressionVectoriser
) -> kc.Expression | None:
    """The values in all lanes of such an expression."""
    found, block = combined_number(exp, lanes), lanes.own_block
    if found is None or block is None:
        return None
    name, value = found
    numbers = lanes.each(
        lambda n: kc.Literal(COMBINED[name](n, value), kc.LONG), kc.LONG.scalar
    )
    return numbers if name == "and" else lanes.broadcast(block.first) + numbers


def shifted_numbers(
    exp: kc.Expression, lanes: ExpressionVectoriser
) -> kc.Expression | None:
    """The numbers of lanes, shifted to the right by as much in all of them: numbers
    without a common bit keep none when they are shifted."""
    block = lanes.own_block
    match exp:
        case kc.Operation(operator, (left, right), kc.LONG) if operator.name == "shr":
            if block is None or lanes.varies(right) or not _is_number(left, lanes):
                return None
            first = kc.Operation(operator, (block.first, right), kc.LONG)
            alone = lanes.each(lambda n: kc.Literal(n, kc.LONG), kc.LONG.scalar)
            return lanes.broadcast(first) | lanes.operation(operator, [alone, right])
    return None


def _is_number(exp: kc.Expression, lanes: ExpressionVectoriser) -> bool:
    """Whether an expression is the number of the lane."""
    found = affine(exp, lanes.affine, lanes.varying)
    block = lanes.own_block
    return (
        found is not None
        and block is not None
        and found[1] == 1
        and alpha_equal(found[0], block.first)
    )


@rule(kc.Load, label="asVector", paper=LIFT)
def load_partners(load: kc.Load, lanes: ExpressionVectoriser) -> LoadOutcome:
    """Load the elements of lanes whose numbers are combined with a constant as a
    shuffle of the lanes' own elements.

    before:
        given (const float *xs, float *ys)
        for (long j = 8; j < 12; j++) {
            float x = xs[j];
            float y = 0.0f;
            if (x > y) {
                y = xs[j ^ 2];
            }
            ys[j] = y;
        }
    after:
        float4 x = (*(__global const loose_float4 *)(xs + 8L));
        float4 y = ((float4)(0.0f));
        int4 truth = x > y;
        int4 active = truth;
        if (any(active)) {
            y = active ? LANES_XOR_2_4X32((*(__global const loose_float4 *)(xs + 8L))) :
            y;
        }
        *(__global loose_float4 *)(ys + 8L) = y;
    declines: not all points read their own elements
        given (const float *xs, float *ys)
        for (long j = 8; j < 12; j++) {
            ys[j] = xs[j ^ 2];
        }
    declines: lanes do not combine their numbers with a constant
        like declines of load_partners, with
        float *ys => float *ys, long t
        xs[j ^ 2] => xs[j ^ t]
    """
    found, block = combined_number(load.index, lanes), lanes.own_block
    plain = found is None and _is_number(load.index, lanes)
    if block is None or not (plain or (found and found[0] != "and")):
        return Declined("lanes do not combine their numbers with a constant")
    if load.memory not in block.read:
        return Declined("not all points read their own elements")
    type_ = kc.VectorType(stored_type(load.memory), lanes.width)
    own = kc.Load(load.memory, block.first, type_)
    if found is None:
        return own
    return kc.Call(partners(*found, lanes.width, lane_bits(type_)), (own,), type_)


def own_block(statements: Sequence[kc.Statement], index: Name, at: Affine) -> OwnBlock:
    """The points from `at` on, with what all of them read before anything can end
    them."""
    known, varying = {index: at}, frozenset({index})

    def read(statements: Sequence[kc.Statement]) -> set[kc.Memory]:
        found: set[kc.Memory] = set()
        for statement in statements:
            match statement:
                case kc.Declare(kc.Variable(), kc.Load(memory, place, _)):
                    here = affine(place, known, varying)
                    if here and here[1] == 1 and alpha_equal(here[0], at[0]):
                        found.add(memory)
                case _ if any(isinstance(node, ENDS) for node in walk(statement)):
                    break
                case kc.Branch(_, then, kc.Block() as otherwise):
                    found |= read(then.statements) & read(otherwise.statements)
        return found

    return OwnBlock(at[0], frozenset(read(statements)))
