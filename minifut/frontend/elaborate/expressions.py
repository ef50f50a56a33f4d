"""The interpreter of expressions: one function per form.

`evaluate` goes along a chain of `let` in a loop, so that its depth is nesting depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.errors import error
from minifut.frontend import syntax
from minifut.frontend.elaborate import (
    arrays,
    branches,
    checks,
    loops,
    numeric,
    patterns,
    ranges,
    sections,
    sums,
    values,
)
from minifut.frontend.elaborate.application import apply
from minifut.frontend.elaborate.environment import Environment, Module, SizeParameter
from minifut.frontend.elaborate.sizes import match_type
from minifut.frontend.elaborate.static_types import (
    StaticArray,
    StaticScalar,
    StaticSum,
    leaf_types,
    resolve_type,
)
from minifut.frontend.elaborate.values import (
    Closure,
    Expected,
    Leaf,
    Primitive,
    Value,
    constant,
    scalar,
)
from minifut.frontend.elaborate.variables import lookup, variable
from minifut.frontend.elaborate.work import Work
from minifut.frontend.types import Arrow, Type
from minifut.ir import core
from minifut.ir.sizes import ZERO
from minifut.ir.types import BOOL, I64, U8


def evaluate(exp: syntax.Exp, env: Environment, work: Work) -> Value:
    """What an expression stands for; statements go to the current body."""
    outer, own = env, False
    waiting: list[syntax.Exp] = []
    while True:
        if exp.exts:
            waiting.append(exp)
        work.location = exp.location
        match exp:
            case syntax.Let():
                value = evaluate(exp.value, env, work)
                env, own = (env.extendable() if own else env.child()), True
                force = frozenset(
                    s.name_resolved for s in exp.sizes if s.name_resolved is not None
                )
                patterns.bind(exp.pattern, value, env, work, force)
                for size in exp.sizes:
                    if size.name_resolved is not None:
                        env.terms[size.name] = SizeParameter(size.name_resolved, env)
                exp = exp.body
            case syntax.LetFunction():
                closure = local_function(exp, env, work)
                env, own = env.child(), True
                env.bind(exp.name, exp.name_resolved, closure)
                exp = exp.body
            case syntax.LetUpdate():
                old = env.term(exp.name)
                assert isinstance(old, (values.RecordValue, values.ArrayValue, Leaf))
                value = evaluate(exp.value, env, work)
                new = sections.update_steps(
                    work, env, old, exp.steps, value, exp.location
                )
                env, own = (env.extendable() if own else env.child()), True
                env.bind(exp.name, exp.name_resolved, new)
                exp = exp.body
            case syntax.Parens(inner=inner):
                exp = inner
            case _:
                value = FORMS[type(exp)](exp, env, work)
                for named in waiting:
                    bind_exts(named, value, env if named is exp else outer)
                return value


def evaluate_leaf(exp: syntax.Exp, env: Environment, work: Work) -> Leaf:
    """An expression that stands for a scalar."""
    value = evaluate(exp, env, work)
    assert isinstance(value, Leaf), value
    return value


def local_function(exp: syntax.LetFunction, env: Environment, work: Work) -> Closure:
    """`let f p = e`."""
    return Closure(
        exp.name,
        exp.parameters,
        exp.value,
        env.capture(),
        sizes=tuple(p for p in exp.type_parameters if isinstance(p, syntax.SizeParam)),
        unsafe=work.mode.unsafe,
    )


# --- names -------------------------------------------------------------------------


def _qualified_parens(exp: syntax.QualParens, env: Environment, work: Work) -> Value:
    module = lookup(exp.module, env)
    assert isinstance(module, Module)
    from minifut.frontend.elaborate.modules import open_module

    inner = env.child()
    open_module(module, inner)
    return evaluate(exp.inner, inner, work)


# --- constants ---------------------------------------------------------------------


def _literal(exp: syntax.Literal, env: Environment, work: Work) -> Value:
    assert exp.type is not None
    static = resolve_type(exp.type, env, work)
    if not isinstance(static, StaticScalar):
        raise error(
            exp.location, "the type of this literal is not known", "not-supported"
        )
    found = patterns.literal_constant(exp, static.type)
    return constant(found.value, static.type)


def _string(exp: syntax.StringLiteral, env: Environment, work: Work) -> Value:
    rows: list[Value] = [constant(byte, U8) for byte in exp.value.encode()]
    return arrays.literal(work, rows) if rows else _empty(StaticScalar(U8), work)


def _hole_of(exp: syntax.Hole, type_: Type, env: Environment, work: Work) -> Value:
    """A value of the type that fails when it is needed."""
    from minifut.frontend.elaborate.static_types import build

    if isinstance(type_, Arrow):
        result, home = type_.result, env.capture()
        return Primitive("???", 1, lambda c: _hole_of(exp, result, home, c.work))
    static = resolve_type(type_, env, work, emit=True)
    false = constant(False, BOOL)
    checks.check(work, false, ("Reached hole.",), exp.location)
    blanks = (sums.blank(work, type_) for type_ in leaf_types(static))
    return build(static, blanks, work)


# --- compound ----------------------------------------------------------------------


def _tuple(exp: syntax.TupleExp, env: Environment, work: Work) -> Value:
    return values.pair(*[evaluate(e, env, work) for e in exp.elements])


def _record(exp: syntax.RecordExp, env: Environment, work: Work) -> Value:
    from minifut.frontend.types import field_key

    made = {f.name: evaluate(f.value, env, work) for f in exp.fields}
    return values.RecordValue({n: made[n] for n in sorted(made, key=field_key)})


def _array(exp: syntax.ArrayExp, env: Environment, work: Work) -> Value:
    rows = [evaluate(e, env, work) for e in exp.elements]
    work.location = exp.location
    if rows:
        return arrays.literal(work, rows)
    assert exp.type is not None
    static = resolve_type(exp.type, env, work, emit=True)
    assert isinstance(static, StaticArray)
    return _empty(static.element, work)


def _empty(element: Any, work: Work) -> Value:
    from minifut.frontend.elaborate.static_types import build

    static = StaticArray(ZERO, element)
    made = (sums.blank(work, type_) for type_ in leaf_types(static))
    return build(static, made, work)


def _project(exp: syntax.Project, env: Environment, work: Work) -> Value:
    record = evaluate(exp.record, env, work)
    assert isinstance(record, values.RecordValue)
    return record.fields[exp.field]


def _index(exp: syntax.Index, env: Environment, work: Work) -> Value:
    array = evaluate(exp.array, env, work)
    parts = sections.index_parts(exp.indices, env, work)
    work.location = exp.location
    return arrays.index(work, array, parts, exp.location)


def _update(exp: syntax.Update, env: Environment, work: Work) -> Value:
    record = evaluate(exp.record, env, work)
    value = evaluate(exp.value, env, work)
    return sections.update_steps(work, env, record, exp.steps, value, exp.location)


def _constructor(exp: syntax.Constructor, env: Environment, work: Work) -> Value:
    payload = [evaluate(argument, env, work) for argument in exp.arguments]
    work.location = exp.location
    assert exp.type is not None
    static = resolve_type(exp.type, env, work, emit=True)
    assert isinstance(static, StaticSum), static
    return sums.construct(work, static, exp.name, payload)


# --- application -------------------------------------------------------------------


def bind_exts(exp: syntax.Exp, value: Value, env: Environment) -> None:
    """Bind the unknown sizes that were created; for an i64 it is itself one."""
    for name in exp.exts:
        env.names.pop(name, None)
        if isinstance(value, Leaf) and value.type == I64:
            env.names[name] = values.size_of(value)
    match_type(exp.type, value, env, frozenset(exp.exts))


def _apply(exp: syntax.Apply, env: Environment, work: Work) -> Value:
    function = evaluate(exp.function, env, work)
    arguments = [evaluate(argument, env, work) for argument in exp.arguments]
    work.location = exp.location
    return apply(work, function, arguments, exp.location, _expected(exp, env))


def _expected(exp: syntax.Exp, env: Environment) -> Expected | None:
    return Expected(exp.type, env) if exp.type is not None else None


def _binary(exp: syntax.BinaryOp, env: Environment, work: Work) -> Value:
    name = exp.operator.name
    if not name.qualifiers and name.name in ("&&", "||"):
        found = env.term(name.name)
        if isinstance(found, Primitive) and not found.arguments:
            return _short_circuit(exp, env, work)
    function = evaluate(exp.operator, env, work)
    left = evaluate(exp.left, env, work)
    right = evaluate(exp.right, env, work)
    work.location = exp.location
    return apply(work, function, (left, right), exp.location, _expected(exp, env))


def _short_circuit(exp: syntax.BinaryOp, env: Environment, work: Work) -> Value:
    """The right operand is evaluated only if the left one leaves the matter open; when
    that cannot be noticed there is no branch."""
    left = evaluate_leaf(exp.left, env, work)
    is_and = exp.operator.name.name == "&&"
    known = work.is_truth(left)
    if known is not None:
        return evaluate(exp.right, env, work) if known == is_and else left
    with work.nested() as build:
        right = evaluate_leaf(exp.right, env.child(), work)
    work.location = exp.location
    total = (core.ScalarOp, core.SizeExp, core.Copy)
    if len(build.statements) < 8 and all(
        isinstance(s.exp, total) for s in build.statements
    ):
        work.build.extend(build.statements)
        return numeric.apply_named(
            work, "and" if is_and else "or", (left, right), exp.location
        )
    body = build.finish(right.atom)
    rest = core.Body((), (core.Constant(not is_and, BOOL),))
    branch = (body, rest) if is_and else (rest, body)
    return work.leaf(core.If(left.atom, *branch), "both" if is_and else "either")


def _negate(exp: syntax.Negate, env: Environment, work: Work) -> Value:
    operand = evaluate_leaf(exp.operand, env, work)
    return numeric.negate(work, operand, exp.location)


def _not(exp: syntax.Not, env: Environment, work: Work) -> Value:
    return numeric.negate_logic(work, evaluate_leaf(exp.operand, env, work))


def _lambda(exp: syntax.Lambda, env: Environment, work: Work) -> Value:
    return Closure("", exp.parameters, exp.body, env.capture(), unsafe=work.mode.unsafe)


# --- the rest ------------------------------------------------------------------------


def _coercion(exp: syntax.Coercion, env: Environment, work: Work) -> Value:
    value = evaluate(exp.value, env, work)
    work.location = exp.location
    return sections.coercion(exp, value, env, work)


def _assert(exp: syntax.Assert, env: Environment, work: Work) -> Value:
    condition = evaluate_leaf(exp.condition, env, work)
    shown = exp.condition
    while isinstance(shown, syntax.Parens):
        shown = shown.inner
    text = " ".join(shown.location.text().split())
    checks.check(work, condition, (f"Assertion is false: {text}",), exp.location)
    return evaluate(exp.value, env, work)


def _attributed(exp: syntax.Attributed, env: Environment, work: Work) -> Value:
    from minifut.frontend.elaborate import attributes

    return attributes.evaluate(exp, env, work)


FORMS: dict[type, Callable[[Any, Environment, Work], Value]] = {
    syntax.Literal: _literal,
    syntax.StringLiteral: _string,
    syntax.Hole: lambda exp, env, work: _hole_of(exp, exp.type, env, work),
    syntax.Var: variable,
    syntax.QualParens: _qualified_parens,
    syntax.TupleExp: _tuple,
    syntax.RecordExp: _record,
    syntax.ArrayExp: _array,
    syntax.RangeExp: ranges.range_,
    syntax.Project: _project,
    syntax.Index: _index,
    syntax.Apply: _apply,
    syntax.BinaryOp: _binary,
    syntax.Negate: _negate,
    syntax.Not: _not,
    syntax.OperatorSection: sections.operator_section,
    syntax.ProjectSection: sections.project_section,
    syntax.IndexSection: sections.index_section,
    syntax.UpdateSection: sections.mixed_section,
    syntax.Lambda: _lambda,
    syntax.Update: _update,
    syntax.If: branches.if_,
    syntax.Match: branches.match,
    syntax.Loop: loops.loop,
    syntax.Constructor: _constructor,
    syntax.Ascription: lambda exp, env, work: evaluate(exp.value, env, work),
    syntax.Coercion: _coercion,
    syntax.Assert: _assert,
    syntax.Attributed: _attributed,
}

__all__ = ["evaluate", "evaluate_leaf", "scalar"]
