r"""Flattening: each nest of SOACs that the host runs becomes one segmented operation.

    map (\xs -> reduce (+) 0 xs) xss     →     segred grid (i < n, j < m) {add, 0} ...

Host code (statements of functions, bodies of host loops and branches) stays as it is;
each SOAC in it is passed to the rules, first with an empty nest around it. A rule looks
at the nest so far and the SOAC inside it and either emits kernels that compute the
results with the nest's dimensions in front, or declines; the order of `RULES` is the
preference, and `LAST_RESORT` never declines.

`flatten` is *incremental*: where parallelism may be left to a thread or exploited, both
are kept as versions (`flatten.versions`). `flatten_moderately` makes kernels of perfect
nests only and leaves the rest to threads; `flatten_fully` exploits all there is.
"""

from __future__ import annotations

from typing import Any

from minifut.analysis.steps import is_of_scalars
from minifut.ir import accumulators, builder, calls, kernels, soacs
from minifut.ir.core import Exp, Function, Program, Stm
from minifut.ir.node import replace, same_or
from minifut.ir.scope import Scope, scope_of
from minifut.ir.traverse import map_children
from minifut.names import Name, NameSource
from minifut.passes.flatten import inner_soac, interchange_loop, version_names
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.fold_versions import choose_versions_of_fold
from minifut.passes.flatten.interchange_operator import (
    interchange_reduce_with_map,
    interchange_scan_with_map,
)
from minifut.passes.flatten.intra_group import with_own_destinations
from minifut.passes.flatten.last_views import view_whole_results
from minifut.passes.flatten.loop_versions import choose_version_of_loop
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.on_host import keep_on_host, loop_over_outer
from minifut.passes.flatten.thread_body import run_in_one_thread
from minifut.passes.flatten.versions import choose_versions
from minifut.passes.sequentialise import sequential_operator
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Derivation, Trace

RULES: tuple[Rule, ...] = (
    loop_over_outer,
    view_whole_results,
    choose_versions,
    # before the two that need scalar operators
    interchange_reduce_with_map,
    interchange_scan_with_map,
    choose_versions_of_fold,
    inner_soac.flatten_reduce,
    inner_soac.flatten_scan,
    inner_soac.flatten_hist,
    inner_soac.flatten_scatter,
    interchange_loop.interchange_map_with_loop,
    interchange_loop.interchange_map_with_branch,
)

LAST_RESORT: Rule = run_in_one_thread

PARALLEL = (*soacs.SOAC_EXPRESSIONS, accumulators.UpdateAcc)
"""what kernels do: the memory of an accumulator is the device's"""


def flatten(
    program: Program,
    names: NameSource,
    trace: Trace | None = None,
    versions: str = version_names.INCREMENTAL,
) -> Program:
    """Turn nests of SOACs into segmented operations."""
    derivation = None if trace is None else Derivation(trace)
    flattener = _Flattener(
        names, scope_of(program), version_names.VersionNames(versions), derivation
    )
    constants = flattener.statements(program.constants)
    inner = calls.called_in_threads(program)
    functions = tuple(
        function if function.name in inner else flattener.function(function)
        for function in program.functions
    )
    return replace(program, constants=constants, functions=functions)


def flatten_moderately(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Flatten perfect nests only, without versions."""
    return flatten(program, names, trace, version_names.MODERATE)


def flatten_fully(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Exploit all regular parallelism, without versions."""
    return flatten(program, names, trace, version_names.FULL)


def flatten_code(context: NestContext, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
    """Statements of the host, or such that all threads of a group run: there all that
    is parallel is shared out among the threads."""
    build, versions = context.build, context.versions
    if context.level == kernels.THREAD:
        versions = version_names.VersionNames(version_names.FULL, versions.function)
    inside = _Flattener(
        build.names,
        build.scope,
        versions,
        context.derivation,
        context.level,
        context.definitions,
    )
    return inside.statements(statements)


class _Flattener:
    """Walks the code of the host, or of groups at the level of threads."""

    def __init__(
        self,
        names: NameSource,
        scope: Scope,
        versions: version_names.VersionNames,
        derivation: Derivation | None,
        level: kernels.Level = kernels.GRID,
        definitions: dict[Name, Exp] | None = None,
    ) -> None:
        self.names = names
        self.scope = scope
        self.versions = versions
        self.derivation = derivation
        self.level = level
        self.definitions: dict[Name, Exp] = definitions or {}

    def function(self, function: Function) -> Function:
        self.versions.function = function.name.base
        self.versions.of_scalars = is_of_scalars(function.body)
        flattened: Function = self.node(function)
        return flattened

    def node(self, node: Any) -> Any:
        """Host code: a body's statements one by one, other nodes part by part."""
        if isinstance(node, accumulators.AccInput):
            # its operator runs wherever there is an update
            return sequential_operator(node, self.names, self.scope)
        statements = getattr(node, "statements", None)
        if statements is not None:
            return replace(node, statements=self.statements(statements))
        return map_children(node, self.node)

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        build = builder.Builder(self.names, self.scope)
        context = NestContext(
            build,
            self.definitions,
            apply_rules,
            try_rules,
            self.versions,
            (),
            flatten_code,
            self.level,
            self.derivation,
        )
        for statement in statements:
            build.location = statement.location
            if isinstance(statement.exp, PARALLEL):
                if self.level == kernels.THREAD:
                    statement = with_own_destinations(
                        build, self.definitions, statement
                    )
                self.versions.begin(statement)
                judgement = Judgement(Nest(), statement, statement.pattern)
                apply_rules(judgement, context)
                continue
            judgement = Judgement(Nest(), statement, statement.pattern)
            if not choose_version_of_loop.fires(judgement, context):
                if len(statement.pattern) == 1:
                    self.definitions[statement.pattern[0].name] = statement.exp
                inside = map_children(statement, self.node)
                # not recorded: there is no alternative
                keep_on_host.outcome(Judgement(Nest(), inside, inside.pattern), context)
        return same_or(build.statements, statements)


def apply_rules(judgement: Judgement, context: NestContext) -> bool:
    """Emit what computes the statement's results in the nest, bound to the pattern."""
    return try_rules(judgement, context) or LAST_RESORT.fires(judgement, context)


def try_rules(judgement: Judgement, context: NestContext) -> bool:
    """The same, or nothing where that would be one thread for each point."""
    return any(rule.fires(judgement, context) for rule in RULES)
