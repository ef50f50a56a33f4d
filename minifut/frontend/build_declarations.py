"""Parser actions for declarations, modules and module types.

An action that is a class makes such a node of its parts, see `build_lists.node`.
"""

from __future__ import annotations

import re
from typing import Any

from minifut.errors import Location
from minifut.frontend import literals, syntax
from minifut.frontend.build_lists import node, prepended
from minifut.frontend.syntax import Declaration, Program, Spec


def doc_text(comment: str) -> str:
    """A documentation comment without its marks."""
    first, newline, others = comment.partition("\n")
    others = re.sub(r"^[ \t\f\v]*-- ?", "", others, flags=re.MULTILINE)
    return re.sub(r"^-- \| ?", "", first).rstrip("\r") + newline + others


def program_documented(
    at: Location, doc: str, first: Declaration, others: list[Declaration]
) -> Program:
    return Program(at, (first, *others), doc_text(doc))


def program_all_documented(
    at: Location, doc: str, comment: str, first: Declaration, others: list[Declaration]
) -> Program:
    first.doc = doc_text(comment)
    return Program(at, (first, *others), doc_text(doc))


def documented_declaration(
    at: Location, comment: str, declaration: Declaration
) -> Declaration:
    declaration.doc = doc_text(comment)
    return declaration


def attributed(
    at: Location, attribute: syntax.Attribute, annotated: Declaration | Spec
) -> Declaration | Spec:
    annotated.attributes = (attribute, *annotated.attributes)
    return annotated


_value = node(syntax.ValueDeclaration)
_type = node(syntax.TypeDeclaration)

DECLARATIONS: dict[str, Any] = {
    "program_empty": lambda at: Program(at, ()),
    "program_plain": prepended(Program),
    "program_documented": program_documented,
    "program_all_documented": program_all_documented,
    "documented_declaration": documented_declaration,
    "value_declaration": lambda at, entry, *parts: _value(at, *parts, entry),
    "operator_declaration": lambda at, entry, left, name, right, result, body: _value(
        at, name, (), (left, right), result, body, entry
    ),
    "type_declaration": lambda at, lifted, name, *parts: _type(
        at, name, lifted, *parts
    ),
    "module_type_declaration": syntax.ModuleTypeDeclaration,
    "module_declaration": syntax.ModuleDeclaration,
    "open_declaration": syntax.Open,
    "import_declaration": lambda at, path: syntax.Import(at, literals.string(path, at)),
    "local_declaration": syntax.Local,
    "attributed_declaration": attributed,
    "module_ascription": syntax.ModuleAscription,
    "module_import": lambda at, path: syntax.ModuleImport(
        at, literals.string(path, at)
    ),
    "module_lambda": syntax.ModuleLambda,
    "module_apply": syntax.ModuleApply,
    "module_parens": syntax.ModuleParens,
    "module_reference": syntax.ModuleRef,
    "module_body": syntax.ModuleBody,
    "module_parameter": syntax.ModuleParam,
    "module_type_reference": syntax.ModuleTypeRef,
    "module_type_parens": syntax.ModuleTypeParens,
    "module_type_arrow": lambda at, argument, result: syntax.ModuleTypeArrow(
        at, None, argument, result
    ),
    "module_type_named_arrow": syntax.ModuleTypeArrow,
    "module_type_body": syntax.ModuleTypeBody,
    "module_type_with": syntax.ModuleTypeWith,
    "value_spec": syntax.ValueSpec,
    "type_abbreviation_spec": syntax.TypeAbbreviationSpec,
    "type_spec": lambda at, lifted, name, parameters: syntax.TypeSpec(
        at, name, lifted, tuple(parameters)
    ),
    "module_spec": syntax.ModuleSpec,
    "include_spec": syntax.IncludeSpec,
    "documented_spec": lambda at, comment, spec: spec,
    "attributed_spec": attributed,
}
