"""The derivatives of a program: compiled when first requested, and kept with it.

    prog.derivatives.entry(Derivative("loss", "vjp", (0,)))  ->  an entry point

Each is a program of its own, with its own tuning parameters, generated from the source
by the same stages and kept between runs like any other module. A pickled program takes
the generated derivatives along, so that nothing is compiled where it arrives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minifut.gradients.derivative import Derivative
from minifut.immutables import immutable
from minifut.recipe import Compile, ParameterValues, Recipe, program_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minifut.errors import Source
    from minifut.program import EntryPoint, Program
    from minifut.stages import Options

MadeDerivative = tuple[Derivative, Recipe, ParameterValues]
"""a derivative, and what its program is made from"""


class Derivatives:
    """Derivatives of the entry points of a program, from its source."""

    def __init__(
        self,
        source: Source,
        options: Options,
        compile: Compile,
        made: Sequence[MadeDerivative] = (),
    ) -> None:
        self.source = source
        self.compile = compile
        self.options = replace(options, parameters={})  # they are the program's own
        self._arrived = {derivative: (r, values) for derivative, r, values in made}
        self._programs: dict[Derivative, Program] = {}

    def entry(self, derivative: Derivative) -> EntryPoint:
        """The entry point that computes a derivative."""
        if derivative not in self._programs:
            self._programs[derivative] = self._program(derivative)
        (entry,) = self._programs[derivative].entries.values()
        return entry

    def _program(self, derivative: Derivative) -> Program:
        if derivative in self._arrived:
            return program_again(*self._arrived[derivative])
        return self.compile(self.source, self.options, derivative)

    def recipe(self, recipe: Recipe) -> Recipe:
        """The recipe of the program, with its derivatives."""
        known = dict(self._arrived)
        for derivative, program in self._programs.items():
            if program.recipe is not None:
                known[derivative] = program.recipe, tuple(program.tuning.items())
        made = tuple((derivative, *how) for derivative, how in known.items())
        return DifferentiableProgram(
            recipe, self.source, self.options, self.compile, made
        )


@immutable
class DifferentiableProgram:
    """The recipe of a program whose source is known, with its derivatives."""

    recipe: Recipe
    source: Source
    options: Options
    compile: Compile
    made: tuple[MadeDerivative, ...]

    @property
    def backend(self) -> str:
        return self.recipe.backend

    @property
    def device(self) -> str | None:
        return self.recipe.device

    @property
    def text(self) -> str:
        return self.recipe.text

    @property
    def derivative(self) -> Derivative | None:
        return self.recipe.derivative

    def load(self) -> Program:
        """The program, ready for further derivatives."""
        program = self.recipe.load()
        program.derivatives = Derivatives(
            self.source, self.options, self.compile, self.made
        )
        return program

    def __dask_tokenize__(self) -> Any:
        # the same program whether derivatives were requested or not
        return self.recipe
