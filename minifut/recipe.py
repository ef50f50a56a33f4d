"""Programs and entry points as values that can be pickled, and named for caches.

    pickle.dumps(prog.main)        the recipe of its program, the tuning, its name
    pickle.loads(..)               loaded on the device of that process, once for each
                                   recipe and tuning
    dask.base.tokenize(prog.main)  equal for equal recipes, in every process

A recipe is what a program is loaded from: the generated module with the options that it
was loaded with, so that nothing is compiled where it arrives. It names no device unless
the user did.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from minifut.errors import Source
    from minifut.gradients.derivative import Derivative
    from minifut.program import EntryPoint, Program
    from minifut.stages import Options

MOST = 32
"""programs that a process keeps of those that arrived"""

ParameterValues = tuple[tuple[str, int], ...]
"""tuning parameters with their values"""


class Compile(Protocol):
    """The compiler, from a source to a program, or to one of its derivatives."""

    def __call__(
        self, source: Source, options: Options, derivative: Derivative | None = None
    ) -> Program: ...
    def __hash__(self) -> int: ...


class Recipe(Protocol):
    """A frozen, hashable value that makes a program, with the options and, if they are
    known, the source that it was compiled from and what compiles further ones. `text`
    is that of the generated module, on OpenCL devices."""

    @property
    def backend(self) -> str: ...
    @property
    def device(self) -> str | None: ...
    @property
    def text(self) -> str: ...
    @property
    def source(self) -> Source | None: ...
    @property
    def derivative(self) -> Derivative | None: ...
    @property
    def compile(self) -> Compile | None: ...

    def load(self) -> Program:
        """The program, on the device of this process."""

    def __hash__(self) -> int: ...


@lru_cache(MOST)
def program_again(recipe: Recipe, tuning: ParameterValues) -> Program:
    """The program of a recipe; the same one for every equal request."""
    program = recipe.load()
    known = {name: value for name, value in tuning if name in program.tuning}
    changed = {n: v for n, v in known.items() if program.tuning[n] != v}
    if changed:
        program.tuning.update(changed)
    return program


# Those of the process that this one was forked from are of no use here.
os.register_at_fork(after_in_child=program_again.cache_clear)


def entry_again(recipe: Recipe, tuning: ParameterValues, name: str) -> EntryPoint:
    """An entry point of such a program."""
    return program_again(recipe, tuning).entry(name)
