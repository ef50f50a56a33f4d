"""Entry points as generalised universal functions, by NumPy's rules of broadcasting.

    prog.f.gufunc_signature        "(n,d),(k,d)->(n)", from the sizes in the types
    g = prog.f.gufunc()
    g(x, c)                        x of shape (7, n, d) gives a result of (7, n)

The loop over the leading dimensions is not Python's: for the arguments that have any, a
program with an entry point that maps over them is compiled from the source of `f`.

    entry f [n][d] (x: [n][d]f32) (c: [d]f32): [n]f32
        -->
    entry f_mapped [rows][n][d] (x: [rows][n][d]f32) (c: [d]f32) =
      tabulate rows (\\i -> f x[i] c)

A `Gufunc` can be pickled, which dask and xarray need. The signature is NumPy's
("General universal function API").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from minifut.errors import ArgumentError, CompileError, Source, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from minifut.program import EntryPoint, Program
    from minifut.recipe import Compile
    from minifut.signature import Parameter

LOOP = "rows"
"""the name of the size that is mapped over, unless the entry point has it"""


def signature_of(entry: EntryPoint) -> str:
    """NumPy's signature of an entry point.

    Raises `UsageError` if a parameter is no array or scalar, or if the size of a result
    follows from values and not from the sizes of the arguments.
    """
    inputs = [core_dimensions(entry, p) for p in entry.parameters]
    outputs = [core_dimensions(entry, r) for r in entry.results]
    known = {name for dimensions in inputs for name in dimensions}
    for result, dimensions in zip(entry.results, outputs, strict=True):
        unknown = [d for d in dimensions if d not in known and not d.isdigit()]
        if unknown:
            raise _refusal(
                entry, result, "has a size that is not one of the arguments' sizes"
            )

    def shown(shapes: Sequence[tuple[str, ...]]) -> str:
        return ",".join(f"({','.join(dimensions)})" for dimensions in shapes)

    return f"{shown(inputs)}->{shown(outputs)}"


def core_dimensions(entry: EntryPoint, part: Parameter) -> tuple[str, ...]:
    """The names of the dimensions of a parameter or result; numbers stay numbers."""
    if part.value_type is None or part.shape is None:
        raise _refusal(entry, part, "is no array of numbers")
    if None in part.shape:
        raise _refusal(
            entry, part, "has a size that is not one of the arguments' sizes"
        )
    return tuple(map(str, part.shape))


def _refusal(entry: EntryPoint, part: Parameter, why: str) -> UsageError:
    what = f"{part.name}: {part.sized_text}" if part.name else part.sized_text
    return UsageError(f"{entry.name} is no generalised ufunc: {what} {why}")


@dataclass(frozen=True)
class Gufunc:
    """An entry point that broadcasts; see the module."""

    entry: EntryPoint
    signature: str

    @property
    def output_dtypes(self) -> list[np.dtype[Any]]:
        """The types of the results, as dask and xarray want them."""
        from minifut.values.types import DTYPES

        types = [result.value_type for result in self.entry.results]
        return [DTYPES[type_.element] for type_ in types if type_ is not None]

    @property
    def dimensions(self) -> dict[str, Any]:
        """The keyword arguments of `xarray.apply_ufunc` that name core dimensions."""
        entry = self.entry
        return {
            "input_core_dims": [core_dimensions(entry, p) for p in entry.parameters],
            "output_core_dims": [core_dimensions(entry, r) for r in entry.results],
            "output_dtypes": self.output_dtypes,
        }

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """The results over all leading dimensions, which are broadcast against each
        other. Arrays of dask give arrays of dask."""
        arguments, options = self.entry.bound(arguments, named)
        for name in options:
            raise ArgumentError(f"{self.entry.name}: {name} is no option of a gufunc")
        if any(type(a).__module__.startswith("dask.array") for a in arguments):
            return self._over_blocks(arguments)
        return self._over_arrays(arguments)

    def _over_blocks(self, arguments: Sequence[Any]) -> Any:
        from dask import array as blocks

        pairs: list[Any] = []
        for number, (p, argument) in enumerate(
            zip(self.entry.parameters, arguments, strict=True)
        ):
            is_lazy = isinstance(argument, blocks.Array)
            array = (
                argument if is_lazy else blocks.asarray(self._converted(p, argument))
            )
            self._check_type(p, array)
            core = range(len(p.shape or ()))
            loop = range(len(core) - array.ndim, 0)  # counted from the last one
            pairs += array, [*loop, *((number, place) for place in core)]
        # NumPy's are cut as the others are along leading dimensions
        _, alike = blocks.core.unify_chunks(*pairs)
        dtypes = self.output_dtypes
        apply: Any = blocks.apply_gufunc
        return apply(
            self,
            self.signature,
            *alike,
            output_dtypes=dtypes if len(dtypes) > 1 else dtypes[0],
        )

    def _check_type(self, parameter: Parameter, array: Any) -> None:
        """Refuse elements of another type when the call is made, not when it runs."""
        from minifut.values.foreign import astype_hint
        from minifut.values.types import DTYPES

        type_ = parameter.value_type
        wanted = array.dtype if type_ is None else DTYPES[type_.element]
        if array.dtype != wanted:
            raise ArgumentError(
                f"{self.entry.name}: argument {parameter.name}: expected "
                f"{parameter.sized_text}, got an array of {array.dtype}"
                f"{astype_hint(array.dtype, wanted)}"
            )

    def _over_arrays(self, arguments: Sequence[Any]) -> Any:
        import numpy as np

        arrays = list(map(self._converted, self.entry.parameters, arguments))
        leading = [
            array.shape[: array.ndim - len(p.shape or ())]
            for array, p in zip(arrays, self.entry.parameters, strict=True)
        ]
        if not any(leading):
            return self.entry(*arrays)
        self._check_core(arrays, leading)
        try:
            loop = np.broadcast_shapes(*leading)
        except ValueError as error:
            raise ArgumentError(f"{self.entry.name}: {error}") from None
        count = int(np.prod(loop))
        flat = []
        for array, own in zip(arrays, leading, strict=True):
            core = array.shape[len(own) :]
            whole = np.broadcast_to(array, loop + core)
            flat.append(whole.reshape((count, *core)) if own else array)
        entry = mapped(self.entry, tuple(map(bool, leading)))
        try:
            results = entry.call(flat)
        except ArgumentError as error:
            reason = str(error).removeprefix(f"{entry.name}: ")
            raise ArgumentError(f"{self.entry.name}: {reason}") from None
        shaped = tuple(r.reshape(loop + r.shape[1:]) for r in results)
        return shaped if len(shaped) != 1 else shaped[0]

    def _check_core(
        self, arrays: Sequence[np.ndarray], leading: Sequence[tuple[int, ...]]
    ) -> None:
        """Sizes of the same name are equal: an error counts dimensions as the user
        does, and not with the leading ones as one."""
        sizes: dict[str, tuple[int, str]] = {}
        parameters = self.entry.parameters
        for parameter, array, own in zip(parameters, arrays, leading, strict=True):
            core = zip(parameter.shape or (), array.shape[len(own) :], strict=True)
            for position, (size, came) in enumerate(core):
                name = str(size)
                wanted, first = sizes.setdefault(name, (came, parameter.name))
                where = f" ({name}, from argument {first})"
                if isinstance(size, int):
                    wanted, where = size, ""
                if wanted != came:
                    raise ArgumentError(
                        f"{self.entry.name}: argument {parameter.name}: dimension "
                        f"{position + len(own)} must be {wanted}{where}, got {came}"
                    )

    def _converted(self, parameter: Parameter, argument: Any) -> np.ndarray:
        """An array with at least the dimensions of the parameter; numbers of Python
        take its type, as they do in calls."""
        import numpy as np

        from minifut.values.foreign import NoView, numpy_view
        from minifut.values.types import DTYPES

        type_, shape = parameter.value_type, parameter.shape
        assert type_ is not None and shape is not None
        where = f"{self.entry.name}: parameter {parameter.name}"
        try:
            if isinstance(argument, bool | int | float | list | tuple | range):
                array = np.asarray(argument, DTYPES[type_.element])
            else:
                array = numpy_view(argument)
        except (NoView, ValueError, OverflowError) as error:
            raise ArgumentError(f"{where}: {error}") from None
        if array.ndim < len(shape):
            expected = f"{parameter.sized_text} has {counted(len(shape), 'dimension')}"
            raise ArgumentError(f"{where}: {expected}, the argument has {array.ndim}")
        return array


@lru_cache(256)
def _mapped_program(
    compile: Compile, source: Source, text: str, backend: str, device: str | None
) -> Program:
    from minifut.stages import Options

    options = Options(backend, device=device, use_tuning=False)
    return compile(replace(source, text=f"{source.text}\n{text}"), options)


def mapped(entry: EntryPoint, with_loop: tuple[bool, ...]) -> EntryPoint:
    """The entry point that maps `entry` over a leading dimension of these arguments.
    Raises `UsageError` if it cannot be made."""
    recipe = None if entry.program is None else entry.program.recipe
    if recipe is None or recipe.source is None or recipe.compile is None:
        raise UsageError(
            f"{entry.name} cannot be mapped over leading dimensions: its program was "
            "made without its source"
        )
    name, text = mapped_text(entry, with_loop)
    try:
        program = _mapped_program(
            recipe.compile, recipe.source, text, recipe.backend, recipe.device
        )
    except CompileError as error:
        raise UsageError(
            f"{entry.name} cannot be mapped over leading dimensions: {error.message}"
        ) from None
    return program.entry(name)


def mapped_text(entry: EntryPoint, with_loop: tuple[bool, ...]) -> tuple[str, str]:
    """Name and text of that entry point."""
    sizes = [
        size
        for p in entry.parameters
        for size in p.shape or ()
        if isinstance(size, str)
    ]
    taken = {*sizes, *(p.name for p in entry.parameters), entry.name}
    loop, name = _fresh(LOOP, taken), _fresh(f"{entry.name}_mapped", taken)
    index = _fresh("i", taken)
    # messages name arguments as the user does
    usable = {p.name for p in entry.parameters if p.name.isidentifier()}
    usable -= {entry.name, "_", "tabulate", "copy", *sizes}
    declared, given = [], []
    for position, (parameter, own) in enumerate(
        zip(entry.parameters, with_loop, strict=True)
    ):
        argument = parameter.name
        if argument not in usable or argument.startswith("unzip"):
            argument = _fresh(f"x{position}", taken)
        type_ = parameter.sized_text.lstrip("*")
        declared.append(f"({argument}: {f'[{loop}]' if own else ''}{type_})")
        element = f"{argument}[{index}]" if own else argument
        given.append(f"(copy {element})" if parameter.unique else element)
    sizes_text = "".join(f"[{size}]" for size in dict.fromkeys([loop, *sizes]))
    call = f"{entry.name} {' '.join(given)}"
    rows = f"tabulate {loop} (\\{index} -> {call})"
    results = len(entry.results)
    if results > 1:  # arrays, and not an array of tuples
        rows = f"unzip{'' if results == 2 else results} ({rows})"
    return name, f"entry {name} {sizes_text} {' '.join(declared)} =\n  {rows}\n"


def _fresh(base: str, taken: set[str]) -> str:
    name = re.sub(r"\W", "_", base)
    while name in taken:
        name += "_"
    taken.add(name)
    return name
