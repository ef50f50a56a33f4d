"""The texts of kernels, alone or several in one OpenCL program.

    two texts with a helper of the same name, the second with LANES = 4:

    #define half_of half_of_0                 #define half_of half_of_1
    static long half_of(long a) {..}          #define LANES 4
    __kernel void main_mapped(..) {..}        static long half_of(long a) {..}
    #undef half_of                            __kernel void main_reduce(..) {..}
                                              #undef half_of
                                              #undef LANES

So each text is as it would be alone: its functions have names of their own, which no
other one has (`half_of_0` may be a helper too), and its macros end with it. Types and
macros that are defined twice are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minifut.immutables import immutable

_FUNCTION = re.compile(
    r"^(?:static (?:inline )?|__attribute__\(\(\w+\)\) )?\w+ (\w+)\(", re.M
)


@immutable
class Section:
    """A kernel's text behind a prelude, options of the compiler, and macros."""

    name: str
    prelude: str
    text: str
    options: str
    macros: Mapping[str, int]

    def alone(self) -> tuple[str, str]:
        """The text and the options of a program of this kernel."""
        flags = [f"-D{macro}={value}" for macro, value in self.macros.items()]
        return self.prelude + self.text, " ".join((self.options, *flags))


def together(sections: Sequence[Section]) -> str:
    """The text of a program of all these kernels, behind their prelude."""
    parts: list[str] = []
    for number, section in enumerate(sections):
        names = dict.fromkeys(_FUNCTION.findall(section.text))
        end = f"_{number}"
        while any(name + end in names for name in names):
            end = f"_{end}"
        defined = {name: name + end for name in names}
        defined |= {macro: str(value) for macro, value in section.macros.items()}
        parts += [f"#define {name} {value}\n" for name, value in defined.items()]
        parts.append(section.text.rstrip("\n") + "\n")
        parts += [f"#undef {name}\n" for name in defined]
    return "".join(parts)
