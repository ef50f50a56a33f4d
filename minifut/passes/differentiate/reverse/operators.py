r"""What operators of reductions, scans and histograms look like.

\(a, b) -> a + b                        the scalar operator `add`
\(a, b) -> map (\(x, y) -> x * y) a b   a vectorised operator
\(a, b, c, d) -> {a + c, b * d}         independent components
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir import core, soacs
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Lambda, Stm
from minifut.ir.scalars import identities
from minifut.ir.traverse import free_names, used_names
from minifut.ir.types import ArrayType, Type
from minifut.names import Name
from minifut.passes.simplify.dead_code import remove_dead_code_in


def scalar_operator(operator: Lambda) -> str | None:
    """The name of the scalar operator that it is, on scalars or elementwise."""
    inner: Lambda | None = operator
    while inner is not None:
        operator, inner = inner, row_operator(inner)
    if len(operator.parameters) != 2 or len(operator.body.statements) != 1:
        return None
    (statement,) = operator.body.statements
    names = [parameter.name for parameter in operator.parameters]
    exp = statement.exp
    if not isinstance(exp, core.ScalarOp) or not _gives(operator.body, statement):
        return None
    if list(exp.operands) == names:
        return exp.operator.name
    symmetric = identities(exp.operator).commutative
    return (
        exp.operator.name if symmetric and list(exp.operands) == names[::-1] else None
    )


def row_operator(operator: Lambda) -> Lambda | None:
    """The operator on elements of a vectorised one."""
    if len(operator.body.statements) != 1:
        return None
    (statement,) = operator.body.statements
    exp = statement.exp
    if not isinstance(exp, soacs.Screma) or not exp.is_map:
        return None
    names = tuple(parameter.name for parameter in operator.parameters)
    if exp.arrays != names or not _gives(operator.body, statement):
        return None
    return None if free_names(exp.function) & set(names) else exp.function


def _gives(body: Body, statement: Stm) -> bool:
    return body.result == tuple(parameter.name for parameter in statement.pattern)


def components(operator: Lambda) -> list[list[int]]:
    """The components in groups that do not depend on each other."""
    count = len(operator.results)
    owner = {p.name: n % count for n, p in enumerate(operator.parameters)}
    needs: dict[Name, set[int]] = {name: {n} for name, n in owner.items()}
    for statement in operator.body.statements:
        inputs = set().union(*[needs.get(n, set()) for n in used_names(statement)])
        for parameter in statement.pattern:
            needs[parameter.name] = inputs
    groups: list[set[int]] = []
    for n, atom in enumerate(operator.body.result):
        own = {n} | (needs.get(atom, set()) if isinstance(atom, Name) else set())
        joined = [group for group in groups if group & own]
        groups = [group for group in groups if not group & own]
        groups.append(own.union(*joined))
    return sorted(sorted(group) for group in groups)


def component(build: Builder, operator: Lambda, group: Sequence[int]) -> Lambda:
    """The operator on some of its components, which depend on no others."""
    operator = build.copy(operator)
    count = len(operator.results)
    places = [*group, *[count + n for n in group]]
    body = Body(operator.body.statements, tuple(operator.body.result[n] for n in group))
    return Lambda(
        tuple(operator.parameters[n] for n in places),
        remove_dead_code_in(body),
        tuple(operator.results[n] for n in group),
    )


def flipped(build: Builder, operator: Lambda) -> Lambda:
    """The operator with its sides exchanged."""
    operator = build.copy(operator)
    count = len(operator.results)
    left, right = operator.parameters[:count], operator.parameters[count:]
    return Lambda((*right, *left), operator.body, operator.results)


def identity(build: Builder, types: Sequence[Type]) -> Lambda:
    """The function that gives its arguments."""
    return build.function(types, lambda _, *atoms: atoms)


def is_identity(function: Lambda) -> bool:
    """Whether a lambda just gives its arguments."""
    names = tuple(parameter.name for parameter in function.parameters)
    return not function.body.statements and function.body.result == names


def all_scalar(types: Sequence[Type]) -> bool:
    """Whether no component is an array."""
    return not any(isinstance(type_, ArrayType) for type_ in types)
