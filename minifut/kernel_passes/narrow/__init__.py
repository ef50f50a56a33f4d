"""Give kernels a version with indices of 32 bits, for sizes that allow it.

    launch scale(n, xs, ys) grid (n) ..

      →   let most: i64 = size(max(n, 2 * n))
          let limit: i64 = size(2147483648 * get_parameter("gpu.index.narrow"))
          let fits: bool = lt_i64(most, limit)
          if fits {launch scale_narrow(n, xs, ys) ..} else {launch scale(n, xs, ys) ..}

A GPU computes with 64 bits in two instructions or more, and in two registers. Which
numbers an index is made of, and how great they are at most, `bounds` finds for each
kernel as sizes over what a launch gives; `emit` writes the arithmetic in 32 bits; and
each launch compares the greatest of these sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.ir.core import Constant, ScalarOp, SizeExp
from minifut.ir.kernels import GetParameter, Parameter
from minifut.ir.node import immutable, replace
from minifut.ir.scalars import operator
from minifut.ir.sizes import ZERO, Size, as_size, maximum, minimum, product
from minifut.ir.traverse import map_children, walk
from minifut.ir.types import BOOL, I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_passes.device_scalars.moves import unused_name
from minifut.kernel_passes.narrow.bound import LIMIT
from minifut.kernel_passes.narrow.emit import Narrowing
from minifut.kernel_passes.narrow.order import greatest, greatest_value, quotient
from minifut.kernel_passes.narrow.plan import plan_of
from minifut.names import Name, NameSource

NARROW = Parameter("gpu.index.narrow", "choice", (("cpu", 1), ("gpu", 1)), (0, 1))
"""1 for indices of 32 bits where numbers stay below the limit, 0 for 64"""
LARGEST_GROUP = 1 << 16
"""work-items of a group, more than any device has"""
LONGEST = 24
"""sizes to compare at a launch"""
MOST_KERNELS = 8
"""of a program that get a second version, those with most arithmetic on indices: to
make one takes as long as all other passes over a kernel do"""


@immutable
class Narrow:
    """The version of a kernel with indices of 32 bits; the sizes that must be below the
    limit, over its parameters and constants and the `extents` of a launch; the
    parameters that must not be negative."""

    wide: kc.Kernel
    kernel: kc.Kernel
    sizes: tuple[Size, ...]
    natural: tuple[Name, ...]
    extents: tuple[tuple[tuple[str, int], Name], ...]


def narrow_indices(program: KernelProgram, names: NameSource) -> KernelProgram:
    """The program whose launches choose between both versions of their kernels."""
    taken = {kernel.name: kernel for kernel in program.kernels}
    plans: dict[str, Narrow] = {}
    heaviest = sorted(program.kernels, key=_arithmetic, reverse=True)
    for kernel in heaviest[:MOST_KERNELS]:
        plan = narrow_version(
            kernel, unused_name(f"{kernel.name}_narrow", taken), names
        )
        if plan is not None:
            plans[kernel.name] = plan
            taken[plan.kernel.name] = kernel
    used: dict[str, kc.Kernel] = {}

    def changed(node: Any) -> Any:
        if not isinstance(node, kc.HostBlock):
            return map_children(node, changed)
        statements: list[kc.HostStatement] = []
        for statement in node.statements:
            if isinstance(statement, kc.Launch) and statement.kernel in plans:
                plan = plans[statement.kernel]
                made = _guarded(statement, plan, names)
                if made:
                    used[plan.kernel.name] = plan.kernel
                statements += made or (statement,)
            else:
                statements.append(map_children(statement, changed))
        return kc.HostBlock(tuple(statements))

    functions = tuple(map(changed, program.functions))
    constants = program.constants and changed(program.constants)
    if not used:
        return program
    return replace(
        program,
        kernels=(*program.kernels, *used.values()),
        functions=functions,
        constants=constants,
        parameters=(*program.parameters, NARROW),
    )


def _arithmetic(kernel: kc.Kernel) -> int:
    """The number of operations on integers of 64 bits."""
    return sum(
        isinstance(node, kc.Operation | kc.Binary | kc.SizeValue)
        and node.type == kc.LONG
        for node in walk(kernel.body)
    )


def narrow_version(kernel: kc.Kernel, name: str, names: NameSource) -> Narrow | None:
    """The version of a kernel, if indices gain by it."""
    plan = plan_of(kernel, names)
    narrowing = Narrowing(plan, names)
    made = narrowing.narrowed(kernel)
    sizes = greatest(_large(kernel, narrowing))
    if made is None or len(sizes) > LONGEST:
        return None
    own = frozenset[Name]().union(*[size.names() for size in narrowing.wanted])
    natural = dict.fromkeys((*narrowing.natural, *(own & plan.parameters)))
    ordered = tuple(sorted(natural, key=lambda name: name.tag))
    extents = tuple(narrowing.plan.bounds.extents.items())
    made = replace(made, name=name)
    return Narrow(kernel, made, sizes, ordered, extents)


def _large(kernel: kc.Kernel, narrowing: Narrowing) -> list[Size]:
    """The sizes that may be above the limit: those of tiles and groups are not."""
    tunable = ((c.name, c.parameter.bounds) for c in kernel.constants)
    most = {name: bounds[1] for name, bounds in tunable if bounds is not None}
    extents = narrowing.plan.bounds.extents.items()
    if isinstance(kernel.group_size, Name):
        most[kernel.group_size] = LARGEST_GROUP
    most |= {name: LARGEST_GROUP for (f, _), name in extents if f == "get_local_id"}
    found = []
    for size in narrowing.wanted:
        number = greatest_value(size, most)
        if number is None or number >= LIMIT:
            found.append(size)
    return found


def _guarded(
    launch: kc.Launch, plan: Narrow, names: NameSource
) -> tuple[kc.HostStatement, ...]:
    """The launch of either version; nothing if what it compares is not known."""
    before: list[kc.HostStatement] = []
    values = _values(launch, plan, names, before)
    plain = {s: _named(s, names, before) for s in dict.fromkeys(values.values())}
    values = {name: plain[size] for name, size in values.items()}
    sizes = [size.substitute_short(values) for size in plan.sizes]
    known = [size for size in sizes if size is not None]
    least = [values[name] for name in plan.natural if values[name].as_constant is None]
    if len(known) < len(sizes):
        return ()

    def let(base: str, exp: Any, type_: Any = I64) -> Name:
        name = names.fresh(base)
        before.append(kc.HostAssign(name, exp, type_))
        return name

    most = let("most", SizeExp(maximum(ZERO, *known)))
    choice = let("choice", GetParameter(NARROW))
    limit = let("limit", SizeExp(Size.of(choice) * LIMIT))
    fits = let("fits", ScalarOp(operator("lt", I64), (most, limit)), BOOL)
    if least:
        lowest = let("lowest", SizeExp(minimum(*least)))
        operands = (Constant(0, I64), lowest)
        natural = let("natural", ScalarOp(operator("le", I64), operands), BOOL)
        both = ScalarOp(operator("and", BOOL), (fits, natural))
        fits = let("fits", both, BOOL)
    narrow = replace(launch, kernel=plan.kernel.name)
    sides = kc.HostBlock((narrow,)), kc.HostBlock((launch,))
    return (*before, kc.HostIf(fits, *sides))


def _named(size: Size, names: NameSource, before: list[kc.HostStatement]) -> Size:
    """The size, or a variable for one that is not plain."""
    atoms = [atom for monomial, _ in size.terms for atom in monomial]
    if all(isinstance(atom, Name) for atom in atoms):
        return size
    name = names.fresh("extent")
    before.append(kc.HostAssign(name, SizeExp(size), I64))
    return Size.of(name)


def _values(
    launch: kc.Launch, plan: Narrow, names: NameSource, before: list[kc.HostStatement]
) -> Mapping[Name, Size]:
    """What the names of a kernel stand for at a launch."""
    values: dict[Name, Size] = {}
    for parameter, given in zip(plan.wide.parameters, launch.arguments, strict=True):
        if isinstance(parameter, kc.ScalarParameter) and parameter.type == I64:
            assert isinstance(given, Name | Size)
            values[parameter.name] = as_size(given)
    chosen = iter(launch.per_launch)
    wanted = frozenset[Name]().union(*[size.names() for size in plan.sizes])
    for constant in plan.wide.constants:
        if constant.per_launch:
            values[constant.name] = Size.of(next(chosen))
        elif constant.name in wanted:
            name = names.like(constant.name)
            exp = GetParameter(constant.parameter)
            before.append(kc.HostAssign(name, exp, I64))
            values[constant.name] = Size.of(name)
    if isinstance(plan.wide.group_size, Name):
        values[plan.wide.group_size] = product(launch.group)
    for (function, dimension), name in plan.extents:
        group = launch.group[dimension]
        grid = launch.grid[dimension]
        groups = quotient(grid, group)
        values[name] = {
            "get_local_id": group,
            "get_group_id": groups,
            "get_num_groups": groups,
            "get_global_id": grid + group,
        }[function]
    return values
