"""Entry points as those call them who load a generated module by themselves.

    loaded.rows(xss)    loaded.rows(xss=xss, device=True)    help(loaded.rows)

The call that is made for an entry point takes its arguments in order, as fast as it
can; here they have names, as in the types that `minifut compile --stubs` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minifut.errors import ArgumentError, ProgramError
from minifut.opencl.runtime.describe import Entry
from minifut.suggestions import unknown
from minifut.values.sized_text import results_text

if TYPE_CHECKING:
    from inspect import Signature

DEVICE = "device"
"""the option that leaves results on the device"""


class LoadedEntry:
    """An entry point of a program on a device: call it."""

    def __init__(self, entry: Entry, function: Callable[..., Any]) -> None:
        self.name = self.__name__ = self.__qualname__ = entry.name
        about = entry.function.__doc__  # the comment above the entry
        self.__doc__ = f"{about}\n\n{function.__doc__}" if about else function.__doc__
        self._entry, self._function = entry, function

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """Raises `ArgumentError` for wrong arguments, `ProgramError` when the program
        fails, `MemoryError` when the device's memory does not suffice."""
        try:
            if named:
                arguments, named = self._in_order(arguments, named)
            return self._function(*arguments, **named)
        except (ArgumentError, ProgramError) as error:
            # where in the runtime it was found does not help its user
            raise error.with_traceback(None) from None

    def _in_order(
        self, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in order, and the option if it was given."""
        names = [parameter.name for parameter in self._entry.parameters]
        missing = names[len(given) :]
        has_option = DEVICE in named and DEVICE not in names
        option = {DEVICE: named.pop(DEVICE)} if has_option else {}
        for name in named:
            if name in names[: len(given)]:
                raise ArgumentError(f"{self.name}: argument {name} is given twice")
            if name not in names:
                known = (*names, DEVICE)
                raise ArgumentError(f"{self.name}: {unknown('parameter', name, known)}")
        without = [name for name in missing if name not in named]
        if without:
            raise ArgumentError(f"{self.name}: no value for {', '.join(without)}")
        return (*given, *(named[name] for name in missing)), option

    @property
    def __signature__(self) -> Signature:
        from inspect import Parameter, Signature

        names = [parameter.name for parameter in self._entry.parameters]
        by_name = len(set(names)) == len(names) and all(map(str.isidentifier, names))
        kind = Parameter.POSITIONAL_OR_KEYWORD if by_name else Parameter.POSITIONAL_ONLY
        parameters = [
            Parameter(
                parameter.name if by_name else f"argument_{number}",
                kind,
                annotation=parameter.sized_text,
            )
            for number, parameter in enumerate(self._entry.parameters)
        ]
        if DEVICE not in names:
            option = Parameter(DEVICE, Parameter.KEYWORD_ONLY, default=False)
            parameters.append(option)
        returned = results_text(self._entry.results)
        return Signature(parameters, return_annotation=returned)

    def __repr__(self) -> str:
        return f"<{self._function.__doc__}>"

    def __reduce__(self) -> Any:
        raise TypeError(NOT_PICKLED)


NOT_PICKLED = (
    "a program that was loaded cannot be pickled: load its module again in the other "
    "process"
)
