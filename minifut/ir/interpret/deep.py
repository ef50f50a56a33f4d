"""Running what recurses deeper than Python's stack is.

A call of the program is several calls of Python. So programs that recurse run in a
thread with a stack for as many calls as are allowed, and beyond that they fail as a
program does. Python's collector would go through all their frames again and again.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from minifut.collector import collecting_rarely
from minifut.errors import ProgramError
from minifut.ir.core import Apply, Program, Stm
from minifut.ir.interpret.walk import Evaluation
from minifut.ir.traverse import walk
from minifut.names import Name

T = TypeVar("T")

DEEPEST = 200_000
"""Python frames"""
STACK = 256 << 20
"""bytes, for that many calls through C"""


def recursive_functions(program: Program) -> dict[Name, tuple[str, ...]]:
    """The functions that recurse, or call one that does, with the place of a call in
    each."""
    calls: dict[Name, dict[Name, tuple[str, ...]]] = {}
    for function in program.functions:
        found = calls[function.name] = {}
        for node in walk(function):
            if isinstance(node, Stm) and isinstance(node.exp, Apply):
                where = () if node.location is None else (str(node.location),)
                found.setdefault(node.exp.function, where)
    while leaves := [
        n for n, callees in calls.items() if calls.keys().isdisjoint(callees)
    ]:
        for name in leaves:
            del calls[name]
    return {
        name: next(where for callee, where in callees.items() if callee in calls)
        for name, callees in calls.items()
    }


@contextmanager
def raised_limit() -> Iterator[None]:
    """Python's own limit out of the way: programs nest deeper."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def call_deep(functions: Mapping[Name, tuple[str, ...]], call: Callable[[], T]) -> T:
    """What the call gives; it may recurse through these functions."""
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except RecursionError as error:
            errors.append(_too_deep(functions, error.__traceback__))
        except BaseException as error:
            errors.append(error)

    context = contextvars.copy_context()
    with raised_limit(), collecting_rarely():
        size = threading.stack_size(STACK)
        thread = threading.Thread(target=context.run, args=(run,), daemon=True)
        thread.start()
        threading.stack_size(size)
        thread.join()
    if errors:
        raise errors[0]
    return outcome[0]


def _too_deep(
    functions: Mapping[Name, tuple[str, ...]], trace: TracebackType | None
) -> ProgramError:
    """The error for the innermost of the functions that is running."""
    innermost: Any = next(iter(functions))
    while trace is not None:
        if trace.tb_frame.f_code is Evaluation.call.__code__:
            called = trace.tb_frame.f_locals["name"]
            innermost = called if called in functions else innermost
        trace = trace.tb_next
    message = f"The recursion of {innermost.base} is too deep."
    return ProgramError(message, functions[innermost])
