"""Kernels: the core with segmented operations at a level in place of SOACs.

A segmented operation runs its body once per point of its space. The innermost dimension
of a `SegRed` or `SegScan` is the one reduced or scanned; the outer ones are segments.

    segmap grid (i < n, j < m) { ... return {returns x} }        : [n][m]t
    segred grid (i < n, j < m) {add, 0} { ... returns x }        : [n]t

Levels: `grid` is the whole device, `group` one work-group, `thread` one work-item
(where on a CPU device `thread` is a loop inside a work-group of one), `register` the
elements of a register tile of one thread: unrolled, the innermost in lanes of vectors.

    segmap group (g < groups) {               each point is a work-group
      let t: [w]f32 = collective_copy xs[g * w :+ w by 1]     all threads copy together
      let s: f32 = segred thread (i < w) {add, 0} { ... }     in local memory
      return returns s }                      : [groups]f32

SOACs remain only inside thread bodies, as sequential code, until lowering.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from minifut.ir.core import Atom, Body, DimSlice, Lambda, Param, Stm
from minifut.ir.marks import WithBelow
from minifut.ir.node import immutable, node
from minifut.ir.sizes import Size
from minifut.ir.thresholds import NEVER as NEVER
from minifut.ir.types import Type
from minifut.names import Name


@immutable
class Level:
    """Where the points of a space run: "grid", "group", "thread" or "register"."""

    kind: str

    def __str__(self) -> str:
        return self.kind


GRID = Level("grid")
GROUP = Level("group")
THREAD = Level("thread")
REGISTER = Level("register")


@node
class SegSpace:
    """Index names and sizes, outermost first."""

    printed = "(<,{indices} < {sizes}>)"
    introduces: ClassVar = ("indices",)
    indices: tuple[Name, ...]
    sizes: tuple[Size, ...]


# --- results of a kernel body ---------------------------------------------------


@node
class Returns:
    """Each point returns this value."""

    printed = "returns {value}"
    value: Atom


@node
class WriteReturns:
    """Each point writes values at indices of `array`, out-of-bounds ones not at all;
    the result is the whole updated array."""

    printed = "writes {array} {shape} with (<,{writes.0} = {writes.1}>)"
    array: Name
    shape: tuple[Size, ...]
    writes: tuple[tuple[tuple[Atom, ...], Atom], ...]


@node
class TileReturns:
    """Each group returns a tile: per dimension its total size and the tile's size.
    Parts beyond the total are not written.

    A dimension of which each group has one element (`total by 1`, the batches of a
    batched product) is no dimension of the tile.
    """

    printed = "tile {tile} of (<,{dimensions.0} by {dimensions.1}>)"
    dimensions: tuple[tuple[Size, Size], ...]
    tile: Name


@node
class RegTileReturns:
    """Each thread returns a register tile: per dimension total size, block tile size
    and register tile size. Parts beyond the total are not written.

    `tile` is what the group holds: [block]..[register].. with all block sizes first, so
    that thread (i, j) has the tile `tile[i, j]`; in a dimension, register r of thread i
    is element i * register size + r of the group's range. A dimension of which each
    group has one element (`total by 1 by 1`) is no dimension of `tile`.
    """

    printed = (
        "regtile {tile} of (<,{dimensions.0} by {dimensions.1} by {dimensions.2}>)"
    )
    dimensions: tuple[tuple[Size, Size, Size], ...]
    tile: Name


@node
class TotalReturns:
    """The total of the scan that a map reads: a scalar, the neutral element if there
    are no points."""

    printed = "returns_total {value}"
    value: Name


KernelResult: TypeAlias = (
    Returns | WriteReturns | TileReturns | RegTileReturns | TotalReturns
)


@node
class KernelBody(WithBelow):
    """Statements, then one result per pattern element."""

    binds: ClassVar = {"statements": ("statements", "result")}
    statements: tuple[Stm, ...]
    result: tuple[KernelResult, ...]


# --- segmented operations ---------------------------------------------------------


@node
class SegBinOp:
    """An associative operator with neutral element; `shape` are the dimensions of
    values that are combined elementwise (a vectorised operator), else ()."""

    printed = "operator{commutative?}({operator}, {neutral}, {shape})"
    operator: Lambda
    neutral: tuple[Atom, ...]
    shape: tuple[Size, ...] = ()
    commutative: bool = False


@node
class TimeSteps:
    """How often a map is applied, each time to the result of the time before in place
    of `array`, of which points read elements whose first index differs from theirs by
    no more than `radius`."""

    printed = "{count} timesteps of {array} reaching {radius}"
    count: int
    array: Name
    radius: int


@node
class BlockSteps:
    """How often a map over one dimension is applied, each time to the results of the
    time before in place of `arrays`, one for each result. `block`, a power of two,
    divides the number of points, and each point reads of these arrays only elements of
    its own block; at times when the first result of `step` is true, only of its own
    part of a block, `part` points. The map sees the `state`, scalars that start as
    `initial` and become the next results of `step` from one time to the next, and as
    `values` those that are left."""

    printed = (
        "{count} blocksteps of {arrays} in {block} by {part} "
        "(<,{state} = {initial}>) do {step} giving{values}"
    )
    binds: ClassVar = {"state": ("step",)}
    block: Atom
    part: Atom
    arrays: tuple[Name, ...]
    count: Atom
    state: tuple[Param, ...]
    initial: tuple[Atom, ...]
    step: Body
    values: tuple[Param, ...]


@node
class SegMap:
    """`types`: the type per point of each result. A map over one dimension of the grid
    may see a scan over the same points: `seen` are in its body the scanned values at
    the point, the mapped ones, and the totals, scanned values of the last point;
    `before`, if any, the scanned values at the point before, neutral at the first. One
    of the grid may be applied several times (`steps`)."""

    printed = (
        "segmap {level} {space}<? seeing{seen} of {scan}><? after{before}>"
        "<? for {steps}> -> {types} {body}"
    )
    binds: ClassVar = {
        "space": ("body",),
        "scan": (),
        "steps": ("body",),
        "seen": ("body",),
        "before": ("body",),
    }
    level: Level
    space: SegSpace
    body: KernelBody
    types: tuple[Type, ...]
    seen: tuple[Param, ...] = ()
    scan: SegScan | None = None
    steps: TimeSteps | BlockSteps | None = None
    before: tuple[Param, ...] = ()

    @property
    def totals(self) -> tuple[Param, ...]:
        """Those of `seen` that are totals."""
        return self.seen[len(self.scan.types) :] if self.scan else ()


@node
class SegRed:
    """The body returns first the operands of the operators, then mapped values.
    Results: per segment the reduced values, then arrays over the whole space."""

    printed = "segred {level} {space}<* {operators}> -> {types} {body}"
    binds: ClassVar = {"space": ("body",)}
    level: Level
    space: SegSpace
    operators: tuple[SegBinOp, ...]
    body: KernelBody
    types: tuple[Type, ...]


@node
class SegScan:
    """As SegRed, with inclusive scans along the innermost dimension; all results are
    arrays over the whole space."""

    printed = "segscan {level} {space}<* {operators}> -> {types} {body}"
    binds: ClassVar = {"space": ("body",)}
    level: Level
    space: SegSpace
    operators: tuple[SegBinOp, ...]
    body: KernelBody
    types: tuple[Type, ...]


@node
class SegHistOp:
    """As `soacs.HistOp`; destinations have the segment dimensions in front, `vector`
    are the dimensions combined elementwise."""

    printed = "bins({shape}, {destinations}, {neutral}, {operator}, {vector})"
    shape: tuple[Size, ...]
    destinations: tuple[Name, ...]
    neutral: tuple[Atom, ...]
    operator: Lambda
    vector: tuple[Size, ...] = ()


@node
class SegHist:
    """The body returns bins and values as the lambda of `soacs.Hist` does."""

    printed = "seghist {level} {space}<* {operators}> -> {types} {body}"
    binds: ClassVar = {"space": ("body",)}
    level: Level
    space: SegSpace
    operators: tuple[SegHistOp, ...]
    body: KernelBody
    types: tuple[Type, ...]


@node
class CollectiveCopy:
    """A part of an array, copied by all threads of a group together.

    The value is that of the slice, except that positions are clamped to the array: what
    is beyond an edge repeats the element at the edge. So a tile is always full, and
    an operator is only applied to operands that belong together somewhere in the array;
    no padding value is needed that is valid for every operator. Of an array without
    elements the copy is all zeros.
    """

    printed = "collective_copy {array}[<,{slice}>]"
    array: Name
    slice: tuple[Atom | DimSlice, ...]


# --- parameters -------------------------------------------------------------------


@immutable
class Parameter:
    """A number that shapes performance, set when the program runs.

    Kernels that mention one of kind "tile_side" or "tile_depth" (the sides of a tile,
    which decide how much memory it takes, and the steps between two tiles), "tile_size"
    (other sizes), "reg_tile_size" or "group_size" are built for its value. One of kind
    "limit" is a property of the device and cannot be set.

    `name` is stable and readable (function and nest); `kind` is one of these,
    "threshold", "num_groups" or "choice"; `defaults` gives the number per kind of
    device ("cpu", "gpu"), and for families of GPUs unlike others
    (`opencl.runtime.device_family`); `guards` says which versions it guards.
    """

    printed = (
        "{name} {kind} (<,{defaults.0} = {defaults.1}>)"
        "<? bounds {bounds.0} {bounds.1}><? guards {guards}>"
    )
    name: str
    kind: str
    defaults: tuple[tuple[str, int], ...]
    bounds: tuple[int, int] | None = None
    guards: str = ""


LOCAL_MEMORY = Parameter(
    "device.local_memory", "limit", (("cpu", 1 << 18), ("gpu", 48 << 10))
)
"""the bytes of local memory that a work-group of the device has"""

SUBGROUP = Parameter("device.subgroup", "limit", (("cpu", 1), ("gpu", 1)))
"""neighbouring work-items that exchange words without barriers; 1: the device has no
shuffles"""


def group_size(of: str) -> Parameter:
    """The work-items of groups of a GPU that do some kind of thing. The device has a
    bound of its own."""
    defaults = (("cpu", 256), ("gpu", 256))
    return Parameter(f"gpu.{of}.group_size", "group_size", defaults, (1, 1 << 16))


GROUP_SIZE = group_size("group")
"""of groups that run the body of a map: no more than that, and no more than help"""


@node
class GetParameter:
    """The current value of a parameter, an i64."""

    printed = "get_parameter({parameter})"
    parameter: Parameter


@node
class AtLeast:
    """`parallelism >= threshold`, a bool: the guard of a version."""

    printed = "at_least({parallelism}, {threshold})"
    parallelism: Size
    threshold: Parameter


KERNEL_EXPRESSIONS = (SegMap, SegRed, SegScan, SegHist, GetParameter, AtLeast)
GROUP_EXPRESSIONS = (CollectiveCopy,)
