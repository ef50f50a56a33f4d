"""Examples of rules for statements of the core, and for judgements of flattening.

    before:
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = ...
    after:
        let ys: [n]i32 = ...
    declines: the reason
        given (...)
        let ...

The rule is applied to the last statement of `before` (those above it are its context).
The result must equal `after` (which may repeat `given`) up to bound names, and both
must compute the same in the interpreter on random inputs. The parameters of `given` that
occur in types are sizes; they come first.

What a body gives may be written as an expression, `{xs[i]}`, of the type that is said
before the body.

Where a rule joins statements, a last line `return ys, zs` says what is needed after
them; then statements above that the replacement makes superfluous are gone.

A flattening rule is applied to the judgement that the statement is. It leaves the
judgements of deeper nests as they are, but for rules that choose between versions, which
need to know what all rules together make of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from minifut.analysis.facts import Facts
from minifut.ir import core
from minifut.ir.alpha import alpha_equal
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Iota, Param, Reshape, Stm
from minifut.ir.entries import Entry, EntryType
from minifut.ir.kernels import GRID, Returns, SegMap
from minifut.ir.node import replace
from minifut.ir.parser import names_after, parse
from minifut.ir.printer import show
from minifut.ir.scope import Scope, add_parameters, scope_of
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, size_names, walk
from minifut.ir.types import ScalarType, element_of, shape_of
from minifut.names import Name
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.driver import apply_rules, try_rules
from minifut.passes.flatten.fold_versions import choose_versions_of_fold
from minifut.passes.flatten.judgement import leave
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.version_names import VersionNames
from minifut.passes.flatten.versions import choose_versions
from minifut.passes.moves import Move, is_move
from minifut.passes.read_through import MoveContext
from minifut.passes.remove_checks.rules import FactContext
from minifut.passes.short_circuit.rules import PlaceContext
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import EMITTED, Declined, Rule
from tests.rewrite.examples import Example

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """The statements of both sides; `returned` are the results named by the example, if it
    names them."""

    given: tuple[Param, ...]
    before: tuple[Stm, ...]
    after: tuple[Stm, ...] | None = None
    returned: tuple[Name, ...] | None = None

    @property
    def results(self) -> tuple[Name, ...]:
        """What is computed: by default what the last statement binds."""
        if self.returned is not None:
            return self.returned
        return tuple(p.name for p in self.before[-1].pattern)


def read(example: Example) -> Statements:
    """The statements of an example."""
    given, before, returned = read_block(example.before)
    if example.after is None:
        return Statements(given, before, returned=returned)
    repeated, after, _ = read_block(example.after)
    if repeated and not alpha_equal(repeated, given):
        raise ValueError("before: and after: give different parameters")
    return Statements(given, before, after, returned)


Block: TypeAlias = tuple[tuple[Param, ...], tuple[Stm, ...], tuple[Name, ...] | None]


def read_block(text: str) -> Block:
    """The parameters, the statements and, if there is a `return`, the results."""
    text = text.strip()
    returned = None
    *above, last = text.split("\n")
    if last.strip().startswith("return "):
        text = "\n".join(above)
        words = last.strip().removeprefix("return ").split(",")
        returned = tuple(parse(word.strip(), "atom") for word in words)
    given: tuple[Param, ...] = ()
    if text.startswith("given"):
        end = closing(text)
        given = parse(text[len("given") : end], "parameters")
        text = text[end:]
    return given, parse(text, "statements"), returned


def closing(text: str) -> int:
    """The position after the parenthesis that closes the first one."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return position + 1
    return len(text)


