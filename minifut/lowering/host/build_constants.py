"""Variables of the host that kernels are built for, and what is known of them.

    let t = get_parameter tile_size          t: a macro of kernels that mention it
    let s = t * 4                            s: the same, as a size of macros

A kernel that mentions one of them is built again where its value changes.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.ir.core import Atom
from minifut.ir.sizes import Size
from minifut.names import Name

KINDS = {"tile_size", "tile_side", "tile_depth", "reg_tile_size", "group_size"}
"""the kinds of parameters that kernels are built for"""


class BuildConstants:
    """The build constants of one host function."""

    def __init__(self) -> None:
        self.parameters: dict[Name, kernels.Parameter] = {}
        self.sizes: dict[Name, Size] = {}
        self.per_launch: set[Name] = set()
        self.limits: set[Atom] = set()

    def keep(self, name: Name, parameter: kernels.Parameter) -> None:
        """Note a variable that has the value of a parameter."""
        if parameter.kind in KINDS:
            self.parameters[name] = parameter
        if parameter.kind == "limit":
            self.limits.add(name)

    def choose(self, name: Name, parameter: kernels.Parameter) -> None:
        """Note a variable whose value, one of few within the parameter's, a launch
        chooses."""
        self.parameters[name] = parameter
        self.per_launch.add(name)

    def keep_size(self, name: Name, size: Size) -> None:
        """Note a variable if its value is made of nothing but build constants."""
        if size.names() and self.covers(size):
            self.sizes[name] = size

    def covers(self, size: Size) -> bool:
        """Whether a size is known when kernels are built."""
        return self.parameters.keys() >= size.names()
