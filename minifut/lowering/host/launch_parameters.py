"""The tuning parameters on which a launch depends, besides build constants.

    rows = run.parameters[1]                             rows    main.t.block_rows
    even = max(1, ceil_div(n, rows))                     even    main.t.block_rows
    kernels[3](workers, even, ..)                        kernel 3 is shaped by it

A size that the host computes from a parameter, and passes to a kernel, affects it no
less than a constant of its text, so a tuner must know it. Control flow does not count:
which launches there are is decided by thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir.kernels import AtLeast, GetParameter
from minifut.ir.sizes import Size
from minifut.ir.traverse import used_names
from minifut.kernel_ir import nodes as kc
from minifut.names import Name

Sources = frozenset[str]
"""the names of parameters that a value comes from"""
NONE: Sources = frozenset()


def launch_parameters(functions: Iterable[kc.HostFunction]) -> dict[str, Sources]:
    """The names of the parameters for each kernel, by its name."""
    found: dict[str, Sources] = {}
    for function in functions:
        search = _Search(found)
        size = -1
        while size != search.known:  # values go round in loops
            size = search.known
            search.block(function.body)
    return found


class _Search:
    def __init__(self, found: dict[str, Sources]) -> None:
        self.found = found
        self.sources: dict[Name, Sources] = {}

    @property
    def known(self) -> int:
        return sum(map(len, self.sources.values()))

    def of(self, names: Iterable[Name]) -> Sources:
        return NONE.union(*(self.sources.get(name, NONE) for name in names))

    def add(self, name: Name, sources: Sources) -> None:
        if sources:
            self.sources[name] = self.sources.get(name, NONE) | sources

    def block(self, block: kc.HostBlock) -> None:
        for statement in block.statements:
            self.statement(statement)

    def statement(self, statement: kc.HostStatement) -> None:
        match statement:
            case kc.HostAssign(name, GetParameter(parameter), _):
                self.add(name, frozenset((parameter.name,)))
            case kc.HostAssign(_, AtLeast(), _):
                pass
            case kc.HostAssign(name, exp, _):
                self.add(name, self.of(used_names(exp)))
            case kc.HostMove(targets, sources):
                for target, source in zip(targets, sources, strict=True):
                    if isinstance(source, Name):
                        self.add(target, self.of((source,)))
            case kc.Launch(kernel, grid, group, arguments):
                before = self.found.get(kernel, NONE)
                self.found[kernel] = before | self.sources_of(
                    (*grid, *group, *arguments)
                )
            case kc.HostIf(_, then, otherwise):
                self.block(then)
                self.block(otherwise)
            case kc.HostFor(_, _, body) | kc.HostWhile(_, body):
                self.block(body)

    def sources_of(self, values: Sequence[kc.Memory | Name | Size]) -> Sources:
        """Where the scalars and sizes of a launch come from."""
        found = NONE
        for value in values:
            if isinstance(value, Size):
                found |= self.of(value.names())
            elif isinstance(value, Name):
                found |= self.of((value,))
        return found
