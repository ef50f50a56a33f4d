"""Turn the SOACs left inside threads into loops, and accumulators into arrays.

    let (s: f32) = redomap(n, {xs}, {add, 0}, f)
  →
    loop (acc: f32 = 0) for i < n do
      let x: f32 = xs[i]
      <f on x>
      in {add(acc, f x)}

Accumulators carry what scans and reduces have so far, so a fused map makes no
intermediate array. Where rows are folded, the SOACs that make a row fuse with those of
the operator, which a loop has in one body, before they are loops. Arrays that the SOAC
returns start as `Scratch` and are updated element by element, which last-use analysis
makes in place. Loops that were reductions carry the attribute "reduction": their
operator is associative, so that the backend may reassociate them, which it may not do
with a user's own loop. Those that were maps carry the attribute "map": their rounds may
run in any order, or several at once. So may those of a scatter, which carry "scatter",
if they do not read where it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from minifut.ir import calls, core, kernels, sizes, soacs
from minifut.ir.accumulators import AccInput, WithAcc, updates_accumulators
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Function, Lambda, Param, Program, Stm
from minifut.ir.kernels import KernelBody
from minifut.ir.node import divided, mutable, replace
from minifut.ir.scope import Scope, array_type, scope_of
from minifut.ir.search import contains
from minifut.ir.traverse import map_children
from minifut.ir.types import I64, AccType, element_of, shape_of
from minifut.names import Name, NameSource
from minifut.passes.accumulators_as_arrays import accumulate_in_arrays
from minifut.passes.fold_by_rows import fold_flattened_by_rows
from minifut.passes.fusion.driver import fuse_in_thread
from minifut.passes.sequential_parts import bind_rows, in_bounds
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Outcome
from minifut.rewrite.trace import Derivation, Trace

SEGMENTED = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


def sequentialise(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Turn SOACs in threads into loops."""
    derivation = None if trace is None else Derivation(trace, declined=False)
    sequential = _Sequentialiser(names, scope_of(program), derivation=derivation)
    inner = calls.called_in_threads(program)
    if not inner:
        after: Program = sequential.node(program)
        return after
    return map_children(
        program,
        lambda part: (
            sequential.inside(part)
            if isinstance(part, Function) and part.name in inner
            else sequential.node(part)
        ),
    )


def sequentialise_all(
    program: Program, names: NameSource, wanted: Callable[[object], bool] | None = None
) -> Program:
    """The program without any SOAC, outside of segmented operations too; or only
    without those that are `wanted`."""
    after: Program = _Sequentialiser(names, scope_of(program), wanted).inside(program)
    return after


class _Sequentialiser:
    """Walks host code; what is inside a segmented operation is rewritten, or of that
    only what is `wanted`."""

    def __init__(
        self,
        names: NameSource,
        scope: Scope,
        wanted: Callable[[object], bool] | None = None,
        derivation: Derivation | None = None,
    ) -> None:
        self.names = names
        self.scope = scope
        self.wanted = wanted
        self.views: dict[Name, Stm] = {}
        self.context = StatementContext(names, scope, self.views, derivation=derivation)

    def node(self, node: Any) -> Any:
        """Host code: look for segmented operations."""
        if isinstance(
            node, (KernelBody, kernels.SegBinOp, kernels.SegHistOp, AccInput)
        ):
            return self.inside(node)
        return map_children(node, self.node)

    def inside(self, node: Any) -> Any:
        """A thread's code: no SOAC stays."""
        if isinstance(node, (Body, KernelBody)):
            return replace(node, statements=self.statements(node.statements))
        if isinstance(node, Program):
            constants = self.statements(node.constants)
            node = replace(node, constants=constants)
        return map_children(node, self.inside)

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        changed = False
        build = Builder(self.names, self.scope)
        for before in self.by_rows(statements):
            build.location, build.attributes = before.location, ()
            if self.wanted is None and folds_rows(before.exp):
                self.loop_over_rows(build, before)
                changed = True
                continue
            statement = map_children(before, self.inside)
            if self.wanted is not None and not self.wanted(before.exp):
                build.append(statement)
                changed |= statement is not before
                continue
            match statement.exp:
                case soacs.Screma() as soac:
                    loop_over_screma(build, statement, soac)
                case soacs.Scatter() as soac:
                    loop_over_scatter(build, statement, soac)
                case soacs.Hist() as soac:
                    loop_over_hist(build, statement, soac)
                case WithAcc() as exp:
                    accumulate_in_arrays(build, statement, exp)
                case _:
                    build.append(statement)
                    changed |= statement is not before
                    continue
            changed = True
        return tuple(build.statements) if changed else statements

    def loop_over_rows(self, build: Builder, statement: Stm) -> None:
        """The loop of a fold of rows, in which the SOACs that make a row fuse with the
        operator's, before they are loops."""
        loop_over_screma(build, statement, statement.exp_of(soacs.Screma))
        made = build.statements.pop()
        loop = made.exp_of(core.Loop)
        body = fuse_in_thread(loop.body, self.names, self.scope)
        build.append(self.inside(replace(made, exp=replace(loop, body=body))))

    def by_rows(self, statements: tuple[Stm, ...]) -> Iterator[Stm]:
        """The statements, with folds of flattened views as nests of folds."""
        for statement in statements:
            if isinstance(statement.exp, core.Index | core.Rearrange | core.Reshape):
                self.views[statement.pattern[0].name] = statement
            outcome: Outcome = None
            if isinstance(statement.exp, soacs.Screma) and self.wanted is None:
                outcome = fold_flattened_by_rows(statement, self.context)
            yield from outcome if isinstance(outcome, tuple) else (statement,)


