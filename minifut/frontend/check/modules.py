"""Declarations and module expressions."""

from __future__ import annotations

from typing import Protocol

from minifut.errors import CompileError, Location, error
from minifut.frontend import syntax
from minifut.frontend.check import matching
from minifut.frontend.check.declared_types import type_declaration
from minifut.frontend.check.definitions import check_definition
from minifut.frontend.check.environment import (
    CheckedModule,
    Checking,
    Functor,
    Scope,
    Signature,
    Structure,
    TypeBinding,
)
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.recovery import Faults
from minifut.frontend.check.signatures import (
    copy_signature,
    duplicate,
    evaluate_signature,
    unapplied,
)
from minifut.frontend.check.type_substitution import Replacement
from minifut.frontend.types import Named, SizeVar
from minifut.names import Name


class Importer(Protocol):
    """Gives the contents of another file."""

    def __call__(self, path: str, location: Location) -> tuple[str, Structure]: ...


class Checker:
    """Checks the declarations of one file."""

    def __init__(self, context: Checking, scope: Scope, importer: Importer) -> None:
        self.context = context
        self.scope = scope
        self.importer = importer
        self.entries: list[syntax.ValueDeclaration] = []
        self.is_main = False
        self.depth = 0
        self._abstract: dict[Name, tuple[tuple[str, ...], str]] = {}
        """abstract types made so far in the module being checked"""

    # --- declarations -------------------------------------------------------------

    def program(self, declarations: tuple[syntax.Declaration, ...]) -> None:
        """Check the declarations of the main file, past those that have faults."""
        faults = Faults(self.context)
        faults.found += _duplicates(declarations)
        for declaration in declarations:
            if faults.is_lost or faults.depends(declaration):
                continue
            mark = self.scope.mark()
            try:
                self.scope.open(self.declaration(declaration))
                faults.passed(declaration)
            except CompileError as fault:
                self.scope.restore(mark)
                self.depth, self._abstract = 0, {}
                faults.add(declaration, fault)
        faults.report()

    def body(self, declarations: tuple[syntax.Declaration, ...]) -> Structure:
        """Check declarations in order; what they define for others."""
        for fault in _duplicates(declarations):
            raise fault
        structure = Structure()
        for declaration in declarations:
            defined = self.declaration(declaration)
            self.scope.open(defined)
            if not isinstance(declaration, (syntax.Local, syntax.Import)):
                structure.add(defined)
        return structure

    def declaration(self, node: syntax.Declaration) -> Structure:
        """Check one declaration; what it defines."""
        match node:
            case syntax.ValueDeclaration():
                return Structure(values={node.name: self._value(node)})
            case syntax.TypeDeclaration():
                binding = type_declaration(self.context, self.scope, node)
                return Structure(types={node.name: binding})
            case syntax.ModuleDeclaration():
                return Structure(modules={node.name: self._module(node)})
            case syntax.ModuleTypeDeclaration():
                signature = evaluate_signature(self.context, self.scope, node.value)
                return Structure(signatures={node.name: signature})
            case syntax.Open(location, value):
                found = self.expression(value)
                if not isinstance(found.module, Structure):
                    raise unapplied(location)
                return found.module.complete()
            case syntax.Import(location, path):
                node.resolved, structure = self.importer(path, location)
                return structure
            case syntax.Local(_, inner):
                return self.declaration(inner)
        raise AssertionError(node)

    def _value(self, node: syntax.ValueDeclaration) -> Name:
        if node.is_entry and self.depth:
            raise error(
                node.location,
                "Entry points may not be declared inside modules.",
                "nested-entry",
                "declare it with 'def' and call it from an entry outside",
            )
        if self.is_main and not self.depth and node.name == "main":
            node.is_entry = True
        name = check_definition(self.context, self.scope, node)
        self.context.consumption.check_definition(node)
        if node.is_entry:
            self.entries.append(node)
        return name

    def _module(self, node: syntax.ModuleDeclaration) -> CheckedModule:
        mark = self.scope.mark()
        parameters = [self._parameter(p) for p in node.parameters]
        self.depth += 1
        found, node.bindings = self._ascribed(
            node.value, node.signature, node.location, bool(parameters)
        )
        self.depth -= 1
        self.scope.restore(mark)
        self.context.note_paths(node.name, found)
        for parameter in reversed(parameters):
            found = Signature({}, Functor(parameter, found, node.name))
        return found.module

    def _parameter(self, node: syntax.ModuleParam) -> Signature:
        signature = evaluate_signature(self.context, self.scope, node.signature)
        self.scope.bind_module(node.name, signature.module)
        self.context.note_paths(node.name, signature)
        return signature

    def _ascribed(
        self,
        value: syntax.ModuleExp,
        signature: syntax.ModuleTypeExp | None,
        location: Location,
        in_functor: bool,
    ) -> tuple[Signature, matching.ModuleBindings | None]:
        before = dict(self._abstract)
        if in_functor:
            self._abstract = {}
        found = self.expression(value)
        bindings = None
        if signature is not None:
            wanted = evaluate_signature(self.context, self.scope, signature)
            bindings = matching.match_module(
                self.context, self.scope, found.module, wanted, location
            )
            found = wanted
        if in_functor:
            found = Signature({**self._abstract, **found.abstract}, found.module)
            self._abstract = before
        else:
            self._abstract.update(found.abstract)
        return found, bindings

    # --- module expressions -----------------------------------------------------------

    def expression(self, node: syntax.ModuleExp) -> Signature:
        """The contents of a module expression, and the abstract types it makes."""
        match node:
            case syntax.ModuleParens(_, inner):
                return self.expression(inner)
            case syntax.ModuleRef(location, name):
                inference = Inference(self.context, self.scope)
                if str(name) == "intrinsics":
                    raise error(
                        location,
                        "The 'intrinsics' module may not be used in module "
                        "expressions.",
                        "unknown-name",
                    )
                return Signature({}, inference.resolve_module(name))
            case syntax.ModuleImport(location, path):
                node.resolved, structure = self.importer(path, location)
                return Signature({}, structure)
            case syntax.ModuleBody(_, declarations):
                mark = self.scope.mark()
                self.depth += 1
                structure = self.body(declarations)
                self.depth -= 1
                self.scope.restore(mark)
                return Signature({}, structure)
            case syntax.ModuleAscription(location, inner, signature):
                found, node.bindings = self._ascribed(inner, signature, location, False)
                return found
            case syntax.ModuleLambda(location, parameter, signature, body):
                mark = self.scope.mark()
                taken = self._parameter(parameter)
                self.depth += 1
                found, node.bindings = self._ascribed(body, signature, location, True)
                self.depth -= 1
                self.scope.restore(mark)
                return Signature({}, Functor(taken, found))
            case syntax.ModuleApply():
                return self._apply(node)
        raise AssertionError(node)

    def _apply(self, node: syntax.ModuleApply) -> Signature:
        function = self.expression(node.function).module
        if not isinstance(function, Functor):
            raise error(
                node.location,
                "Cannot apply non-parametric module.",
                "module-is-parametric",
            )
        argument = self.expression(node.argument).module
        parameter = matching.match_module(
            self.context, self.scope, argument, function.parameter, node.location
        )
        mapping: dict[Name, Replacement] = dict(parameter.types)
        mapping.update({old: SizeVar(new) for old, new in parameter.values.items()})
        result, renamed = copy_signature(self.context, function.result, mapping)
        node.bindings = matching.FunctorBindings(
            parameter, *_result_bindings(function.result, renamed)
        )
        self._abstract.update(result.abstract)
        return result


