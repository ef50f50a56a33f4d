"""The pass `layout`: orders of arrays in memory and of kernel dimensions, by schedule.

    let s = segmap grid (i < n) {.. a[i, j] ..}
  →
    let b = manifest((1, 0), a)
    let s = segmap grid (i < n) {.. b[i, j] ..}

Copies are shared by all later kernels of the same body, also inside its branches and
loops. The pass runs once for each schedule, as their cost models differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial

from minifut.analysis.layouts import innermost
from minifut.ir import core
from minifut.ir.core import Atom, Body, Manifest, Param, Program, Rearrange, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.kernels import SegMap
from minifut.ir.node import mutable, replace
from minifut.ir.scope import Scope, add_parameters, scope_of
from minifut.ir.traverse import substitute
from minifut.names import Name, NameSource
from minifut.passes.layout import accesses, costs, rearranged, rules
from minifut.passes.layout.choices import (
    BranchChoice,
    Dimension,
    KernelChoice,
    LayoutChoice,
    LoopChoice,
)
from minifut.passes.layout.plan import plan
from minifut.rewrite.context import StatementContext
from minifut.rewrite.trace import Trace


def lay_out(
    schedule: str, program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with arrays laid out for a schedule."""
    scope = scope_of(program)
    trace = trace or Trace()
    context = StatementContext(names, scope, {})
    functions = []
    for function in program.functions:
        choices = plan(function, scope, costs.MACHINES[schedule])
        changed = function
        if any(map(_changes, choices.values())):
            maker = _LayoutRewriter(choices, names, scope, trace)
            changed = replace(function, body=maker.body(function.body, {}, ()))
        functions.append(rearranged.write_rearranged(changed, context, trace))
    pairs = zip(functions, program.functions, strict=True)
    if all(one is other for one, other in pairs):
        return program
    return replace(program, functions=tuple(functions))


lay_out_for_cpu = partial(lay_out, "cpu")
lay_out_for_gpu = partial(lay_out, "gpu")


def _changes(choice: LayoutChoice) -> bool:
    """Whether a choice differs from the program as it is written."""
    match choice:
        case KernelChoice(fastest, reads, results):
            return bool(fastest or reads or results)
        case LoopChoice(before, _):
            return bool(before)
    return False


NOTHING_GAINED = "no other order of its arrays and dimensions moves fewer bytes"

Copies = dict[Dimension, Name]
"""by array and innermost dimension"""