def folds_rows(exp: object) -> bool:
    """Whether a redomap computes rows and combines them by SOACs."""
    return (
        isinstance(exp, soacs.Screma)
        and not exp.scans
        and contains(exp.function.body, soacs.SOAC_EXPRESSIONS)
        and any(contains(r.operator.body, soacs.SOAC_EXPRESSIONS) for r in exp.reduces)
    )


def sequential_operator(item: AccInput, names: NameSource, scope: Scope) -> AccInput:
    """The input of a `WithAcc` with an operator that has no SOACs."""
    after: AccInput = _Sequentialiser(names, scope).inside(item)
    return after


def sequential_lambda(function: Lambda, names: NameSource, scope: Scope) -> Lambda:
    """The function with its SOACs turned into loops (an operator has no threads)."""
    after: Lambda = _Sequentialiser(names, scope).inside(function)
    return after


@mutable
class _Carried:
    """The parameters of a loop in the making: pattern, start and next value of each."""

    parameters: list[Param] = field(default_factory=list)
    pattern: list[Param] = field(default_factory=list)
    initial: list[Atom] = field(default_factory=list)
    following: list[Atom] = field(default_factory=list)

    def add(self, build: Builder, bound: Param, initial: Atom) -> Name:
        """A parameter that ends as the pattern element `bound`."""
        name = build.names.like(bound.name)
        self.parameters.append(Param(name, bound.type))
        build.scope[name] = bound.type
        self.pattern.append(bound)
        self.initial.append(initial)
        return name

    def loop(
        self,
        build: Builder,
        inner: Builder,
        index: Name,
        width: sizes.Size,
        attributes: tuple[str, ...] = (),
    ) -> None:
        """Emit the loop whose body `inner` has collected."""
        bound = build.size_atom(width)
        exp = core.Loop(
            tuple(self.parameters),
            tuple(self.initial),
            core.ForLoop(index, bound, I64),
            inner.finish(*self.following),
        )
        pattern = tuple(self.pattern)
        build.append(Stm(pattern, exp, attributes, build.location))


def _index(build: Builder) -> Name:
    name = build.names.fresh("i")
    build.scope[name] = I64
    return name


