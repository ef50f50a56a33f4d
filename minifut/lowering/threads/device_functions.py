"""Device functions: functions of the program that threads call.

    let y: u64 = apply f(x, xs)         y = f(x, xs, 3 * i);      xs: pointer and offset

OpenCL C 1.2 has no generic pointers, so functions are specialised by signature: the
address space of each array, and whether it is row-major or passed with its strides.
Values of the host that the function uses (constants of the program) are further
parameters, as is the arena for arrays of varying size.

An array result of a size known to the caller is written to the caller's destination;
another one is in the arena, and the function returns its offset and the fill level of
the arena. Its other allocations there are released when it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir import core
from minifut.ir.core import Stm
from minifut.ir.node import mutable
from minifut.ir.sizes import ONE, Size
from minifut.ir.types import I64, ArrayType, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array, row_major_strides
from minifut.lowering.threads import relocatable_arrays
from minifut.lowering.threads.arena import Arena, arena_of
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.program import ProgramBuilder

Layout: TypeAlias = tuple[str, bool]
"""address space, and whether row-major"""
SPACES = frozenset({"global", "local", "private"})


@mutable
class LoweredFunction:
    """A device function with the meaning of its further parameters."""

    function: kc.DeviceFunction
    own: int
    """parameters that the program's parameters and results account for"""
    thread: Name
    arenas: dict[ScalarType, Arena]
    used: dict[Name, ScalarType]
    relocatable: list[ScalarType] = field(default_factory=list)
    """whose arenas hold results"""


class FunctionBuilder(KernelBuilder):
    """The code of one specialisation of a function."""

    def __init__(self, program: ProgramBuilder, function: core.Function) -> None:
        from minifut.lowering.host.builder import HostBuilder

        super().__init__(HostBuilder(program, function.name.base), function.name.base)
        self.repeatable = True
        self.number = self.names.fresh("thread")
        self.declared.add(self.number)
        self.used_before: dict[Name, ScalarType] = {}

    def scratch_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """In the arena: functions have no other scratch memory."""
        return self.arena_array(element, shape, base)

    def used_at_first(self, element: ScalarType) -> kc.Expression:
        """How much of the arena is used by callers."""
        if self.thread is None:
            self.thread = (self.own_scalar(self.number, I64), ONE)
        used = self.names.fresh("used")
        self.used_before[used] = element
        return self.own_scalar(used, I64)

    def own_scalar(self, name: Name, type_: ScalarType) -> kc.Variable:
        """A scalar parameter of the function itself."""
        self.declared.add(name)
        return self.scalar_parameter(name, type_)

    def own_array(
        self, name: Name, element: ScalarType, shape: tuple[Size, ...], layout: Layout
    ) -> Array:
        """A pointer, with an offset and, unless row-major, strides."""
        space, row_major = layout
        memory = kc.Memory(name, element, space)
        self.parameters[name] = kc.MemoryParameter(memory, False)
        offset = self.names.fresh("offset")
        self.own_scalar(offset, I64)
        if row_major:
            strides = row_major_strides(shape)
        else:
            names = [self.names.fresh("stride") for _ in shape]
            for stride in names:
                self.own_scalar(stride, I64)
            strides = tuple(Size.of(stride) for stride in names)
        return Array(memory, shape, Size.of(offset), strides)

    def store(
        self,
        memory: kc.Memory,
        index: kc.Operand | Size,
        exp: kc.Expression,
        streaming: bool = False,
    ) -> None:
        super().store(memory, index, exp, streaming)
        self.written.add(memory.name)


