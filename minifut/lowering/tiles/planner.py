"""Planning a group with register tiles; see `tiles.plan` for what a plan is.

The analysis of accumulators is `analysis.residency`; packing is chosen by
`packing.rules`; widths of vectors follow from the element types of register nests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from minifut.analysis.residency.accumulators import AccumulatorChain, accumulator_chains
from minifut.analysis.residency.uses import find_tiles
from minifut.ir import core, kernels
from minifut.ir.core import Constant, Stm
from minifut.ir.kernels import REGISTER, THREAD, CollectiveCopy, SegMap
from minifut.ir.node import replace
from minifut.ir.printer import Printer
from minifut.ir.search import contains, nodes_of
from minifut.ir.sizes import Size, minimum
from minifut.ir.traverse import free_names, walk
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_passes.vectorise.context import LIFT
from minifut.lowering.index_functions import Array
from minifut.lowering.packing.facts import (
    CopyRegion,
    GroupFacts,
    copy_region,
    preferred_layouts,
)
from minifut.lowering.packing.rules import choose_packing
from minifut.lowering.threads.builder import NotInKernel
from minifut.lowering.tiles.nan_free import nan_free_accumulators
from minifut.lowering.tiles.plan import (
    CopyPlan,
    FirstIteration,
    ThreadPlan,
    TilePlan,
    plan_lines,
)
from minifut.names import Name
from minifut.rewrite.rule import Declined, Remark, decision

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder

LARGEST_VECTOR = 64
"""bytes"""


def plan_group(
    operation: SegMap, host: HostBuilder, in_registers: bool = True
) -> TilePlan:
    """Plan a group; without register tiles unless `in_registers`. Raises `NotInKernel`
    if the threads have results that register tiles do not support."""
    body = operation.body
    definitions = size_definitions(body)
    registers = frozenset(find_tiles(body)) if in_registers else frozenset()
    layouts = preferred_layouts(body, definitions) if registers else {}
    facts = GroupFacts(
        host,
        definitions,
        frozenset(operation.space.indices) | _loop_indices(body),
        frozenset(host.size(total) for total in _totals(body)),
        layouts,
    )
    copies = plan_copies(operation, facts)
    if not registers:
        plan = TilePlan(copies=copies)
        if in_registers:
            keep_tiles_in_registers(plan, host)
        return plan
    accumulators = tuple(accumulator_chains(body))
    deferred, first_iterations = _deferred(body, accumulators)
    names = frozenset(name for each in accumulators for name in each.names)
    starts = {name: first.start for name, first in first_iterations.items()}
    once = dict(_written_once(body, accumulators, deferred))
    threads = {
        stm.pattern[0].name: replace(
            _plan_threads(stm, names, registers, starts, host),
            written_once={p.name: once[p.name] for p in stm.pattern if p.name in once},
        )
        for stm in nodes_of(Stm, body)
        if stm.pattern and has_register_nests(stm.exp)
    }
    plan = TilePlan(
        definitions,
        registers,
        accumulators,
        deferred,
        first_iterations,
        copies,
        threads,
    )
    keep_tiles_in_registers(plan, host)
    return plan


def _remark(plan: TilePlan, host: HostBuilder) -> Remark:
    return Remark(tuple(plan_lines(plan, Printer())))


@decision(label="toPrivate", paper=LIFT, remark=_remark)
def keep_tiles_in_registers(plan: TilePlan, host: HostBuilder) -> bool | Declined:
    """Keep the tiles of threads in vector registers, as planned.

    before:
        given (m: i64, xs: [m]f32, p: i64)
        let c: [p]f32 = segmap group (g < ceil_div(p, 64)) -> (f32) {
          let own: [m]f32 = collective_copy xs[0i64 :+ m by 1i64]
          let acc: [4][16]f32 = segmap thread (x < 4) -> ([16]f32) {
            let zeros: [16]f32 = segmap register (j < 16) -> (f32) {
              return returns 0f32
            }
            return returns loop (sums_1: [16]f32 = zeros) for k: i64 < m do {
              let sums_2: [16]f32 = segmap register (j_1 < 16) -> (f32) {
                let v: f32 = own[k]
                let s: f32 = sums_1[j_1]
                let t: f32 = add_f32(s, v)
                return returns t
              }
              return sums_2
            }
          }
          return regtile acc of (p by 4 by 16)
        }
    after:
        PREFETCH(c + (corner + 16 * i_1 + 16 * ${r}));
        ..
        float16 t = sums_r${r_6} + ((float16)(v));
        ..
        bool full = (16 * i_1 + 16) <= remaining;
        if (full) {
    declines: no threads have register nests
        like declines of pack_into_panels
    """
    if not any(threads.widths for threads in plan.threads.values()):
        return Declined("no threads have register nests")
    return True


# --- facts ----------------------------------------------------------------------------


def size_definitions(body: kernels.KernelBody) -> dict[Name, Size]:
    """What the names of sizes in a group stand for, without such names."""
    found: dict[Name, Size] = {}
    for stm in nodes_of(Stm, body):
        if isinstance(stm.exp, core.SizeExp):
            found[stm.pattern[0].name] = stm.exp.size.substitute(found)
    return found


def _loop_indices(body: kernels.KernelBody) -> frozenset[Name]:
    return frozenset(f.index for f in nodes_of(core.ForLoop, body))


def _totals(body: kernels.KernelBody) -> Iterator[Size]:
    for result in body.result:
        if isinstance(result, kernels.RegTileReturns):
            yield from (total for total, _, _ in result.dimensions)


def register_nests(node: object) -> Iterator[SegMap]:
    """The register nests inside."""
    return (inner for inner in nodes_of(SegMap, node) if inner.level == REGISTER)


def is_threads(exp: object) -> bool:
    """Whether an operation is one of threads."""
    return isinstance(exp, SegMap) and exp.level == THREAD


def has_register_nests(exp: object) -> bool:
    """Whether an operation is one of threads with register nests."""
    return is_threads(exp) and any(True for _ in register_nests(exp))


# --- copies ---------------------------------------------------------------------------


def plan_copies(operation: SegMap, facts: GroupFacts) -> dict[Name, CopyPlan]:
    """The packing of each collective copy whose source is a view of an array of the
    host; others are copied to plain rows."""
    found: dict[Name, CopyPlan] = {}
    for stm, region in _regions(operation, facts):
        if isinstance(stm.pattern[0].type, ScalarType):
            continue
        name = stm.pattern[0].name
        layout = facts.layouts.get(name)
        limits = () if layout is None else layout.limits
        kept = [region.ranges[at].length for at in region.kept]
        shorter = tuple(
            (at, limit)
            for at, limit in limits
            if _is_at_most(facts.size(limit), kept[at])
        )
        found[name] = CopyPlan(choose_packing(region, facts), shorter)
    return found


def _is_at_most(size: Size, length: Size | None) -> bool:
    return length is not None and minimum(size, length) == size


def _regions(operation: SegMap, facts: GroupFacts) -> Iterator[tuple[Stm, CopyRegion]]:
    """The regions of collective copies, in terms of the host and the group's indices;
    arrays that the group makes from others are views of them where they can be."""
    views: dict[Name, Array] = {}
    for stm in nodes_of(Stm, operation.body):
        match stm.exp:
            case core.Rearrange(permutation, name):
                view = _view(name, views, facts)
                if view is not None:
                    views[stm.pattern[0].name] = view.rearrange(permutation)
            case core.Index(name, entries):
                view = _view(name, views, facts)
                if view is not None and any(
                    isinstance(part, core.DimSlice) for part in entries
                ):
                    views[stm.pattern[0].name] = view.slice(
                        tuple(_entry(part, facts) for part in entries)
                    )
            case CollectiveCopy(name, _):
                view = _view(name, views, facts)
                if view is not None:
                    exp, bound = stm.exp, stm.pattern[0]
                    yield stm, copy_region(bound, exp, view, facts.index, facts.size)


def _view(name: Name, views: dict[Name, Array], facts: GroupFacts) -> Array | None:
    found = views.get(name) or facts.host.values.get(name)
    return found if isinstance(found, Array) else None


def _entry(
    part: core.Atom | core.DimSlice, facts: GroupFacts
) -> Size | tuple[Size, Size, Size]:
    if not isinstance(part, core.DimSlice):
        return facts.index(part)
    return facts.index(part.start), facts.size(part.length), facts.index(part.stride)


# --- deferred initialisation ----------------------------------------------------------


def _deferred(
    body: kernels.KernelBody, accumulators: tuple[AccumulatorChain, ...]
) -> tuple[dict[Name, Stm], dict[Name, FirstIteration]]:
    """The statements that need not run before counted loops, and what the parameters
    of these start from: each constant starts one loop."""
    constants = {n: c for each in accumulators for n, c in each.constants.items()}
    makers = {bound.name: stm for stm in nodes_of(Stm, body) for bound in stm.pattern}
    deferred: dict[Name, Stm] = {}
    first: dict[Name, FirstIteration] = {}
    for loop in walk(body):
        if not isinstance(loop, core.Loop) or not isinstance(loop.form, core.ForLoop):
            continue
        for parameter, name in zip(loop.parameters, loop.initial, strict=True):
            if isinstance(name, Name) and name in constants:
                deferred[name] = makers[name]
                start = FirstIteration(loop.form.index, constants[name])
                first[parameter.name] = start
    return deferred, first


def _written_once(
    body: kernels.KernelBody,
    accumulators: tuple[AccumulatorChain, ...],
    deferred: Mapping[Name, Stm],
) -> Iterator[tuple[Name, core.Atom]]:
    """The accumulators that only the threads in one counted loop, which starts from a
    constant, write and read, as they are written there, with the rounds of the loop."""
    starts = deferred.values()
    every = [
        s
        for s in nodes_of(Stm, body)
        if is_threads(s.exp) and not any(s is start for start in starts)
    ]
    for chain in accumulators:
        users = [s for s in every if not chain.names.isdisjoint(_names_of(s))]
        around = [
            loop
            for loop in nodes_of(core.Loop, body)
            if any(s is user for user in users for s in nodes_of(Stm, loop.body))
        ]
        if (len(users), len(around)) != (1, 1):
            continue
        (user,), (loop,) = users, around
        starts_so = chain.names & deferred.keys() & set(loop.initial)
        if starts_so and isinstance(loop.form, core.ForLoop):
            for bound in user.pattern:
                if bound.name in chain.names:
                    yield bound.name, loop.form.bound


def _names_of(stm: Stm) -> set[Name]:
    return {p.name for p in stm.pattern} | free_names(stm.exp)


# --- threads --------------------------------------------------------------------------


def _plan_threads(
    stm: Stm,
    accumulators: frozenset[Name],
    registers: frozenset[Name],
    starts: Mapping[Name, Constant],
    host: HostBuilder,
) -> ThreadPlan:
    exp = stm.exp_of(SegMap)
    if any(not isinstance(result, kernels.Returns) for result in exp.body.result):
        raise NotInKernel("threads with tiles that write elsewhere")
    divided = frozenset(nest.space.sizes[-1] for nest in register_nests(exp))
    known = [host.size(size).as_constant for size in divided]
    widths = [
        lanes
        for lanes in vector_widths(exp)
        if all(size is None or size % lanes == 0 for size in known)
    ]
    own = [bound.name for bound in stm.pattern if bound.name in accumulators]
    has_steps = contains(exp.body, core.Loop)
    return ThreadPlan(
        tuple(widths),
        tuple(sorted(divided, key=str)),
        guarded=len(own) == len(stm.pattern),
        prefetched=tuple(own) if has_steps else (),
        preloaded=tuple(_read_in_nests(exp, accumulators)),
        loaded=frozenset(_loaded_rows(exp, registers)),
        nan_free=frozenset(nan_free_accumulators(exp, starts)),
    )


def vector_widths(exp: SegMap) -> list[int]:
    """The numbers of lanes that fill vectors in the nests inside, widest first."""
    widest = 16
    for nest in register_nests(exp):
        types = [element_of(t) for t in nest.types]
        for inner in walk(nest.body):
            if isinstance(inner, Stm) and isinstance(inner.exp, core.ScalarOp):
                pattern = [p.type for p in inner.pattern]
                types += [t for t in pattern if isinstance(t, ScalarType)]
        widest = min(widest, *[LARGEST_VECTOR // register_bytes(t) for t in types])
    return [widest, widest // 2, 1] if widest > 2 else [1]


def register_bytes(type_: ScalarType) -> int:
    """The bytes of a value in a vector register: booleans are masks, f16 is f32."""
    return 4 if type_.name in ("bool", "f16") else type_.bytes


def _read_in_nests(exp: SegMap, arrays: frozenset[Name]) -> Iterator[Name]:
    """The arrays of a group whose elements, not rows, the nests of a thread read."""
    rank = len(exp.space.indices)
    reads = nodes_of(core.Index, exp.body)
    yield from dict.fromkeys(
        read.array for read in reads if read.array in arrays and len(read.slice) > rank
    )


def _loaded_rows(exp: SegMap, registers: frozenset[Name]) -> Iterator[Name]:
    """The rows that a thread reads only as the start of a tile, or point by point in
    its nests."""
    for node in walk(exp.body):
        match node:
            case core.Loop():
                for bound, atom in zip(node.parameters, node.initial, strict=True):
                    if bound.name in registers and isinstance(atom, Name):
                        yield atom
            case SegMap(level, space, body, _) if level == REGISTER:
                for read in walk(body):
                    if isinstance(read, core.Index) and read.slice == space.indices:
                        yield read.array
