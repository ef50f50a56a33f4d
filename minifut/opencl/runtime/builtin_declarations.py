"""Programs declare the built-in functions that they name (PoCL 3.0).

PoCL parses the declarations of all built-in functions of OpenCL C before each program,
a header of a megabyte: nine tenths of the time of a small build. Where the macro that
guards the header is defined, a program may bring those that it needs:

    y = sqrt(x);   →   float __ovld __cnfn sqrt(float);    all overloads, from the
                       float2 __ovld __cnfn sqrt(float2);  header itself, under the
                       ...                                 conditions that hold there
                       y = sqrt(x);

So each call means what it meant. A function that a macro of PoCL's other headers calls
is not declared: then the program does not compile, and is compiled with the header.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime import kernel_bodies
from minifut.opencl.runtime.driver_target import VERSION

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session

Part = tuple[str, str]
"""a line for the preprocessor, or a declaration, and the function it is of"""
WITHOUT_HEADER = "-D_OPENCL_H_"
USED = -1
HEADER = "_clang_opencl.h"
_INCLUDE = re.compile(r'^#include [<"](.*)[>"]', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_PART = re.compile(r"^[ \t]*(#.*)$|([^#;(]*\b(\w+)\s*\([^;]*;)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")


def compile_program(session: Session, handle: Any, text: str, options: str) -> Any:
    """The program, compiled by the driver; a `pyopencl.Error` if it cannot be."""
    declared = declarations(text, session.device.version)
    if declared is not None:
        with contextlib.suppress(session.cl.Error):
            whole = declared + kernel_bodies.compiled_once(text)
            return _built(session, handle, whole, f"{options} {WITHOUT_HEADER}")
    return _built(session, handle, text, options)


def _built(session: Session, handle: Any, text: str, options: str) -> Any:
    cl = session.cl
    program = cl.Program(session.context, text)
    with warnings.catch_warnings():
        # Remarks of the OpenCL compiler are for its developers, not for users.
        warnings.simplefilter("ignore", cl.CompilerWarning)
        program.build(options, devices=[handle], cache_dir=False)
    return program


def declarations(text: str, version: str) -> str | None:
    """What declares the built-in functions that a program for a device of this version
    names; None if it is not known how these are declared."""
    parts = _declared() if VERSION in version else ()
    return needed(parts, frozenset(_NAME.findall(text))) if parts else None


def needed(parts: tuple[Part, ...], names: frozenset[str]) -> str:
    """The declarations of these names, and what the preprocessor needs for them: a
    condition on which no declaration depends is left out."""
    made: list[str] = []
    starts: list[int] = []  # of the conditions around: where, or that they are used
    for line, function in parts:
        if function:
            if function in names:
                made.append(line)
                starts = [USED] * len(starts)
            continue
        made.append(line)
        if line.startswith("#if"):
            starts.append(len(made) - 1)
        elif line.startswith("#endif"):
            start = starts.pop()
            if start != USED:
                del made[start:]
    return "\n".join([*made, ""])


def parts_of(header: str) -> tuple[Part, ...]:
    """A header of declarations, taken apart."""
    plain = _COMMENT.sub("", header.replace("\\\n", " "))
    return tuple(
        (directive or declaration.strip(), function)
        for directive, declaration, function in _PART.findall(plain)
    )


@cache
def _declared() -> tuple[Part, ...]:
    """PoCL's declarations of built-in functions; empty if its headers are not where its
    package has them."""
    package = find_spec("pocl_binary_distribution")
    if package is None or package.origin is None:
        return ()
    folder = Path(package.origin).parent / ".libs" / "share" / "pocl" / "include"
    try:
        return parts_of("#undef _OPENCL_H_\n" + _with_included(folder, HEADER))
    except OSError:
        return ()


def _with_included(folder: Path, name: str) -> str:
    """A header, with those that it includes in their places."""
    text = (folder / name).read_text()
    return _INCLUDE.sub(lambda found: _with_included(folder, found[1]), text)
