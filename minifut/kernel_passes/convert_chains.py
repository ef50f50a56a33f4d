"""If-conversion of chains of tests of one integer, in loops over points or lanes.

    if (x == 3) y = 1;                     bool chosen = x == 3;
    else if (x == 2) y = xs[i];    →       if (!chosen & x == 2) z = xs[i]; else z = 0;
    else y = 0;                            y = chosen ? 1 : z;

The device's compiler converts branches itself where it makes vectors of a loop, with
masks for what they load, but of such a chain it makes a jump table first, and then no
vectors. So it does of one branch on several tests, as of `x == 32 || x == 10`.
Measured on PoCL: a step of Conway's life takes 0.15 of the time, a sum of flags by
characters 0.16.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir.node import replace
from minifut.ir.search import classes_in, nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import MASKS, CodeContext, KernelOutcome
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.if_convert import converted, if_convert
from minifut.kernel_passes.vectorise.context import WIDTHS
from minifut.names import Name
from minifut.rewrite.rule import rule


def convert_chains(k: KernelEditor) -> None:
    """Select by chains of tests of one integer in loops over points."""

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        inside = classes_in(loop.body)
        if not (loop.points or _is_over_lanes(loop)) or kc.Branch not in inside:
            return None
        if not inside.isdisjoint((kc.For, kc.While, kc.Fail)):
            return None
        if not _tests_twice(nodes_of(kc.Declare | kc.Branch, loop.body)):
            return None
        done = if_convert(k, loop.body.statements, by=if_convert_tests)
        return (replace(loop, body=kc.Block(tuple(done))),)

    k.change_loops(change)


def _is_over_lanes(loop: kc.For) -> bool:
    """Whether the rounds are those of lanes, such as of a reduction's accumulators."""
    return loop.rounds is not None and loop.rounds >= WIDTHS[0]


def _tests_twice(nodes: Iterable[object]) -> bool:
    """Whether branches compare the same integer with several numbers."""
    compared: dict[Name, list[str]] = {}
    tested: list[str] = []

    def values_in(condition: object) -> list[str]:
        match condition:
            case kc.Variable(name, _):
                return compared.get(name, [])
            case kc.Operation(of, (one, kc.Literal()), _) if of.name in ("eq", "ne"):
                return [str(one)]
            case kc.Operation(of, operands, _) if of.name in ("and", "or", "not"):
                return [v for each in operands for v in values_in(each)]
        return []

    for node in nodes:
        match node:
            case kc.Declare(kc.Variable(name, _), kc.Operation() as init):
                compared[name] = values_in(init)
            case kc.Branch(condition, _, _):
                tested += values_in(condition)
    return len(tested) > len(set(tested))


@rule(paper=MASKS)
def if_convert_tests(branch: kc.Statement, context: CodeContext) -> KernelOutcome:
    """Execute both sides of a short branch, but for the branches in them.

    before:
        given (const int *xs, int *ys, int a)
        bool first = a == 3;
        int y = 1;
        if (!first) {
            bool second = a == 2;
            int z;
            if (second) {
                z = xs[a];
            } else {
                z = 0;
            }
            y = z;
        }
    after:
        bool chosen = (!first);
        bool second = a == 2;
        int z;
        if (chosen & second) {
            z = xs[a];
        } else {
            z = 0;
        }
        int y = z;
        y_1 = chosen ? y : y_1;
    declines: a side accesses memory
        like before, with
        y = z => ys[a] = z
    """
    return converted(branch, context, True)
