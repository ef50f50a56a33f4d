"""From an entry point and one of its sizes to a plan.

The program is brought to SOACs and fused as for one device; its statements are put
into phases, and each phase becomes a function, which then is compiled like any program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from minifut.distributed.chunked import (
    ChunkedSizes,
    Undistributable,
    distribution_error,
)
from minifut.distributed.functions import Functions
from minifut.distributed.phases import Scheduler
from minifut.distributed.plan import InputSize, Plan
from minifut.distributed.rematerialise import rematerialised
from minifut.errors import Source, UsageError
from minifut.ir.core import Function, Param, Program
from minifut.ir.entries import Entry, EntryType
from minifut.ir.parser import names_after
from minifut.ir.scope import scope_of
from minifut.ir.types import I64, shape_of
from minifut.loaded_module import LoadedModule
from minifut.names import Name
from minifut.program import EntryPoint
from minifut.suggestions import nearest_or_all

PLANS = 64
"""plans that are kept"""


def plan_of(entry: EntryPoint, over: str) -> Plan:
    """The plan of an entry point over a size.

    Raises `CompileError` with the place of what cannot be distributed, `UsageError` if
    there is no such size, or no source to plan from.
    """
    if not isinstance(entry, EntryPoint):
        kind = type(entry).__name__
        raise UsageError(f"an entry point is distributed, as prog.main, and no {kind}")
    recipe = None if entry.program is None else entry.program.recipe
    if not isinstance(recipe, LoadedModule) or recipe.source is None:
        raise UsageError(
            f"{entry.name} cannot be distributed: a program for OpenCL is needed that "
            "minifut.compile made from its source"
        )
    return _planned(recipe.source, recipe.device, entry.name, over)


@lru_cache(PLANS)
def _planned(source: Source, device: str | None, name: str, over: str) -> Plan:
    from minifut import stages
    from minifut.compiler import device_kind

    checked = stages.check(source)
    core = stages.to_core(checked, [name])
    try:
        draft = stages.stage("planning", lambda: plan_core(fused(core), name, over))
    except Undistributable as problem:
        if problem.location is None:  # it is about a parameter
            declared = (e.location for e in checked.entries if e.name == name)
            problem.location = next(declared, None)
        raise distribution_error(problem, over) from None
    kernels = stages.to_kernels(draft.program)
    text = stages.to_host_module(kernels, device_kind(device), name)
    return replace(draft.plan, module=LoadedModule(text, device))


def fused(program: Program) -> Program:
    """The program as fused SOACs."""
    from minifut.passes.pipelines import FUSED, run_pipeline

    return run_pipeline(program, names_after(program), steps=FUSED)


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan with the program of its functions, which is not compiled yet."""

    plan: Plan
    program: Program


def plan_core(program: Program, name: str, over: str) -> Draft:
    """The plan of an entry point of a fused program, and the program of its functions.
    Raises `Undistributable`."""
    entry = next(e for e in program.entries if e.name == name)
    function = next(f for f in program.functions if f.name == entry.function)
    names = names_after(program)
    whole = _size(entry, function, over)
    inputs = _inputs(entry, function)
    chunk, start = names.fresh(f"{over}_chunk"), names.fresh(f"{over}_start")
    scope = scope_of(program)
    scope.update({chunk: I64, start: I64})
    chunked = ChunkedSizes({whole: chunk}, scope)
    for parameter in inputs:
        chunked.axis(parameter.type)
    scheduler = Scheduler(chunked, names, chunk)
    results = scheduler.body(function.body)
    results = results[len(results) - sum(r.count for r in entry.results) :]
    chunked = scheduler.chunked
    constants = frozenset(p.name for s in program.constants for p in s.pattern)
    functions = Functions(chunked, names, constants, start)
    steps = functions.steps(rematerialised(scheduler.phases, {}), results)
    axes = {
        str(n): axis
        for n, type_ in scope.items()
        if chunked.is_chunked(n) and (axis := chunked.axis(type_)) is not None
    }
    made = Program(
        tuple(e for _, e in functions.made),
        program.constants,
        (*(f for f, _ in functions.made), *_called(program, entry)),
    )
    plan = Plan(
        name,
        over,
        LoadedModule(""),
        tuple(str(p.name) for p in inputs),
        _sizes(inputs),
        str(whole),
        str(chunk),
        str(start),
        tuple(steps),
        tuple(map(str, results)),
        axes,
    )
    return Draft(plan, made)


def _called(program: Program, entry: Entry) -> list[Function]:
    """The functions that are no entry points, which steps may call."""
    return [f for f in program.functions if f.name != entry.function]


def _size(entry: Entry, function: Function, over: str) -> Name:
    sizes = [p.name for p in function.parameters[: entry.sizes]]
    found = next((name for name in sizes if name.base == over), None)
    if found is None:
        known = nearest_or_all(over, [name.base for name in sizes])
        raise UsageError(f"{entry.name}: there is no size '{over}'; {known}")
    return found


def _inputs(entry: Entry, function: Function) -> tuple[Param, ...]:
    for part in (*entry.parameters, *entry.results):
        if _is_opaque(part):
            what = part.name or "a result"
            raise UsageError(
                f"{entry.name} cannot be distributed: {what} is of type {part.text}, "
                "and values of abstract types cannot be sent to other processes; make "
                "the type a record or a tuple"
            )
    return function.parameters[entry.sizes :]


def _is_opaque(part: EntryType) -> bool:
    return part.kind == "opaque" or any(map(_is_opaque, part.parts))


def _sizes(inputs: tuple[Param, ...]) -> tuple[InputSize, ...]:
    """Each dimension of an input that is a size with a name."""
    return tuple(
        InputSize(str(name), name.base, str(parameter.name), dimension)
        for parameter in inputs
        for dimension, size in enumerate(shape_of(parameter.type))
        if (name := size.as_name) is not None
    )
