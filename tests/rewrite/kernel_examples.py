"""Examples of rules of kernel code.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {..}
    after:
        ..
    declines: the reason
        lanes (bool c, float x)
        if (c) {..}

`given` are parameters of the kernel; `lanes` are variables that have a value in each of
the four lanes, and their statement is one of a body that is being lifted. Of a rule
for what is in a loop over points the example is such a loop, of four points: all of
it is lifted, and the rule must do its part. A line `fold (int total = 0)`, `commuting
fold` or `long fold` makes the loop below it a `Fold`: in its body the first statement is
that of the point, the second the operator, and a third one is done with the result.

The text that the rule makes must be that of `after`, but for white space; and a kernel
made of it must leave in memory what one of the statement as it was leaves there. In it
a line `as before` is the statement of `before`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from minifut.ir import core
from minifut.ir.core import Constant, Stm
from minifut.ir.node import replace
from minifut.ir.traverse import walk
from minifut.ir.types import BOOL
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.vectorise.context import LoopContext, NotVectorisable
from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser
from minifut.kernel_passes.vectorise.operators import Fold, PointCode
from minifut.kernel_passes.vectorise.statements import Vectoriser, vectorise
from minifut.kernel_passes.vectorise.varying import find_varying
from minifut.kernel_passes.vectorise.vectors import VectorOperations, stored_type
from minifut.names import Name, NameSource
from minifut.opencl.print_c import CPrinter
from minifut.rewrite.rule import Declined, Rule
from minifut.rewrite.trace import Derivation, Trace
from tests.rewrite.examples import Example
from tests.rewrite.read_c import Reader

WIDTH = 4
AS_BEFORE = re.compile(r"\bas before\b")
ZERO, ONE = kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG)


@dataclass(slots=True)
class Written:
    """What an example says before the rule is applied."""

    builder: CodeBuilder
    given: list[kc.Variable | kc.Memory] = field(default_factory=list)
    lanes: list[kc.Variable] = field(default_factory=list)
    above: tuple[kc.Statement, ...] = ()
    statement: kc.Statement | None = None
    fold: Fold | None = None


def read(text: str) -> Written:
    """The head lines of an example, and its statements."""
    names = NameSource()
    written, reader = Written(CodeBuilder(names, "example")), Reader(names)
    lines = text.strip().split("\n")
    total: kc.Declare | None = None
    kind = ""
    while lines and (words := lines[0].split()):
        is_fold = words[0] == "fold" or words[1:2] == ["fold"]
        if words[0] not in ("given", "lanes") and not is_fold:
            break
        line = lines.pop(0).strip()
        if words[0] in ("given", "lanes"):
            reader.start(line[len("given") :])
            found = reader.parameters()
            if words[0] == "given":
                written.given = found
            else:
                written.lanes = [v for v in found if isinstance(v, kc.Variable)]
            continue
        kind = words[0]
        reader.start(line[line.index("(") + 1 :].replace(")", ";"))
        declared = reader.statement()
        assert isinstance(declared, kc.Declare)
        total = declared
    if total is not None:
        for text_ in ("left", "right"):
            reader.variable(total.variable.type.scalar, text_)
    reader.start("\n".join(lines))
    *above, written.statement = reader.statements()
    written.above = tuple(above)
    if total is not None:
        written.fold = _fold(reader, written.statement, total, kind)
    return written


def _fold(reader: Reader, loop: kc.Statement, total: kc.Declare, kind: str) -> Fold:
    assert isinstance(loop, kc.For) and isinstance(total.variable, kc.Variable)
    assert total.init is not None
    body, operator, *saved = loop.body.statements
    code = PointCode(
        loop.variable,
        (reader.variables["left"],),
        (reader.variables["right"],),
        (total.init,),
        (body,),
        (operator,),
        tuple(saved),
    )
    start = kc.Variable(reader.names.fresh("start"), kc.LONG)
    ends = loop.start, loop.bound
    commutes, long = kind == "commuting", kind == "long"
    return Fold(lambda: code, (total.variable,), *ends, start, commutes, long=long)


def outcome_of(rule: Rule, written: Written) -> KernelOutcome:
    """What the rule makes of the last statement."""
    assert written.statement is not None
    if not written.lanes:
        if _changes_loops_in_lanes(rule) and isinstance(written.statement, kc.For):
            return _within(rule, written.statement, written.builder)
        site = LoopContext(written.builder, (WIDTH,))
        outcome: KernelOutcome = rule(written.fold or written.statement, site)
        if outcome is None and isinstance(written.statement, kc.For):
            return _within(rule, written.statement, written.builder)
        return outcome
    statements = (*written.above, written.statement)
    varying = find_varying(statements, [v.name for v in written.lanes])
    lanes = ExpressionVectoriser(WIDTH, varying)
    lifter = Vectoriser(written.builder, lanes, assigned(statements))
    masked: KernelOutcome = rule(written.statement, lifter)
    return masked


def _changes_loops_in_lanes(rule: Rule) -> bool:
    """Whether a loop of an example is around what the rule is for."""
    context = [*rule.function.__annotations__.values()][1]
    return context == "Vectoriser"


def _within(rule: Rule, nest: kc.For, k: CodeBuilder) -> KernelOutcome:
    """A nest of four points in lanes, if the rule did part of it; else its refusal."""
    statement = Stm((), core.Copy(Constant(True, BOOL)))
    trace = Trace(declined=True)
    k.derivation = Derivation(trace, statement)
    made: list[kc.Statement] = []
    with suppress(NotVectorisable):
        at = (nest.start, 1)
        made = vectorise(k, nest.body.statements, nest.variable, at, WIDTH, rows=[])
    k.derivation = None
    steps = [step for step in trace.steps if step.rule is rule]
    if any(step.fired for step in steps):
        return tuple(made)
    return next((Declined(step.reason) for step in steps), None)


def complaint(rule: Rule, example: Example) -> str | None:
    """What is wrong with the text of an example; None if it holds."""
    written = read(example.before)
    outcome = outcome_of(rule, written)
    wrong = example.complaint_about(outcome)
    if wrong is not None or example.after is None:
        return wrong
    assert isinstance(outcome, tuple)
    found = printed(written, outcome)
    assert written.statement is not None
    after = AS_BEFORE.sub(printed(written, (written.statement,)), example.after)
    if found.split() != after.split():
        return f"gave\n{found}\ninstead of\n{after}"
    return None


def printed(written: Written, statements: Sequence[kc.Statement]) -> str:
    """Statements, with the names that the example has."""
    printer = CPrinter()
    for each in (*written.given, *written.lanes):
        printer.names.text(each.name)
    for statement in statements:
        printer.statement(statement)
    return "\n".join(printer.lines)


# --- what both sides compute ----------------------------------------------------------


def kernels(rule: Rule, example: Example) -> tuple[kc.Kernel, kc.Kernel]:
    """A kernel of the statement as it is, and one of what the rule makes of it."""
    written = read(example.before)
    outcome = outcome_of(rule, written)
    assert isinstance(outcome, tuple) and written.statement is not None
    names = written.builder.names
    memories = {
        v.name: kc.Memory(names.fresh(v.name.base), v.type.scalar)
        for v in written.lanes
    }
    fold = written.fold
    sides: list[Sequence[kc.Statement]]
    if fold is not None:
        total = kc.Memory(names.fresh("result"), fold.running[0].type.scalar)
        sides = [
            (*_begun(fold), *some, _rounds(fold, start), _stored(total, fold))
            for some, start in (((), fold.first), (outcome, fold.start))
        ]
        memories[total.name] = total
    elif written.lanes:
        sides = [_one_by_one(written, memories), _at_once(written, memories, outcome)]
    else:
        changed = _changed_above(written)
        kept = {v: kc.Memory(names.fresh("kept"), v.type.scalar) for v in changed}
        memories = {memory.name: memory for memory in kept.values()}
        stores = [kc.Store(memory, ZERO, v) for v, memory in kept.items()]
        sides = [
            (*_constants(written), *written.above, *side, *stores)
            for side in ((written.statement,), outcome)
        ]
    return (
        _kernel("plain", written, memories.values(), sides[0]),
        _kernel("lifted", written, memories.values(), sides[1]),
    )


def _changed_above(written: Written) -> list[kc.Variable]:
    """The variables from above the statement that it changes."""
    assert written.statement is not None
    changed = assigned((written.statement,))
    return [
        s.variable
        for s in written.above
        if isinstance(s, kc.Declare)
        and isinstance(s.variable, kc.Variable)
        and s.variable.name in changed
    ]


def _constants(written: Written) -> list[kc.Statement]:
    """Parameters that a kernel is built for, with what they are on processors."""
    return [
        kc.Declare(
            kc.Variable(constant.name, kc.LONG),
            kc.Literal(dict(constant.parameter.defaults)["cpu"], kc.LONG),
        )
        for constant in written.builder.constants.values()
    ]


def _kernel(
    name: str,
    written: Written,
    memories: Iterable[kc.Memory],
    body: Sequence[kc.Statement],
) -> kc.Kernel:
    changed = {n.memory for s in body for n in walk(s) if isinstance(n, kc.Store)}
    parameters = tuple(
        kc.MemoryParameter(g, g in changed)
        if isinstance(g, kc.Memory)
        else kc.ScalarParameter(g.name, g.type.scalar)
        for g in (*written.given, *memories)
    )
    block = kc.Block(tuple(body))
    return kc.Kernel(name, parameters, block, (1,), False, False)


def _begun(fold: Fold) -> list[kc.Statement]:
    """What is declared before a fold."""
    (total,), (neutral,) = fold.running, fold.code().neutral
    return [kc.Declare(total, neutral), kc.Declare(fold.start, fold.first)]


def _rounds(fold: Fold, start: kc.Expression) -> kc.For:
    """The points of a fold, one by one."""
    code = fold.code()
    (left,), (right,), (total,) = code.left, code.right, fold.running
    body = (
        kc.Declare(left, total),
        kc.Declare(right),
        *code.body,
        *code.operator,
        *code.saved,
        kc.Assign(total, right),
    )
    return kc.For(code.index, start, fold.last, ONE, kc.Block(body))


def _stored(total: kc.Memory, fold: Fold) -> kc.Store:
    return kc.Store(total, ZERO, fold.running[0])


def _one_by_one(
    written: Written, memories: Mapping[Name, kc.Memory]
) -> list[kc.Statement]:
    """The statement for lane after lane."""
    assert written.statement is not None
    lane = kc.Variable(written.builder.names.fresh("lane"), kc.LONG)
    body: list[kc.Statement] = [
        kc.Declare(v, kc.Load(memories[v.name], lane, v.type)) for v in written.lanes
    ]
    body += [*written.above, written.statement]
    body += [kc.Store(memories[v.name], lane, v) for v in written.lanes]
    return [kc.For(lane, ZERO, kc.Literal(WIDTH, kc.LONG), ONE, kc.Block(tuple(body)))]


def _at_once(
    written: Written,
    memories: Mapping[Name, kc.Memory],
    outcome: Sequence[kc.Statement],
) -> list[kc.Statement]:
    """What the rule made, on vectors."""
    vectors = VectorOperations(WIDTH)
    begin: list[kc.Statement] = []
    end: list[kc.Statement] = []
    for variable in written.lanes:
        memory = memories[variable.name]
        wide = replace(variable, type=vectors.wide(variable.type.scalar))
        element = kc.VectorType(stored_type(memory), WIDTH)
        loaded = vectors.from_memory(memory, kc.Load(memory, ZERO, element))
        begin.append(kc.Declare(wide, loaded))
        end.append(kc.Store(memory, ZERO, vectors.to_memory(memory, wide)))
    return [*begin, *written.above, *outcome, *end]
