"""Programs declare the built-in functions that they name, as PoCL's header does."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import minifut
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import builds as program_builds
from minifut.opencl.runtime import builtin_declarations
from minifut.opencl.runtime.builtin_declarations import (
    WITHOUT_HEADER,
    declarations,
    needed,
    parts_of,
)
from minifut.opencl.runtime.driver_target import VERSION

HEADER = textwrap.dedent("""\
    #define __ovld __attribute__((overloadable))  // all of them
    /* Roots;
       of floats (all widths). */
    float __ovld sqrt(float);
    #if defined(cl_khr_fp64) && \\
        defined(wide)
    double __ovld sqrt(double,
                       int);
    #ifdef cl_khr_fp16
    half __ovld sqrt(half);
    #endif
    half __ovld cbrt(half);
    #else
    float __ovld cbrt(float);
    #endif
    """)
DEFINE = "#define __ovld __attribute__((overloadable))"


def lines(*names: str) -> list[str]:
    made = needed(parts_of(HEADER), frozenset(names))
    return [" ".join(line.split()) for line in made.splitlines()]


def test_what_declares_no_function_that_is_named_is_left_out() -> None:
    assert lines() == [DEFINE]
    assert lines("sqr", "float") == [DEFINE]


def test_all_overloads_are_declared_under_their_conditions() -> None:
    condition = "#if defined(cl_khr_fp64) && defined(wide)"
    assert lines("cbrt") == [
        *(DEFINE, condition, "half __ovld cbrt(half);"),
        *("#else", "float __ovld cbrt(float);", "#endif"),
    ]
    assert lines("sqrt") == [
        *(DEFINE, "float __ovld sqrt(float);", condition),
        *("double __ovld sqrt(double,", "int);"),
        *("#ifdef cl_khr_fp16", "half __ovld sqrt(half);", "#endif", "#else", "#endif"),
    ]


def test_other_drivers_have_their_own_headers() -> None:
    assert declarations("sqrt(x)", "OpenCL 3.0 CUDA 12.2") is None


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str]]:
    """The texts and options that are given to PoCL."""
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    device = rt.open_session(None).device
    if VERSION not in device.version or declarations("", device.version) is None:
        pytest.skip("this driver compiles with a header that is not known")
    found: list[tuple[str, str]] = []
    build = builtin_declarations._built

    def noted(session: Any, handle: Any, text: str, options: str) -> Any:
        found.append((text, options))
        return build(session, handle, text, options)

    monkeypatch.setattr(builtin_declarations, "_built", noted)
    return found


@pytest.mark.device
def test_programs_are_compiled_once_without_the_header(
    builds: list[tuple[str, str]],
) -> None:
    program = minifut.compile("entry main (xs: []f32) = map f32.erf (map (+ 9) xs)")
    assert program.main([1, 2]) == pytest.approx([1, 1])
    # the start of the driver builds an empty program
    ((text, options),) = (given for given in builds if "__kernel" in given[0])
    assert WITHOUT_HEADER in options
    assert "float16 __ovld __cnfn erf(float16);" in text
    assert "erfc(float)" not in text


@pytest.mark.device
def test_what_macros_call_is_compiled_with_the_header(
    builds: list[tuple[str, str]],
) -> None:
    session = rt.open_session(None)
    text = (
        "#define ROOT s##qrt\n__kernel void root(__global float *x) { *x = ROOT(*x); }"
    )
    text = text.replace(
        "ROOT s##qrt", "ROOT(x) JOIN(s, qrt)(x)\n#define JOIN(a, b) a##b"
    )
    program_builds.build(session, session.device.handle, text, "", "root")
    assert [WITHOUT_HEADER in options for _, options in builds] == [True, False]
    assert builds[1][0] == text