@mutable
class _LayoutRewriter:
    """Rewrites a function according to a plan. `innermost` has the innermost dimensions
    of arrays that are not row-major."""

    choices: Mapping[int, LayoutChoice]
    names: NameSource
    scope: Scope
    trace: Trace
    innermost: dict[Name, int] = field(default_factory=dict)
    made: list[Stm] = field(default_factory=list)

    def context(self) -> StatementContext:
        return StatementContext(self.names, self.scope, {})

    def body(self, body: Body, copies: Copies, wanted: tuple[int | None, ...]) -> Body:
        """The body, with results as wanted (or as they come)."""
        saved, self.made = self.made, []
        copies = dict(copies)
        for statement in body.statements:
            self.statement(statement, copies)
        result = self.conform(body.result, wanted) if wanted else body.result
        made, self.made = tuple(self.made), saved
        return Body(made, result)

    def emit(self, *statements: Stm) -> None:
        for statement in statements:
            add_parameters(self.scope, statement.pattern)
            self.made.append(statement)

    def innermost_of(self, name: Name) -> int:
        rank = self.rank(name)
        return self.innermost.get(name, rank - 1)

    def rank(self, name: Name) -> int:
        return getattr(self.scope[name], "rank", 0)

    def conform(
        self, atoms: tuple[Atom, ...], wanted: tuple[int | None, ...]
    ) -> tuple[Atom, ...]:
        """The atoms, transposed where their layout is another."""
        found: list[Atom] = []
        for atom, dimension in zip(atoms, wanted, strict=True):
            if (
                dimension is None
                or not isinstance(atom, Name)
                or self.innermost_of(atom) == dimension
            ):
                found.append(atom)
            else:
                found.append(self.manifest(atom, dimension))
        return tuple(found)

    def manifest(self, array: Name, dimension: int) -> Name:
        """A copy with that dimension innermost."""
        order = innermost(dimension, self.rank(array))
        name = self.names.like(array)
        bound = Param(name, self.scope[array])
        self.emit(Stm((bound,), Manifest(array, order)))
        self.innermost[name] = dimension
        return name

    # --- statements -------------------------------------------------------------------

    def statement(self, statement: Stm, copies: Copies) -> None:
        choice = self.choices.get(id(statement))
        exp = statement.exp
        match choice, exp:
            case KernelChoice(), Manifest(array, order):
                for name, dimension in choice.results:
                    order = innermost(dimension, self.rank(name))
                self.emit(replace(statement, exp=Manifest(array, order)))
                self.innermost[statement.pattern[0].name] = order[-1]
            case KernelChoice(), _:
                self.kernel(statement, choice, copies)
            case BranchChoice(wanted), core.If() | core.Match():
                made = map_bodies(exp, lambda body: self.body(body, copies, wanted))
                self.emit(replace(statement, exp=made))
                self.note(statement.pattern, wanted)
            case LoopChoice(before, wanted), core.Loop():
                self.copy_before(statement, before, copies)
                initial = self.conform(exp.initial, wanted)
                self.note(exp.parameters, wanted)
                body = self.body(exp.body, copies, wanted)
                loop = replace(exp, initial=initial, body=body)
                self.emit(replace(statement, exp=loop))
                self.note(statement.pattern, wanted)
            case _:
                self.emit(statement)
                self.plain(statement, copies)

    def copy_before(
        self, statement: Stm, before: tuple[Dimension, ...], copies: Copies
    ) -> None:
        """Copies before a loop, for the kernels in it."""
        mark = len(self.made)
        for array, dimension in before:
            copies[array, dimension] = self.manifest(array, dimension)
        if before:
            after = (*self.made[mark:], statement)
            self.trace.fire(rules.coalesce_by_transposition, statement, after)

    def note(
        self, parameters: tuple[Param, ...], wanted: tuple[int | None, ...]
    ) -> None:
        """The innermost dimensions of what is bound."""
        for bound, dimension in zip(parameters, wanted, strict=True):
            if dimension is not None:
                self.innermost[bound.name] = dimension

    def plain(self, statement: Stm, copies: Copies) -> None:
        """Views of arrays are views of their copies too."""
        exp = statement.exp
        if not isinstance(exp, Rearrange):
            return
        (bound,) = statement.pattern
        inverse = [exp.permutation.index(d) for d in range(len(exp.permutation))]
        self.innermost[bound.name] = inverse[self.innermost_of(exp.array)]
        for (array, innermost_of), copy in list(copies.items()):
            if array == exp.array:
                view = replace(bound, name=self.names.like(bound.name))
                self.emit(Stm((view,), Rearrange(exp.permutation, copy)))
                copies[bound.name, inverse[innermost_of]] = view.name
                self.innermost[view.name] = inverse[innermost_of]

    def kernel(self, statement: Stm, choice: KernelChoice, copies: Copies) -> None:
        """Operands, then the space, then the results."""
        there = {a: copies[a, d] for a, d in choice.reads if (a, d) in copies}
        if there:
            exp = substitute(statement.exp, there)
            statement = replace(statement, exp=exp)
        missing = [(a, d) for a, d in choice.reads if (a, d) not in copies]
        after: tuple[Stm, ...] = (statement,)
        if missing:
            after = rules.transpose_operands(statement, missing, self.context())
            self.trace.fire(rules.coalesce_by_transposition, statement, after)
            for (array, dimension), copy in zip(missing, after, strict=False):
                copies[array, dimension] = copy.pattern[0].name
                self.innermost[copy.pattern[0].name] = dimension
        *before, kernel = after
        self.emit(*before)
        if not _changes(choice) and isinstance(statement.exp, accesses.KERNELS):
            self.trace.decline(
                rules.coalesce_by_transposition, statement, NOTHING_GAINED
            )
        self.results(kernel, choice)

    def results(self, statement: Stm, choice: KernelChoice) -> None:
        """The kernel with its variable fastest and its results as they are to be laid
        out."""
        kernel = statement.exp
        wanted = dict(choice.results)
        views: tuple[Stm, ...] = ()
        made = statement
        if isinstance(kernel, SegMap) and choice.fastest is not None:
            made, *rest = rules.exchange_dimensions(
                statement, choice.fastest, self.context()
            )
            views = tuple(rest)
            self.trace.fire(rules.exchange_kernel_dimensions, statement, (made, *views))
        orders = {}
        for position, bound in enumerate(statement.pattern):
            rank = self.rank(bound.name)
            if rank < 2:
                continue
            dimension = own = wanted.get(bound.name, rank - 1)
            if views:
                view = views[position].exp_of(Rearrange)
                own = view.permutation[dimension]
            if own != rank - 1:
                orders[made.pattern[position].name] = innermost(own, rank)
            self.innermost[bound.name] = dimension
        if orders:
            after = rules.make_results(made, orders, self.context())
            self.trace.fire(rules.make_result_in_layout, made, after)
            self.emit(*after)
        else:
            self.emit(made)
        self.emit(*views)
