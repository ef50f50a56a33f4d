"""Branches that become choices, and those that must stay."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.interpret import run as interpret
from minifut.ir.scalars import operator
from minifut.ir.traverse import walk
from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.if_convert import if_convert
from minifut.names import Name, NameSource


def run(statements: list[kc.Statement], values: dict[Name, int]) -> dict[Name, int]:
    """The variables after straight-line code and branches."""

    def value(exp: kc.Expression) -> int:
        match exp:
            case kc.Variable(name, _):
                return values[name]
            case kc.Literal(number, _):
                return int(number)
            case kc.SizeValue(size, _):
                return size.evaluate(values)
            case kc.Select(condition, then, otherwise, _):
                return value(then) if value(condition) else value(otherwise)
            case kc.Binary("+", left, right, _):
                return value(left) + value(right)
            case kc.Binary("<", left, right, _):
                return value(left) < value(right)
        raise AssertionError(exp)

    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name, _), None):
                values.setdefault(name, 0)
            case kc.Declare(kc.Variable(name, _), init) if init is not None:
                values[name] = value(init)
            case kc.Assign(kc.Variable(name, _), exp):
                values[name] = value(exp)
            case kc.Branch(condition, then, otherwise):
                if value(condition):
                    run(list(then.statements), values)
                elif otherwise is not None:
                    run(list(otherwise.statements), values)
            case _:
                raise AssertionError(statement)
    return values


def test_nested_branches_mean_the_same() -> None:
    k = CodeBuilder(NameSource(), "test")
    x, y, z = (k.variable(base, kc.LONG) for base in "xyz")
    with k.nested() as code:
        with k.branch(x < 5):
            k.assign(y, y + x)
            k.assign(y, y + y)
            with k.branch(y < 6):
                k.assign(x, y + 1)
            with k.otherwise():
                k.assign(z, k.size_value(k.as_size(y) + 7))
        with k.otherwise():
            t = k.declare("t", x + z)
            k.assign(z, t + 1)
        with k.branch(z < 3):
            k.assign(z, z + x)
    made = if_convert(k, code)
    assert not any(isinstance(n, kc.Branch) for s in made for n in walk(s))
    for a in range(8):
        for b in range(4):
            given = {x.name: a, y.name: b, z.name: a ^ b}
            before, after = run(code, dict(given)), run(made, dict(given))
            assert [after[v.name] for v in (x, y, z)] == [
                before[v.name] for v in (x, y, z)
            ]


def test_what_may_fault_stays_behind_its_branch() -> None:
    k = CodeBuilder(NameSource(), "test")
    x = k.variable("x", kc.INT)
    memory = kc.Memory(Name("m", -1), I32)
    divided = kc.Operation(operator("quot", I32), (x, x), kc.INT)
    for exp in (k.load(memory, 3), divided, x // x):
        with k.nested() as code, k.branch(x.differs(0)):
            k.assign(x, exp)
        assert isinstance(if_convert(k, code)[0], kc.Branch)
    with k.nested() as code, k.branch(x.differs(0)):
        k.store(memory, 0, x)
    assert isinstance(if_convert(k, code)[0], kc.Branch)


CHAINS = {
    "cells": """let s = xs[(i + 1) % n] + xs[(i - 1) % n]
        in if s == 3 || (s == 2 && xs[i] == 1) then 1 else 0""",
    "numbers": "let s = xs[i] in if s == 0 then 7 else if s == 1 then s - i else i",
    "reads that a test guards": """if i == 0 then 5 else if i == 1 then xs[i - 1]
        else if i == 2 then xs[i - 2] * 2 else if xs[i] == 3 then xs[i - 3] else 9""",
    "unequal": """let s = xs[i] in if s != 1 then (if s != 2 then s + xs[n - 1 - i] else 4)
        else 3""",
    "two values": """let (a, b) = if xs[i] == 1 then (i, 2) else if xs[i] == 2
        then (xs[(i + 3) % n], 4) else (5, xs[0]) in a * b""",
}


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_tests_mean_the_same(name: str, schedule: Any) -> None:
    text = f"entry main [n] (xs: [n]i64) = tabulate n (\\i -> {CHAINS[name]})"
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text, schedule=schedule)
    for n in (1, 4, 16, 100):
        xs = np.random.default_rng(n).integers(0, 4, n)
        wanted = interpret(core, "main", [xs])
        np.testing.assert_array_equal(program.main(xs), wanted[0])


@pytest.mark.parametrize(
    ("name", "logic"), [("cells", r"= eq\w* & eq"), ("numbers", r"chosen\w* \?")]
)
def test_the_loop_of_a_chain_has_no_jump_table(name: str, logic: str) -> None:
    text = f"entry main [n] (xs: [n]i64) = tabulate n (\\i -> {CHAINS[name]})"
    core = stages.to_core(stages.check(Source("program.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    interior = module.split("PARALLEL")[-1]
    assert re.search(logic, interior)
    assert "if (eq" not in interior
