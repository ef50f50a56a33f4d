"""The whole program: Kernels dialect to KernelCode, under one schedule.

Functions become host functions, segmented operations kernels; what kernels and asserts
may fail with is numbered from 1, equal failures once, and so are the places of calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from minifut.analysis.in_place import InPlace, called_functions, in_place_updates
from minifut.analysis.layouts import Layouts, find_layouts
from minifut.errors import Location
from minifut.ir import calls, core, opencl_words, parser
from minifut.ir.core import Atom, Constant, Program, Stm
from minifut.ir.kernels import Parameter
from minifut.ir.search import nodes_of
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import EntryCode, KernelProgram
from minifut.lowering.accumulators.erase import erase_accumulators
from minifut.lowering.host.buffer_reuse import BufferReuse
from minifut.lowering.host.builder import HostBuilder, HostValue
from minifut.lowering.host.code import receive, transfer, value_of
from minifut.lowering.host.free_memory import free_memory
from minifut.lowering.index_functions import Array, whole
from minifut.lowering.threads.device_functions import LoweredFunction
from minifut.names import Name, NameSource
from minifut.rewrite.trace import Trace


@dataclass(frozen=True)
class ProgramFacts:
    """What analyses find in a program before it is lowered."""

    functions: Mapping[Name, core.Function]
    in_place: InPlace
    buffer_reuse: BufferReuse
    layouts: Layouts
    definitions: Mapping[Name, Stm]
    """the statements that bind names of functions"""


def facts_of(program: Program) -> ProgramFacts:
    """The facts of all functions."""
    in_place, layouts = InPlace(), Layouts()
    called = called_functions(program)
    for function in program.functions:
        updates = in_place_updates(function, called)
        in_place.updates |= updates.updates
        in_place.overwritten |= updates.overwritten
        in_place.copied |= updates.copied
        in_place.roots |= updates.roots
    for function in program.functions:
        found = find_layouts(function, in_place)
        layouts.made |= found.made
        layouts.carried |= found.carried
    functions = {f.name: f for f in program.functions}
    definitions = {
        bound.name: statement
        for function in program.functions
        for statement in nodes_of(Stm, function.body)
        for bound in statement.pattern
    }
    reuse = BufferReuse(in_place)
    return ProgramFacts(functions, in_place, reuse, layouts, definitions)


@dataclass(frozen=True)
class HostConstants:
    """The constants of a program as host functions see them."""

    values: dict[Name, HostValue] = field(default_factory=dict)
    scalars: dict[Name, ScalarType] = field(default_factory=dict)


@dataclass(frozen=True)
class Fallbacks:
    """Lines on what runs point by point on the host, and what in one work-item."""

    on_host: list[str] = field(default_factory=list)
    one_thread: list[str] = field(default_factory=list)


class ProgramBuilder:
    """What the host functions of a program share while they are lowered."""

    def __init__(
        self,
        program: Program,
        schedule: str,
        trace: Trace | None = None,
        names: NameSource | None = None,
    ) -> None:
        self.trace = trace
        self.names = names or parser.names_after(program)
        self.schedule = schedule
        self.facts = facts_of(program)
        self.kernels: list[kc.Kernel] = []
        self.kernel_names = KernelNames()
        self.failures = FailureTable()
        self.parameters: dict[str, Parameter] = {}
        self.constants = HostConstants()
        self.fallbacks = Fallbacks()
        self.thresholds: dict[Name, Stm] = {}
        self.device_functions: dict[object, LoweredFunction | None] = {}

    def parameter(self, parameter: Parameter) -> None:
        """Remember a tunable parameter of the program."""
        self.parameters.setdefault(parameter.name, parameter)


def lower_program(
    program: Program,
    schedule: str,
    trace: Trace | None = None,
    names: NameSource | None = None,
) -> KernelProgram:
    """Lower all functions; the rules that are tried are noted in the trace."""
    program = erase_accumulators(program)
    build = ProgramBuilder(program, schedule, trace, names)
    constants, constant_names = _constants(build, program)
    deep = calls.recursive(calls.call_graph(program))
    inner = calls.called_in_threads(program)
    functions = [
        _function(build, f, deep) for f in program.functions if f.name not in inner
    ]
    return KernelProgram(
        schedule,
        tuple(build.kernels),
        tuple(functions),
        tuple(EntryCode(e, build.facts.functions[e.function]) for e in program.entries),
        build.failures.failures,
        tuple(build.parameters.values()),
        constants,
        constant_names,
        build.failures.places,
        tuple(build.fallbacks.on_host),
        tuple(dict.fromkeys(build.fallbacks.one_thread)),
    )


def _function(
    build: ProgramBuilder, function: core.Function, deep: set[Name]
) -> kc.HostFunction:
    host = HostBuilder(build, function.name.base)
    parameters = receive(host, function.parameters)
    host.statements_of(function.body.statements, function.body.result)
    results = tuple(transfer(host, value_of(host, a)) for a in function.body.result)
    body = free_memory(kc.HostBlock(tuple(host.statements)), results)
    recursion = _too_deep(build, function, deep) if function.name in deep else None
    return kc.HostFunction(function.name, parameters, body, results, recursion)


def _too_deep(build: ProgramBuilder, function: core.Function, deep: set[Name]) -> int:
    """The failure of a recursive function, located where it recurses."""
    places = (
        str(node.location)
        for node in nodes_of(core.Stm, function.body)
        if isinstance(node.exp, core.Apply) and node.exp.function in deep
    )
    message = f"The recursion of {function.name.base} is too deep."
    return build.failures.number((message,), (), tuple(islice(places, 1)))


def _constants(
    build: ProgramBuilder, program: Program
) -> tuple[kc.HostFunction | None, tuple[Name, ...]]:
    """The constants, evaluated by a host function of their own."""
    if not program.constants:
        return None, ()
    host = HostBuilder(build, "constants")
    bound_names = [b.name for statement in program.constants for b in statement.pattern]
    host.statements_of(program.constants, tuple(bound_names))
    names: list[Name] = []
    results: list[Atom] = []
    for statement in program.constants:
        for bound in statement.pattern:
            value = value_of(host, bound.name)
            source = transfer(host, value)
            if isinstance(source, Constant):
                build.constants.values[bound.name] = source
                continue
            names.append(bound.name)
            results.append(source)
            build.constants.values[bound.name] = _seen(host, bound, value)
            if isinstance(bound.type, ScalarType):
                build.constants.scalars[bound.name] = bound.type
    body = free_memory(kc.HostBlock(tuple(host.statements)), tuple(results))
    function = kc.HostFunction(build.names.fresh("constants"), (), body, tuple(results))
    return function, tuple(names)


def _seen(host: HostBuilder, bound: core.Param, value: HostValue) -> HostValue:
    """A constant as functions see it: under its own name."""
    if isinstance(value, Array):
        memory = kc.Memory(bound.name, value.memory.element)
        return whole(memory, host.shape(bound.type))
    return bound.name


class FailureTable:
    """The failures of a program, and the places where it calls functions."""

    def __init__(self) -> None:
        self._failures: dict[kc.Failure, int] = {}
        self._places: dict[str, int] = {}

    @property
    def failures(self) -> tuple[kc.Failure, ...]:
        return tuple(self._failures)

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self._places)

    def number(
        self,
        message: tuple[str | Atom, ...],
        types: tuple[ScalarType, ...],
        backtrace: tuple[str, ...],
    ) -> int:
        """The number of a failure whose atoms have these types."""
        holes = iter(types)
        parts = tuple(p if isinstance(p, str) else next(holes) for p in message)
        failure = kc.Failure(parts, backtrace)
        return self._failures.setdefault(failure, len(self._failures) + 1)

    def place(self, location: Location | None) -> int:
        """The number of a place that calls a function of the device."""
        text = "" if location is None else str(location)
        return self._places.setdefault(text, len(self._places) + 1)


class KernelNames:
    """The names of a program's kernels."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """A name that no other kernel has."""
        text = "".join(c if c.isascii() and c.isalnum() else "_" for c in base)
        text += "_" * opencl_words.is_opencl_word(text)
        number = self._numbers.get(text, 0)
        self._numbers[text] = number + 1
        return f"{text}_{number + 1}" if number else text
