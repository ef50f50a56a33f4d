"""What rules of fusion share: the two SOACs, and the order of results.

    scanned of both, reduced of both, mapped of both; the upper SOAC's first

A fusion rule gets the lower statement; the upper one is among the context's
definitions. Its replacement binds the results of the upper statement that the context
calls `needed`, and so takes its place too.

A legal fusion must be profitable: nests must stay perfect, to be flattened.

A map whose body has a SOAC inside has parallelism inside, unless the program wants that
written out or done by one thread, which fusion must not bury behind other statements.
So such a map fuses only if what comes out is again cheap statements and one SOAC, or if
one of the two was that and its SOAC became part of one of the other's, or if neither
was and all are over scalars: rows that are normalised, and normalised again. And a map
with real work in it does not fuse into a map with parallelism inside: its work would be
done again for each inner point. A histogram has no versions: each thread does all of
its body alone, without vectors if that has loops. So of maps with SOACs inside it takes
only those that the program gives so many elements as can be written out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from minifut.immutables import fixed
from minifut.ir.core import Body, If, Lambda, Loop, Match, Stm
from minifut.ir.host_bodies import host_bodies
from minifut.ir.scope import Scope
from minifut.ir.search import contains, count_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Screma, operand_count, soac_of
from minifut.ir.traverse import walk
from minifut.names import Name, NameSource
from minifut.passes.flatten.cheap import all_cheap
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, Rule
from minifut.rewrite.trace import Trace

T = TypeVar("T")

PAPER = "Regular flattening (fusion); Henriksen and Oancea, FHPC 2013"


def parts(
    exp: Screma, values: tuple[T, ...]
) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
    """What belongs to the scans, to the reductions, and to the map alone."""
    scanned = operand_count(exp.scans)
    reduced = scanned + operand_count(exp.reduces)
    return values[:scanned], values[scanned:reduced], values[reduced:]


def in_order(
    first: Screma, second: Screma, of_first: tuple[T, ...], of_second: tuple[T, ...]
) -> tuple[T, ...]:
    """Results of both SOACs in the order of the fused one."""
    a, b = parts(first, of_first), parts(second, of_second)
    return (*a[0], *b[0], *a[1], *b[1], *a[2], *b[2])


def clash(first: Screma, second: Screma) -> Declined | None:
    """Why the folds of the two may not be in one SOAC, if so."""
    if (first.scans and not second.is_map) or (second.scans and not first.is_map):
        return Declined("a scan joins only with maps")
    return None


def producers(statement: Stm, context: StatementContext) -> Iterable[Stm]:
    """The SOACs that make the inputs of the statement, each once."""
    seen: list[Stm] = []
    arrays: tuple[Any, ...] = getattr(statement.exp, "arrays", ())
    for array in arrays:
        made = context.definitions.get(array)
        if made is None or not isinstance(made.exp, Screma):
            continue
        if not any(made is other for other in seen):
            seen.append(made)
    return seen


@fixed
class Fusing:
    """`attempt` tries a rule on a statement, where those above define its inputs."""

    names: NameSource
    scope: Scope
    trace: Trace

    def attempt(
        self, rule: Rule, statement: Stm, needed: frozenset[Name], *above: Stm
    ) -> tuple[Stm, ...] | None:
        """What replaces the statement and its producer; None if the rule does not
        fire."""
        definitions = {bound.name: stm for stm in above for bound in stm.pattern}
        context = StatementContext(self.names, self.scope, definitions, needed=needed)
        outcome: Outcome = rule(statement, context)
        if isinstance(outcome, Declined):
            self.trace.decline(rule, statement, outcome.reason)
            return None
        return outcome


UNTOUCHED = frozenset({"sequential", "sequential_outer", "sequential_inner", "unroll"})
FREE = 4
"""So many cheap statements count as no work."""


def has_soac(function: Lambda) -> bool:
    """Whether there is a SOAC inside."""
    return contains(function.body, SOAC_EXPRESSIONS)


def has_parallelism(function: Lambda) -> bool:
    """Whether there is a SOAC inside that the program does not want written out or
    done by one thread."""
    return _has_parallelism(function.body)


def _has_parallelism(body: Body) -> bool:
    return any(
        isinstance(statement.exp, SOAC_EXPRESSIONS)
        or any(map(_has_parallelism, host_bodies(statement.exp)))
        for statement in body.statements
        if not UNTOUCHED & set(statement.attributes)
    )


def is_perfect(function: Lambda) -> bool:
    """Cheap statements, then one SOAC."""
    *before, last = function.body.statements or (None,)
    if last is None or not isinstance(last.exp, SOAC_EXPRESSIONS):
        return False
    return all_cheap(before)


def is_free(function: Lambda) -> bool:
    """Whether the body may be done again without anybody noticing."""
    body = function.body.statements
    heavy = (Loop, If, Match)
    return (
        len(body) <= FREE
        and all_cheap(body)
        and not any(isinstance(statement.exp, heavy) for statement in body)
    )


def keeps_parallelism(producer: Stm, consumer: Stm, fused: Stm) -> bool:
    """Whether the fused SOAC has as much parallelism as the two, and does no more."""
    first = soac_of(producer).function
    second = soac_of(consumer).function
    if isinstance(fused.exp, Hist) and has_soac(first) and not are_short(first):
        return False  # each thread would do alone what is inside
    inside_first, inside_second = has_parallelism(first), has_parallelism(second)
    if not inside_first:
        return not inside_second or is_free(first)
    whole = soac_of(fused).function
    if is_perfect(whole) or not inside_second:
        return is_perfect(whole)
    if is_flat(whole) and not is_perfect(first) and not is_perfect(second):
        return True
    left = soacs_of(whole)
    return (is_perfect(first) and left == soacs_of(second)) or (
        is_perfect(second) and left == soacs_of(first)
    )


def are_short(function: Lambda) -> bool:
    """Whether all SOACs inside have as many elements as the program says."""
    return all(
        not isinstance(node, SOAC_EXPRESSIONS) or node.width.as_constant is not None
        for node in walk(function.body)
    )


def is_flat(function: Lambda) -> bool:
    """Whether the SOACs of the body have none inside."""
    outer = soacs_of(function)
    return outer == count_of(SOAC_EXPRESSIONS, function.body)


def soacs_of(function: Lambda) -> int:
    """How many SOACs the body has side by side."""
    return sum(
        isinstance(statement.exp, SOAC_EXPRESSIONS)
        for statement in function.body.statements
    )