def outcome_of(rule: Rule, example: Statements) -> tuple[Stm, ...] | Declined | None:
    """All statements after the rule was applied to the last one, or its refusal."""
    scope: Scope = scope_of(*example.before)
    add_parameters(scope, example.given)
    *above, last = example.before
    names = names_after(*example.given, *example.before)
    definitions = {p.name: s for s in above for p in s.pattern}
    needed = frozenset(example.returned or ())
    context = StatementContext(names, scope, definitions, needed=needed)
    outcome: tuple[Stm, ...] | Declined | None
    if rule.module.startswith("minifut.passes.flatten."):
        outcome = _flattened(rule, last, context)
    elif rule.module.startswith(OF_FACTS):
        outcome = rule(last, _with_facts(context))
    elif rule.module.startswith("minifut.passes.short_circuit."):
        facts = _with_facts(context).facts
        own = frozenset(bound.name for bound in last.pattern)
        visible = frozenset(definitions).union(p.name for p in example.given)
        unneeded = visible - needed
        place = PlaceContext(names, scope, facts, definitions, needed, own, unneeded)
        outcome = rule(last, place)
    elif rule.module == MoveContext.__module__:
        moves = readable_moves_of(above)
        outcome = rule(last, MoveContext(names, scope, moves))
    else:
        outcome = rule(last, context)
    if not isinstance(outcome, tuple):
        return outcome
    if example.returned is not None:
        above = _still_needed(above, outcome, needed)
    return (*above, *outcome)


def read_judgement(statement: Stm) -> Judgement:
    """Σ and e of a statement; an empty Σ if it is none of the form."""
    exp = statement.exp
    if isinstance(exp, SegMap) and exp.level == GRID and exp.body.statements:
        *above, last = exp.body.statements
        values = [r.value for r in exp.body.result if isinstance(r, Returns)]
        if values == [p.name for p in last.pattern] and len(values) == len(exp.types):
            bound = frozenset(exp.space.indices)
            nest = Nest(exp.space.indices, exp.space.sizes, (), bound).then(above)
            return Judgement(nest, last, statement.pattern)
    return Judgement(Nest(), statement, statement.pattern)


def stay(judgement: Judgement, context: NestContext) -> bool:
    """Emit the judgement as it is, also where it is just a statement of the host."""
    nest, statement, pattern = judgement
    if nest.depth:
        return leave(judgement, context)
    context.build.append(replace(statement, pattern=pattern))
    return True


def _flattened(
    rule: Rule, statement: Stm, context: StatementContext
) -> tuple[Stm, ...] | Declined | None:
    """What a flattening rule emits for the judgement that a statement is."""
    build = Builder(context.names, context.scope, statement.location)
    known = {n: s.exp for n, s in context.definitions.items() if len(s.pattern) == 1}
    inner = (apply_rules, try_rules) if rule in OF_VERSIONS else (stay, stay)
    nest = NestContext(build, known, *inner, VersionNames())
    outcome = rule(read_judgement(statement), nest)
    return tuple(build.statements) if outcome == EMITTED else outcome


def readable_moves_of(statements: list[Stm]) -> dict[Name, Move]:
    """All moves among some statements and their flattened views, as if nothing but
    reads followed."""
    iotas = {s.pattern[0].name for s in statements if isinstance(s.exp, Iota)}
    moves: dict[Name, Move] = {}
    for s in statements:
        if isinstance(s.exp, Screma) and is_move(s.exp, lambda: iotas):
            for position, bound in enumerate(s.pattern):
                free = tuple(range(-len(shape_of(bound.type)), 0))
                moves[bound.name] = Move(s, position, free)
        if isinstance(s.exp, Reshape) and s.exp.array in moves:
            flat = moves[s.exp.array].flattened(len(s.exp.shape))
            moves[s.pattern[0].name] = flat
    return moves


def _with_facts(context: StatementContext) -> FactContext:
    """Where a rule is alone, only definitions, the sizes of given arrays and the
    types of what is in scope are known."""
    facts = Facts(context.scope)
    given = (Param(name, type_) for name, type_ in context.scope.items())
    known = (p for p in given if p.name not in context.definitions)
    facts.natural_sizes(known, all_sizes=True)
    for name, made in context.definitions.items():
        if made.pattern and made.pattern[0].name == name:
            facts.define(made)
    return FactContext(context.names, context.scope, facts)


OF_FACTS = (
    "minifut.passes.block_steps",
    "minifut.passes.compare_unsigned",
    "minifut.passes.tile_steps",
    "minifut.passes.remove_checks.",
    "minifut.passes.speculate.",
    "minifut.passes.split.",
)
OF_VERSIONS = (choose_versions, choose_versions_of_fold)


def _still_needed(
    above: list[Stm], outcome: tuple[Stm, ...], needed: frozenset[Name]
) -> list[Stm]:
    """The statements above that the replacement neither repeats nor makes useless."""
    bound = {p.name for statement in outcome for p in statement.pattern}
    used = set(needed).union(*map(free_names, outcome))
    kept: list[Stm] = []
    for statement in reversed(above):
        names = {p.name for p in statement.pattern}
        if names & used and not names & bound:
            kept.append(statement)
            used |= free_names(statement)
    return kept[::-1]