def make_function(
    program: ProgramBuilder,
    function: core.Function,
    arguments: list[Layout],
    targets: list[Layout],
) -> LoweredFunction:
    """Lower one specialisation of a function."""
    k = FunctionBuilder(program, function)
    layouts, outs = iter(arguments), iter(targets)
    for parameter in function.parameters:
        if isinstance(parameter.type, ScalarType):
            k.bind(parameter.name, k.own_scalar(parameter.name, parameter.type))
    for parameter in function.parameters:
        if isinstance(parameter.type, ArrayType):
            shape, element = k.shape(parameter.type), parameter.type.element
            array = k.own_array(parameter.name, element, shape, next(layouts))
            k.bind(parameter.name, array)
    places: list[Array | None] = []
    for result in function.results:
        if isinstance(result.type, ArrayType) and not is_relocatable(result, function):
            shape, element = k.shape(result.type), result.type.element
            places.append(k.own_array(result.name, element, shape, next(outs)))
        else:
            places.append(None)
    own = len(k.parameters)
    values, relocatable = body(k, function, places)
    k.emit(kc.ReturnValues(tuple(values)))
    parameters = tuple(
        kc.MemoryParameter(p.memory, p.memory.name in k.written)
        if isinstance(p, kc.MemoryParameter)
        else p
        for p in k.parameters.values()
        if not isinstance(p, kc.LocalParameter)
    )
    made = kc.DeviceFunction(
        program.kernel_names.fresh(f"fun_{function.name.base}"),
        parameters,
        tuple(value.type for value in values),
        kc.Block((*k.prologue, *k.statements)),
        k.can_fail or bool(k.arenas),
        tuple(k.called),
    )
    return LoweredFunction(made, own, k.number, k.arenas, k.used_before, relocatable)


def body(
    k: FunctionBuilder, function: core.Function, places: list[Array | None]
) -> tuple[list[kc.Expression], list[ScalarType]]:
    """Lower the body of a function: the values it returns, and the element types of the
    arenas that contain results."""
    targets = zip(function.body.result, places, strict=True)
    k.pass_destinations(
        function.body, tuple((a, p) for a, p in targets if p is not None)
    )
    k.statements_of(function.body.statements)
    values: list[kc.Expression] = []
    relocatable: list[ScalarType] = []
    results = zip(function.results, function.body.result, places, strict=True)
    for result, atom, place in results:
        value = k.atom(atom)
        if isinstance(value, kc.Expression):
            values.append(value)
            continue
        assert isinstance(value, Array)
        if place is not None:
            k.copy(place, value)
        else:
            moved = relocatable_arrays.relocatable_array(k, result)
            k.assign(moved.offset, relocatable_arrays.offset_in_arena(k, moved, value))
            values.append(moved.offset)
            element = value.memory.element
            if element not in relocatable:
                relocatable.append(element)
    values.extend(k.arenas[element].used for element in relocatable)
    return values, relocatable


def is_relocatable(result: core.Param, function: core.Function) -> bool:
    """Whether the size of an array result is known only to the function."""
    own = {other.name for other in function.results}
    assert isinstance(result.type, ArrayType)
    return any(size.names() & own for size in result.type.shape)


# --- calls ----------------------------------------------------------------------------


def call_function(k: KernelBuilder, stm: Stm, exp: core.Apply) -> bool:
    """Call the device function; False if that is not possible here."""
    program = k.host.program
    function = program.facts.functions[exp.function]
    arguments = [k.atom(atom) for atom in exp.arguments]
    if not k.may_call(function):
        return False
    if not all(isinstance(value, Array | kc.Expression) for value in arguments):
        return False
    arrays = [value for value in arguments if isinstance(value, Array)]
    targets = [
        k.fresh(bound)
        for bound, result in zip(stm.pattern, function.results, strict=True)
        if isinstance(result.type, ArrayType) and not is_relocatable(result, function)
    ]
    if any(array.memory.space not in SPACES for array in (*arrays, *targets)):
        return False
    made = _lowered(program, function, arrays, targets)
    if made is None or (made.arenas and (k.thread is None or not k.repeatable)):
        return False
    given = [*own_arguments(k, arguments, targets), *further_arguments(k, made)]
    bases = [p.name.base for p in stm.pattern if isinstance(p.type, ScalarType)]
    bases += ["given"] * (len(made.function.results) - len(bases))
    place = program.failures.place(stm.location)
    results = list(k.call(made.function, tuple(given), place, tuple(bases)))
    for element, used in zip(
        made.relocatable, results[len(results) - len(made.relocatable) :], strict=True
    ):
        k.assign(arena_of(k, element).used, used)
    _bind(k, stm, function, iter(results), targets)
    return True


