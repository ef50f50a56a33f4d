r"""Join scatters one after the other whose indices are proved to differ.

    let b = scatter(n, .., a, \.. -> f(i), x)
    let c = scatter(n, .., b, \.. -> g(i), y)    →    scatter(.., a, f(i), g(i), x, y)

Of several writes of one scatter to one place any may win, while of two scatters the
second does: so f(p) and g(q) must differ for all elements p and q. The facts of two
elements with names of their own prove that where one index is always less than the
other, or where both are multiples of one number plus remainders that are less than it
apart:

    (j / s) * 2s + j % s,    (j / s) * 2s + j % s + s          2j,    2j + 1

What makes indices and values then has one consumer, into which it is fused.
"""

from __future__ import annotations

from itertools import product
from typing import TypeVar

from minifut.analysis.facts import Facts, Proof
from minifut.analysis.facts.forms import Form, atoms_of, difference, split
from minifut.ir.core import Atom, Body, Copy, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.scope import fresh_copy
from minifut.ir.soacs import Scatter, Screma
from minifut.names import Name
from minifut.passes.remove_checks.rules import FactContext, by_facts, learn_element
from minifut.rewrite.rule import Declined, Outcome, rule

T = TypeVar("T")


@rule(Scatter, remark=by_facts)
def join_disjoint_scatters(statement: Stm, context: FactContext) -> Outcome:
    r"""Two scatters that never write to the same place are one.

    before:
        given (n: i64, xs: [n]i32, ys: [n]i32, out: [2*n]i32)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let evens: [2*n]i32 = scatter(n, (is, xs), (out rank 1 count 1),
          \(i: i64, x: i32) -> (i64, i32) {
            let even: i64 = mul_i64(i, 2i64)
            return even, x
          })
        let all: [2*n]i32 = scatter(n, (is, ys), (evens rank 1 count 1),
          \(i_1: i64, y: i32) -> (i64, i32) {
            let twice: i64 = mul_i64(i_1, 2i64)
            let odd: i64 = add_i64(twice, 1i64)
            return odd, y
          })
        return all
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let all: [2*n]i32 = scatter(n, (is, xs, is, ys), (out rank 1 count 2),
          \(i: i64, x: i32, i_1: i64, y: i32) -> (i64, i64, i32, i32) {
            let even: i64 = mul_i64(i, 2i64)
            let twice: i64 = mul_i64(i_1, 2i64)
            let odd: i64 = add_i64(twice, 1i64)
            return even, odd, x, y
          })
    declines: both may write to one place
        like before, with
        (twice, 1i64) => (twice, 0i64)
    """
    second = statement.exp_of(Scatter)
    facts = context.facts
    made = [facts.definitions.get(d.array) for d in second.destinations]
    first = made[0][0] if made[0] else None
    if not isinstance(first, Scatter) or first.width != second.width:
        return None
    if made != [(first, n) for n in range(len(first.destinations))]:
        return None
    with facts.inner():
        earlier = first.writes(_element(context, first))
        later = second.writes(_element(context, second))
        for here, there in zip(earlier, later, strict=True):
            for (one, _), (other, _) in product(here, there):
                pairs = zip(one, other, strict=True)
                forms = ((facts.form(p), facts.form(q)) for p, q in pairs)
                proofs = (_apart(facts, p, q) for p, q in forms)
                shown = next((proof for proof in proofs if proof is not None), None)
                if shown is None:
                    return Declined("both may write to one place")
                context.proof = shown
    again = fresh_copy(first.function, context.names, context.scope)
    joined = _joined(replace(first, function=again), second)
    return (replace(statement, exp=joined),)


def _element(context: FactContext, scatter: Scatter) -> tuple[Atom, ...]:
    """What the scatter does with one of its elements, known to the facts under names of
    its own: what its lambda returns."""
    facts = context.facts
    width = facts.form(scatter.width)

    def enter(function: Lambda, arrays: tuple[Name, ...]) -> tuple[Atom, ...]:
        function = fresh_copy(function, context.names, context.scope)
        made: dict[int, tuple[Atom, ...]] = {}
        for parameter, array in zip(function.parameters, arrays, strict=True):
            source, position = facts.definitions.get(array, (None, 0))
            if not isinstance(source, Screma) or not source.is_map:
                learn_element(facts, parameter.name, array, width)
            elif source.width == scatter.width:
                if id(source) not in made:
                    made[id(source)] = enter(source.function, source.arrays)
                facts.define(Stm((parameter,), Copy(made[id(source)][position])))
        for statement in function.body.statements:
            facts.execute(statement)
        return function.body.result

    facts.run_at_least_once(width)
    return enter(scatter.function, scatter.arrays)


def _apart(facts: Facts, one: Form, other: Form) -> Proof | None:
    """The facts by which two numbers differ: one is always less; or one is `m * a + r`,
    the other `m * b + s`, and `0 < s - r < m` or `0 < r - s < m`."""
    cases: list[tuple[Form | None, Form, Form]] = [(None, one, other)]
    atoms = (dict.fromkeys(atoms_of(form)) for form in (one, other))
    for atom, twin in product(*atoms):
        parts, others = split(one, atom), split(other, twin)
        if parts and others and parts[0] == others[0]:
            cases.append((*parts, others[1]))
    for m, r, s in cases:
        for low, high in ((r, s), (s, r)):
            above = facts.proves(difference(high, low, 1))
            if above is not None and m is not None:
                below = facts.proves(difference(m, difference(high, low), 1))
                above = None if below is None else above + below
            if above is not None:
                return above
    return None


def _joined(first: Scatter, second: Scatter) -> Scatter:
    """Both in one, the writes of the first first."""
    f, g = first.function, second.function

    def of_both(own: tuple[T, ...], others: tuple[T, ...]) -> tuple[T, ...]:
        groups = zip(first.writes(own), second.writes(others), strict=True)
        writes = [write for a, b in groups for write in a + b]
        indices = [part for index, _ in writes for part in index]
        return (*indices, *[value for _, value in writes])

    destinations = tuple(
        replace(a, count=a.count + b.count)
        for a, b in zip(first.destinations, second.destinations, strict=True)
    )
    statements = f.body.statements + g.body.statements
    body = Body(statements, of_both(f.body.result, g.body.result))
    results = of_both(f.results, g.results)
    function = Lambda(f.parameters + g.parameters, body, results)
    return Scatter(first.width, first.arrays + second.arrays, destinations, function)
