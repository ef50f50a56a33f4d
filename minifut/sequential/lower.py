"""Core programs (Soacs) to KernelCode with one kernel for each entry point.

    places[0] = 1024;          results are in the arena of their type, at an offset
    count[0] = k;              that the kernel writes; scalars in memories of their own

The host function of an entry launches the kernel until its arenas are large enough,
reads sizes and offsets and copies the results out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.errors import UsageError
from minifut.ir import core, kernels, parser, traverse
from minifut.ir.core import Program
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.types import I64, ArrayType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import EntryCode, KernelProgram
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.code import receive, transfer, value_of
from minifut.lowering.host.free_memory import free_memory
from minifut.lowering.index_functions import Array
from minifut.lowering.program import ProgramBuilder
from minifut.lowering.threads.arena import Arena, arena_of
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel
from minifut.names import Name
from minifut.passes.sequentialise import sequentialise_all

LONGEST = 20_000
"""statements of an entry point with all calls in place"""
FIRST_CAPACITY = 1 << 20
"""elements of an arena to start with"""


class NotSequential(UsageError):
    """The program cannot be one kernel; the message says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{reason}, which --backend sequential does not support; "
            "take --backend interpreter"
        )


class SequentialBuilder(KernelBuilder):
    """A thread's code without a host: all but small arrays are in arenas."""

    def __init__(self, host: HostBuilder, base: str) -> None:
        super().__init__(host, base)
        self.thread = (kc.Literal(0, kc.LONG), ONE)
        self.repeatable = True
        self.first_capacity = FIRST_CAPACITY
        self.parameters_read: set[Name] = set()
        self.head: list[kc.Statement] = []
        self.turned: dict[tuple[Array, tuple[int, ...]], Array] = {}

    def may_call(self, function: core.Function) -> bool:
        return False

    def is_of_host(self, size: Size) -> bool:
        return size.as_constant is not None

    def rules(self) -> Mapping[type, Any]:
        own = {core.Rearrange: _rearrange, kernels.GetParameter: _get_parameter}
        return {**super().rules(), **own}

    def known_before(self, shape: tuple[Size, ...]) -> bool:
        """Whether no size is computed by the kernel."""
        return all(self.declared.isdisjoint(size.names()) for size in shape)

    def transposed_parameter(self, array: Array, permutation: tuple[int, ...]) -> Array:
        """A parameter's transposition, made once before everything else."""
        found = self.turned.get((array, permutation))
        if found is None:
            saved, self.statements = self.statements, self.head
            view = array.rearrange(permutation)
            found = self.new_array(array.memory.element, view.shape, "turned")
            self.copy(found, view)
            self.statements = saved
            self.turned[array, permutation] = found
        return found


def _rearrange(k: SequentialBuilder, stm: core.Stm, exp: core.Rearrange) -> None:
    """A view, except for parameters that would be read across their rows: large
    matrices come as such, and inner loops over columns are several times as slow."""
    array = k.array(exp.array)
    across = exp.permutation[-1] != array.rank - 1
    whole = array.memory.name in k.parameters_read and array.is_whole
    if across and whole and k.known_before(array.shape):
        made = k.transposed_parameter(array, exp.permutation)
    else:
        made = array.rearrange(exp.permutation)
    k.bind(stm.pattern[0].name, made)


def _get_parameter(
    k: SequentialBuilder, stm: core.Stm, exp: kernels.GetParameter
) -> None:
    k.bind(stm.pattern[0].name, k.size_value(k.host.parameter(exp.parameter)))


def lower_sequential(program: Program) -> KernelProgram:
    """All entry points. Raises `NotSequential`."""
    _refuse_long(program)
    sequential = sequentialise_all(program, parser.names_after(program))
    build = ProgramBuilder(sequential, "cpu")
    done: dict[Name, kc.HostFunction] = {}
    for entry in sequential.entries:
        if entry.function not in done:
            function = build.facts.functions[entry.function]
            done[entry.function] = _function(build, sequential, function)
    return KernelProgram(
        "cpu",
        tuple(build.kernels),
        tuple(done.values()),
        tuple(
            EntryCode(e, build.facts.functions[e.function]) for e in sequential.entries
        ),
        build.failures.failures,
        tuple(build.parameters.values()),
    )


