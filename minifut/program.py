"""A program ready to run, the same for every backend: entry points that can be called.

    prog = minifut.compile("matmul.fut")
    prog.main(a, b)                      # NumPy in, NumPy out
    prog.main(a, b=b)                    # parameters by name
    help(prog.main)                      # types, sizes, the comment above the entry
    prog["tuning"](a)                    # an entry whose name is an attribute's

Arrays are NumPy (or pyopencl) arrays, scalars NumPy scalars; several results make a
tuple. A tuple of Futhark is a Python tuple, a record a dict, a sum a `Variant`, an
array of them a `StructArray` (`minifut.values.structured`), a value of an abstract type
an object that can only be passed on to other entry points. Programs and entry points
can be pickled (`minifut.recipe`).
"""

from __future__ import annotations

import inspect
import keyword
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minifut import errors
from minifut.backend import NO_ENTRIES, OpaqueValues, Timed, with_device
from minifut.gradients import methods
from minifut.gradients.jacobian import jacobian
from minifut.signature import Parameter
from minifut.suggestions import unknown
from minifut.values.sized_text import results_text, signature_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minifut.gradients.kept import Derivatives
    from minifut.gufunc import Gufunc
    from minifut.parameters.tuning import Tuned, Tuning
    from minifut.parameters.versions import Version
    from minifut.profiling import Profile
    from minifut.recipe import Recipe


MISSING: Any = object()
"""in place of an option that is not given"""


