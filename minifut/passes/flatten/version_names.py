"""Which versions flattening makes, and the names of the parameters that choose.

A version is named by its function and the nest it is in, each level of the nest by what
the body of its map consists of:

    main.map_reduce_map.outer                    map (\\x -> let s = reduce.. in map ..)
    main.map_map_loop.map_reduce.outer           a map inside of such a one

so that edits elsewhere do not rename it. Where two nests of a function look alike, the
later ones have an ordinal behind.

Bounded: at most `DEEPEST` choices stand within one another and at most `MOST` stem from
one statement of the host; maps beyond that are flattened moderately. Each choice adds
one sequential copy of its map's body, so code grows by at most a factor of
`DEEPEST` + 1, and the number of choices is linear in the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minifut.ir.core import If, Loop, Stm
from minifut.ir.kernels import Parameter
from minifut.ir.soacs import Hist, Scatter, Screma

DEEPEST = 3
MOST = 8

INCREMENTAL = "incremental"
MODERATE = "moderate"
FULL = "full"

NEVER = 1 << 62


@dataclass(slots=True)
class VersionNames:
    """`kind` is what to do where there is a choice: keep it ("incremental"), or decide
    for the outer parallelism ("moderate") or for all of it ("full")."""

    kind: str = INCREMENTAL
    function: str = "main"
    left: int = MOST
    taken: set[str] = field(default_factory=set)

    def may_choose(self, path: tuple[str, ...]) -> bool:
        """Whether one more choice is within the bounds."""
        return self.kind == INCREMENTAL and self.left > 0 and len(path) < DEEPEST

    def threshold(
        self, path: tuple[str, ...], cpu: int, gpu: int, guards: str
    ) -> Parameter:
        """A new threshold for the version at this path."""
        self.left -= 1
        stem = name = ".".join((self.function, *path))
        ordinal = 1
        while name in self.taken:
            ordinal += 1
            name = f"{stem}_{ordinal}"
        self.taken.add(name)
        defaults = (("cpu", cpu), ("gpu", gpu))
        return Parameter(f"{name}.outer", "threshold", defaults, (0, NEVER), guards)


def shape_of_body(statements: tuple[Stm, ...]) -> str:
    """The level's name: `map`, and the parallel parts of its body."""
    kinds = [kind for s in statements if (kind := _kind(s)) is not None]
    return "_".join(("map", *kinds[:4]))


def _kind(statement: Stm) -> str | None:
    match statement.exp:
        case Screma() as exp if exp.is_map:
            return "map"
        case Screma() as exp:
            return "scan" if exp.scans else "reduce"
        case Scatter():
            return "scatter"
        case Hist():
            return "hist"
        case Loop():
            return "loop"
        case If(_, then, otherwise):
            inner = (*then.statements, *otherwise.statements)
            return "if" if any(_kind(s) is not None for s in inner) else None
        case _:
            return None