def _refuse_long(program: Program) -> None:
    """Count the statements of each function with its calls in place."""
    functions = {f.name: f for f in program.functions}
    lengths: dict[Name, int] = {}
    calls: dict[Name, list[Name]] = {}
    waiting = [(entry.function, False) for entry in program.entries]
    path: set[Name] = set()
    while waiting:
        name, called = waiting.pop()
        if called:
            path.discard(name)
            lengths[name] += sum(lengths[callee] for callee in calls[name])
            if lengths[name] > LONGEST:
                raise NotSequential(f"{name.base} is too long, with all that it calls")
            continue
        if name in path:
            raise NotSequential(f"{name.base} is recursive")
        if name in lengths:
            continue
        path.add(name)
        nodes = list(traverse.walk(functions[name]))
        lengths[name] = sum(isinstance(node, core.Stm) for node in nodes)
        calls[name] = [n.function for n in nodes if isinstance(n, core.Apply)]
        waiting.append((name, True))
        waiting.extend((callee, False) for callee in calls[name])


def _function(
    build: ProgramBuilder, program: Program, function: core.Function
) -> kc.HostFunction:
    """The host function of an entry point, and its kernel."""
    host = HostBuilder(build, function.name.base)
    parameters = receive(host, function.parameters)
    k = SequentialBuilder(host, "sequential")
    try:
        k.statements_of(program.constants)
        _keep_arguments(k, function)
        values = k.body(function.body)
    except NotInKernel as reason:
        raise NotSequential(str(reason)) from None
    outputs = [_leave(k, value) for value in values]
    places = _store_places(k, outputs)
    for arena in k.arenas.values():
        # Made here, so that it outlives the loop that launches again with more.
        host.emit(kc.Allocate(arena.memory, ONE))
    k.statements[:0] = k.head
    host.launch(k, ONE, 1, fresh=True)
    for number, (result, output) in enumerate(
        zip(function.results, outputs, strict=True)
    ):
        if isinstance(output, Array):
            host.bind(result, output)
        else:
            _fetch(host, result, output[0], places, number)
    results = tuple(transfer(host, value_of(host, r.name)) for r in function.results)
    body = free_memory(kc.HostBlock(tuple(host.statements)), results)
    return kc.HostFunction(function.name, parameters, body, results)


def _keep_arguments(k: SequentialBuilder, function: core.Function) -> None:
    """Copies of what the program may write, since the kernel may have to run again."""
    for parameter in function.parameters:
        if not isinstance(parameter.type, ArrayType):
            continue
        if not parameter.unique:
            k.parameters_read.add(parameter.name)
        else:
            given = k.array(parameter.name)
            made = k.arena_array(given.memory.element, given.shape, "own")
            k.copy(made, given)
            k.bind(parameter.name, made)


def _leave(
    k: SequentialBuilder, value: LoweredValue
) -> Array | tuple[Arena, kc.Expression]:
    """A scalar in a memory of its own, or an array at an offset in its arena."""
    if not isinstance(value, Array):
        made = k.host.allocate(value.type.scalar, (), "result")
        k.write(made, (), value)
        return made
    arena = arena_of(k, value.memory.element)
    k.use(arena.memory, written=True)
    if value.memory != arena.memory or not value.is_row_major:
        copy = k.arena_array(value.memory.element, value.shape, "result")
        k.copy(copy, value)
        value = copy
    return arena, k.size_value(value.offset)


def _store_places(
    k: SequentialBuilder, outputs: list[Array | tuple[Arena, kc.Expression]]
) -> kc.Memory:
    """A memory with the offset of each result."""
    count = Size.constant(len(outputs))
    places = k.host.allocate(I64, (count,), "places")
    for number, output in enumerate(outputs):
        if not isinstance(output, Array):
            k.write(places, (Size.constant(number),), output[1])
    return places.memory


def _fetch(
    host: HostBuilder, result: core.Param, arena: Arena, places: kc.Memory, number: int
) -> None:
    """Copy an array out of its arena."""
    shape = host.shape(result.type)
    made = host.allocate(arena.memory.element, shape, result.name.base)
    place = kc.ReadElement(places, Size.constant(number))
    offset = Size.of(host.scalar(place, I64, "offset"))
    host.emit(kc.CopyMemory(made.memory, ZERO, arena.memory, offset, made.count))
    host.bind(result, made)