def complaint(rule: Rule, example: Example, seed: int = 0) -> str | None:
    """What is wrong with an example; None if it holds."""
    statements = read(example)
    outcome = outcome_of(rule, statements)
    wrong = example.complaint_about(outcome)
    if wrong is not None or statements.after is None:
        return wrong
    assert isinstance(outcome, tuple)
    results = statements.results
    found, wanted = Body(outcome, results), Body(statements.after, results)
    if not alpha_equal(found, wanted):
        return f"gave\n{show(found)}\ninstead of\n{show(wanted)}"
    for round_ in range(3):
        arguments = random_arguments(statements, seed + round_)
        left = _run(statements, Body(statements.before, results), arguments)
        right = _run(statements, found, arguments)
        if not close(left, right):
            return f"changes the result for {arguments}: {left} becomes {right}"
    return None


# --- running both sides --------------------------------------------------------------


def sizes_of(given: tuple[Param, ...]) -> list[Name]:
    """The parameters that are sizes of others."""
    used = {name for parameter in given for name in size_names(parameter.type)}
    sizes = [parameter.name for parameter in given if parameter.name in used]
    if sizes != [parameter.name for parameter in given[: len(sizes)]]:
        raise ValueError("in `given`, sizes come first")
    return sizes


def _inner_sizes(example: Statements) -> set[Name]:
    """Names that types inside the statements mention."""
    return {
        name
        for statement in example.before
        for node in walk(statement)
        if isinstance(node, Param)
        for name in size_names(node.type)
    }


def random_arguments(example: Statements, seed: int, largest: int = 5) -> list[Any]:
    """Small random values for the parameters that are not sizes of given arrays, which
    are up to `largest`."""
    import numpy as np

    given = example.given
    random = np.random.default_rng(seed)
    values = {name: int(random.integers(1, largest + 1)) for name in sizes_of(given)}
    inner = _inner_sizes(example)
    arguments: list[Any] = []
    for parameter in given[len(values) :]:
        if parameter.name in inner:
            arguments.append(np.int64(random.integers(1, 6)))
            continue
        type_ = parameter.type
        if isinstance(type_, ScalarType):
            arguments.append(_random(type_, (), random)[()])
        else:
            shape = tuple(size.evaluate(values) for size in shape_of(type_))
            arguments.append(_random(element_of(type_), shape, random))
    return arguments


def _random(type_: ScalarType, shape: tuple[int, ...], random: Any) -> np.ndarray:
    from minifut.ir.scalar_meaning import dtype_of

    dtype = dtype_of(type_)
    if type_.is_float:
        made = random.normal(size=shape)
    elif type_.kind == "int":
        made = random.integers(-9, 10, shape)
    else:
        made = random.integers(0, 2 if type_.kind == "bool" else 10, shape)
    import numpy as np

    return np.asarray(made).astype(dtype)


def _run(example: Statements, body: Body, arguments: list[Any]) -> tuple[Any, ...]:
    from minifut.ir.interpret import run

    return run(program_of(example, body), "main", arguments)


def program_of(example: Statements, body: Body) -> core.Program:
    """A program with an entry point `main` from what is given to what is computed, by
    a body in place of the example's."""
    name = Name("main", 0)
    scope = scope_of(*example.before)
    results = tuple(
        Param(Name("result", -1 - i), scope[name])
        for i, name in enumerate(example.results)
    )
    function = core.Function(name, example.given, results, body)
    sizes = len(sizes_of(example.given))
    leaves = tuple(map(_leaf, example.given[sizes:]))
    entry = Entry("main", name, sizes, leaves, tuple(map(_leaf, results)))
    return core.Program((entry,), (), (function,))


def _leaf(parameter: Param) -> EntryType:
    type_ = parameter.type
    text = str(element_of(type_))
    text = "[]" * len(shape_of(type_)) + text
    return EntryType(parameter.name.base, text, "array", 1)


def close(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    import numpy as np

    return len(left) == len(right) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-4, equal_nan=True)
        for a, b in zip(left, right, strict=True)
    )