def _result_bindings(
    signature: Signature, renamed: dict[Name, Name]
) -> tuple[matching.ModuleBindings, matching.ModuleBindings]:
    """What the new names of an application's result are in the functor's body; and,
    the other way round, what the names there are that functors in the result take."""
    from minifut.frontend.check.environment import abstract_type

    given, taken = matching.ModuleBindings(), matching.ModuleBindings()
    signatures = [(signature, given, taken)]
    while signatures:
        current, own, other = signatures.pop()
        declared: dict[Name, TypeBinding] = {}
        modules = [current.module]
        while modules:
            module = modules.pop()
            if isinstance(module, Functor):
                signatures.append((module.parameter, other, own))
                signatures.append((module.result, own, other))
                continue
            for binding in module.types.values():
                if isinstance(binding.type, Named):
                    declared[binding.type.name] = binding
            for old in module.values.values():
                if old in renamed:
                    name, meaning = _directed(old, renamed[old], own is taken)
                    own.values[name] = meaning
            modules += module.modules.values()
        for old, (_, lifted) in current.abstract.items():
            found = declared.get(old)
            parameters = found.parameters if found is not None else ()
            name, meaning = _directed(old, renamed[old], own is taken)
            own.types[name] = abstract_type(meaning, parameters, lifted)
    return given, taken


def _directed(old: Name, new: Name, is_taken: bool) -> tuple[Name, Name]:
    """Which name means which: what is given has new names for what is in the body, what
    is taken comes under new names."""
    return (old, new) if is_taken else (new, old)


def _duplicates(declarations: tuple[syntax.Declaration, ...]) -> list[CompileError]:
    found = []
    seen: dict[tuple[str, str], Location] = {}
    for node in declarations:
        match node:
            case syntax.ValueDeclaration():
                key = ("value", node.name)
            case syntax.ModuleDeclaration():
                key = ("value", node.name)
            case syntax.TypeDeclaration():
                key = ("type", node.name)
            case syntax.ModuleTypeDeclaration():
                key = ("module type", node.name)
            case _:
                continue
        before = seen.setdefault(key, node.location)
        if before is not node.location:
            found.append(duplicate(*key, node.location, before))
    return found
