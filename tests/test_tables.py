"""Tables by class cover the union that they are about: a new node without an entry is
found here, not when a program has one."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import minifut
from minifut.distributed import locality
from minifut.frontend import syntax
from minifut.frontend.check import definitions
from minifut.frontend.check.consumption import expressions as consumption
from minifut.frontend.check.inference import expressions as inferred
from minifut.frontend.check.inference import type_expressions
from minifut.frontend.check.sizing import expressions as sized
from minifut.frontend.elaborate import expressions as elaborated
from minifut.ir import typing, verify_rules
from minifut.ir.core import CORE_EXPRESSIONS
from minifut.ir.derivatives import DERIVATIVE_EXPRESSIONS
from minifut.ir.dialect import DIFFERENTIABLE, KERNELS, SOACS
from minifut.ir.expressions import Exp
from minifut.ir.interpret import second_order, walk
from minifut.ir.kernels import KernelResult
from minifut.kernel_ir import nodes as kernel_code
from minifut.lowering.groups import cpu_threads, gpu_code
from minifut.lowering.host import code as host_code
from minifut.lowering.threads import code as thread_code
from minifut.passes.differentiate import tables

assert definitions  # imports the modules that add to the tables


def below(base: type) -> frozenset[type]:
    return frozenset(
        found
        for found in vars(syntax).values()
        if isinstance(found, type) and issubclass(found, base) and found is not base
    )


ALL = frozenset(get_args(Exp))
EXPRESSIONS, TYPES = below(syntax.Exp), below(syntax.TypeExp)
ANYWHERE = KERNELS.expressions | KERNELS.inside
INTERPRETED = {**walk.RULES, **walk.SIMPLE, **second_order.RULES}
# left out: what elaboration meets in a row of bindings
BINDINGS = "Let LetFunction LetUpdate Parens"
# left out: what is on the host only, or in kernels of its own
HOST, OPERATIONS = "AtLeast GetParameter WithAcc", "SegHist SegMap SegRed SegScan"
# left out: what stands for nothing that is differentiated
CONSTANT = "Assert GetParameter Jvp Scratch SizeExp Vjp"
# left out: what fits every pattern of the right types
ANY = "Apply Copy GetParameter If Loop Match Opaque Replicate Reshape Scratch Trace"

TABLES = {
    "elaborate": (elaborated.FORMS, EXPRESSIONS, BINDINGS),
    "consumption": (consumption.RULES, EXPRESSIONS, ""),
    "inference": (inferred.RULES, EXPRESSIONS, ""),
    "sizing": (sized.RULES, EXPRESSIONS, ""),
    "types": (type_expressions._RULES, TYPES, ""),
    "typing": (typing.RULES, ALL, ""),
    "verify": (verify_rules.RULES, ALL, ANY),
    "interpret": (INTERPRETED, ALL, "CustomVjp Jvp Vjp"),
    "host": (host_code.RULES, KERNELS.expressions, OPERATIONS),
    "threads": (
        thread_code.RULES,
        KERNELS.expressions,
        "AtLeast GetParameter WithAcc SegHist SegRed SegScan",
    ),
    "groups, gpu": (gpu_code.GROUP_RULES, ANYWHERE, f"{HOST} Hist Scatter Screma"),
    "groups, cpu": (cpu_threads.RULES, ANYWHERE, f"{HOST} Hist Scatter Screma"),
    "forward": (tables.FORWARD, DIFFERENTIABLE.expressions, CONSTANT),
    "reverse": (tables.REVERSE, DIFFERENTIABLE.expressions, f"{CONSTANT} UpdateAcc"),
    "locality": (
        locality.RULES,
        SOACS.expressions,
        "Apply ArrayLiteral Assert GetParameter ScalarOp SizeExp Trace UpdateAcc WithAcc",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_cover_their_union(name: str) -> None:
    table, union, left_out = TABLES[name]
    missing = {node.__name__ for node in union if node not in table}
    assert missing == set(left_out.split())
    assert set(table) <= union


def test_the_union_has_the_expressions_of_all_dialects() -> None:
    dialects = DIFFERENTIABLE.expressions | ANYWHERE
    assert dialects == ALL
    assert dialects >= set(CORE_EXPRESSIONS) | set(DERIVATIVE_EXPRESSIONS)


# How many `match` statements over these unions may end with a default. Each treats all
# nodes that it does not name alike: it walks into them, or refuses them. Of a small
# union all classes are named, and mypy finds what is missing.
DEFAULTS = {
    "expressions of the core": (ALL, 20),
    "results of kernels": (frozenset(get_args(KernelResult)), 0),
    "statements of kernel code": (frozenset(get_args(kernel_code.Statement)), 4),
    "statements of the host": (frozenset(get_args(kernel_code.HostStatement)), 0),
}


@pytest.mark.parametrize("union", DEFAULTS)
def test_few_matches_over_a_union_end_with_a_default(union: str) -> None:
    members, most = DEFAULTS[union]
    names = {node.__name__ for node in members}
    found = [place for place, classes in with_defaults() if classes <= names]
    assert len(found) <= most, found


@cache
def with_defaults() -> list[tuple[str, set[str]]]:
    """Where the `match` statements are that end with a default, and the classes that
    they name, if any."""
    found = [
        (f"{path.name}:{node.lineno}", classes_of(node))
        for path in Path(minifut.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Match) and ends_with_default(node)
    ]
    return [(place, classes) for place, classes in found if classes]


def ends_with_default(match: ast.Match) -> bool:
    """Whether its last case takes anything. A default that passes the subject on is
    none: the type of what takes it says which nodes are left."""
    last = match.cases[-1]
    if not isinstance(last.pattern, ast.MatchAs) or last.pattern.pattern or last.guard:
        return False
    match last.body:
        case [ast.Expr(ast.Call(args=[subject])), *_]:
            return ast.unparse(subject) != ast.unparse(match.subject)
    return True


def classes_of(match: ast.Match) -> set[str]:
    """The classes that its cases name, besides those of attributes."""
    patterns = [case.pattern for case in match.cases]
    found = set()
    for pattern in patterns:
        match pattern:
            case ast.MatchOr(inner):
                patterns += inner
            case ast.MatchAs(pattern=ast.pattern() as inner):
                patterns.append(inner)
            case ast.MatchClass(cls):
                found.add(ast.unparse(cls).rpartition(".")[2])
    return found
