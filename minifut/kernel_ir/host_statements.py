"""KernelCode: the host around the kernels.

Memory is freed when the last variable that holds it is dropped: `Drop`.
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir.core import Atom, ScalarOp, SizeExp
from minifut.ir.kernels import AtLeast, GetParameter
from minifut.ir.node import immutable, node
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_ir.expressions import Memory
from minifut.names import Name


@node
class ReadElement:
    """One element of a memory; waits for the device."""

    printed = "read {memory}[{index}]"
    memory: Memory
    index: Size


@node
class ComputeUnits:
    """The number of compute units of the device."""

    printed = "cores"


@node
class GroupSize:
    """Work-items of a group that has `wanted` points to share: a power of two of at
    most `most`, and of what the device allows."""

    printed = "group_size({wanted}, {most})"
    wanted: Size
    most: Size


@node
class Covering:
    """The smallest of `most`, its half, quarter and so on that is at least `wanted`."""

    printed = "covering({wanted}, {most})"
    wanted: Size
    most: Size


@node
class EqualParts:
    """The length of the fewest equal parts of `total` of at most `most` each; `most`
    unless that saves a quarter."""

    printed = "equal_parts({total}, {most})"
    total: Size
    most: Size


HostExp: TypeAlias = (
    Atom
    | ScalarOp
    | SizeExp
    | ReadElement
    | GetParameter
    | AtLeast
    | ComputeUnits
    | GroupSize
    | Covering
    | EqualParts
)


@node
class HostBlock:
    """Statements in order."""

    statements: tuple[HostStatement, ...]


@node
class HostAssign:
    """`name = exp` for a scalar of the given type."""

    printed = "let {name}: {type} = {exp}"
    name: Name
    exp: HostExp
    type: ScalarType


@node
class HostMove:
    """All targets get their sources at once; scalars or memories."""

    printed = "move {targets} = {sources}"
    targets: tuple[Name, ...]
    sources: tuple[Atom, ...]


@node
class Allocate:
    """`memory` becomes a buffer of `count` elements with unspecified contents."""

    printed = "allocate {memory} count {count}"
    memory: Memory
    count: Size


@node
class Drop:
    """The variables end; a buffer that no other variable holds is free."""

    printed = "drop {names}"
    names: tuple[Name, ...]


@node
class Launch:
    """Run the kernel of that name over a grid of work-items; nothing if it is empty.

    `arguments` are the texts' values for the kernel's parameters in order: a memory,
    a scalar, a size, or (for local memory) its number of elements, or global memory
    that takes its place. `per_launch` are
    the variables with the values of the build constants that this launch chooses.
    `work` is how many scalar operations it takes at most, where that is known on the
    host: a small launch runs in the thread of the host. `location` is where the source
    says so.
    """

    printed = (
        "launch {kernel}{arguments} grid (<,{grid}>) group (<,{group}>)"
        "<? built for {per_launch}><? work {work}><? from {location}>"
    )
    kernel: str
    grid: tuple[Size, ...]
    group: tuple[Size, ...]
    arguments: tuple[Memory | Name | Size, ...]
    per_launch: tuple[Name, ...] = ()
    work: Size | None = None
    location: str = ""


@node
class CheckGroup:
    """An error unless the device can run groups of `group` work-items with that much
    local memory; names the tuning parameters (and their variables)."""

    printed = "check_group {group} local_bytes {local_bytes} for {parameters}"
    group: Size
    local_bytes: Size
    parameters: tuple[tuple[str, Name], ...]


@node
class CheckRequestedTiles:
    """An error if tuning parameters (with their variables) require more bytes of local
    memory than the device has. Not for defaults: another version runs then."""

    printed = "check_requested_tiles {local_bytes} for {parameters}"
    local_bytes: Size
    parameters: tuple[tuple[str, Name], ...]


@node
class CopyMemory:
    """`count` elements from one memory to another of the same element type."""

    printed = "copy {count} from {source}[{source_offset}] to {target}[{target_offset}]"
    target: Memory
    target_offset: Size
    source: Memory
    source_offset: Size
    count: Size


@node
class WriteElement:
    """One element of a memory gets a host scalar."""

    printed = "write {memory}[{index}] = {value}"
    memory: Memory
    index: Size
    value: Atom


@node
class WriteConstants:
    """The first elements of a memory get these constants, which the host holds as
    bytes."""

    printed = "fill {memory} with {elements}"
    memory: Memory
    elements: tuple[Atom, ...]


@node
class HostComment:
    """A line for readers of the generated module."""

    printed = "comment {text}"
    text: str


@node
class HostIf:
    """A conditional of the host."""

    printed = "if {condition} {then} else {otherwise}"
    condition: Atom
    then: HostBlock
    otherwise: HostBlock


@node
class HostFor:
    """`index` runs over 0, 1, ... below `bound`."""

    printed = "for {index} below {bound} {body}"
    index: Name
    bound: Atom
    body: HostBlock


@node
class HostWhile:
    """Runs as long as the variable `condition` is true."""

    printed = "while {condition} {body}"
    condition: Name
    body: HostBlock


@node
class HostAssert:
    """Failure `number` with the values of its message, unless the condition holds."""

    printed = "assert {condition} fails {number} {values}"
    condition: Atom
    number: int
    values: tuple[Atom, ...]


@node
class HostCall:
    """Call of another host function; memories and scalars alike are names."""

    printed = "call {targets} = {function}{arguments}"
    targets: tuple[Name, ...]
    function: Name
    arguments: tuple[Atom, ...]


@node
class HostTrace:
    """Print a value with its label."""

    printed = "trace {label} {value}"
    label: str
    value: Atom


HostStatement: TypeAlias = (
    HostAssign
    | HostMove
    | Allocate
    | Drop
    | Launch
    | CheckGroup
    | CheckRequestedTiles
    | CopyMemory
    | WriteElement
    | WriteConstants
    | HostComment
    | HostIf
    | HostFor
    | HostWhile
    | HostAssert
    | HostCall
    | HostTrace
)


@node
class HostFunction:
    """A function of the program: parameters and results are scalars and memories.

    `recursion`: the number of the failure when a function that may come to call itself
    is called too deep; None if it cannot.
    """

    printed = "host {name} {parameters} gives {results}<? recursion {recursion}> {body}"
    name: Name
    parameters: tuple[Name, ...]
    body: HostBlock
    results: tuple[Atom, ...]
    recursion: int | None = None


@immutable
class Failure:
    """What failure number i says: `message` mixes texts with the types of the values
    recorded with it, in order."""

    printed = "failure {message} {backtrace}"
    message: tuple[str | ScalarType, ...]
    backtrace: tuple[str, ...]
