"""`if` and `match`.

    if c then (1, xs) else (2, ys)    xs: [n]t, ys: [m]t
    ->
    let (k: i64, a: i32, zs: [k]t) = if c then {n, 1, xs} else {m, 2, ys}

A size that all branches agree on stays; one that has an outer name in the checker is
given by it; any other becomes one more result. What all branches share is not passed.
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.errors import error
from minifut.frontend import syntax
from minifut.frontend.elaborate import numeric, patterns, values
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.static_types import resolve_type, static_sizes
from minifut.frontend.elaborate.values import Expected, Leaf, Value, scalar
from minifut.frontend.elaborate.work import Work
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Constant, Param
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I64, shape_of
from minifut.names import Name


def if_(exp: syntax.If, env: Environment, work: Work) -> Value:
    """`if c then a else b`."""
    from minifut.frontend.elaborate.expressions import evaluate

    condition = evaluate(exp.condition, env, work)
    assert isinstance(condition, Leaf)
    known = work.is_truth(condition)
    if known is not None:
        return evaluate(exp.then if known else exp.otherwise, env.child(), work)
    return choose(
        work,
        lambda bodies: core.If(condition.atom, *bodies),
        [
            lambda: evaluate(exp.then, env.child(), work),
            lambda: evaluate(exp.otherwise, env.child(), work),
        ],
        Expected(exp.type, env) if exp.type is not None else None,
        exp,
    )


def match(exp: syntax.Match, env: Environment, work: Work) -> Value:
    """`match e case p -> a case q -> b`."""
    from minifut.frontend.elaborate.expressions import evaluate

    scrutinee = evaluate(exp.scrutinee, env, work)
    work.location = exp.location
    cases: list[tuple[dict[Atom, Constant], syntax.Case]] = []
    for case in exp.cases:
        wanted = _undecided(patterns.tests(case.pattern, scrutinee, work))
        if wanted is None:
            continue
        cases.append((wanted, case))
        if not wanted:
            break
    if not cases:
        raise error(exp.location, "no case fits this value", "unmatched-cases")

    def body(case: syntax.Case) -> Callable[[], Value]:
        def run() -> Value:
            inner = env.child()
            patterns.bind(case.pattern, scrutinee, inner, work)
            return evaluate(case.body, inner, work)

        return run

    if len(cases) == 1:
        return body(cases[0][1])()
    return choose(
        work,
        _dispatch(work, [wanted for wanted, _ in cases[:-1]]),
        [body(case) for _, case in cases],
        Expected(exp.type, env) if exp.type is not None else None,
        exp,
    )


def _undecided(tests: list[tuple[Leaf, Constant]]) -> dict[Atom, Constant] | None:
    """The tests that must be made when the program runs; None if one fails now."""
    wanted: dict[Atom, Constant] = {}
    for leaf, constant in tests:
        if isinstance(leaf.atom, Constant):
            if leaf.atom.value != constant.value:
                return None
        elif wanted.setdefault(leaf.atom, constant) != constant:
            return None
    return wanted


def _dispatch(
    work: Work, cases: list[dict[Atom, Constant]]
) -> Callable[[list[Body]], core.Exp]:
    """What takes the bodies and becomes an `If` or a `Match`."""
    if len(cases) == 1:
        condition = _conjunction(work, cases[0])
        return lambda bodies: core.If(condition, *bodies)
    scrutinees = tuple(dict.fromkeys(atom for wanted in cases for atom in wanted))

    def make(bodies: list[Body]) -> core.Exp:
        made = tuple(
            core.Case(tuple(wanted.get(atom) for atom in scrutinees), body)
            for wanted, body in zip(cases, bodies[:-1], strict=True)
        )
        return core.Match(scrutinees, made, bodies[-1])

    return make


def _conjunction(work: Work, wanted: dict[Atom, Constant]) -> Atom:
    result: Leaf | None = None
    for atom, constant in wanted.items():
        leaf = scalar(atom, constant.type)
        if constant.type == BOOL:
            holds = leaf if constant.value else numeric.negate_logic(work, leaf)
        else:
            holds = work.op("eq", leaf, Leaf(constant, constant.type))
        result = holds if result is None else work.op("and", result, holds)
    assert result is not None
    return result.atom


# --- joining -----------------------------------------------------------------------


def choose(
    work: Work,
    make: Callable[[list[Body]], core.Exp],
    runs: list[Callable[[], Value]],
    expected: Expected | None,
    exp: syntax.Exp,
) -> Value:
    """Interpret each branch into a body of its own and join the values."""
    mark = work.mark()
    made: list[tuple[Builder, Value]] = []
    for run in runs:
        with work.nested() as build:
            made.append((build, run()))
    work.location = exp.location
    if any(values.has_function(value) for _, value in made):
        raise error(
            exp.location,
            "a function that depends on a condition is not supported",
            "not-supported",
            "put the condition inside of the function",
        )
    per_branch = [values.array_sizes(value) for _, value in made]
    sizes, unknown = _agree(work, per_branch, mark, expected)
    results = []
    for (build, value), own in zip(made, per_branch, strict=True):
        wanted = [s if s is not None else o for s, o in zip(sizes, own, strict=True)]
        with within(work, build):
            results.append(coerce(work, value, wanted))
    return _bind_results(work, make, made, results, (sizes, unknown, per_branch))


def _agree(
    work: Work, per_branch: list[list[Size]], mark: int, expected: Expected | None
) -> tuple[list[Size | None], dict[tuple[Size, ...], Name]]:
    """The size at each place that all can have, or None; and a name for each tuple of
    sizes that have nothing in common."""
    columns = list(zip(*per_branch, strict=True))
    sizes: list[Size | None] = [
        column[0]
        if all(s == column[0] for s in column) and not work.is_inner(column[0], mark)
        else None
        for column in columns
    ]
    if expected is not None and None in sizes:
        static = resolve_type(expected.type, expected.env, work, emit=True)
        known = static_sizes(static)
        if len(known) == len(sizes):
            sizes = [
                s if s is not None else k for s, k in zip(sizes, known, strict=True)
            ]
    unknown = {
        column: work.names.fresh("size")
        for column, size in zip(columns, sizes, strict=True)
        if size is None
    }
    work.known.sizes.update(unknown.values())
    return sizes, unknown


def _bind_results(
    work: Work,
    make: Callable[[list[Body]], core.Exp],
    made: list[tuple[Builder, Value]],
    results: list[Value],
    agreed: tuple[list[Size | None], dict[tuple[Size, ...], Name], list[list[Size]]],
) -> Value:
    sizes, unknown, per_branch = agreed
    columns = list(zip(*per_branch, strict=True))
    named = [
        s if s is not None else Size.of(unknown[c])
        for s, c in zip(sizes, columns, strict=True)
    ]
    template = values.resized(results[0], named)
    atoms = list(zip(*(values.atoms(value) for value in results), strict=True))
    shared = [all(atom == row[0] for atom in row) for row in atoms]
    pattern = [Param(name, I64) for name in unknown.values()]
    out: list[Leaf] = []
    for leaf, same, row in zip(values.leaves(template), shared, atoms, strict=True):
        if same:
            out.append(Leaf(row[0], leaf.type, leaf.size))
            continue
        base = next((a.base for a in row if isinstance(a, Name)), "x")
        name = work.names.fresh(base)
        pattern.append(Param(name, leaf.type))
        out.append(scalar(name, leaf.type))
    bodies = []
    for place, (build, _) in enumerate(made):
        result = [build.size_atom(column[place]) for column in unknown]
        result += [
            row[place] for row, same in zip(atoms, shared, strict=True) if not same
        ]
        bodies.append(build.finish(*result))
    if pattern or any(body.statements for body in bodies):
        work.build.location = work.place
        work.build.bind(tuple(pattern), make(bodies))
    return values.with_leaves(template, iter(out))


class within:
    """Statements go to a given builder for a while."""

    __slots__ = ("build", "outer", "work")

    def __init__(self, work: Work, build: Builder) -> None:
        self.work, self.build = work, build

    def __enter__(self) -> None:
        self.outer, self.work.build = self.work.build, self.build

    def __exit__(self, *_: object) -> None:
        self.work.build = self.outer


def coerce(work: Work, value: Value, sizes: list[Size]) -> Value:
    """The value with other sizes that are known to be equal to its own."""
    if values.array_sizes(value) == sizes:
        return value
    target = values.resized(value, sizes)
    new = []
    for leaf, wanted in zip(values.leaves(value), values.leaves(target), strict=True):
        if leaf.type == wanted.type:
            new.append(leaf)
            continue
        work.build.location = work.place
        shape = shape_of(wanted.type)
        new.append(Leaf(work.build.reshape(leaf.name, shape), wanted.type))
    return values.with_leaves(target, iter(new))
