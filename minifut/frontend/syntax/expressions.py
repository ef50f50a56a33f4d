"""Expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from minifut.frontend.syntax.node import Node, checked, syntax_node

if TYPE_CHECKING:
    from minifut.frontend.syntax.node import Attribute, QualName
    from minifut.frontend.syntax.patterns import Pattern
    from minifut.frontend.syntax.types import SizeParam, TypeExp, TypeParameter
    from minifut.frontend.types import Size, Type
    from minifut.names import Name


@syntax_node
class Exp(Node):
    """*checked*: its type, and the unknown sizes that it creates."""

    type: Type | None = checked()
    exts: tuple[Name, ...] = checked(())


@syntax_node
class Literal(Exp):
    """A literal: int, float or bool, with the suffix written ("" if none).

    The checker's `type` says which scalar type it has. A character literal is an int.
    """

    value: int | float | bool
    suffix: str = ""


@syntax_node
class StringLiteral(Exp):
    """A `[]u8` of the UTF-8 encoding."""

    value: str


@syntax_node
class Hole(Exp):
    """`???`."""


@syntax_node
class Var(Exp):
    """A use of a variable or operator-as-name. *checked*: its unique name, and how
    the type and size parameters of its definition are instantiated here. In `r.x.y`
    with a record r, `name_resolved` is r and `fields` ("x", "y")."""

    name: QualName
    name_resolved: Name | None = checked()
    instance: dict[Name, Type | Size] = checked(None)
    fields: tuple[str, ...] = checked(())


@syntax_node
class Parens(Exp):
    inner: Exp


@syntax_node
class QualParens(Exp):
    """`m.(e)`: e with module m open."""

    module: QualName
    inner: Exp


@syntax_node
class TupleExp(Exp):
    """`(a, b)`; `()` when empty."""

    elements: tuple[Exp, ...]


@syntax_node
class FieldAssignment(Node):
    """`x = e`, or `x` alone (then `value` is the variable x)."""

    name: str
    value: Exp


@syntax_node
class RecordExp(Exp):
    fields: tuple[FieldAssignment, ...]


@syntax_node
class ArrayExp(Exp):
    """`[a, b, c]`."""

    elements: tuple[Exp, ...]


@syntax_node
class RangeExp(Exp):
    """`start..step...end`: `kind` is "...", "..<" or "..>"; `second` may be None."""

    start: Exp
    second: Exp | None
    end: Exp
    kind: str


@syntax_node
class Project(Exp):
    """`e.x`, `e.0`."""

    record: Exp
    field: str


@syntax_node
class SliceIndex(Node):
    """`start:stop:step`, each may be missing."""

    start: Exp | None
    stop: Exp | None
    step: Exp | None


DimIndex: TypeAlias = Exp | SliceIndex


@syntax_node
class Index(Exp):
    """`a[i, j:k]`."""

    array: Exp
    indices: tuple[DimIndex, ...]


@syntax_node
class Apply(Exp):
    """`f a b`, all arguments of one application."""

    function: Exp
    arguments: tuple[Exp, ...]


@syntax_node
class BinaryOp(Exp):
    """`a + b`; `operator` is a Var naming it ("`f`" gives the Var f).

    `&&` and `||` are short-circuiting when they are the built-in ones.
    """

    operator: Var
    left: Exp
    right: Exp


@syntax_node
class Negate(Exp):
    """`-e`."""

    operand: Exp


@syntax_node
class Not(Exp):
    """`!e`: logical on bool, bitwise on integers."""

    operand: Exp


@syntax_node
class OperatorSection(Exp):
    """`(+)`, `(+ e)` (right given), `(e +)` (left given)."""

    operator: Var
    left: Exp | None
    right: Exp | None


@syntax_node
class ProjectSection(Exp):
    """`(.x.y)`."""

    fields: tuple[str, ...]


@syntax_node
class IndexSection(Exp):
    """`(.[i, j])`."""

    indices: tuple[DimIndex, ...]


@syntax_node
class UpdateSection(Exp):
    """A section mixing fields and indices, `(.x[i].y)`, where the two above do not
    suffice: a step is a field name or a tuple of indices."""

    steps: tuple[str | tuple[DimIndex, ...], ...]


@syntax_node
class Lambda(Exp):
    """`\\p q : t -> e`."""

    parameters: tuple[Pattern, ...]
    result: TypeExp | None
    body: Exp


@syntax_node
class Let(Exp):
    """`let [n] p = e in body`."""

    sizes: tuple[SizeParam, ...]
    pattern: Pattern
    value: Exp
    body: Exp


@syntax_node
class LetFunction(Exp):
    """`let f [n] 't p q : r = e in body`. *checked*: the name of f, its type."""

    name: str
    type_parameters: tuple[TypeParameter, ...]
    parameters: tuple[Pattern, ...]
    result: TypeExp | None
    value: Exp
    body: Exp
    name_resolved: Name | None = checked()
    function_type: Type | None = checked()


@syntax_node
class LetUpdate(Exp):
    """`let a[i].x = e in body`: `steps` as in Update. *checked*: old and new name."""

    name: str
    steps: tuple[str | tuple[DimIndex, ...], ...]
    value: Exp
    body: Exp
    name_resolved: Name | None = checked()
    source_resolved: Name | None = checked()


@syntax_node
class Update(Exp):
    """`a with [i] = e`, `r with x.y[i] = e`: a step is a field or indices."""

    record: Exp
    steps: tuple[str | tuple[DimIndex, ...], ...]
    value: Exp


@syntax_node
class If(Exp):
    condition: Exp
    then: Exp
    otherwise: Exp


@syntax_node
class ForLess(Node):
    """`for i < n`."""

    name: str
    bound: Exp
    name_resolved: Name | None = checked()


@syntax_node
class ForIn(Node):
    """`for p in xs`."""

    pattern: Pattern
    array: Exp


@syntax_node
class While(Node):
    """`while c`."""

    condition: Exp


LoopForm: TypeAlias = ForLess | ForIn | While


@syntax_node
class Loop(Exp):
    """`loop p = initial form do body`; `initial` None when written without.

    *checked*: `sizes`, the sizes in the type of p that vary between iterations; they
    are bound by the loop like parameters, anew each time round. When `initial` is
    None the pattern's names are the initial values, as variables of the outside.
    `initial_type`: the type of the initial value; `result_type` is `type`.
    """

    pattern: Pattern
    initial: Exp | None
    form: LoopForm
    body: Exp
    sizes: tuple[Name, ...] = checked(())


@syntax_node
class Case(Node):
    pattern: Pattern
    body: Exp


@syntax_node
class Match(Exp):
    scrutinee: Exp
    cases: tuple[Case, ...]


@syntax_node
class Constructor(Exp):
    """`#c a b`."""

    name: str
    arguments: tuple[Exp, ...]


@syntax_node
class Ascription(Exp):
    """`e : t`."""

    value: Exp
    ascription: TypeExp


@syntax_node
class Coercion(Exp):
    """`e :> t`: sizes are checked when it runs."""

    value: Exp
    target: TypeExp


@syntax_node
class Assert(Exp):
    condition: Exp
    value: Exp


@syntax_node
class Attributed(Exp):
    """`#[a] e`."""

    attribute: Attribute
    value: Exp
