"""What must hold of segmented operations and thresholds; see `ir.verify_rules`."""

from __future__ import annotations

from typing import Any

from minifut.ir import kernels
from minifut.ir.sizes import ONE
from minifut.ir.soacs import operand_count
from minifut.ir.types import BOOL, I64, Type, array_of, element_of
from minifut.ir.verify import Verifier, require
from minifut.ir.verify_operands import check_atom, check_bins, check_fold, check_slice
from minifut.names import Name

_DEPTH = {"grid": 0, "group": 1, "thread": 2, "register": 3}


def segmented(v: Verifier, exp: Any) -> None:
    """Space, body and results of a segmented operation; then its operators. The same
    of a scan that it reads."""
    if isinstance(exp, kernels.SegMap) and exp.scan is not None:
        segmented(v, exp.scan)
        scanned = operand_count(exp.scan.operators)
        wanted = (*exp.scan.types, *exp.scan.types[:scanned])
        v.same_types(wanted, [p.type for p in exp.seen], "the map sees")
        preceding = wanted[:scanned] if exp.before else ()
        v.same_types(preceding, [p.type for p in exp.before], "the map sees before")
    state = _steps(v, exp) if isinstance(exp, kernels.SegMap) else []
    if v.levels:
        outer, inner = _DEPTH[v.levels[-1].kind], _DEPTH[exp.level.kind]
        require(inner > 0 and inner >= outer, f"{exp.level} inside {v.levels[-1]}")
    for size in exp.space.sizes:
        v.size(size)
    for operator in getattr(exp, "operators", ()):
        for size in operator.shape:
            v.size(size)
    require(len(exp.types) == len(exp.body.result), "as many types as results")
    _operators(v, exp)
    v.levels.append(exp.level)
    for index in exp.space.indices:
        v.bind_name(index, I64)
    seen = (*getattr(exp, "seen", ()), *getattr(exp, "before", ()))
    added = v.bind(seen) + v.kernel_body(exp.body)
    for result, type_ in zip(exp.body.result, exp.types, strict=True):
        _kernel_result(v, result, type_)
    v.unbind([*added, *state, *exp.space.indices])
    v.levels.pop()


def _steps(v: Verifier, exp: kernels.SegMap) -> list[Name]:
    """That a map can be applied to what it makes; the names that its body sees."""
    steps = exp.steps
    if steps is None:
        return []
    made = [array_of(element, exp.space.sizes) for element in exp.types]
    if isinstance(steps, kernels.TimeSteps):
        v.same_types(made, (v.array(steps.array),), "the step before makes")
        require(steps.count > 0 and steps.radius > 0, "steps of a stencil")
        return []
    before = [v.array(array) for array in steps.arrays]
    v.same_types(made, before, "the step before makes")
    require(len(exp.space.indices) == 1, "blocks of one dimension")
    check_atom(v, steps.block, I64, "the points of a block")
    check_atom(v, steps.part, I64, "the points of a part")
    check_atom(v, steps.count, I64, "the number of steps")
    v.same_types([p.type for p in steps.state], v.types(steps.initial), "the state")
    state = v.bind(steps.state)
    inner = v.body(steps.step)
    given = [BOOL, *(p.type for p in (*steps.state, *steps.values))]
    v.same_types(given, v.types(steps.step.result), "what a step gives")
    v.unbind(inner)
    return state + v.bind(steps.values)


def _operators(v: Verifier, exp: Any) -> None:
    values = list(exp.types)
    if isinstance(exp, kernels.SegHist):
        check_bins(v, exp.operators, values, exp.space.sizes[:-1])
    elif not isinstance(exp, kernels.SegMap):
        for operator in exp.operators:
            values = values[len(check_fold(v, operator, values)) :]


def _kernel_result(v: Verifier, result: kernels.KernelResult, type_: Type) -> None:
    match result:
        case kernels.Returns(atom):
            check_atom(v, atom, type_, "a result")
        case kernels.WriteReturns(array, shape, writes):
            whole = v.array(array)
            sizes_fit = len(shape) == whole.rank and all(
                v.same_size(a, b) for a, b in zip(shape, whole.shape, strict=True)
            )
            require(sizes_fit, f"{array} has another shape than its writes say")
            for indices, written in writes:
                value = check_slice(v, array, indices)
                check_atom(v, written, value, "a written value")
        case kernels.TotalReturns(value):
            check_atom(v, value, type_, "a total")
        case kernels.TileReturns(dimensions, tile):
            shape = tuple(size for _, size in dimensions if size != ONE)
            check_atom(v, tile, array_of(element_of(type_), shape), "the tile")
        case kernels.RegTileReturns(dimensions, tile):
            sizes = [(b, r) for _, b, r in dimensions if (b, r) != (ONE, ONE)]
            blocks = tuple(block for block, _ in sizes)
            registers = tuple(register for _, register in sizes)
            wanted = array_of(element_of(type_), blocks + registers)
            check_atom(v, tile, wanted, "the register tiles")


def collective_copy(v: Verifier, exp: kernels.CollectiveCopy) -> None:
    check_slice(v, exp.array, exp.slice)
    inside = bool(v.levels) and v.levels[-1].kind == "group"
    require(inside, "a collective copy is for all threads of a group")


def at_least(v: Verifier, exp: kernels.AtLeast) -> None:
    v.size(exp.parallelism)
