"""KernelCode: statements of kernels, and kernels."""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir.kernels import Parameter as Tunable
from minifut.ir.marks import WithClasses, WithFlows
from minifut.ir.node import node
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_ir.expressions import (
    Binary,
    Expression,
    Literal,
    Memory,
    Register,
    Variable,
    VectorType,
)
from minifut.kernel_ir.synchronisation import (
    AtomicUpdate,
    Barrier,
    DetectLastGroup,
    Fail,
    FetchWork,
    HideValue,
    Label,
    Shuffle,
    UniformExit,
)
from minifut.names import Name


@node
class Block(WithFlows):
    """Statements in order, in a scope of their own."""

    statements: tuple[Statement, ...]


@node
class Declare(WithClasses):
    """A new variable, with its first value if it has one."""

    printed = "let {variable!}<? = {init}>"
    variable: Variable | Register
    init: Expression | None = None


@node
class Assign(WithClasses):
    """A new value for a variable."""

    printed = "{target} = {exp}"
    target: Variable | Register
    exp: Expression


@node
class Store(WithClasses):
    """Write to memory; several lanes go to consecutive elements, or those of the mask.

    `streaming`: around the caches. `aligned`: the place is aligned to all the lanes, as
    it is if `streaming`.
    """

    printed = "store{streaming?}{aligned?} {memory}[{index}<? where {mask}>] = {exp}"
    memory: Memory
    index: Expression
    exp: Expression
    streaming: bool = False
    aligned: bool = False
    mask: Expression | None = None


@node
class Prefetch:
    """Prefetch the cache line of an element, which may be beyond the end. `spread`: of
    one of more rows than a processor's own prefetchers follow at once."""

    printed = "prefetch{spread?} {memory}[{index}]"
    memory: Memory
    index: Expression
    spread: bool = False


@node
class DeclareArray:
    """A local or private array of `count` elements; a local one whose count is not
    constant becomes a parameter of the kernel."""

    printed = "array {memory!} count {count}"
    memory: Memory
    count: Size


@node
class DeclarePointer:
    """A name for global memory from an element of another on, in a register where code
    goes there often. `own`: how many elements each of several points has there for
    itself, done one by one; there is room for lanes."""

    printed = "part{constant?} {part!} = {whole}[{start}]<? own {own}>"
    part: Memory
    whole: Memory
    start: Expression
    constant: bool = False
    """only read through this name"""
    own: Expression | None = None


@node
class Evaluate:
    """An expression for its effect (fences)."""

    printed = "do {exp}"
    exp: Expression


@node
class For:
    """`for (variable = start; variable < bound; variable += step)`.

    `parallel`: the rounds do not depend on each other through memory, so that the
    compiler of the device may run several at once; `scalar`: it shall not; `narrow`: it
    may, unless it would gather words around bytes. `points`: they are the points of a
    map, in any order, which may be lifted to lanes. `expensive`: a round is much work,
    with loops or calls inside, of which the compiler of the device makes no vectors.
    `streams`: a round takes a block of arrays that are long and read once. `rolled`:
    its few rounds are not worth the time of compiling as copies. `full`: most
    often the bound is this, known when the kernel is built; then a GPU may unroll the
    loop. `extent`: where work-items of a group take different rounds before they
    synchronise, at least `bound - start` of each, the same for all; those that are done
    wait inside of the loop if the compiler needs that.
    """

    printed = (
        "for {variable!} = {start} to {bound} by {step}"
        "{parallel?}{points?}{expensive?}{scalar?}{narrow?}{streams?}{rolled?}"
        "<? unrolled {full}><? within {extent}> {body}"
    )
    variable: Variable
    start: Expression
    bound: Expression
    step: Expression
    body: Block
    parallel: bool = False
    points: bool = False
    expensive: bool = False
    scalar: bool = False
    narrow: bool = False
    streams: bool = False
    rolled: bool = False
    full: Expression | None = None
    extent: Expression | None = None

    @property
    def counts_by_ones(self) -> bool:
        return isinstance(self.step, Literal) and self.step.value == 1

    @property
    def rounds(self) -> int | None:
        """How many there are of a loop that counts by ones, if that is a number."""
        match self.start, self.bound:
            case Literal(first, _), Literal(bound, _):
                return int(bound) - int(first)
            case first, Binary("+", left, Literal(more, _)) if left is first:
                return int(more)
        return None


@node
class While:
    """Runs the body as long as the condition holds."""

    printed = "while {condition} {body}"
    condition: Expression
    body: Block


@node
class Unrolled:
    """The body once for each `index` below `count`, one copy after the other, without
    a scope of their own. The count, an expression over build constants and literals,
    is known when the kernel is built; in a copy the index is a number, also in the
    names of `Register`s."""

    printed = "unroll {index} below {count} {body}"
    index: Name
    count: Expression
    body: Block


