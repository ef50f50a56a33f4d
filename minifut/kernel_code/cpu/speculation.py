"""Short branches become choices: both sides are computed, then one is taken.

    if (c) { x = a + 1; } else { x = b; }   →   long t = a + 1; x = c ? t : b;

In vectors a choice is one instruction, a branch a test of all lanes and a jump. Only
what is cheap and cannot fault is done without need: no access to memory, no division,
no loops. Of nested branches the innermost go first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children, walk
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.builder import CodeBuilder
from minifut.names import Name

DIVISIONS = frozenset({"div", "mod", "quot", "rem", "pow"})
LONGEST_SIDE = 24
"""statements of a side that are cheaper than a test and a jump"""


def speculate(k: CodeBuilder, statements: Sequence[kc.Statement]) -> list[kc.Statement]:
    """The statements without the branches that are better choices."""
    done: list[kc.Statement] = []
    for statement in statements:
        if isinstance(statement, kc.Branch):
            done += _branch(k, statement)
        else:
            done.append(statement)
    return done


def _branch(k: CodeBuilder, branch: kc.Branch) -> list[kc.Statement]:
    then = speculate(k, branch.then.statements)
    other = branch.otherwise
    otherwise = speculate(k, other.statements) if other is not None else []
    if not (_is_cheap(then) and _is_cheap(otherwise)):
        inner = None if other is None else kc.Block(tuple(otherwise))
        return [kc.Branch(branch.condition, kc.Block(tuple(then)), inner)]
    condition = k.variable("chosen", kc.TRUTH)
    yes, yes_values = _side(k, then)
    no, no_values = _side(k, otherwise)
    made = [kc.Declare(condition, branch.condition), *yes, *no]
    for variable in {**yes_values, **no_values}:
        place = (yes_values.get(variable) or no_values[variable])[0]
        chosen = [
            values[variable][1] if variable in values else place
            for values in (yes_values, no_values)
        ]
        choice = kc.Select(condition, chosen[0], chosen[1], place.type)
        made.append(kc.Assign(place, choice))
    return made


def _is_cheap(statements: Sequence[kc.Statement]) -> bool:
    """Whether a side may be done without need."""
    if len(statements) > LONGEST_SIDE:
        return False
    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(), _) | kc.Assign(kc.Variable(), _):
                pass
            case _:
                return False
        for node in walk(statement):
            if isinstance(node, kc.Load | kc.Register):
                return False
            if isinstance(node, kc.Operation) and node.operator.name in DIVISIONS:
                return False
            if isinstance(node, kc.Binary) and node.symbol in ("/", "%"):
                return False
    return True


def _side(
    k: CodeBuilder, statements: Sequence[kc.Statement]
) -> tuple[list[kc.Statement], dict[Name, tuple[kc.Variable, kc.Variable]]]:
    """A side that changes nothing outside, and what variables from outside would be
    after it, each beside the variable itself."""
    inside: set[Name] = set()
    values: dict[Name, tuple[kc.Variable, kc.Variable]] = {}

    def renamed(node: Any) -> Any:
        if isinstance(node, kc.Variable) and node.name in values:
            return values[node.name][1]
        if isinstance(node, kc.SizeValue):
            taken = node.size.names() & values.keys()
            sizes = {name: Size.of(values[name][1].name) for name in taken}
            return kc.SizeValue(node.size.substitute(sizes)) if sizes else node
        return map_children(node, renamed)

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
                held = k.variable(name.base, type_)
                made.append(kc.Declare(held, value))
                values[name] = variable, held
    return made, values
