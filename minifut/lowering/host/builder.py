"""Functions of the program on the host: allocations, launches and scalar code.

    let ys: [n]f32 = segmap grid (i < n) {..}       ys = run.allocate(4 * n)
                                                    kernels[0](..., xs, ys)

A name of the core is, on the host, a scalar variable, a constant, or an `Array` in some
memory, itself a variable. Arrays that cross an if, a loop or a call are row-major from
offset 0; then the variable of the memory is all there is to pass. Of a loop that starts
with a part of an array, the offset is a variable, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from minifut.analysis.layouts import Order, innermost
from minifut.analysis.work import work_of
from minifut.errors import CompileError, Location
from minifut.ir import core, kernels
from minifut.ir.core import Atom, Constant, Param
from minifut.ir.sizes import Size, product
from minifut.ir.types import I64, ArrayType, ScalarType, Type
from minifut.kernel_ir import nodes as kc
from minifut.lowering.groups.gpu_limits import check_group
from minifut.lowering.host.build_constants import BuildConstants
from minifut.lowering.host.placements import Placements
from minifut.lowering.index_functions import Array, whole
from minifut.lowering.threads.arena import launch_with_arenas
from minifut.lowering.threads.builder import KernelBuilder, NotInKernel
from minifut.lowering.transposition.planes import copy_transposed, plane_of
from minifut.names import Name
from minifut.rewrite.trace import Derivation, rollback_trace_on

if TYPE_CHECKING:
    from minifut.lowering.accumulators.common import Accumulator
    from minifut.lowering.program import ProgramBuilder

HostValue: TypeAlias = Atom | Array
Grid: TypeAlias = tuple[Size, ...] | Size
Group: TypeAlias = tuple[int, ...] | int | Size

POINT_WORK = 4
"""scalar operations for a point of a copy or of a literal"""


class HostBuilder:
    """Collects the statements of one host function."""

    def __init__(self, program: ProgramBuilder, base: str) -> None:
        self.program = program
        self.base = base
        self.names = program.names
        self.schedule = program.schedule
        self.facts = program.facts
        self.build = BuildConstants()
        self.statements: list[kc.HostStatement] = []
        self.values: dict[Name, HostValue] = dict(program.constants.values)
        self.scalars: dict[Name, ScalarType] = dict(program.constants.scalars)
        self.placements = Placements()
        self.derivation: Derivation | None = None
        self.work: Size | None = None
        self.location: Location | None = None
        self.accumulators: dict[Name, Accumulator] = {}

    # --- names ------------------------------------------------------------------------

    def emit(self, statement: kc.HostStatement) -> None:
        """Append a statement."""
        self.statements.append(statement)

    @contextmanager
    def nested(self) -> Iterator[list[kc.HostStatement]]:
        """Collect the statements emitted inside into a list of their own."""
        saved, self.statements = self.statements, []
        try:
            yield self.statements
        finally:
            self.statements = saved

    def lookup(self, name: Name) -> Any:
        """What a name stands for: a host variable, a constant or an Array."""
        return self.values[name]

    def atom(self, atom: Atom) -> Atom:
        """A scalar atom as a host variable or a constant."""
        if isinstance(atom, Constant):
            return atom
        value = self.values[atom]
        assert not isinstance(value, Array), f"{atom} is an array"
        return value

    def array(self, name: Name) -> Array:
        """An array by its name."""
        value = self.values[name]
        assert isinstance(value, Array), f"{name} is a scalar"
        return value

    def size(self, size: Size) -> Size:
        """A size of the IR in variables of the host."""
        mapping: dict[Name, Size] = {}
        for name in size.names():
            value = self.values.get(name, name)
            if value in self.build.sizes:
                mapping[name] = self.build.sizes[value]
            elif value is not name:
                mapping[name] = as_index(value)
        return size.substitute(mapping)

    def sizes(self, sizes: tuple[Size, ...]) -> tuple[Size, ...]:
        """Several sizes."""
        return tuple(self.size(size) for size in sizes)

    def shape(self, type_: Type) -> tuple[Size, ...]:
        """The shape of a type in variables of the host; () for scalars."""
        return self.sizes(type_.shape) if isinstance(type_, ArrayType) else ()

    def index(self, atom: Atom) -> Size:
        """An integer atom as a size."""
        return as_index(self.atom(atom))

    # --- scalars ----------------------------------------------------------------------

    def own_scalar(self, name: Name, type_: ScalarType) -> Name:
        """A scalar variable of the host, under the name of the program."""
        self.scalars[name] = type_
        self.values[name] = name
        return name

    def scalar(self, exp: kc.HostExp, type_: ScalarType, base: str) -> Name:
        """A fresh scalar variable."""
        name = self.names.fresh(base)
        self.own_scalar(name, type_)
        self.emit(kc.HostAssign(name, exp, type_))
        return name

    def let_size(self, size: Size, base: str) -> Size:
        """A size in a variable of its own, unless it is simple."""
        if size.as_constant is not None or size.as_name is not None:
            return size
        return Size.of(self.scalar(core.SizeExp(size), I64, base))

    def size_atom(self, size: Size, base: str) -> Atom:
        """A size as a constant or in a variable."""
        if size.as_constant is not None:
            return Constant(size.as_constant, I64)
        name = self.let_size(size, base).as_name
        assert name is not None
        return name

    def cores(self) -> Size:
        """The number of compute units, known when the program runs."""
        return Size.of(self.scalar(kc.ComputeUnits(), I64, "cores"))

    def choose_build_constant(
        self, exp: kc.HostExp, parameter: kernels.Parameter, base: str
    ) -> Name:
        """A value within the parameter's, for which kernels are built when a launch
        first has it: of few values, for each is a build."""
        name = self.scalar(exp, I64, base)
        self.build.choose(name, parameter)
        return name

    def parameter(self, parameter: kernels.Parameter) -> Size:
        """The current value of a tunable parameter."""
        self.program.parameter(parameter)
        exp = kernels.GetParameter(parameter)
        name = self.scalar(exp, I64, parameter.kind)
        self.build.keep(name, parameter)
        return Size.of(name)

    # --- memory -----------------------------------------------------------------------

    def allocate(
        self,
        element: ScalarType,
        shape: tuple[Size, ...],
        base: str,
        order: Order | None = None,
    ) -> Array:
        """A new array, row-major or in that order; sizes in variables of the host."""
        memory = kc.Memory(self.names.fresh(base), element)
        self.emit(kc.Allocate(memory, product(shape)))
        return whole(memory, shape, order)

    def allocate_result(
        self, bound: Param, element: ScalarType, shape: tuple[Size, ...]
    ) -> Array:
        """Memory for an array of a pattern, in the order that is wanted of it."""
        order = self.facts.layouts.made.get(bound.name)
        return self.allocate(element, shape, bound.name.base, order)

    def whole(self, array: Array, order: Order | None = None) -> Array:
        """The array, or a copy of it, dense from offset 0: row-major or in an order."""
        fits = array.is_whole if order is None else array.has_order(order)
        return array if fits else self.copied(array, order)

    def copied(self, array: Array, order: Order | None = None) -> Array:
        """A fresh copy, row-major or in that order."""
        base = array.memory.name.base
        made = self.allocate(array.memory.element, array.shape, base, order)
        self.copy(made, array)
        return made

    def copy(self, target: Array, source: Array) -> None:
        """Copy elements; the arrays do not overlap."""
        if order := _order_of(target):
            target, source = target.rearrange(order), source.rearrange(order)
        if target.rank == 0 or (target.is_row_major and source.is_row_major):
            self.emit(
                kc.CopyMemory(
                    target.memory,
                    target.offset,
                    source.memory,
                    source.offset,
                    target.count,
                )
            )
            return
        plane = plane_of(target, source)
        if plane is not None:
            with self.working(source.count * POINT_WORK):
                copy_transposed(self, plane)
            return
        self.each(
            "copy", target.shape, lambda k, at: k.write(target, at, k.read(source, at))
        )

    def each(self, base: str, shape: tuple[Size, ...], visit: Any) -> None:
        """A kernel that runs `visit(k, indices)` for each point of the shape."""
        from minifut.lowering.dispatch import LAUNCH_NEST

        kept, self.derivation = self.derivation, None
        with self.working(product(shape) * POINT_WORK):

            def point(k: Any, at: Any, again: bool = False) -> None:
                visit(k, at)

            LAUNCH_NEST[self.schedule](
                self, base, shape, point, expensive=False, parallel=True
            )
        self.derivation = kept

    @contextmanager
    def working(self, work: Size | None) -> Iterator[None]:
        """Launches inside execute at most so many scalar operations."""
        kept, self.work = self.work, None if work is None else self.known_size(work)
        try:
            yield
        finally:
            self.work = kept

    def known_size(self, size: Size) -> Size | None:
        """A size of the IR in variables of the host; None if one of its names is not a
        scalar of the host."""
        size = self.size(size)
        return size if self.scalars.keys() >= size.names() else None

    # --- kernels ----------------------------------------------------------------------

    def kernel(self, base: str) -> KernelBuilder:
        """A builder for a new kernel."""
        return KernelBuilder(self, base)

    def launch(
        self, k: KernelBuilder, grid: Grid, group: Group, *, fresh: bool = False
    ) -> None:
        """Finish a kernel and launch it."""
        self.start(k, self.launch_of(k, grid, group, fresh=fresh))

    def start(self, k: KernelBuilder, launch: kc.Launch) -> None:
        """Emit a launch of a finished kernel."""
        if k.arenas:
            launch_with_arenas(self, k, launch)
        else:
            self.emit(launch)

    def launch_of(
        self, k: KernelBuilder, grid: Grid, group: Group, *, fresh: bool = False
    ) -> kc.Launch:
        """Finish a kernel: its launch over `grid` work-items in groups of `group`; a
        size is one known to the host when it runs, for which kernels are built."""
        grid = grid if isinstance(grid, tuple) else (grid,)
        fixed: tuple[int, ...] | None = None
        if isinstance(group, Size):
            k.keep_constants(group)
            check_group(self, k, group)
        else:
            fixed = group if isinstance(group, tuple) else (group,)
        title = self.program.kernel_names.fresh(f"{self.base}_{k.base}")
        kernel = k.finish(title, fixed, fresh=fresh)
        self.program.kernels.append(kernel)
        derivation = self.derivation
        if derivation is not None and derivation.statement is not None:
            derivation.trace.origins[kernel.name] = derivation.statement
        arguments: list[kc.Memory | Name | Size] = []
        for parameter in kernel.parameters:
            match parameter:
                case kc.MemoryParameter(memory, _):
                    arguments.append(memory)
                case kc.ScalarParameter(name, _):
                    arguments.append(k.given.get(name, name))
                case kc.LocalParameter(_, count):
                    arguments.append(count)
        sizes = tuple(Size.constant(g) for g in fixed or ())
        if isinstance(group, Size):
            sizes = (group,)
        per_launch = tuple(c.name for c in kernel.constants if c.per_launch)
        place = "" if self.location is None else str(self.location)
        return kc.Launch(
            kernel.name, grid, sizes, tuple(arguments), per_launch, self.work, place
        )

    # --- binding ----------------------------------------------------------------------

    def bind(self, bound: Param, value: HostValue) -> None:
        """Bind a pattern element. An Array of rank 0 for a scalar is read now."""
        if isinstance(bound.type, ScalarType) and isinstance(value, Array):
            name = self.own_scalar(bound.name, bound.type)
            read = kc.ReadElement(value.memory, value.offset)
            self.emit(kc.HostAssign(name, read, bound.type))
            return
        self.values[bound.name] = value

    def bind_all(self, pattern: Iterable[Param], values: Iterable[HostValue]) -> None:
        """Bind all elements of a pattern."""
        for bound, value in zip(pattern, values, strict=True):
            self.bind(bound, value)

    # --- statements -------------------------------------------------------------------

    def statements_of(
        self, statements: tuple[core.Stm, ...], results: tuple[Atom, ...] | None = None
    ) -> None:
        """Lower statements in order; with `results`, they are those of a whole body."""
        if results is not None:
            facts = self.facts
            roots, definitions = facts.in_place.roots, facts.definitions
            self.placements.add(statements, results, roots, definitions)
        from minifut.lowering.dispatch import HOST_RULES

        for statement in statements:
            self.location = statement.location or self.location
            if isinstance(statement.exp, kernels.SegMap | kernels.SegRed
                          | kernels.SegScan | kernels.SegHist):  # fmt: skip
                self.segmented(statement)
                continue
            rule = HOST_RULES.get(type(statement.exp))
            if rule is None:
                what = type(statement.exp).__name__
                raise CompileError(
                    statement.location, f"{what} on the host is not supported"
                )
            rule(self, statement, statement.exp)

    def segmented(self, statement: core.Stm) -> None:
        """A segmented operation as kernels, or else point by point on the host."""
        exp: Any = statement.exp
        mark = len(self.statements), len(self.program.kernels)
        trace = self.program.trace
        self.derivation = None if trace is None else Derivation(trace, statement)
        from minifut.lowering.dispatch import LOWER, LOWER_GROUPS, RUN_ON_HOST

        lower: Any = LOWER[type(exp), self.schedule]
        if exp.level == kernels.GROUP:
            lower = LOWER_GROUPS[self.schedule]
        try:
            with rollback_trace_on(self, NotInKernel), self.working(work_of(exp)):
                lower(self, statement.pattern, exp)
        except NotInKernel as reason:
            del self.statements[mark[0] :]
            del self.program.kernels[mark[1] :]
            RUN_ON_HOST(self, statement, str(reason))
        finally:
            self.derivation = None


def _order_of(array: Array) -> Order | None:
    """The order of a dense array that is not row-major but for one dimension moved
    innermost, as layouts have it; None otherwise."""
    for dimension in range(array.rank - 1):
        order = innermost(dimension, array.rank)
        if array.rearrange(order).is_row_major and not array.is_row_major:
            return order
    return None


def as_index(value: HostValue) -> Size:
    """An integer host value as a size."""
    if isinstance(value, Constant):
        return Size.constant(int(value.value))
    assert isinstance(value, Name), f"{value} is not a size"
    return Size.of(value)