@node
class StaticIf:
    """A branch that is decided when the kernel is built; see `Unrolled`."""

    printed = "static_if {condition} {then} else {otherwise}"
    condition: Expression
    then: Block
    otherwise: Block


@node
class Break:
    """Leaves the innermost loop."""

    printed = "break"


@node
class Branch:
    """`if`, with or without `else`."""

    printed = "if {condition} {then}<? else {otherwise}>"
    condition: Expression
    then: Block
    otherwise: Block | None = None


@node
class Reassociate:
    """Statements in which float arithmetic may be reassociated and contracted."""

    printed = "reassociate {body}"
    body: Block


@node
class ParallelRegion:
    """Statements in which no work-item of a group depends on another through memory: a
    barrier may be needed before and behind them, not inside. They have no scope of
    their own."""

    printed = "parallel_region {body}"
    body: Block


@node
class Return:
    """The work-item ends here."""

    printed = "return"


@node
class Comment:
    """A line for the reader."""

    printed = "comment {text}"
    text: str


@node
class CallFunction:
    """Call of a function: `arguments` for its parameters in order, `results` for what
    it gives. If it may leave, so does the work-item then: it returns, or jumps to
    `label` where barriers follow; `place` is the number of the call in backtraces."""

    printed = "call {results} = {function}{arguments} at {place}<? goto {label}>"
    function: DeviceFunction
    arguments: tuple[Expression | Memory, ...]
    results: tuple[Variable, ...]
    place: int
    label: str | None = None


@node
class ReturnValues:
    """The end of a function: what it gives."""

    printed = "result {values}"
    values: tuple[Expression, ...]


Structured: TypeAlias = (
    Block | For | While | Branch | Reassociate | Unrolled | StaticIf | ParallelRegion
)  # fmt: skip
"""statements with blocks inside"""
Transfer: TypeAlias = (
    Break | Return | ReturnValues | Fail | Label | CallFunction | Barrier
    | UniformExit | Shuffle
)  # fmt: skip
"""of control, and barriers"""
MemoryStatement: TypeAlias = (
    Declare | DeclareArray | DeclarePointer | Assign | Store | Evaluate | Prefetch
    | HideValue | AtomicUpdate | DetectLastGroup | FetchWork
)  # fmt: skip
"""of variables and memory"""
Statement: TypeAlias = Structured | Transfer | MemoryStatement | Comment


@node
class MemoryParameter:
    """A global buffer; `written` says whether the kernel stores to it."""

    printed = "buffer {memory!}{written?}"
    memory: Memory
    written: bool


@node
class LocalParameter:
    """Local memory whose number of elements the host computes. `spills`: launches may
    pass global memory in its place, with so many elements for each work-item, a size
    over other parameters (`kernel_passes.spill`)."""

    printed = "local_buffer {memory!} count {count}{spills?}"
    memory: Memory
    count: Size
    spills: bool = False


@node
class ScalarParameter:
    """A scalar of the host."""

    printed = "scalar {name}: {type}"
    name: Name
    type: ScalarType


@node
class BuildConstant:
    """A tuning parameter whose value is known when the kernel is built: the text has a
    macro for it, so that tiles have constant sizes. `name` is its variable.
    `per_launch`: the parameter is a bound, and each launch chooses a value for which
    there is a build of the kernel."""

    printed = "constant {name} = get_parameter({parameter}){per_launch?}"
    name: Name
    parameter: Tunable
    per_launch: bool = False


Parameter: TypeAlias = MemoryParameter | LocalParameter | ScalarParameter


@node
class DeviceFunction:
    """A function that kernels call. Memories among the parameters are pointers into
    the address space that they name. `results` are scalars: one is returned, several
    are written through pointers. `may_exit`: it may end the work-item, because
    something failed or an arena is full; then it returns whether it did."""

    printed = (
        "function {name} {parameters} gives {results}{may_exit?} calls {callees} {body}"
    )
    name: str
    parameters: tuple[MemoryParameter | ScalarParameter, ...]
    results: tuple[VectorType, ...]
    body: Block
    may_exit: bool
    callees: tuple[DeviceFunction, ...]


@node
class Kernel:
    """One kernel. `group_size`: numbers, or the variable that stands for what a launch
    gives, for which the kernel is then built. `fresh`: no written buffer can be the
    same as another parameter, so those may be `restrict` in which work-items exchange
    nothing. `exchanges_global`: the work-items of a group exchange values through
    global memory, not only through local memory."""

    printed = (
        "kernel {name} {parameters} groups {group_size}{can_fail?}{fresh?}"
        "{exchanges_global?}<? constants {constants}><? calls {functions}> {body}"
    )
    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    group_size: tuple[int, ...] | Name
    can_fail: bool
    fresh: bool
    constants: tuple[BuildConstant, ...] = ()
    functions: tuple[DeviceFunction, ...] = ()
    exchanges_global: bool = False
