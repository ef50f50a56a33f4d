"""Values that depend on loads."""

from __future__ import annotations

from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.expressions import VectorType
from minifut.kernel_passes.vectorise.varying import find_loaded, varies
from minifut.names import Name

INT = VectorType(I32)
ARRAY = kc.Memory(Name("xs", 0), I32)
LOAD = kc.Load(ARRAY, kc.Literal(0, INT), INT)


def variable(name: str) -> kc.Variable:
    return kc.Variable(Name(name, 1), INT)


A, B, C, D = map(variable, "abcd")


def test_what_is_computed_from_a_load_is_loaded() -> None:
    values = find_loaded((kc.Declare(A, LOAD + 1), kc.Declare(B, A * 2)))
    assert varies(B, values)
    assert varies(C + B, values)
    assert not varies(C, values)
    assert varies(LOAD, values)


def test_loops_go_round() -> None:
    body = (kc.Assign(A, B), kc.Assign(B, C), kc.Assign(C, C + LOAD))
    values = find_loaded(body)
    assert varies(A, values)
    circle = find_loaded((kc.Assign(A, B), kc.Assign(B, A)))
    assert not varies(A, circle)
    assert not varies(B, circle)


def test_what_is_assigned_in_a_branch_depends_on_its_condition() -> None:
    branch = kc.Branch(A < 3, kc.Block((kc.Assign(B, C),)), None)
    body = (kc.Declare(A, LOAD), branch)
    assert varies(B, find_loaded(body))
    assert not varies(B, find_loaded(body, by_branches=False))


def test_a_loop_index_depends_on_its_bounds() -> None:
    body = (kc.Declare(A, LOAD), kc.For(D, C, A, C, kc.Block(())))
    assert varies(D, find_loaded(body))
    assert not varies(C, find_loaded(body))
