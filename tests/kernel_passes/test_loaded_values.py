"""Values that depend on loads are found backwards from where they are used."""

from __future__ import annotations

from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.expressions import VectorType
from minifut.kernel_passes.loaded_values import LoadedValues
from minifut.names import Name

INT = VectorType(I32)
ARRAY = kc.Memory(Name("xs", 0), I32)
LOAD = kc.Load(ARRAY, kc.Literal(0, INT), INT)


def variable(name: str) -> kc.Variable:
    return kc.Variable(Name(name, 1), INT)


A, B, C, D = map(variable, "abcd")


def test_what_is_computed_from_a_load_is_loaded() -> None:
    values = LoadedValues(kc.Block((kc.Declare(A, LOAD + 1), kc.Declare(B, A * 2))))
    assert values.reach(B)
    assert values.reach(C + B)
    assert not values.reach(C)
    assert values.reach(LOAD)


def test_loops_go_round() -> None:
    body = kc.Block((kc.Assign(A, B), kc.Assign(B, C), kc.Assign(C, C + LOAD)))
    values = LoadedValues(body)
    assert values.reach(A)
    circle = LoadedValues(kc.Block((kc.Assign(A, B), kc.Assign(B, A))))
    assert not circle.reach(A)
    assert not circle.reach(B)


def test_what_is_assigned_in_a_branch_depends_on_its_condition() -> None:
    branch = kc.Branch(A < 3, kc.Block((kc.Assign(B, C),)), None)
    body = kc.Block((kc.Declare(A, LOAD), branch))
    assert LoadedValues(body).reach(B)
    assert not LoadedValues(body, by_branches=False).reach(B)


def test_a_loop_index_depends_on_its_bounds() -> None:
    body = kc.Block((kc.Declare(A, LOAD), kc.For(D, C, A, C, kc.Block(()))))
    assert LoadedValues(body).reach(D)
    assert not LoadedValues(body).reach(C)
