"""Entry points of loaded modules: arguments by name, and what tools read of them."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

from minifut import stages
from minifut.errors import ArgumentError, Source
from minifut.generated_module import generated_program

SOURCE = """
entry scale [n] (xs: [n]f32) (k: f32): [n]f32 = map (* k) xs
entry tune (device: i32): (i32, bool) = (device + 1, true)
"""
XS = np.arange(4, dtype=np.float32)
TWICE = [0, 2, 4, 6]

pytestmark = pytest.mark.device


@pytest.fixture(scope="module")
def program() -> object:
    core = stages.to_core(stages.check(Source("a.fut", SOURCE)))
    text = stages.to_host_module(stages.to_kernels(core), None, "a")
    return generated_program(text)


@pytest.fixture(scope="module")
def loaded(program: object) -> object:
    return program.load()  # type: ignore[attr-defined]


def test_arguments_by_name(loaded) -> None:  # type: ignore[no-untyped-def]
    assert loaded.scale(XS, 2).tolist() == TWICE
    assert loaded.scale(XS, k=2).tolist() == TWICE
    assert loaded.scale(k=2, xs=XS, device=True).get().tolist() == TWICE
    assert loaded.tune(device=3) == (4, True)  # a parameter, and not the option
    with pytest.raises(ArgumentError, match=r"no parameter 'kk'; did you mean 'k'"):
        loaded.scale(XS, kk=2)
    with pytest.raises(ArgumentError, match="argument xs is given twice"):
        loaded.scale(XS, 2, xs=XS)
    with pytest.raises(ArgumentError, match="scale: no value for xs"):
        loaded.scale(k=2)
    with pytest.raises(ArgumentError, match="takes 2 arguments") as failure:
        loaded.scale(XS)
    assert len(failure.traceback) == 2  # this line, and the entry point


def test_what_tools_read(loaded) -> None:  # type: ignore[no-untyped-def]
    signature = "(xs: '[n]f32', k: 'f32', *, device=False) -> '[n]f32'"
    assert str(inspect.signature(loaded.scale)) == signature
    assert "(device: 'i32') -> '(i32, bool)'" in str(inspect.signature(loaded.tune))
    assert repr(loaded.scale) == "<entry scale (xs: [n]f32) (k: f32): [n]f32>"
    assert loaded.scale.__name__ == loaded.entry("scale").name == "scale"
    assert repr(loaded).endswith(": scale, tune>")
    assert {"scale", "tune", "to_device"} <= set(dir(loaded))
    for value in (loaded, loaded.scale):
        with pytest.raises(TypeError, match="load its module again"):
            pickle.dumps(value)


def test_a_program_has_to_be_loaded(program) -> None:  # type: ignore[no-untyped-def]
    for each in (program, program.cpu):
        with pytest.raises(AttributeError, match=r"first: program\.load\(\)\.scale\("):
            each.scale(XS, 2)
        with pytest.raises(AttributeError, match="to be loaded has no 'scal'"):
            _ = each.scal