@dataclass(frozen=True)
class EntryPoint:
    """An entry point: call it. `prepare` is what the backend times, if it has one."""

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    function: Callable[..., Any] = field(repr=False, compare=False)
    prepare: Callable[[tuple[Any, ...]], Timed] | None = field(
        default=None, repr=False, compare=False
    )
    documentation: str = ""
    """the comment above the entry (`-- | ...`)"""
    program: Program | None = None
    on_device: Callable[..., Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # what `help` and other tools read of a function
        text = f"{self.documentation}\n\n" if self.documentation else ""
        about = {
            "__name__": self.name,
            "__qualname__": self.name,
            "__signature__": self._signature(),
            "__doc__": f"{text}entry {self.signature_text()}",
        }
        self.__dict__.update(about)
        self.install(self.function, self.prepare)

    def install(
        self,
        function: Callable[..., Any],
        prepare: Callable[[tuple[Any, ...]], Timed] | None,
    ) -> None:
        """Let calls be those of the backend from now on."""
        self.__dict__.update(
            function=function, prepare=prepare, on_device=with_device(function)
        )

    def __call__(self, /, *arguments: Any, device: Any = MISSING, **named: Any) -> Any:
        """Run it; with `device=True`, on OpenCL, the results are pyopencl arrays.

        Raises `ArgumentError` for wrong arguments, `ProgramError` when the program
        fails, `MemoryError` when the device's memory does not suffice.
        """
        try:
            if not named and len(arguments) == len(self.parameters):
                if device is MISSING:
                    return self.function(*arguments)
                if device is True:
                    return self.on_device(*arguments)
                return self.function(*arguments, device=device)
            if device is not MISSING:  # an option, or a parameter of that name
                named["device"] = device
            arguments, named = self.bound(arguments, named)
            return self.function(*arguments, **named)
        except (errors.ArgumentError, errors.ProgramError, KeyboardInterrupt) as error:
            # where in minifut it was found, or interrupted, does not help its user
            raise error.with_traceback(None) from None
        except errors.ForkedError:
            if device is not MISSING:
                named["device"] = device
            if self.program is None:
                raise
        return self.program.in_this_process().entry(self.name)(*arguments, **named)

    derivative = methods.derivative
    grad = methods.grad
    value_and_grad = methods.value_and_grad
    jvp = methods.jvp
    vjp = methods.vjp
    jacobian = jacobian

    def call(self, arguments: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        """Run it; the results as a tuple, however many there are."""
        results = self(*arguments, **options)
        return results if len(self.results) != 1 else (results,)

    def signature_text(self) -> str:
        """`main (xs: [n]f32) (k: i64): [n]f32`."""
        return signature_text(self.name, self.parameters, self.results)

    @property
    def gufunc_signature(self) -> str:
        """The sizes of its types as NumPy writes them: `"(n,d),(k,d)->(n)"`. Raises
        `UsageError` where there is no such signature."""
        from minifut.gufunc import signature_of

        return signature_of(self)

    def gufunc(self) -> Gufunc:
        """The entry point with NumPy's broadcasting over leading dimensions, for
        arrays of NumPy and dask, and for `xarray.apply_ufunc`. Raises `UsageError`
        where it has no signature."""
        from minifut.gufunc import Gufunc

        return Gufunc(self, self.gufunc_signature)

    def bound(
        self, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments in order, and what is left: options of the backend. Raises
        `ArgumentError` if they do not fit the parameters."""
        rest = dict(named)
        names = [p.name for p in self.parameters]
        for name in rest:
            if name not in OPTIONS and name not in names:
                raise errors.ArgumentError(
                    f"{self.name}: {unknown('parameter', name, (*names, *OPTIONS))}"
                )
        for name in names[: len(given)]:
            if name in rest and name not in OPTIONS:
                raise errors.ArgumentError(
                    f"{self.name}: argument {name} is given twice"
                )
        missing = [name for name in names[len(given) :] if name not in rest]
        if len(given) > len(names) or missing:
            what = f"; without a value: {', '.join(missing)}" if missing else ""
            count = len(given) + len(named)
            raise errors.ArgumentError(
                f"{self.name}: {errors.counted(len(names), 'argument')} expected "
                f"({self.signature_text()}), {count} given{what}"
            )
        arguments = (*given, *(rest.pop(name) for name in names[len(given) :]))
        return arguments, rest

    def _signature(self) -> inspect.Signature:
        names = [p.name for p in self.parameters]
        by_name = len(set(names)) == len(names) and all(
            name.isidentifier() and not keyword.iskeyword(name) for name in names
        )
        kind = (
            inspect.Parameter.POSITIONAL_OR_KEYWORD
            if by_name
            else inspect.Parameter.POSITIONAL_ONLY
        )
        if not by_name:
            names = [f"argument_{number}" for number in range(len(names))]
        parameters = [
            inspect.Parameter(name, kind, annotation=p.sized_text)
            for name, p in zip(names, self.parameters, strict=True)
        ]
        returned = results_text(self.results)
        return inspect.Signature(parameters, return_annotation=returned)

    def __repr__(self) -> str:
        return f"<entry {self.signature_text()}>"

    def _repr_html_(self) -> str:
        from minifut.notebook import html_of_entry

        return html_of_entry(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from minifut.recipe import entry_again

        return entry_again, (*_recipe_of(self.program), self.name)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return (*_recipe_of(self.program), self.name)


OPTIONS = ("device",)
"""keyword arguments of a call that are no parameters of the entry point"""

LOADED = ("description", "opaques", "tuning", "_upload")
"""attributes of a program that depend on its device"""


class Program:
    """Entry points by name, also as attributes; iteration gives the names."""

    def __init__(
        self,
        entries: Iterable[EntryPoint],
        description: str,
        tuning: Tuning | None = None,
        opaques: OpaqueValues | None = None,
        recipe: Recipe | None = None,
        upload: Callable[[Any], Any] | None = None,
    ) -> None:
        from minifut.parameters.tuning import Tuning

        self._upload = upload
        self.opaques = opaques
        self.recipe = recipe
        self.derivatives: Derivatives | None = None
        self.description = description
        if tuning is None:  # one without parameters is empty, and can still watch
            tuning = Tuning((), "cpu", lambda values: None, {})
        self.tuning = tuning
        self._add(entries)

    def _add(self, entries: Iterable[EntryPoint]) -> None:
        self.entries: dict[str, EntryPoint] = {
            e.name: replace(e, program=self) for e in entries
        }
        taken = {*self.__dict__, *LOADED}
        for name, entry in self.entries.items():
            if name not in taken and not hasattr(Program, name):
                self.__dict__[name] = entry
            else:
                logging.getLogger("minifut").warning(
                    "the entry point %s is called as prog[%r](..): programs have an "
                    "attribute of that name",
                    name,
                    name,
                )

    def __getattr__(self, name: str) -> EntryPoint:
        entries = self.__dict__.get("entries", {})
        hint = "" if entries else f"; it has {NO_ENTRIES}"
        raise AttributeError(unknown("entry point", name, entries, dir(Program)) + hint)

    def __getitem__(self, name: str) -> EntryPoint:
        return self.entry(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.entries, *LOADED})

    def __repr__(self) -> str:
        names = ", ".join(self.entries) or NO_ENTRIES
        return f"<minifut program on {self.description}: {names}>"

    def _repr_html_(self) -> str:
        from minifut.notebook import html_of_program

        return html_of_program(self)

    def entry(self, name: str) -> EntryPoint:
        """The entry point of a name. Raises `UsageError` that suggests another."""
        if not isinstance(name, str) or name not in self.entries:
            raise errors.UsageError(unknown("entry point", name, self.entries))
        return self.entries[name]

    @property
    def kernels(self) -> dict[str, str]:
        """The OpenCL C of each kernel by its name; it begins with the source lines
        that the kernel computes, as `// FILE:LINE:COL`. Raises `UsageError` for a
        program of another backend."""
        from minifut.inspection import kernels_of

        return kernels_of(self)

    @errors.ending_here
    def versions(self, entry: str | EntryPoint | None = None) -> tuple[Version, ...]:
        """The versions of an entry point (if none is given `main`, or the only one),
        each with its name and the `settings` of `tuning` that force it."""
        from minifut.inspection import versions_of

        return versions_of(self, entry)

    def explain(self) -> str:
        """Which rules made each kernel, and which refused and why."""
        from minifut.inspection import explain

        return explain(self)

    def to_device(self, array: Any) -> Any:
        """The array in the device's memory: an argument that no call transfers again.
        Raises `UsageError` where there is no device, or the value is no array."""
        from minifut.values.foreign import NoView, elements_view

        if self._upload is None:
            raise errors.UsageError(f"{self.description} has no device memory")
        try:
            return self._upload(elements_view(array))
        except NoView as reason:
            raise errors.UsageError(f"to_device: {reason}") from None
        except errors.ForkedError:
            return self.in_this_process().to_device(array)

    def in_this_process(self) -> Program:
        """The same program in a process that was forked since it was loaded."""
        from minifut.recipe import program_again

        return program_again(*_recipe_of(self))

    @errors.ending_here
    def warm_up(
        self, /, entry: str | EntryPoint | None = None, **sizes: Any
    ) -> tuple[str, ...]:
        """Build the kernels that calls with these sizes launch: `prog.warm_up(n=1000)`.
        Scalar parameters may be given as well, and are one otherwise. Gives the names
        of the entry points that were run, which are those with no other sizes. Raises
        `UsageError` for unknown names, and if the `entry`, or every one, cannot be run;
        see `minifut.warm_up`."""
        from minifut.warm_up import warm_up

        return warm_up(self, sizes, entry)

    @errors.ending_here
    def autotune(
        self,
        data: Iterable[tuple[Any, ...] | Mapping[str, Any]],
        entry: str | EntryPoint | None = None,
        tiles: bool = False,
        runs: int = 5,
    ) -> Tuned:
        """Find the parameters with which calls with these arguments run best, and set
        them in `tuning`; each call is a tuple, or a dict by the names of parameters.
        Without `entry`, it is `main` or the only one that is called. With `tiles`,
        sizes that shape kernels are searched, too. The result prints as a table. Raises
        `UsageError` without calls or source, `ProgramError` if every call fails. After
        Ctrl-C, the best that is known is set."""
        import minifut  # the tuner is above the library

        found: Tuned = minifut.autotune(self, data, entry, tiles, runs)
        return found

    @errors.ending_here
    def profile(
        self, /, *arguments: Any, entry: str | EntryPoint | None = None, **named: Any
    ) -> Profile:
        """Where the time of a call goes, kernel by kernel; print it, or see its lines.
        Without `entry`, it is `main` or the only one that is called. Raises
        `UsageError` where there is no device."""
        from minifut.profiling import profile

        return profile(self, entry, arguments, named)

    def __reduce__(self) -> tuple[Any, ...]:
        from minifut.recipe import program_again

        return program_again, _recipe_of(self)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return _recipe_of(self)


def _recipe_of(program: Program | None) -> tuple[Recipe, tuple[tuple[str, int], ...]]:
    """What makes an equal program in another process: its recipe, and tuning."""
    if program is None or program.recipe is None:
        raise TypeError(
            "this program was not made by minifut.compile: it has no recipe"
        )
    known = program.derivatives
    recipe = program.recipe if known is None else known.recipe(program.recipe)
    return recipe, tuple(program.tuning.items())
