"""One forward sweep of rules with copy propagation, dead code, hoisting; a few rounds.

The sweep traverses each body once. A statement's operands are first replaced by what
is known of them; bodies inside are simplified; then the rules for the expression's
class are tried until none applies. A statement that turns out to be a copy disappears,
and what it bound is replaced from there on, in sizes as well. A round is linear in the
program; rounds end when nothing changes, and after `ROUNDS`.

What no rule applied to is marked, and passed over by later sweeps, of other passes too,
unless a name in it stands for something else since then, directly or by another name,
or the same as a part of it has been computed before it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minifut.analysis.in_place import may_overwrite
from minifut.ir import core
from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Atom, Body, Function, Param, Program, Stm
from minifut.ir.marks import SIMPLE, add_mark, has_mark
from minifut.ir.node import replace, same_or
from minifut.ir.scope import Scope, scope_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import BODIES, Replacer, names_in
from minifut.names import Name, NameSource
from minifut.passes.simplify import branches, constant_folding, views
from minifut.passes.simplify.accumulators import (
    drop_neutral_updates,
    drop_untouched_accumulators,
    move_out_of_with_acc,
)
from minifut.passes.simplify.common_subexpressions import key_of
from minifut.passes.simplify.dead_code import remove_dead_code, remove_dead_code_in
from minifut.passes.simplify.hoisting import hoist
from minifut.passes.simplify.loops import drop_invariant_parameters, unroll_loop
from minifut.passes.simplify.narrow_products import multiply_words
from minifut.passes.simplify.positions import take_elements
from minifut.passes.simplify.soacs import drop_inputs, simplify_mapped
from minifut.passes.simplify.truncated_floats import truncate_as_float
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Decline, Rule
from minifut.rewrite.trace import Derivation, Trace

ROUNDS = 5
REPEATS = 20

OPERATORS = (constant_folding.fold_constants, constant_folding.apply_identities)
UNDO = (*OPERATORS, constant_folding.undo_twice)
OPERATORS_BY_NAME: dict[str, tuple[Rule, ...]] = {
    "pow": (*OPERATORS, constant_folding.multiply_for_power),
    "add": (*OPERATORS, constant_folding.recompose_quotient),
    "not": UNDO,
    "neg": UNDO,
    "convert": (*UNDO, multiply_words, truncate_as_float),
}
"""of those with rules of their own"""
RULES: dict[type, tuple[Rule, ...]] = {
    core.SizeExp: (constant_folding.read_size,),
    core.If: (
        branches.take_known_branch,
        branches.select_truth_by_logic,
        branches.drop_common_results,
    ),
    core.Match: (branches.take_known_case,),
    core.Assert: (branches.drop_true_check,),
    core.Index: (
        views.index_of_iota,
        views.index_of_replicate,
        views.index_of_literal,
        views.index_of_slice,
        views.index_of_rearrange,
        views.index_of_reshape,
    ),
    core.Rearrange: (views.rearrange_again,),
    core.Reshape: (views.reshape_again,),
    core.Loop: (unroll_loop, drop_invariant_parameters),
    WithAcc: (move_out_of_with_acc, drop_neutral_updates, drop_untouched_accumulators),
    Screma: (drop_inputs, take_elements, simplify_mapped),
    Scatter: (drop_inputs, take_elements),
    Hist: (drop_inputs, take_elements),
}


def simplify(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Fold, share, hoist and drop what is not needed.

    In as many rounds as change something (at most `ROUNDS`). What a round leaves as it
    is, later ones leave out, unless the constants change.
    """
    scope = scope_of(program)
    derivation = None if trace is None else Derivation(trace, declined=False)
    changing = {function.name for function in program.functions}
    invariant: frozenset[Function] = frozenset()
    for _ in range(ROUNDS):
        before = program
        program = _Sweep(names, scope, derivation).program(program, changing)
        program = remove_dead_code(program, changing)
        swept = program.functions
        waiting = changing - {f.name for f in invariant.intersection(swept)}
        program = hoist(program, names, scope, waiting)
        invariant = frozenset(swept).intersection(program.functions)
        if program is before:
            break
        pairs = zip(program.functions, before.functions, strict=True)
        changed = [function for function, old in pairs if function is not old]
        if program.constants is not before.constants:
            scope.update(scope_of(*program.constants))
            changing = {function.name for function in program.functions}
        else:
            changing = {function.name for function in changed}
        scope.update(scope_of(*changed))
    return program


def simplify_body(body: Body, names: NameSource, scope: Scope) -> Body:
    """A body alone, in one sweep, without dead code."""
    swept: Body = _Sweep(names, scope).node(body)
    return remove_dead_code_in(swept)


