"""What an iteration of a loop of the host costs: its work and its commands.

    loop for k < n do              work       n * (n - k) on average over k: n * n / 2
      map over n - k, of 2 * n     commands   1 for the kernel
      read one element                        + WAIT for the element read back

A command is what the host has the device do: a kernel, or the write of an element. They
are enqueued without waiting, until the host needs a scalar that they compute: it waits
for all of them, and the cores become idle until the next ones are enqueued. Reads of
what no command since the last wait may have written cost nothing, and what only kernels
need of a fold, in this iteration or the next one, is not read.

A stable partition is one command, and work in a loop that has some counts `BATCHED`
times: kernels take for it a third of the time of a thread, in short launches.

The work counts what runs in vectors as one for each operation and element of 32 bits,
narrower ones as a part of that, and all else, such as branches, checks and scans, as
`SCALAR_COST` times as much. Points at borders are few, and count as the others.
"""

from __future__ import annotations

from functools import partial
from math import lcm
from typing import Any

from minifut.analysis.host_needs import host_needs, needs_but_for_condition
from minifut.analysis.interiors import without_borders
from minifut.analysis.partitions import folds_of_partitions
from minifut.analysis.work import (
    Cost,
    LoopBounds,
    Unbounded,
    greatest_of,
    hidden,
    is_costly,
    upper_bound,
    work_of_expression,
    work_of_statements,
)
from minifut.ir import accumulators, core, search
from minifut.ir.core import Body, Loop
from minifut.ir.node import immutable, replace
from minifut.ir.scalar_opencl import calls_library
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma
from minifut.ir.traverse import atom_size, walk
from minifut.ir.types import ScalarType, shape_of
from minifut.names import Name

SCALAR_COST = 4
"""of an operation on scalars, in elements of a vector operation: bodies with branches
take 1.6 to 10 times as long as plain ones, of which the driver vectorises some"""
MASK_COST = 2
"""of one in lanes, where branches are masks"""
WAIT = 12
"""for a value that the host reads, in commands. With one wait in each step, kernels and
one thread take equally long where this were 10 (a weighted mean that is iterated) to 25
(Jacobi's method and conjugate gradients, which end when a residual is small)."""
BATCHED = 6
"""commands of a batch that take as long as another one: 1 to 2 us"""
FLAG = 8
"""of these, for a loop that goes on as long as the device says, which is left to a
batch: what it takes to come to that, 150 to 250 us, in one of 20 to 30 iterations"""
COMBINE = 1
"""for a fold whose result only kernels need: its groups combine their parts before the
next kernel begins. A sum and a map take as long in kernels as in one thread at 600,000
elements, a product of a matrix by a vector that is normalised at 900 rows."""
VECTOR_BYTES = 4
"""of the elements that a vector operation of cost 1 has; work is counted in bytes"""
CALL_COST = 400
"""of a function of the library for one scalar, as in scatters: 10 to 20 ns"""

MAKES_ARRAY = (core.Replicate, core.Iota, core.Concat, core.Manifest, core.Copy)
IN_VECTORS = (core.SizeExp, core.Index, core.Copy)
DIVISIONS = {"div", "sqrt"}
"""what is costly in vectors, too"""


@immutable
class LoopStep:
    """The mean over the iterations of a loop, in names that are bound outside of it;
    `commands` with what the host waits for them."""

    work: Size
    commands: Size


def step_of(loop: Loop) -> LoopStep | None:
    """What an iteration costs; None where that depends on data or nothing is for the
    device."""
    try:
        work = _mean(without_borders(loop), _work) // Size.constant(VECTOR_BYTES)
        folds = folds_of_partitions(loop)
        counted = _Commands(host_needs(loop), folds)
        commands = _mean(loop, counted)
        if counted.has_waited and _may_be_left(loop):
            counted = _Commands(needs_but_for_condition(loop), folds)
            left = _mean(loop, counted)
            if not counted.has_waited:
                work, commands = work * Size.constant(BATCHED), left + FLAG
        elif folds:
            work = work * Size.constant(BATCHED)
    except Unbounded:
        return None
    if commands == ZERO:
        return None
    return LoopStep(work, commands)


def _may_be_left(loop: Loop) -> bool:
    """Whether iterations may be the launches of a batch, which has none of kernels with
    local memory: such are for products of matrices. Histograms have more work there."""
    return isinstance(loop.form, core.WhileLoop) and not any(
        isinstance(node, core.Update | Hist)
        or (isinstance(node, Screma) and _depth(node) > 2)
        for node in walk(loop.body)
    )


