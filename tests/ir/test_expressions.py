"""The union of expressions, and the tables that take it apart."""

from __future__ import annotations

from typing import get_args

from minifut.ir.dialect import DIFFERENTIABLE, KERNELS
from minifut.ir.expressions import Exp
from minifut.ir.forms import alternatives, followed


def test_the_union_is_what_dialects_allow() -> None:
    allowed = DIFFERENTIABLE.expressions | KERNELS.expressions | KERNELS.inside
    assert set(get_args(Exp)) == allowed


def test_printed_forms_tell_expressions_apart() -> None:
    told = {*alternatives(Exp).values(), *followed(Exp).values()}
    assert told == set(get_args(Exp))
