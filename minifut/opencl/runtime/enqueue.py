"""A launch as generated Python, in three calls of the library.

pyopencl sets arguments of known types by functions that it generates, all of them each
time. The failure cell is the same in all launches, and is set once. For the types
`i64`, `buffer`:

    def enqueue(queue, sizes, local, a1, a2):
        set_numbers((1, b"l", a1))
        set_objects((2, a2))
        return start(queue, kernel, sizes, local, None, None, False, False)

    def start_here(points, a1, a2):
        if first.waiting:
            launch_first()
        if points > 0:
            ...
            start(queue, kernel, (points,), ONE, None, None, False, False)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.opencl.runtime.describe import DTYPES

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session

ARGUMENTS: dict[str, Any] = {
    **DTYPES,
    "bool": np.dtype(np.uint8),
    "f16": np.dtype(np.float32),  # computed with, and so passed, as a float
    "buffer": None,
    "local": None,
}
"""of each kind of parameter NumPy's type, None for memory"""
PACKED = "bBhHiIlLfd"
"""the types that pyopencl stores by itself, as NumPy writes them"""


class Commands:
    """How one kernel object is launched, its failure cell in place."""

    __slots__ = ("enqueue", "kernel", "session", "set_arguments", "start_here", "types")

    def __init__(self, session: Session, kernel: Any, types: Sequence[str]) -> None:
        from pyopencl import _cl

        self.kernel = kernel
        self.session = session
        self.types = types
        kernel.set_arg(0, session.failure)
        names: dict[str, Any] = {
            **{dtype.name: dtype.type for dtype in ARGUMENTS.values() if dtype},
            "ONE": (1,),
            "first": session.first_launches,
            "kernel": kernel,
            "launch_first": session.launch_first,
            "queue": session.synchronous,
            "set_numbers": getattr(kernel, "_set_arg_buf_pack_multi", None),
            "set_objects": getattr(kernel, "_set_arg_multi", None),
            "set_argument": kernel.set_arg,
            "start": _cl.enqueue_nd_range_kernel,
        }
        plain = names["set_numbers"] is None or names["set_objects"] is None
        exec(_code(tuple(types), plain), names)
        self.set_arguments: Callable[..., None] = names["set_arguments"]
        """with the arguments after the failure cell"""
        self.enqueue: Callable[..., Any] = names["enqueue"]
        """with a queue, sizes and these arguments; gives the event"""
        self.start_here: Callable[..., None] = names["start_here"]
        """so many groups of one work-item in this thread, on the device without
        threads, with these arguments"""

    def copy(self) -> Commands:
        """The same for a kernel object of its own."""
        kernel = self.kernel
        again = self.session.cl.Kernel(kernel.program, kernel.function_name)
        return Commands(self.session, again, self.types)

    def launch_here(self, points: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """What `start_here` would do with these arguments, which are set now: a
        function with its arguments."""
        from pyopencl import _cl

        self.set_arguments(*arguments)
        sizes = (points,), (1,)
        launch = self.session.synchronous, self.kernel, *sizes, None, None, False, False
        return _cl.enqueue_nd_range_kernel, *launch


@cache
def _code(types: tuple[str, ...], plain: bool) -> CodeType:
    return compile(enqueue_text(types, plain), "<launch>", "exec")


def enqueue_text(types: tuple[str, ...], plain: bool = False) -> str:
    """The text of the functions for a kernel with such parameters; `plain`: by what
    all releases of pyopencl have."""
    names = "".join(f", a{number}" for number in range(1, len(types) + 1))
    setting = [f"    {line}" for line in _setting(types, plain)]
    lines = [
        f"def set_arguments({names.removeprefix(', ')}):",
        *(setting or ["    pass"]),
        f"def enqueue(queue, sizes, local{names}):",
        *setting,
        "    return start(queue, kernel, sizes, local, None, None, False, False)",
        f"def start_here(points{names}):",
        "    if first.waiting:",
        "        launch_first()",
        "    if points > 0:",
        *(f"    {line}" for line in setting),
        "        start(queue, kernel, (points,), ONE, None, None, False, False)",
    ]
    return "\n".join(lines)


def _setting(types: tuple[str, ...], plain: bool) -> list[str]:
    """Statements that set the arguments after the first."""
    dtypes = [ARGUMENTS[type_] for type_ in types]
    if plain or any(d is not None and d.char not in PACKED for d in dtypes):
        return [
            f"set_argument({number}, "
            + (f"a{number})" if dtype is None else f"{dtype.name}(a{number}))")
            for number, dtype in enumerate(dtypes, 1)
        ]
    numbers, objects = "", ""
    for number, dtype in enumerate(dtypes, 1):
        if dtype is None:
            objects += f"{number}, a{number}, "
        else:
            numbers += f"{number}, {dtype.char.encode()}, a{number}, "
    return [
        *([f"set_numbers(({numbers}))"] if numbers else []),
        *([f"set_objects(({objects}))"] if objects else []),
    ]
