"""If-conversion: short branches become selects of two speculated sides.

    if (c) { x = a + 1; } else { x = b; }   →   long t = a + 1; x = c ? t : b;

In vector code a select is one instruction, a branch a test of all lanes and a jump.
Only cheap code that cannot trap is speculated: no access to memory, no division, no
loops. Nested branches are converted from the inside out.

Source: Allen, Kennedy, Porterfield and Warren, "Conversion of control dependence to
data dependence" (POPL'83).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from minifut.ir import scalars, search, traverse, types
from minifut.ir.node import replace
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import MASKS, CodeContext, KernelOutcome
from minifut.names import Name
from minifut.rewrite.rule import Declined, Rule, rule

T = TypeVar("T")
DIVISIONS = frozenset({"div", "mod", "quot", "rem", "pow"})
LONGEST_SIDE = 24
"""largest number of statements of a side that is cheaper than a test and a jump"""


def if_convert(
    k: CodeBuilder,
    statements: Sequence[kc.Statement],
    pays: Callable[[kc.Branch], bool] = lambda _: True,
    by: Rule | None = None,
) -> list[kc.Statement]:
    """The statements after if-conversion of the branches for which it pays."""
    done: list[kc.Statement] = []
    for statement in statements:
        outcome: object = None
        if isinstance(statement, kc.Branch):
            sides = {"then": statement.then, "otherwise": statement.otherwise}
            for side, block in sides.items():
                if block is not None:
                    inside = tuple(if_convert(k, block.statements, pays, by))
                    change = {side: replace(block, statements=inside)}
                    statement = replace(statement, **change)
            if pays(statement):
                outcome = (by or if_convert_branch)(statement, CodeContext(k))
        done += outcome if isinstance(outcome, tuple) else (statement,)
    return done


@rule(paper=MASKS)
def if_convert_branch(branch: kc.Statement, context: CodeContext) -> KernelOutcome:
    """Execute both sides of a short branch, then select.

    before:
        given (const int *xs, int *ys, int a)
        int x = xs[0];
        int y = xs[1];
        if (x < y) {
            int d = y + x;
            x = d + a;
            y = x + d;
        } else {
            y = 7;
        }
    after:
        bool chosen = x < y;
        int d = (int)((uint)y + (uint)x);
        int x_1 = (int)((uint)d + (uint)a);
        int y_1 = (int)((uint)x_1 + (uint)d);
        int y_2 = 7;
        x = chosen ? x_1 : x;
        y = chosen ? y_1 : y_2;
    declines: a side accesses memory
        like before, with
        y = 7; => y = xs[2];
    declines: a side divides
        like before, with
        y = 7; => y = quot_i32(7, a);
    declines: a side has other statements than assignments
        like before, with
        y = 7; => while (y < a) { y = y + 1; }
    """
    return converted(branch, context, False)


def converted(
    branch: kc.Statement, context: CodeContext, nested: bool, in_lanes: bool = False
) -> KernelOutcome:
    """Both sides, then selections; with branches in them if `nested`. `in_lanes`, all
    of them are executed in any case: floats may be divided."""
    if not isinstance(branch, kc.Branch):
        return None
    then = branch.then.statements
    otherwise = branch.otherwise.statements if branch.otherwise is not None else ()
    reasons = (_cost_reason(side, nested, in_lanes) for side in (then, otherwise))
    reason = next(filter(None, reasons), None)
    if reason is not None:
        return Declined(reason)
    k = context.k
    condition = k.variable("chosen", kc.TRUTH)
    yes, yes_values = _side(k, then, condition)
    opposite = kc.Operation(scalars.operator("not", types.BOOL), (condition,), kc.TRUTH)
    no, no_values = _side(k, otherwise, opposite)
    made = [kc.Declare(condition, branch.condition), *yes, *no]
    for variable in {**yes_values, **no_values}:
        place = (yes_values.get(variable) or no_values[variable])[0]
        chosen = [
            values[variable][1] if variable in values else place
            for values in (yes_values, no_values)
        ]
        choice = kc.Select(condition, chosen[0], chosen[1], place.type)
        made.append(kc.Assign(place, choice))
    return tuple(made)


def _cost_reason(
    statements: Sequence[kc.Statement], nested: bool = False, in_lanes: bool = False
) -> str | None:
    """Why a side may not be speculated, if so."""
    if len(statements) > LONGEST_SIDE:
        return f"a side has {len(statements)} statements, more than {LONGEST_SIDE}"
    inside = search.nodes_of(kc.Declare, *statements) if nested else ()
    local = {d.variable.name for d in inside if isinstance(d.variable, kc.Variable)}
    for statement in statements:
        match statement:
            case kc.Branch(_, _, otherwise) if (
                nested and assigned((statement,)) <= local
            ):
                reason = _cost_reason(otherwise.statements) if otherwise else None
                if reason is not None:
                    return reason
                continue
            case kc.Declare(kc.Variable(), _) | kc.Assign(kc.Variable(), _):
                pass
            case kc.Store():
                return "a side accesses memory"
            case _:
                return "a side has other statements than assignments"
        for node in traverse.walk(statement):
            if isinstance(node, kc.Load):
                return "a side accesses memory"
            if isinstance(node, kc.Register):
                return "a side reads registers of a tile"
            if (
                in_lanes
                and isinstance(node, kc.Expression)
                and node.type.scalar.is_float
            ):
                continue
            if isinstance(node, kc.Operation) and node.operator.name in DIVISIONS:
                return "a side divides"
            if isinstance(node, kc.Binary) and node.symbol in ("/", "%"):
                return "a side divides"
    return None


def _side(
    k: CodeBuilder, statements: Sequence[kc.Statement], active: kc.Expression
) -> tuple[list[kc.Statement], dict[Name, tuple[kc.Variable, kc.Variable]]]:
    """A side without effect on outer variables, and for each of those that it assigns
    the variable itself and the one with its value after the side. Branches in it are
    taken where it is active."""
    inside: set[Name] = set()
    values: dict[Name, tuple[kc.Variable, kc.Variable]] = {}

    def renamed(node: T) -> T:
        return traverse.rename_to(
            node, {name: saved.name for name, (_, saved) in values.items()}
        )

    made: list[kc.Statement] = []
    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name, _) as variable, init):
                inside.add(name)
                made.append(kc.Declare(variable, init and renamed(init)))
            case kc.Assign(kc.Variable(name, type_) as variable, exp):
                value = renamed(exp)
                if name in inside:
                    made.append(kc.Assign(variable, value))
                    continue
                saved = k.variable(name.base, type_)
                made.append(kc.Declare(saved, value))
                values[name] = variable, saved
            case kc.Branch(condition, then, otherwise):
                both = kc.Binary("&", active, renamed(condition), kc.TRUTH)
                other = otherwise and renamed(otherwise)
                made.append(kc.Branch(both, renamed(then), other))
    return made, values