def _lowered(
    program: ProgramBuilder,
    function: core.Function,
    arrays: list[Array],
    targets: list[Array],
) -> LoweredFunction | None:
    """The specialisation for these arguments; None if there can be none."""
    layouts = [(a.memory.space, a.is_row_major) for a in arrays]
    outs = [(a.memory.space, a.is_row_major) for a in targets]
    key = (function.name, tuple(layouts), tuple(outs))
    if key not in program.device_functions:
        try:
            made = make_function(program, function, layouts, outs)
        except NotInKernel:
            made = None
        program.device_functions[key] = made
    return program.device_functions[key]


def own_arguments(
    k: KernelBuilder, arguments: list[LoweredValue], targets: list[Array]
) -> list[kc.Expression | kc.Memory]:
    """Scalars, then arrays, then where results go, as `make_function` has them."""
    given: list[kc.Expression | kc.Memory] = []
    arrays: list[tuple[Array, bool]] = []
    for value in arguments:
        if isinstance(value, Array):
            arrays.append((value, False))
        else:
            assert isinstance(value, kc.Expression)
            given.append(value)
    arrays += [(target, True) for target in targets]
    for array, written in arrays:
        k.use(array.memory, written=written)
        given += [array.memory, k.size_value(array.offset)]
        if not array.is_row_major:
            given += [k.size_value(stride) for stride in array.strides]
    return given


def further_arguments(
    k: KernelBuilder, made: LoweredFunction
) -> list[kc.Expression | kc.Memory]:
    """Arenas, the number of the thread, and what is known on the host."""
    mine: dict[Name, kc.Expression | kc.Memory] = {}
    for element, theirs in made.arenas.items():
        own = arena_of(k, element)
        mine[theirs.memory.name] = own.memory
        mine[theirs.need.name] = own.need
        mine[theirs.capacity] = k.scalar_parameter(own.capacity, I64)
    for name, element in made.used.items():
        mine[name] = arena_of(k, element).used
    if k.thread is not None:
        mine[made.thread] = k.thread[0]
    given: list[kc.Expression | kc.Memory] = []
    for parameter in made.function.parameters[made.own :]:
        match parameter:
            case kc.MemoryParameter(memory, written):
                found = mine.get(memory.name, memory)
                assert isinstance(found, kc.Memory)
                k.use(found, written=written)
                given.append(found)
            case kc.ScalarParameter(name, type_):
                known = mine.get(name)
                given.append(known or k.scalar_parameter(name, type_))
    return given


def _bind(
    k: KernelBuilder,
    stm: Stm,
    function: core.Function,
    results: Iterator[kc.Variable],
    targets: list[Array],
) -> None:
    """Bind scalars first: sizes of arrays are among them."""
    places = iter(targets)
    offsets: list[tuple[core.Param, kc.Variable]] = []
    for bound, result in zip(stm.pattern, function.results, strict=True):
        if isinstance(result.type, ScalarType):
            k.bind(bound.name, next(results))
        elif is_relocatable(result, function):
            offsets.append((bound, next(results)))
        else:
            k.bind(bound.name, next(places).with_shape(k.shape(bound.type)))
    for bound, offset in offsets:
        shape = k.shape(bound.type)
        memory = arena_of(k, element_of(bound.type)).memory
        start, strides = Size.of(offset.name), row_major_strides(shape)
        k.bind(bound.name, Array(memory, shape, start, strides))
