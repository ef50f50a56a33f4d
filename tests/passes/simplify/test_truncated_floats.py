"""Floats by way of integers are the same numbers, bit for bit, at all edges."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.core import ScalarOp
from minifut.ir.scalars import convert
from minifut.ir.search import nodes_of
from minifut.ir.types import F32, F64, I64

EDGES = [0.0, 0.5, 1.0, 1.5, 2.0**23, 2.0**24 + 2, 2.0**31, 2.0**53, 2.0**62, 1e12, 1e18,
         2.0**63, 2.0**63 - 2.0**39, 2.0**63 - 1024, 1e19, 1e30, 1e-30, 5e-324,
         float("inf"), float("nan")]  # fmt: skip
FORMS = (
    "t.i64 (i64.t x)",
    "t.i64 (i64.t (t.floor x))",
    "t.i64 (i64.t (t.ceil x))",
    "t.i64 (i64.t (t.round x))",
    "t.i64 (i64.min (i64.t x) n)",
    "t.i64 (i64.max n (i64.t x))",
    "t.i64 (i64.min (i64.t x) (i64.t y))",
)


def as_integer(x: np.ndarray) -> np.ndarray:
    """The nearest integers towards 0; 0 for what is not finite."""
    limits = np.iinfo(np.int64)
    found = [
        0
        if not np.isfinite(each)
        else min(max(int(each), int(limits.min)), int(limits.max))
        for each in x
    ]
    return np.array(found, np.int64)


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("form", FORMS)
def test_edges(form: str, type_: str) -> None:
    body = form.replace("t.", f"{type_}.").replace(".t ", f".{type_} ")
    text = f"""
        entry main [k] (n: i64) (xs: [k]{type_}) (ys: [k]{type_}): [k]{type_} =
          map2 (\\x y -> {body}) xs ys"""
    program = minifut.compile(text, schedule="cpu")
    dtype = np.float32 if type_ == "f32" else np.float64
    with np.errstate(over="ignore"):
        xs = np.array([s * each for each in EDGES for s in (1, -1)], dtype)
    xs, ys = (a.ravel() for a in np.meshgrid(xs, xs))
    rounded = {
        "floor": np.floor(xs), "ceil": np.ceil(xs), "round": np.rint(xs),
    }  # fmt: skip
    whole = as_integer(next((r for n, r in rounded.items() if n in form), xs))
    for n in (0, 7, -(2**40) - 1, 2**63 - 1):
        if "y" in form:
            whole = np.minimum(as_integer(xs), as_integer(ys))
        elif "min" in form:
            whole = np.minimum(as_integer(xs), n)
        elif "max" in form:
            whole = np.maximum(as_integer(xs), n)
        wanted = whole.astype(dtype)
        found = program.main(n, xs, ys)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_converted_back(form: str) -> None:
    body = form.replace("t.", "f32.").replace(".t ", ".f32 ")
    text = f"entry main (n: i64) (x: f32) (y: f32): f32 = {body}"
    core = stages.to_core(stages.check(Source("p.fut", text)))
    program = stages.to_kernels(core)
    made = [node.operator for node in nodes_of(ScalarOp, program)]
    assert convert(F32, I64) not in made
    assert made.count(convert(I64, F32)) == (1 if " n" in form else 0)
    assert convert(I64, F64) not in made
