"""Rules that do not take part in inference, checked when all types are known.

No functions from branches and loops or in arrays, patterns that always match where they
must, literals within their types, equality only where it is defined, and what recursive
functions may do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.errors import Location, error
from minifut.frontend import syntax
from minifut.frontend.check.environment import Checking
from minifut.frontend.check.exhaustive import unmatched
from minifut.frontend.check.messages import quote, show, source_text
from minifut.frontend.syntax.traverse import binders, children
from minifut.frontend.types import Array, Arrow, Named, Record, Scalar, Sum, Type, parts
from minifut.names import Name

_LARGEST = {"f16": 65520.0, "f32": 3.4028235677973366e38}


def is_first_order(type_: Type) -> bool:
    """May a value of the type not contain a function?"""
    return _no_arrow(type_) and lifted_inside(type_, ("^",)) is None


def lifted_inside(type_: Type, kinds: tuple[str, ...]) -> Named | None:
    """A type parameter or abstract type in a type that is lifted in one of the ways."""
    if isinstance(type_, Named) and type_.lifted in kinds:
        return type_
    if isinstance(type_, Arrow):
        return None
    found = (lifted_inside(t, kinds) for t in parts(type_))
    return next((f for f in found if f is not None), None)


def check_element(location: Location, type_: Type, when: str = "") -> None:
    """Only what has a fixed size and holds no function may be in an array."""
    shown = show(type_)
    if not _no_arrow(type_):
        raise error(
            location,
            f"Type\n  {shown}\nfound to be functional.{when}",
            "functional-type",
            "no array has functions as elements; a function may lack an argument",
        )
    found = lifted_inside(type_, ("~", "^"))
    if found is not None:
        raise error(
            location,
            f"Type parameter {quote(found.name.base)} is lifted and cannot be an array "
            f"element.{when}",
            "lifted-array-element",
        )


def _no_arrow(type_: Type) -> bool:
    return not isinstance(type_, Arrow) and all(map(_no_arrow, parts(type_)))


def check_instantiation(
    location: Location, written: str, kind: str, type_: Type
) -> None:
    """Does a type respect the liftedness of the parameter it is put in for?"""
    when = f"\nWhen instantiating type parameter of {quote(written)}."
    if kind == "^":
        return
    if kind == "":
        check_element(location, type_, when)
        return
    if not _no_arrow(type_):
        text = f"Type\n  {show(type_)}\nfound to be functional.{when}"
        raise error(location, text, "functional-type")
    found = lifted_inside(type_, ("^",))
    if found is not None:
        raise error(
            location,
            f"Type parameter {quote(found.name.base)} is lifted and may be a "
            f"functional type.{when}",
            "functional-type",
        )


def supports_equality(type_: Type) -> bool:
    comparable = isinstance(type_, Scalar | Array | Record | Sum)
    return comparable and all(map(supports_equality, parts(type_)))


def must_always_match(pattern: syntax.Pattern) -> None:
    """Refuse a pattern that may fail where there is no alternative."""
    missing = unmatched([pattern])
    if missing:
        raise error(
            pattern.location,
            "Refutable pattern not allowed here.\nUnmatched cases:\n  "
            + "\n  ".join(missing),
            "refutable-pattern",
            "use 'match' to tell the cases apart",
        )


_NOT_EVALUATED = (syntax.Pattern, syntax.TypeExp)


def check_restrictions(
    context: Checking, symbol: Callable[[Name], str | None], body: syntax.Exp
) -> None:
    """Walk through an expression and refuse what is not allowed."""
    stack: list[syntax.Node] = [body]
    while stack:
        node = stack.pop()
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(node)
        elif isinstance(node, syntax.BinaryOp):
            _equality(context, symbol, node)
        elif isinstance(node, syntax.Negate) and _negated(node):
            continue
        stack.extend(c for c in children(node) if not isinstance(c, _NOT_EVALUATED))


def _equality(
    context: Checking, symbol: Callable[[Name], str | None], node: syntax.BinaryOp
) -> None:
    name = node.operator.name_resolved
    if name is None or symbol(name) not in ("==", "!="):
        return
    type_ = node.left.type
    assert type_ is not None
    if not supports_equality(type_):
        raise error(
            node.operator.location,
            f"Comparing equality of values of type\n  {show(type_)}\nwhich does not "
            "support equality.",
            "no-equality",
        )
    if isinstance(type_, Array):
        context.warn(
            node.operator.location,
            f'Comparing arrays with "{symbol(name)}" is deprecated and will stop '
            "working in a future revision of the language.",
        )


def _match(node: syntax.Match) -> None:
    _first_order_result(node, "Match-expression", "match-results")
    missing = unmatched([case.pattern for case in node.cases])
    if missing:
        raise error(
            node.location,
            "Unmatched cases in match expression:\n  " + "\n  ".join(missing),
            "unmatched-cases",
            "add a case for each of them, or 'case _'",
        )


def _first_order_result(node: syntax.Exp, what: str, results: str) -> None:
    assert node.type is not None
    if not is_first_order(node.type):
        raise error(
            node.location,
            f"{what} returns type\n  {show(node.type)}\nbut {results} may not be of "
            "function type.",
            "functional-type",
        )


def _if(node: syntax.If) -> None:
    _first_order_result(node, "If-expression", "if-results")


def _array(node: syntax.ArrayExp) -> None:
    if isinstance(node.type, Array):
        check_element(node.location, node.type.element)


def _let(node: syntax.Let) -> None:
    must_always_match(node.pattern)


def _function(node: syntax.Lambda | syntax.LetFunction) -> None:
    for parameter in node.parameters:
        must_always_match(parameter)


def _loop(node: syntax.Loop) -> None:
    must_always_match(node.pattern)
    if isinstance(node.form, syntax.ForIn):
        must_always_match(node.form.pattern)
    assert node.pattern.type is not None
    if not is_first_order(node.pattern.type):
        raise error(
            node.pattern.location,
            f"Loop parameter inferred to have type\n  {show(node.pattern.type)}\n"
            "but a loop parameter may not be of function type.",
            "functional-type",
        )


def _literal(node: syntax.Literal, value: int | float | None = None) -> None:
    shown = node.value if value is None else value
    if node.suffix or not isinstance(node.type, Scalar) or fits(shown, node.type.name):
        return
    raise error(
        node.location,
        f"Literal {shown} out of bounds for inferred type {node.type.name}.",
        "literal-out-of-bounds",
    )


def fits(value: int | float | bool, type_: str) -> bool:
    """Can a scalar type hold a number?"""
    if type_ == "bool":
        return True
    if type_[0] == "f":
        try:
            return abs(float(value)) < _LARGEST.get(type_, float("inf"))
        except OverflowError:
            return False
    bits = int(type_[1:])
    if type_[0] == "u":
        return 0 <= value < 1 << bits
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _negated(node: syntax.Negate) -> bool:
    """A negated literal is examined as a whole; one with a suffix wraps around."""
    inner = node.operand
    if not isinstance(inner, syntax.Literal) or isinstance(inner.value, bool):
        return False
    _literal(inner, -inner.value)
    return True


_RULES: dict[type, Callable[[Any], None]] = {
    syntax.Match: _match,
    syntax.If: _if,
    syntax.ArrayExp: _array,
    syntax.Let: _let,
    syntax.Lambda: _function,
    syntax.LetFunction: _function,
    syntax.Loop: _loop,
    syntax.Literal: _literal,
}


# --- recursive functions --------------------------------------------------------


def check_recursion(node: syntax.ValueDeclaration, name: Name, result: Type) -> None:
    """A recursive function returns no function, and passes on those it is given."""
    uses = _uses(node.body, name)
    if not uses:
        return
    if not is_first_order(result):
        raise error(
            node.location,
            f"Recursive function {quote(node.name)} returns type\n  {show(result)}\n"
            "which is not first-order.\nWrite the function type as further parameters "
            "instead.",
            "recursion",
        )
    types_ = [p.type for p in node.parameters if p.type is not None]
    functional = [not is_first_order(type_) for type_ in types_]
    if any(functional):
        for use, call in uses:
            _check_call(node, functional, use, call)


def _uses(body: syntax.Exp, name: Name) -> list[tuple[syntax.Var, syntax.Apply | None]]:
    found: list[tuple[syntax.Var, syntax.Apply | None]] = []
    called: set[int] = set()
    stack: list[syntax.Node] = [body]
    while stack:
        node = stack.pop()
        match node:
            case syntax.Apply(_, syntax.Var() as function):
                if function.name_resolved == name:
                    called.add(id(function))
                    found.append((function, node))
            case syntax.Var() if node.name_resolved == name and id(node) not in called:
                found.append((node, None))
        stack.extend(c for c in children(node) if not isinstance(c, syntax.TypeExp))
    return found


def _check_call(
    node: syntax.ValueDeclaration,
    functional: list[bool],
    use: syntax.Var,
    call: syntax.Apply | None,
) -> None:
    name = quote(node.name)
    if call is None:
        raise error(
            use.location,
            f"Recursive reference to {name} must be a fully saturated application, as "
            "it has a higher-order parameter.",
            "recursion",
        )
    if len(call.arguments) != len(functional):
        raise error(
            call.location,
            f"Recursive application of {name} is not fully saturated: expected "
            f"{len(functional)} arguments but got {len(call.arguments)}.",
            "recursion",
        )
    for is_function, parameter, argument in zip(
        functional, node.parameters, call.arguments, strict=True
    ):
        own = {n.name_resolved for n in binders(parameter)}
        passed_on = isinstance(argument, syntax.Var) and argument.name_resolved in own
        if is_function and not passed_on:
            raise error(
                argument.location,
                f"Higher-order argument {quote(source_text(argument))} in recursive "
                f"application of {name} must be passed unchanged, i.e. be the "
                "corresponding parameter.",
                "recursion",
            )