def loop_over_screma(build: Builder, statement: Stm, soac: soacs.Screma) -> None:
    """The loop that does what a scan, reduce and map at once does."""
    carried, index, inner = _Carried(), _index(build), build.nested()
    pattern = iter(statement.pattern)
    operators = [(scan.operator, scan.neutral) for scan in soac.scans]
    operators += [(reduce.operator, reduce.neutral) for reduce in soac.reduces]
    scanned = soacs.operand_count(soac.scans)
    combined = soacs.operand_count(soac.folds)
    outputs = [next(pattern) for _ in range(scanned)]
    neutrals = [atom for _, neutral in operators for atom in neutral]
    types = [t for operator, _ in operators for t in operator.results]
    accumulators = []
    for position, neutral in enumerate(neutrals):
        if position < scanned:
            bound = Param(build.names.fresh("last"), types[position])
        else:
            bound = next(pattern)
        accumulators.append(carried.add(build, bound, neutral))
    outputs.extend(pattern)
    rows, arrays = list(soac.arrays), []
    roots = [getattr(build.type(array), "root", None) for array in rows]
    for bound in outputs:
        if isinstance(bound.type, AccType):
            at = roots.index(bound.type.root)
            rows[at] = carried.add(build, bound, rows[at])
            arrays.append(rows[at])
        else:
            arrays.append(carried.add(build, bound, _scratch(build, bound)))

    values = bind_rows(inner, soac.function, tuple(rows), index)
    counts = [len(start) for _, start in operators]
    pairs = zip(divided(accumulators, counts), divided(values, counts), strict=True)
    for (operator, _), (left, right) in zip(operators, pairs, strict=True):
        carried.following.extend(inner.apply(operator, left + right))
    elements = (*carried.following[:scanned], *values[combined:])
    for array, element in zip(arrays, elements, strict=True):
        if isinstance(build.type(array), AccType):
            carried.following.append(element)
        else:
            carried.following.append(inner.update(array, (index,), element))
    attributes: tuple[str, ...] = ()
    if not soac.scans and not updates_accumulators(soac):
        attributes = ("reduction",) if soac.reduces else ("map",)
    carried.loop(build, inner, index, soac.width, attributes)


def _scratch(build: Builder, bound: Param) -> Name:
    exp = core.Scratch(element_of(bound.type), shape_of(bound.type))
    return build.let(exp, bound.name.base)


def loop_over_scatter(build: Builder, statement: Stm, soac: soacs.Scatter) -> None:
    """The loop that writes one element after the other."""
    carried, index, inner = _Carried(), _index(build), build.nested()
    arrays = [
        carried.add(build, bound, destination.array)
        for bound, destination in zip(statement.pattern, soac.destinations, strict=True)
    ]
    values = bind_rows(inner, soac.function, soac.arrays, index)
    for array, writes in zip(arrays, soac.writes(values), strict=True):
        shape = array_type(array, build.scope).shape
        for indices, value in writes:
            inside = in_bounds(inner, indices, shape[: len(indices)])
            then = inner.nested()
            updated = then.update(array, indices, value)
            choice = core.If(inside, then.finish(updated), Body((), (array,)))
            array = inner.let(choice, array.base, build.scope[array])
        carried.following.append(array)
    carried.loop(build, inner, index, soac.width, ("scatter",))


def loop_over_hist(build: Builder, statement: Stm, soac: soacs.Hist) -> None:
    """The loop that combines one element after the other into its bin."""
    carried, index, inner = _Carried(), _index(build), build.nested()
    targets = [array for op in soac.operators for array in op.destinations]
    arrays = [
        carried.add(build, bound, array)
        for bound, array in zip(statement.pattern, targets, strict=True)
    ]
    values = bind_rows(inner, soac.function, soac.arrays, index)
    updates = soacs.bins_and_values(soac.operators, values)
    groups = divided(arrays, [len(op.destinations) for op in soac.operators])
    for op, own, (indices, given) in zip(soac.operators, groups, updates, strict=True):
        inside = in_bounds(inner, indices, op.shape)
        then = inner.nested()
        old = tuple(then.index(array, *indices) for array in own)
        new = then.apply(op.operator, old + given)
        updated = [
            then.let(core.Update(array, indices, atom), array.base)
            for array, atom in zip(own, new, strict=True)
        ]
        choice = core.If(inside, then.finish(*updated), Body((), own))
        pattern = tuple(
            Param(build.names.like(array), build.scope[array]) for array in own
        )
        carried.following.extend(inner.bind(pattern, choice))
    carried.loop(build, inner, index, soac.width)
