"""Which versions flattening makes, and the names of the parameters that choose.

A version is named by its function and the nest it is in, each level of the nest by what
the body of its map consists of, and by what it exploits:

    main.map_reduce_map.outer                    map (\\x -> let s = reduce.. in map ..)
    main.map_reduce_map.intra                    the same in work-groups
    main.map_map_loop.map_reduce.outer           a map inside of such a one
    main.loop_map.host                           loop .. do map ..

so that edits elsewhere do not rename it. Where two nests of a function have equal
names, the later ones have an ordinal behind.

Bounded: at most `DEEPEST` choices are within one another and at most `MOST` stem from
one statement of the host; and all the copies of bodies that choices of one statement
make hold together at most `GROWTH` times as many statements as it does itself, so that
programs at most triple (small ones cost little: `SMALL_GROWTH` up to `SMALL` statements
altogether). A choice sets aside, before what is inside it is examined, the copy for
the outer version, so that outer choices come before inner ones; groups get what is
left. What is beyond the bounds is flattened moderately.
"""

from __future__ import annotations

from dataclasses import field

from minifut.ir.core import If, Loop, Match, Stm
from minifut.ir.kernels import NEVER, Parameter
from minifut.ir.node import mutable
from minifut.ir.search import count_of
from minifut.ir.soacs import Hist, Scatter, Screma

DEEPEST = 3
MOST = 8
GROWTH = 2
SMALL_GROWTH, SMALL = 4, 256

INCREMENTAL = "incremental"
MODERATE = "moderate"
FULL = "full"

OUTER = "outer"
INTRA = "intra"
HOST = "host"


@mutable
class VersionNames:
    """`kind` is what to do where there is a choice: keep it ("incremental"), or decide
    for the outer parallelism ("moderate") or for all of it ("full"). `left` choices may
    be made, and copies of `budget` statements. `in_loop`: the loop of the host with
    versions that what is flattened is in. `of_scalars`: the function has neither
    arrays nor calls."""

    kind: str = INCREMENTAL
    function: str = "main"
    left: int = MOST
    budget: int = 1 << 20
    in_loop: Loop | None = None
    of_scalars: bool = False
    taken: set[str] = field(default_factory=set)

    def begin(self, statement: Stm) -> None:
        """What follows stems from this statement of the host."""
        if self.kind == INCREMENTAL:
            self.left = MOST
            own = weight(statement)
            self.budget = max(GROWTH * own, min(SMALL_GROWTH * own, SMALL))

    def reserve(self, path: tuple[str, ...], copied: int) -> bool:
        """Take one choice and one copy, if that is within the bounds."""
        if self.kind != INCREMENTAL or not self.left or len(path) >= DEEPEST:
            return False
        if copied > self.budget:
            return False
        self.left -= 1
        self.budget -= copied
        return True

    def release(self, copied: int) -> None:
        """Give back what was reserved."""
        self.left += 1
        self.budget += copied

    def stem(self, path: tuple[str, ...]) -> str:
        """The name of the choice at this path, before those of its versions."""
        stem = name = ".".join((self.function, *path))
        ordinal = 1
        while name in self.taken:
            ordinal += 1
            name = f"{stem}_{ordinal}"
        self.taken.add(name)
        return name


def threshold(name: str, cpu: int, gpu: int, guards: str) -> Parameter:
    """The parameter that decides for or against a version."""
    defaults = (("cpu", cpu), ("gpu", gpu))
    return Parameter(name, "threshold", defaults, (0, NEVER), guards)


def weight(statement: Stm) -> int:
    """The number of statements in it."""
    return count_of(Stm, statement)


def shape_of_body(statements: tuple[Stm, ...], kind: str = "map") -> str:
    """The level's name: what it is, and the parallel parts of its body."""
    kinds = [inner for s in statements if (inner := _kind(s)) is not None]
    return "_".join((kind, *kinds[:4]))


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
        case If() | Match() as exp:
            inner = [s for body in exp.branches for s in body.statements]
            return "if" if any(_kind(s) is not None for s in inner) else None
        case _:
            return None