def _depth(soac: Screma) -> int:
    """How many SOACs are inside of each other, at most."""
    inner = list(search.nodes_of(Screma, soac.function.body))
    return 1 + max(map(_depth, inner), default=0)


def is_of_scalars(body: Body) -> bool:
    """Whether a body has neither arrays nor calls: it may loop, but nothing in it is
    parallel."""
    return not any(
        isinstance(node, (core.Apply, *SOAC_EXPRESSIONS))
        or (
            isinstance(node, core.Stm)
            and not all(isinstance(p.type, ScalarType) for p in node.pattern)
        )
        for node in walk(body)
    )


def is_of_elements(body: Body) -> bool:
    """Whether a body only computes scalars, and reads and writes elements of arrays."""
    for node in walk(body):
        made = isinstance(node, core.Stm) and isinstance(node.exp, MAKES_ARRAY)
        makes_array = made and any(shape_of(bound.type) for bound in node.pattern)
        if makes_array or isinstance(node, (*SOAC_EXPRESSIONS, core.Apply)):
            return False
    return True


def _work(
    exp: Any,
    pattern: tuple[core.Param, ...],
    bounds: LoopBounds,
    scale: int = SCALAR_COST,
) -> Size:
    """The work of a statement of the host, where scalars cost so much, in bytes of
    vectors."""
    match exp:
        case Screma(width, _, _, _, function):
            inner = hidden(function.parameters, bounds)
            cost: Cost = _vector_work
            if _in_vectors(exp):
                kept, scale = function.body.result, 1
            else:
                kept, scale = (), MASK_COST if _in_lanes(exp) else scale
                cost = partial(_scaled_work, scale)
            each = work_of_statements(function.body.statements, inner, cost)
            own = replace(exp, function=replace(function, body=Body((), kept)))
            folds = work_of_expression(own, pattern, bounds) * VECTOR_BYTES
            return upper_bound(width, bounds) * each + folds * scale
        case Scatter(width, _, _, function):
            inner = hidden(function.parameters, bounds)
            calls = work_of_statements(function.body.statements, inner, _calls)
            stores = work_of_expression(exp, pattern, bounds) * SCALAR_COST
            return (upper_bound(width, bounds) * calls + stores) * VECTOR_BYTES
        case Hist():
            stores = work_of_expression(exp, pattern, bounds)
            return stores * (SCALAR_COST * VECTOR_BYTES)
    work = _of_bodies(exp, bounds, _work)
    return work or work_of_expression(exp, pattern, bounds) * VECTOR_BYTES


def _vector_work(exp: Any, pattern: tuple[core.Param, ...], bounds: LoopBounds) -> Size:
    """The same of an operation on vectors."""
    types = [p.type for p in pattern if isinstance(p.type, ScalarType)]
    if isinstance(exp, core.ScalarOp):
        types.append(exp.operator.type)
    nbytes = max((type_.bytes for type_ in types), default=VECTOR_BYTES)
    return work_of_expression(exp, pattern, bounds) * nbytes


def _scaled_work(
    scale: int, exp: Any, pattern: tuple[core.Param, ...], bounds: LoopBounds
) -> Size:
    """The same inside of a SOAC that is not done in vectors of the device's."""
    if isinstance(exp, SOAC_EXPRESSIONS):
        return _work(exp, pattern, bounds, scale)
    return work_of_expression(exp, pattern, bounds) * (scale * VECTOR_BYTES)


def _calls(exp: Any, pattern: tuple[core.Param, ...], bounds: LoopBounds) -> Size:
    """What calls of the library for scalars cost beyond an operation."""
    is_call = isinstance(exp, core.ScalarOp) and calls_library(exp.operator)
    return Size.constant(CALL_COST) if is_call else ZERO


