"""Parser actions for declarations, modules and module types."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from minifut.errors import Location
from minifut.frontend import literals
from minifut.frontend.syntax import (
    Attribute,
    Declaration,
    Exp,
    Import,
    IncludeSpec,
    Local,
    ModuleApply,
    ModuleAscription,
    ModuleBody,
    ModuleDeclaration,
    ModuleExp,
    ModuleImport,
    ModuleLambda,
    ModuleParam,
    ModuleParens,
    ModuleRef,
    ModuleSpec,
    ModuleTypeArrow,
    ModuleTypeBody,
    ModuleTypeDeclaration,
    ModuleTypeExp,
    ModuleTypeParens,
    ModuleTypeRef,
    ModuleTypeWith,
    Open,
    Pattern,
    Program,
    QualName,
    Spec,
    TypeAbbreviationSpec,
    TypeDeclaration,
    TypeExp,
    TypeParameter,
    TypeSpec,
    ValueDeclaration,
    ValueSpec,
)

At: TypeAlias = Location


def doc_text(comment: str) -> str:
    """A documentation comment without its marks."""
    first, newline, others = comment.partition("\n")
    others = re.sub(r"^[ \t\f\v]*-- ?", "", others, flags=re.MULTILINE)
    return re.sub(r"^-- \| ?", "", first).rstrip("\r") + newline + others


# --- programs ---------------------------------------------------------------


def program_plain(at: At, first: Declaration, others: list[Declaration]) -> Program:
    return Program(at, (first, *others))


def program_documented(
    at: At, doc: str, first: Declaration, others: list[Declaration]
) -> Program:
    return Program(at, (first, *others), doc_text(doc))


def program_all_documented(
    at: At, doc: str, comment: str, first: Declaration, others: list[Declaration]
) -> Program:
    first.doc = doc_text(comment)
    return Program(at, (first, *others), doc_text(doc))


def documented_declaration(
    at: At, comment: str, declaration: Declaration
) -> Declaration:
    declaration.doc = doc_text(comment)
    return declaration


def attributed(
    at: At, attribute: Attribute, annotated: Declaration | Spec
) -> Declaration | Spec:
    annotated.attributes = (attribute, *annotated.attributes)
    return annotated


# --- declarations -----------------------------------------------------------


def value_declaration(
    at: At,
    is_entry: bool,
    name: str,
    type_parameters: list[TypeParameter],
    parameters: list[Pattern],
    result: TypeExp | None,
    body: Exp,
) -> ValueDeclaration:
    return ValueDeclaration(
        at, name, tuple(type_parameters), tuple(parameters), result, body, is_entry
    )


def operator_declaration(
    at: At,
    is_entry: bool,
    left: Pattern,
    name: str,
    right: Pattern,
    result: TypeExp | None,
    body: Exp,
) -> ValueDeclaration:
    return ValueDeclaration(at, name, (), (left, right), result, body, is_entry)


def type_declaration(
    at: At,
    lifted: str,
    name: str,
    parameters: list[TypeParameter],
    definition: TypeExp,
) -> TypeDeclaration:
    return TypeDeclaration(at, name, lifted, tuple(parameters), definition)


def module_declaration(
    at: At,
    name: str,
    parameters: list[ModuleParam],
    signature: ModuleTypeExp | None,
    value: ModuleExp,
) -> ModuleDeclaration:
    return ModuleDeclaration(at, name, tuple(parameters), signature, value)


def import_declaration(at: At, path: str) -> Import:
    return Import(at, literals.string(path, at))


# --- modules ----------------------------------------------------------------


def module_import(at: At, path: str) -> ModuleImport:
    return ModuleImport(at, literals.string(path, at))


def module_body(at: At, declarations: list[Declaration]) -> ModuleBody:
    return ModuleBody(at, tuple(declarations))


def module_type_with(
    at: At,
    signature: ModuleTypeExp,
    name: QualName,
    parameters: list[TypeParameter],
    definition: TypeExp,
) -> ModuleTypeWith:
    return ModuleTypeWith(at, signature, name, tuple(parameters), definition)


def module_type_body(at: At, specs: list[Spec]) -> ModuleTypeBody:
    return ModuleTypeBody(at, tuple(specs))


def module_type_arrow(
    at: At, argument: ModuleTypeExp, result: ModuleTypeExp
) -> ModuleTypeArrow:
    return ModuleTypeArrow(at, None, argument, result)


# --- module types -----------------------------------------------------------


def value_spec(
    at: At, name: str, type_parameters: list[TypeParameter], type_exp: TypeExp
) -> ValueSpec:
    return ValueSpec(at, name, tuple(type_parameters), type_exp)


def type_spec(
    at: At, lifted: str, name: str, parameters: list[TypeParameter]
) -> TypeSpec:
    return TypeSpec(at, name, lifted, tuple(parameters))


DECLARATIONS: dict[str, Any] = {
    "program_empty": lambda at: Program(at, ()),
    "program_plain": program_plain,
    "program_documented": program_documented,
    "program_all_documented": program_all_documented,
    "documented_declaration": documented_declaration,
    "value_declaration": value_declaration,
    "operator_declaration": operator_declaration,
    "type_declaration": type_declaration,
    "module_type_declaration": ModuleTypeDeclaration,
    "module_declaration": module_declaration,
    "open_declaration": Open,
    "import_declaration": import_declaration,
    "local_declaration": Local,
    "attributed_declaration": attributed,
    "module_ascription": ModuleAscription,
    "module_import": module_import,
    "module_lambda": ModuleLambda,
    "module_apply": ModuleApply,
    "module_parens": ModuleParens,
    "module_reference": ModuleRef,
    "module_body": module_body,
    "module_parameter": ModuleParam,
    "module_type_reference": ModuleTypeRef,
    "module_type_parens": ModuleTypeParens,
    "module_type_arrow": module_type_arrow,
    "module_type_named_arrow": ModuleTypeArrow,
    "module_type_body": module_type_body,
    "module_type_with": module_type_with,
    "value_spec": value_spec,
    "type_abbreviation_spec": TypeAbbreviationSpec,
    "type_spec": type_spec,
    "module_spec": ModuleSpec,
    "include_spec": IncludeSpec,
    "documented_spec": lambda at, comment, spec: spec,
    "attributed_spec": attributed,
}