class _Sweep(Replacer):
    """Traverses bodies forwards; `atoms` and `sizes` grow on the way."""

    __slots__ = (
        "around",
        "available",
        "bodies",
        "changed",
        "computed",
        "context",
        "definitions",
        "known",
        "names",
        "scope",
        "unmarked",
        "views",
    )

    def __init__(
        self, names: NameSource, scope: Scope, derivation: Derivation | None = None
    ) -> None:
        super().__init__({}, binders=False)
        self.known: dict[Name, Atom] = {}
        self.atoms = self.known
        self.names = names
        self.scope = scope
        self.definitions: dict[Name, Stm] = {}
        self.context = StatementContext(
            names, scope, self.definitions, derivation=derivation
        )
        self.views: dict[Name, list[Name]] = {}
        """the names of parts of an array"""
        self.available: dict[Any, tuple[tuple[Name, ...], int]] = {}
        """what has been computed, by its key, and the number of the body"""
        self.bodies = 0
        """those so far"""
        self.around = [0]
        """the numbers of the bodies around; that of the program is 0"""
        self.changed: set[Name] = set()
        """names that stand for something else than in earlier sweeps"""
        self.computed: list[frozenset[Name]] = []
        """the names in what is computed that no earlier sweep has seen"""
        self.unmarked = 0
        """statements that another sweep has to try"""

    def program(self, program: Program, changing: Collection[Name]) -> Program:
        """The program with its constants and those functions swept."""
        constants = self.statements(program.constants)
        functions = tuple(
            self.node(function) if function.name in changing else function
            for function in program.functions
        )
        return replace(program, constants=constants, functions=functions)

    def node(self, node: Any) -> Any:
        kind = type(node)
        if kind in BODIES:
            self.bodies += 1
            self.around.append(self.bodies)
            computed = len(self.computed)
            statements = self.statements(node.statements)
            self.around.pop()
            del self.computed[computed:]
            result = self.mixed(node.result)
            return replace(node, statements=statements, result=result)
        after = super().node(node)
        if kind is Param:
            if after is not node:
                self.scope[after.name] = after.type
            if not has_mark(after, SIMPLE):
                add_mark(after, SIMPLE)
                self.changed.add(after.name)
        return after

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        made: list[Stm] = []
        for statement in statements:
            self.statement(statement, made)
        return same_or(made, statements)

    def statement(self, statement: Stm, made: list[Stm]) -> None:
        if not self.is_simple(statement):
            self.changed.update([bound.name for bound in statement.pattern])
            self.simplified(statement, made)
        elif not self.is_repeated(statement.pattern, key_of(statement.exp)):
            self.define(statement)
            made.append(statement)

    def is_simple(self, statement: Stm) -> bool:
        """Whether no rule can apply to the statement, as none did before."""
        if not has_mark(statement, SIMPLE):
            return False
        used = names_in(statement)
        known = self.computed
        return self.changed.isdisjoint(used) and not any(map(used.issuperset, known))

    def simplified(self, statement: Stm, made: list[Stm]) -> None:
        """Append what becomes of the statement."""
        unmarked = self.unmarked
        exp = self.node(statement.exp)
        pattern = same_or(map(self.node, statement.pattern), statement.pattern)
        current = statement
        if exp is not statement.exp or pattern is not statement.pattern:
            current = Stm(pattern, exp, statement.attributes, statement.location)
        is_swept = self.unmarked == unmarked
        for _ in range(REPEATS):
            after = self.rewritten(current)
            if after is None:
                break
            is_swept = False
            same = self.placed(after, pattern, made)
            if same is None:
                return
            current = same
        if isinstance(current.exp, core.Copy):
            self.equate(pattern[0].name, current.exp.atom)
            return
        key = key_of(current.exp)
        if not self.is_repeated(pattern, key):
            self.define(current)
            made.append(current)
            if key is not None:
                self.computed.append(names_in(current))
            if is_swept or key is not None:
                add_mark(current, SIMPLE)
            else:
                self.unmarked += 1

    def rewritten(self, statement: Stm) -> tuple[Stm, ...] | None:
        """What the first rule that fires puts in place of the statement."""
        exp = statement.exp
        if isinstance(exp, core.ScalarOp):
            if not constant_folding.may_fold(exp):
                return None
            rules = OPERATORS_BY_NAME.get(exp.operator.name, OPERATORS)
        else:
            rules = RULES.get(type(exp), ())
        recorded = self.context.derivation is not None
        for rule in rules:
            try:
                # rules are tried too often for the record, which is wanted rarely
                tried = rule if recorded else rule.function
                outcome = tried(statement, self.context)
            except Decline:
                continue
            if isinstance(outcome, tuple):
                return outcome
        return None

    def placed(
        self, after: tuple[Stm, ...], pattern: tuple[Param, ...], made: list[Stm]
    ) -> Stm | None:
        """Append statements in place of one that binds the pattern, without copies. The
        last one, if it binds the same pattern, may be rewritten again."""
        for new in after:
            if new.pattern is pattern and new is after[-1]:
                return new
            if isinstance(new.exp, core.Copy):
                self.equate(new.pattern[0].name, self.atom(new.exp.atom))
                continue
            for bound in new.pattern:
                self.scope[bound.name] = bound.type
                self.changed.add(bound.name)
            self.define(new)
            made.append(new)
            self.unmarked += 1
        return None

    def define(self, statement: Stm) -> None:
        """Note what a name that is bound alone stands for. Views of an array that is
        updated stay as they are: then only they have to be copied for an update in
        place."""
        if len(statement.pattern) == 1:
            name = statement.pattern[0].name
            self.definitions[name] = statement
            if isinstance(statement.exp, core.SizeExp):
                self.sizes[name] = statement.exp.size
            if isinstance(statement.exp, core.Index):
                viewed = self.views.setdefault(statement.exp.array, [])
                viewed.append(name)
        for array in may_overwrite(statement):
            for view in self.views.pop(array, ()):
                self.definitions.pop(view, None)

    def equate(self, name: Name, atom: Atom) -> None:
        """From here on `name` is `atom`."""
        self.known[name] = atom
        self.changed.add(name)
        if isinstance(atom, Name):
            self.sizes[name] = self.sizes.get(atom) or Size.of(atom)
        elif isinstance(atom.value, int) and not isinstance(atom.value, bool):
            self.sizes[name] = Size.constant(atom.value)

    def is_repeated(self, pattern: tuple[Param, ...], key: Any) -> bool:
        """Whether the same was computed before; then it is used again."""
        if key is None:
            return False
        new = tuple([bound.name for bound in pattern]), self.around[-1]
        before = self.available.setdefault(key, new)
        if before is new:
            return False
        if before[1] not in self.around:
            self.available[key] = new
            return False
        for bound, atom in zip(pattern, before[0], strict=True):
            self.equate(bound.name, atom)
        return True