class _Commands:
    """How many commands statements of the host are, in the order in which they run."""

    def __init__(self, needed: set[Name], folds: frozenset[Name]) -> None:
        self.needed = needed
        self.folds = folds
        """of partitions, which are commands of the scatters"""
        self.pending = True
        """whether a command may not have ended: one of the iteration before"""
        self.has_waited = False

    def __call__(
        self, exp: Any, pattern: tuple[core.Param, ...], bounds: LoopBounds
    ) -> Size:
        """The cost of one statement."""
        match exp:
            case Screma() if pattern[0].name in self.folds:
                return ZERO
            case core.Index(array) if array in self.folds:
                return ZERO
            case accumulators.WithAcc() | core.Update():
                return self._command(reads=False)
            case core.Index():
                return ZERO if shape_of(pattern[0].type) else self._read()
        inside = _of_bodies(exp, bounds, self)
        if inside is not None:
            return inside
        arrays = any(shape_of(bound.type) for bound in pattern)
        if isinstance(exp, SOAC_EXPRESSIONS):
            scalars = {b.name for b in pattern if not shape_of(b.type)}
            if scalars and self.needed.isdisjoint(scalars):
                return self._command(reads=False) + COMBINE
            return self._command(reads=bool(scalars))
        made = isinstance(exp, MAKES_ARRAY) and arrays
        return self._command(reads=False) if made else ZERO

    def _command(self, reads: bool) -> Size:
        self.pending = True
        return ONE + self._read() if reads else ONE

    def _read(self) -> Size:
        waits, self.pending = self.pending, False
        self.has_waited |= waits
        return Size.constant(WAIT if waits else 0)


def _of_bodies(exp: Any, bounds: LoopBounds, cost: Cost) -> Size | None:
    """The cost of a loop or branch of the host; None of anything else."""
    match exp:
        case Loop(parameters, _, form, body):
            steps = _iterations(exp, bounds)
            inner = hidden(parameters, bounds)
            if isinstance(form, core.ForLoop):
                inner = {**inner, form.index: steps}
            return (steps or ONE) * work_of_statements(body.statements, inner, cost)
        case core.Apply():
            raise Unbounded
        case core.If() | core.Match():
            bodies = [body.statements for body in exp.branches]
            return greatest_of([work_of_statements(s, bounds, cost) for s in bodies])
    return None


def _iterations(loop: Loop, bounds: LoopBounds) -> Size | None:
    """How often a loop of the host goes round; None where that depends on data."""
    if isinstance(loop.form, core.ForLoop):
        try:
            return upper_bound(atom_size(loop.form.bound), bounds)
        except Unbounded:
            pass
    if is_of_elements(loop.body):
        return None
    raise Unbounded


def _mean(loop: Loop, cost: Cost) -> Size:
    """The mean over the iterations. That of index^p is about count^p / (p + 1); of what
    is no polynomial in the index, an upper bound stands for it."""
    bounds = hidden(loop.parameters, {})
    statements = loop.body.statements
    size = work_of_statements(statements, bounds, cost)
    if not isinstance(loop.form, core.ForLoop):
        return size
    index, count = loop.form.index, atom_size(loop.form.bound)
    if any(
        not isinstance(atom, Name) and index in Size.of(atom).names()
        for monomial, _ in size.terms
        for atom in monomial
    ):
        return work_of_statements(statements, {**bounds, index: count}, cost)
    powers = [monomial.count(index) for monomial, _ in size.terms]
    common = lcm(*(power + 1 for power in powers))
    total = ZERO
    for (monomial, coefficient), power in zip(size.terms, powers, strict=True):
        rest = tuple(atom for atom in monomial if atom != index)
        term = Size(((rest, coefficient * common // (power + 1)),))
        for _ in range(power):
            term = term * count
        total = total + term
    return total // Size.constant(common)


def _in_vectors(soac: Any) -> bool:
    """Whether a loop over the elements becomes vectors: each gives values by a row of
    plain operators."""
    if not isinstance(soac, Screma) or soac.scans:
        return False
    functions = (soac.function, *(fold.operator for fold in soac.folds))
    return all(is_plain(s) for each in functions for s in each.body.statements)


def _in_lanes(soac: Any) -> bool:
    """Whether points of a map are done in lanes: they fold by branches."""
    nodes = list(walk(soac.function.body))
    return (
        soac.is_map
        and any(isinstance(node, Screma) and not node.is_map for node in nodes)
        and not any(isinstance(node, core.Assert | core.Apply) for node in nodes)
    )


def is_plain(statement: core.Stm) -> bool:
    """Whether it is done in vectors."""
    exp = statement.exp
    if not isinstance(exp, core.ScalarOp):
        return isinstance(exp, IN_VECTORS)
    operator = exp.operator
    return (
        not is_costly(operator) or operator.name in DIVISIONS or calls_library(operator)
    )
