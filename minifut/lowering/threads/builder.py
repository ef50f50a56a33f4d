"""Sequential code of threads: core statements to KernelCode.

    let y: f32 = add_f32(x, 1f32)        float y = x + 1.0f;
    let ys' = ys with [i] = y            ys[i] = y;            (in place where allowed)

A scalar is a variable, an array a view of a memory (`Array`). Arrays made by a thread
are in private memory when small and constant, else in global scratch memory with a part
for each running thread; for that their size must be known to the host. Code that cannot
run in a kernel raises `NotInKernel`, and the host executes the points one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from minifut.ir import core, kernels
from minifut.ir.core import Atom, Constant
from minifut.ir.sizes import Size, product
from minifut.ir.types import I64, ArrayType, ScalarType, Type, element_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.lowering.index_functions import Array, row_major_strides, whole
from minifut.lowering.threads.arena import INITIAL_CAPACITY, Arena, allocate
from minifut.lowering.threads.copies import copy_elements
from minifut.lowering.threads.destinations import pass_destinations
from minifut.lowering.threads.register_tiles import RegisterTile, store
from minifut.lowering.threads.scratch import scratch_array
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder

LoweredValue: TypeAlias = kc.Expression | Array | RegisterTile


class NotInKernel(Exception):
    """The code needs something that kernels do not support; the message says what."""


SMALL = {"cpu": (4096, 32768), "gpu": (256, 1024)}
"""bytes of one private array, and of all of a kernel, by schedule"""


class KernelBuilder(CodeBuilder):
    """A CodeBuilder with the names of the program; see the package."""

    def __init__(self, host: HostBuilder, base: str) -> None:
        super().__init__(host.names, base)
        self.host = host
        self.derivation = host.derivation
        self.values: dict[Name, LoweredValue] = {}
        self.thread: tuple[kc.Expression, Size] | None = None
        self.destinations: dict[Name, Array] = {}
        self.private_bytes = 0
        self.repeatable = False
        self.has_lanes = False
        """whether points are expensive, so that several may be done at once"""
        self.arenas: dict[ScalarType, Arena] = {}
        self.restored: dict[Array, None] = {}
        self.given: dict[Name, Size] = {}
        self.first_capacity = INITIAL_CAPACITY

    # --- names ------------------------------------------------------------------------

    def bind(self, name: Name, value: LoweredValue) -> None:
        """`name` stands for the value from now on."""
        self.values[name] = value

    def bind_all(self, names: Iterable[Name], values: Iterable[LoweredValue]) -> None:
        """Names stand for as many values."""
        self.values.update(zip(names, values, strict=True))

    def bind_indices(self, names: Iterable[Name], at: Iterable[kc.Expression]) -> None:
        """Bind i64 expressions, kept in variables."""
        for name, index in zip(names, at, strict=True):
            self.bind_index(name, index)

    def bind_index(self, name: Name, exp: kc.Expression) -> kc.Expression:
        """Bind an i64 expression, kept in a variable."""
        value = self.named(exp, name.base)
        self.values[name] = value
        return value

    def atom(self, atom: Atom) -> LoweredValue:
        """What an atom stands for."""
        if isinstance(atom, Constant):
            return kc.Literal(atom.value, kc.VectorType(atom.type))
        value = self.values.get(atom)
        if value is not None:
            return value
        found = self.host.lookup(atom)
        if isinstance(found, Array):
            return found
        if isinstance(found, Constant):
            return kc.Literal(found.value, kc.VectorType(found.type))
        if found in self.host.build.sizes:
            return self.size_value(self.host.build.sizes[found])
        return self.scalar_parameter(found, self.host.scalars[found])

    def scalar(self, atom: Atom) -> kc.Expression:
        """A scalar atom as an expression."""
        value = self.atom(atom)
        assert isinstance(value, kc.Expression), f"{atom} is an array"
        return value

    def array(self, name: Name) -> Array:
        """An array by its name."""
        value = self.atom(name)
        assert isinstance(value, Array), f"{name} is a scalar"
        return value

    # --- sizes ------------------------------------------------------------------------

    def scalar_parameter(self, name: Name, type_: ScalarType) -> kc.Variable:
        """A scalar of the host as a parameter, or as a constant of the build."""
        tunable = self.host.build.parameters.get(name)
        if tunable is None:
            return super().scalar_parameter(name, type_)
        chosen = name in self.host.build.per_launch
        self.constants.setdefault(name, kc.BuildConstant(name, tunable, chosen))
        return kc.Variable(name, kc.LONG)

    def given_size(self, size: Size, base: str) -> Size:
        """A size of the host as a parameter of its own, whatever expression it is, so
        that kernels for arrays of different sizes are equal and can be deduplicated.
        Build constants stay as they are."""
        if self.is_build_constant(size):
            return size
        name = self.names.fresh(base)
        self.scalar_parameter(name, I64)
        self.given[name] = size
        return Size.of(name)

    def build_constant(self, parameter: kernels.Parameter) -> kc.Expression:
        """The value of a parameter that no statement of the program reads, known
        when the kernel is built."""
        made = super().build_constant(parameter)
        assert isinstance(made, kc.Variable)
        self.host.program.parameter(parameter)
        self.host.build.parameters[made.name] = parameter
        return made

    def is_build_constant(self, size: Size) -> bool:
        """Whether the size is known when the kernel is built."""
        return self.host.build.covers(size)

    def settable_constants(self) -> tuple[tuple[str, Name], ...]:
        """The names of the parameters that a user can set for the kernel, and the
        variables of the host with their values."""
        found = [c for c in self.constants.values() if c.parameter.kind != "limit"]
        return tuple((constant.parameter.name, constant.name) for constant in found)

    def keep_constants(self, size: Size) -> None:
        """Let the kernel be built again where a parameter in the size changes, though
        its text does not mention it."""
        for name in size.names():
            parameter = self.host.build.parameters.get(name)
            if parameter is not None:
                self.constants.setdefault(name, kc.BuildConstant(name, parameter))

    def resolve(self, size: Size) -> Size:
        """A size of the IR in variables of the kernel and the host."""
        mapping: dict[Name, Size] = {}
        for name in size.names():
            value = self.values.get(name)
            if value is None:
                mapping[name] = self.host.size(Size.of(name))
            else:
                assert isinstance(value, kc.Expression)
                mapping[name] = self.as_size(value, name.base)
        return size.substitute(mapping)

    def shape(self, type_: Type) -> tuple[Size, ...]:
        """The shape of a type in variables of the kernel and the host."""
        if not isinstance(type_, ArrayType):
            return ()
        return tuple(self.resolve(size) for size in type_.shape)

    def size(self, size: Size) -> kc.Expression:
        """A size of the IR as an expression."""
        return self.size_value(self.resolve(size))

    def index(self, atom: Atom) -> Size:
        """An integer atom as a size."""
        return self.as_size(self.scalar(atom), "i")

    def is_of_host(self, size: Size) -> bool:
        """Whether the host can compute the size before the launch."""
        return self.declared.isdisjoint(size.names())

    # --- memory -----------------------------------------------------------------------

    def is_small(self, element: ScalarType, count: Size) -> bool:
        """Whether so many elements are few enough for private memory."""
        known = (count * element.bytes).as_constant
        one, all_ = SMALL[self.host.schedule]
        return known is not None and known <= one and self.private_bytes + known <= all_

    def new_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Memory of this thread: private if small, else its part of scratch memory."""
        if self.is_small(element, product(shape)):
            return self.private_array(element, shape, base)
        return self.scratch_array(element, shape, base)

    def scratch_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Global memory of this thread."""
        count = product(shape)
        if not self.is_of_host(count):
            return self.arena_array(element, shape, base)
        if self.thread is None:
            raise NotInKernel(f"there is no scratch memory for {base}")
        return scratch_array(self, element, shape, base)

    def arena_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Memory of this thread whose size the host cannot know. Such a kernel may have
        to run again, so it must be `repeatable`."""
        if not self.repeatable:
            raise NotInKernel(f"the size of {base} varies between threads")
        memory, offset = allocate(self, element, product(shape))
        return Array(memory, shape, offset, row_major_strides(shape))

    def used_at_first(self, element: ScalarType) -> kc.Expression:
        """How much of an arena is used before the code begins."""
        return kc.Literal(0, kc.LONG)

    def may_call(self, function: core.Function) -> bool:
        """Whether the code may call such a device function here; else the call is
        inlined."""
        return True

    def private_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """A private array of a constant shape."""
        count = product(shape).as_constant
        assert count is not None
        self.private_bytes += count * element.bytes
        return whole(self.private_memory(element, max(1, count), base), shape)

    def fresh(self, bound: core.Param) -> Array:
        """Memory for the array that a statement makes: its destination if that is known
        (`threads.destinations`), else new."""
        given = self.destinations.get(bound.name)
        if given is not None:
            return given
        shape = self.shape(bound.type)
        return self.new_array(element_of(bound.type), shape, bound.name.base)

    def copied(self, array: Array, base: str) -> Array:
        """A copy in new memory."""
        made = self.new_array(array.memory.element, array.shape, base)
        self.copy(made, array)
        return made

    def updatable(self, result: Name, name: Name) -> Array:
        """An array that `result` may write: itself, or a copy."""
        array = self.array(name)
        if result in self.host.facts.in_place.updates:
            return array
        return self.copied(array, name.base)

    def place_for(self, bound: core.Param) -> RegisterTile | None:
        """A register tile for an array of the pattern, if it is to be one."""
        return None

    def read(
        self, array: Array, indices: tuple[kc.Expression | Size, ...]
    ) -> kc.Expression:
        """An element."""
        return self.load(array.memory, array.position(self.as_sizes(indices)))

    def write(
        self,
        array: Array,
        indices: tuple[kc.Expression | Size, ...],
        value: LoweredValue,
    ) -> None:
        """An element, or a whole row."""
        at = self.as_sizes(indices)
        if isinstance(value, Array):
            self.copy(array.row(at), value)
        elif isinstance(value, RegisterTile):
            store(self, array.row(at), value)
        else:
            self.store(array.memory, array.position(at), value)

    def as_sizes(self, indices: Sequence[kc.Expression | Size]) -> tuple[Size, ...]:
        """Indices as sizes, kept in variables."""
        return tuple(
            i if isinstance(i, Size) else self.as_size(i, "i") for i in indices
        )

    def copy(self, target: Array, source: Array) -> None:
        """Element by element, unless they are the same."""
        if target.with_shape(source.shape) != source:
            copy_elements(self, target, source)

    @property
    def loads_ahead(self) -> bool:
        """Whether a copy gains by several loads at once."""
        return self.host.schedule == "gpu"

    def each(
        self,
        shape: tuple[Size, ...],
        visit: Callable[[tuple[Size, ...]], None],
        at: tuple[Size, ...] = (),
    ) -> None:
        """A nest of loops over a (resolved) shape."""
        if len(at) == len(shape):
            visit(at)
            return
        with self.loop("i", self.size_value(shape[len(at)])) as i:
            self.each(shape, visit, (*at, Size.of(i.name)))

    # --- statements -------------------------------------------------------------------

    def rules(self) -> Mapping[type, Any]:
        """What lowers each expression; see `threads.code`."""
        from minifut.lowering.dispatch import THREAD_RULES

        return THREAD_RULES

    def statements_of(self, statements: tuple[core.Stm, ...]) -> None:
        """Lower statements in order."""
        rules = self.rules()
        for statement in statements:
            rule = rules.get(type(statement.exp))
            if rule is None:
                raise NotInKernel(f"{type(statement.exp).__name__} in a thread")
            rule(self, statement, statement.exp)

    def body(self, body: core.Body) -> tuple[LoweredValue, ...]:
        """Lower a body; the values of its results."""
        self.statements_of(body.statements)
        return tuple(self.atom(atom) for atom in body.result)

    def apply(self, function: core.Lambda, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Inline a lambda: the values of its results."""
        for parameter, value in zip(function.parameters, values, strict=True):
            self.values[parameter.name] = value
        return self.body(function.body)

    def define(self, bound: core.Param, exp: kc.Expression) -> None:
        """Bind a scalar, kept in a variable unless it is a size known to the host."""
        if isinstance(exp, kc.SizeValue) and self.is_of_host(exp.size):
            self.values[bound.name] = exp
        else:
            self.values[bound.name] = self.named(exp, bound.name.base)

    def host_size(self, exp: kc.Expression) -> Size | None:
        """An i64 expression as a size known to the host, if it is one."""
        match exp:
            case kc.Literal(number, type_) if type_.scalar == I64:
                return Size.constant(int(number))
            case kc.SizeValue(size, _) if self.is_of_host(size):
                return size
            case kc.Variable(name, type_):
                if type_ == kc.LONG and name not in self.declared:
                    return Size.of(name)
        return None

    # --- results of kernels -----------------------------------------------------------

    def pass_destinations(
        self,
        body: kernels.KernelBody | core.Body,
        targets: tuple[tuple[Atom, Array], ...],
    ) -> None:
        """Make results of the body in the memory of the targets."""
        pass_destinations(self, body, targets)
