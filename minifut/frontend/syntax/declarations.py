"""Declarations, modules and module types."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from minifut.frontend.syntax.node import Node, checked, syntax_node

if TYPE_CHECKING:
    from minifut.frontend.syntax.expressions import Exp
    from minifut.frontend.syntax.node import Attribute, QualName
    from minifut.frontend.syntax.patterns import Pattern
    from minifut.frontend.syntax.types import TypeExp, TypeParameter
    from minifut.frontend.types import Type
    from minifut.names import Name


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


@syntax_node
class ModuleParam(Node):
    """`(p: S)`. *checked*: what S requires (`check.environment.Signature`)."""

    name: str
    signature: ModuleTypeExp


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
