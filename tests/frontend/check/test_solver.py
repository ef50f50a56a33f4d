"""Unification of types, by itself."""

from __future__ import annotations

import pytest

from minifut.frontend.check.messages import Mismatch
from minifut.frontend.check.solver import Free, Solver
from minifut.frontend.types import (
    Array,
    Arrow,
    Meta,
    Scalar,
    SizeAny,
    Type,
    record,
    tuple_type,
)

I32, F32 = Scalar("i32"), Scalar("f32")


def array(element: Type) -> Type:
    return Array(SizeAny(), element)


def fresh(solver: Solver) -> Meta:
    return solver.fresh(Free(""), 0, None)


def test_what_is_unknown_takes_the_other_type_everywhere() -> None:
    solver = Solver()
    one, other = fresh(solver), fresh(solver)
    solver.unify(one, other)
    solver.unify(array(other), array(I32))
    assert solver.finish(tuple_type((one, other))) == tuple_type((I32, I32))


def test_functions_and_records_unify_part_by_part() -> None:
    solver = Solver()
    a, b = fresh(solver), fresh(solver)
    solver.unify(
        Arrow(None, record({"x": a, "y": I32}), b),
        Arrow(None, record({"x": F32, "y": I32}), a),
    )
    assert solver.finish(a) == solver.finish(b) == F32


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (I32, F32),
        (array(I32), I32),
        (tuple_type((I32, I32)), tuple_type((I32, F32))),
        (record({"x": I32}), record({"y": I32})),
        (Arrow(None, I32, I32), I32),
    ],
)
def test_types_of_other_forms_do_not_unify(left: Type, right: Type) -> None:
    with pytest.raises(Mismatch):
        Solver().unify(left, right)


def test_a_type_is_no_part_of_itself() -> None:
    solver = Solver()
    unknown = fresh(solver)
    with pytest.raises(Mismatch, match="Occurs"):
        solver.unify(unknown, array(unknown))


def test_the_fault_says_where_in_the_types_it_is() -> None:
    left = record({"x": I32, "y": array(I32)})
    with pytest.raises(Mismatch) as caught:
        Solver().unify(left, record({"x": I32, "y": array(F32)}))
    assert (caught.value.left, caught.value.right) in ((I32, F32), (F32, I32)) or (
        caught.value.path
    )
