"""The whole Futhark surface language, as written, with source positions.

The parser builds these nodes; nothing is desugared, so that messages can quote what
the user wrote. The checker writes its findings into the slots marked *checked*, once:

    expression.type        its type (`frontend.types`), fully resolved
    expression.exts        names of the unknown sizes that come into being here
                           (application, if, match, loop, range, slice, ...)
    variable.instance      what its type and size parameters stand for at this use
    binder.name_resolved   the unique `Name` of a bound variable, size or type

Later stages read them and never write. Nodes have identity equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, dataclass_transform

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.frontend.types import Size, Type
    from minifut.names import Name


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def syntax_node(cls: type[Any]) -> Any:
    """A slots dataclass with identity equality."""
    return dataclass(slots=True, eq=False)(cls)


def checked(default: Any = None) -> Any:
    """A slot that the checker fills in."""
    return field(default=default, init=False, repr=False)


@syntax_node
class Node:
    """Everything has a place in the source."""

    location: Location


# --- names as written -------------------------------------------------------


@syntax_node
class QualName(Node):
    """`m.n.x`: `qualifiers` is ("m", "n"), `name` is "x"; operators included."""

    qualifiers: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.qualifiers, self.name))


# --- attributes -------------------------------------------------------------


@syntax_node
class Attribute(Node):
    """`#[name]`, `#[3]`, `#[name(arguments)]`; for a bare atom `arguments` is None."""

    name: str | int
    arguments: tuple[Attribute, ...] | None = None


# --- type expressions -------------------------------------------------------


@syntax_node
class TypeExp(Node):
    """A type as written. *checked*: the type it stands for."""

    type: Type | None = checked()


@syntax_node
class TypeRef(TypeExp):
    """A named type, possibly qualified."""

    name: QualName


@syntax_node
class TypeParens(TypeExp):
    inner: TypeExp


@syntax_node
class TypeTuple(TypeExp):
    """`(a, b)`; `()` when empty."""

    elements: tuple[TypeExp, ...]


@syntax_node
class TypeRecord(TypeExp):
    """`{x: a, y: b}`."""

    fields: tuple[tuple[str, TypeExp], ...]


@syntax_node
class TypeArray(TypeExp):
    """`[size]element`; `[]element` has size None."""

    size: Exp | None
    element: TypeExp


@syntax_node
class TypeUnique(TypeExp):
    """`*t`."""

    inner: TypeExp


@syntax_node
class TypeApply(TypeExp):
    """`t arguments`: an argument is a type, or a size `[e]` / `[]`."""

    function: TypeExp
    arguments: tuple[TypeExp | SizeArgument, ...]


@syntax_node
class SizeArgument(Node):
    """`[e]` (or `[]`: None) as an argument of a type."""

    size: Exp | None


@syntax_node
class TypeArrow(TypeExp):
    """`a -> b` or `(x: a) -> b`. *checked*: the name of x."""

    parameter: str | None
    argument: TypeExp
    result: TypeExp
    name_resolved: Name | None = checked()


@syntax_node
class TypeSum(TypeExp):
    """`#a t | #b`."""

    constructors: tuple[tuple[str, tuple[TypeExp, ...]], ...]


@syntax_node
class TypeExistential(TypeExp):
    """`?[n][m].t`."""

    sizes: tuple[str, ...]
    body: TypeExp
    names_resolved: tuple[Name, ...] = checked(())


# --- parameters of definitions ----------------------------------------------


@syntax_node
class SizeParam(Node):
    """`[n]`."""

    name: str
    name_resolved: Name | None = checked()


@syntax_node
class TypeParam(Node):
    """`'t`, `'~t`, `'^t`: `lifted` is "", "~" or "^"."""

    name: str
    lifted: str = ""
    name_resolved: Name | None = checked()


TypeParameter: TypeAlias = SizeParam | TypeParam


# --- patterns ---------------------------------------------------------------


@syntax_node
class Pattern(Node):
    """*checked*: the type of what it is matched with."""

    type: Type | None = checked()


@syntax_node
class NamePattern(Pattern):
    name: str
    name_resolved: Name | None = checked()


@syntax_node
class WildcardPattern(Pattern):
    """`_`."""


@syntax_node
class ParensPattern(Pattern):
    inner: Pattern


@syntax_node
class TuplePattern(Pattern):
    elements: tuple[Pattern, ...]


@syntax_node
class RecordPattern(Pattern):
    """`{x = p, y}`: `{y}` is given as ("y", NamePattern y)."""

    fields: tuple[tuple[str, Pattern], ...]


@syntax_node
class AscribedPattern(Pattern):
    inner: Pattern
    ascription: TypeExp


@syntax_node
class LiteralPattern(Pattern):
    """A number, character or boolean; the sign belongs to the literal."""

    literal: Literal


@syntax_node
class ConstructorPattern(Pattern):
    """`#c p q`."""

    constructor: str
    arguments: tuple[Pattern, ...]


@syntax_node
class AttributedPattern(Pattern):
    attribute: Attribute
    inner: Pattern


# --- expressions ------------------------------------------------------------


@syntax_node
class Exp(Node):
    """*checked*: its type, and the unknown sizes that it brings into being."""

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
    """`f a b`, all arguments that stand side by side."""

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
    """`a with [i] = e`, `r with x.y[i] = e`: a step is a field or a tuple of indices."""

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


# --- declarations -----------------------------------------------------------


@syntax_node
class Declaration(Node):
    """`attributes` holds the `#[...]` written before it."""

    attributes: tuple[Attribute, ...] = field(default=(), kw_only=True)
    doc: str | None = field(default=None, kw_only=True)


@syntax_node
class ValueDeclaration(Declaration):
    """`def`/`let`/`entry`. *checked*: the unique name and the whole type."""

    name: str
    type_parameters: tuple[TypeParameter, ...]
    parameters: tuple[Pattern, ...]
    result: TypeExp | None
    body: Exp
    is_entry: bool = False
    name_resolved: Name | None = checked()
    type: Type | None = checked()
    scheme_parameters: tuple[Name, ...] = checked(())
    """all type and size parameters in order, inferred ones included"""


@syntax_node
class TypeDeclaration(Declaration):
    """`type t [n] 'a = definition`."""

    name: str
    lifted: str
    parameters: tuple[TypeParameter, ...]
    definition: TypeExp
    name_resolved: Name | None = checked()


@syntax_node
class ModuleDeclaration(Declaration):
    """`module m (p: S) : T = e`. *checked*: `bindings` as for an ascription, if T."""

    name: str
    parameters: tuple[ModuleParam, ...]
    signature: ModuleTypeExp | None
    value: ModuleExp
    bindings: Any = checked()


@syntax_node
class ModuleTypeDeclaration(Declaration):
    name: str
    value: ModuleTypeExp


@syntax_node
class Open(Declaration):
    value: ModuleExp


@syntax_node
class Import(Declaration):
    """`import "path"`. *checked*: the file it names."""

    path: str
    resolved: str | None = checked()


@syntax_node
class Local(Declaration):
    declaration: Declaration


# --- modules ----------------------------------------------------------------


@syntax_node
class ModuleParam(Node):
    """`(p: S)`. *checked*: what S asks for (`check.environment.Signature`)."""

    name: str
    signature: ModuleTypeExp
    checked_signature: Any = checked()


@syntax_node
class ModuleExp(Node):
    pass


@syntax_node
class ModuleRef(ModuleExp):
    name: QualName


@syntax_node
class ModuleParens(ModuleExp):
    inner: ModuleExp


@syntax_node
class ModuleImport(ModuleExp):
    path: str
    resolved: str | None = checked()


@syntax_node
class ModuleBody(ModuleExp):
    declarations: tuple[Declaration, ...]


@syntax_node
class ModuleApply(ModuleExp):
    """*checked*: `bindings`, which type each abstract type of the parameter's
    signature stands for, so that elaboration can instantiate the functor's body."""

    function: ModuleExp
    argument: ModuleExp
    bindings: Any = checked()


@syntax_node
class ModuleAscription(ModuleExp):
    """*checked*: `bindings` as for application, for the types made abstract."""

    inner: ModuleExp
    signature: ModuleTypeExp
    bindings: Any = checked()


@syntax_node
class ModuleLambda(ModuleExp):
    """*checked*: `bindings` as for an ascription, if there is a signature."""

    parameter: ModuleParam
    signature: ModuleTypeExp | None
    body: ModuleExp
    bindings: Any = checked()


@syntax_node
class ModuleTypeExp(Node):
    pass


@syntax_node
class ModuleTypeRef(ModuleTypeExp):
    name: QualName


@syntax_node
class ModuleTypeParens(ModuleTypeExp):
    inner: ModuleTypeExp


@syntax_node
class ModuleTypeWith(ModuleTypeExp):
    """`S with t 'a = u`."""

    signature: ModuleTypeExp
    name: QualName
    parameters: tuple[TypeParameter, ...]
    definition: TypeExp


@syntax_node
class ModuleTypeArrow(ModuleTypeExp):
    parameter: str | None
    argument: ModuleTypeExp
    result: ModuleTypeExp


@syntax_node
class ModuleTypeBody(ModuleTypeExp):
    specs: tuple[Spec, ...]


@syntax_node
class Spec(Node):
    attributes: tuple[Attribute, ...] = field(default=(), kw_only=True)


@syntax_node
class ValueSpec(Spec):
    """`val f [n] 't : type`."""

    name: str
    type_parameters: tuple[TypeParameter, ...]
    type: TypeExp
    name_resolved: Name | None = checked()


@syntax_node
class TypeSpec(Spec):
    """`type t`, `type~ t [n] 'a`: abstract."""

    name: str
    lifted: str
    parameters: tuple[TypeParameter, ...]
    name_resolved: Name | None = checked()


@syntax_node
class TypeAbbreviationSpec(Spec):
    """`type t = u`."""

    declaration: TypeDeclaration


@syntax_node
class ModuleSpec(Spec):
    name: str
    signature: ModuleTypeExp


@syntax_node
class IncludeSpec(Spec):
    signature: ModuleTypeExp


@syntax_node
class Program(Node):
    """A file."""

    declarations: tuple[Declaration, ...]
    doc: str | None = None
