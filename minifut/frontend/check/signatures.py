"""Module types: evaluating them, copying them with new names, refining them."""

from __future__ import annotations

from collections.abc import Mapping

from minifut.errors import CompileError, Location, error
from minifut.frontend import syntax
from minifut.frontend.check import declared_types, hints
from minifut.frontend.check.environment import (
    CheckedModule,
    Checking,
    Functor,
    Scope,
    Signature,
    Structure,
    TypeBinding,
    abstract_type,
)
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.inference.type_expressions import RANK, bind_type_parameters
from minifut.frontend.check.messages import quote
from minifut.frontend.check.type_substitution import (
    Replacement,
    Replacements,
    replace_types,
)
from minifut.frontend.types import Named, Scheme, SizeVar
from minifut.names import Name


def evaluate_signature(
    context: Checking, scope: Scope, node: syntax.ModuleTypeExp
) -> Signature:
    """What a module type expression requires, under names of its own."""
    match node:
        case syntax.ModuleTypeParens(_, inner):
            return evaluate_signature(context, scope, inner)
        case syntax.ModuleTypeRef():
            found = resolve_signature(context, scope, node.name)
            return copy_signature(context, found, {})[0]
        case syntax.ModuleTypeBody(_, specs):
            mark = scope.mark()
            result = _specs(context, scope, specs)
            scope.restore(mark)
            return result
        case syntax.ModuleTypeWith():
            return _refine(context, scope, node)
        case syntax.ModuleTypeArrow(_, parameter, argument, result_node):
            taken = evaluate_signature(context, scope, argument)
            mark = scope.mark()
            if parameter is not None:
                scope.bind_module(parameter, taken.module)
            result = evaluate_signature(context, scope, result_node)
            scope.restore(mark)
            return Signature({}, Functor(taken, result))
    raise AssertionError(node)


def resolve_signature(
    context: Checking, scope: Scope, name: syntax.QualName
) -> Signature:
    """The module type that a qualified name stands for."""
    found: Signature | None
    if name.qualifiers:
        qualified = syntax.QualName(
            name.location, name.qualifiers[:-1], name.qualifiers[-1]
        )
        module = Inference(context, scope).resolve_module(qualified)
        found = (
            module.signatures.get(name.name) if isinstance(module, Structure) else None
        )
    else:
        found = scope.signature(name.name)
    if found is None:
        text = f"Unknown module type {quote(str(name))}"
        raise error(
            name.location,
            text,
            "unknown-name",
            hints.nearest(name.name, scope.signatures),
        )
    return found


def _specs(
    context: Checking, scope: Scope, specs: tuple[syntax.Spec, ...]
) -> Signature:
    structure = Structure()
    abstract: dict[Name, tuple[tuple[str, ...], str]] = {}
    seen: dict[tuple[str, str], Location] = {}

    def once(space: str, name: str, location: Location) -> None:
        before = seen.setdefault((space, name), location)
        if before is not location:
            raise duplicate(space, name, location, before)

    for spec in specs:
        match spec:
            case syntax.ValueSpec():
                once("value", spec.name, spec.location)
                scheme = declared_types.value_spec_scheme(context, scope, spec)
                name = context.names.fresh(spec.name)
                spec.name_resolved = name
                context.values[name] = scheme
                structure.values[spec.name] = name
                scope.bind_value(spec.name, name)
            case syntax.TypeAbbreviationSpec(_, declaration):
                once("type", declaration.name, spec.location)
                binding = declared_types.type_declaration(context, scope, declaration)
                structure.types[declaration.name] = binding
                scope.bind_type(declaration.name, binding)
            case syntax.TypeSpec():
                once("type", spec.name, spec.location)
                mark = scope.mark()
                inference = Inference(context, scope)
                parameters = bind_type_parameters(inference, spec.parameters)
                scope.restore(mark)
                name = context.names.fresh(spec.name)
                spec.name_resolved = name
                binding = abstract_type(name, parameters, spec.lifted)
                abstract[name] = ((spec.name,), spec.lifted)
                structure.types[spec.name] = binding
                scope.bind_type(spec.name, binding)
            case syntax.ModuleSpec():
                once("value", spec.name, spec.location)
                inner = evaluate_signature(context, scope, spec.signature)
                for name, (path, lifted) in inner.abstract.items():
                    abstract[name] = ((spec.name, *path), lifted)
                structure.modules[spec.name] = inner.module
                scope.bind_module(spec.name, inner.module)
            case syntax.IncludeSpec(location, included_node):
                included = evaluate_signature(context, scope, included_node)
                if not isinstance(included.module, Structure):
                    raise unapplied(location)
                for written in included.module.types:
                    if written in structure.types:
                        context.warn(
                            location, f"Inclusion shadows type {quote(written)}."
                        )
                structure.add(included.module)
                abstract.update(included.abstract)
                scope.open(included.module)
    return Signature(abstract, structure)


def duplicate(
    space: str, name: str, location: Location, before: Location
) -> CompileError:
    """The error for two definitions of one name."""
    return error(
        location,
        f"Duplicate definition of {space} {name}.\nPreviously defined at "
        f"{before.source.name}:{before.line}:{before.column}.",
        "duplicate-definition",
    )


def unapplied(location: Location) -> Exception:
    """The error for a parametric module where a plain one is needed."""
    return error(
        location,
        "Cannot use parametric module here: it must be applied to an argument first.",
        "module-is-parametric",
    )


# --- copies --------------------------------------------------------------------


def copy_signature(
    context: Checking, signature: Signature, mapping: Mapping[Name, Replacement]
) -> tuple[Signature, dict[Name, Name]]:
    """The same with new names for all it binds; old names to new ones."""
    renamed: dict[Name, Name] = {}
    whole: dict[Name, Replacement] = dict(mapping)
    _rename(context, signature, renamed, whole)
    return _copy(context, signature, renamed, Replacements(whole)), renamed


def _rename(
    context: Checking,
    signature: Signature,
    renamed: dict[Name, Name],
    mapping: dict[Name, Replacement],
) -> None:
    structures = [signature.module]
    bindings: dict[Name, TypeBinding] = {}
    while structures:
        module = structures.pop()
        if isinstance(module, Functor):
            _rename(context, module.parameter, renamed, mapping)
            _rename(context, module.result, renamed, mapping)
            continue
        if type(module) is not Structure:
            continue  # a module of the prelude stays as it is
        for binding in module.types.values():
            if isinstance(binding.type, Named) and binding.type.name == binding.name:
                bindings[binding.name] = binding
        for name in module.values.values():
            if name not in renamed:
                renamed[name] = context.names.like(name)
                mapping[name] = SizeVar(renamed[name])
        structures += module.modules.values()
    for name, (_, lifted) in signature.abstract.items():
        if name not in renamed:
            fresh = context.names.like(name)
            renamed[name] = fresh
            found = bindings.get(name)
            parameters = found.parameters if found is not None else ()
            mapping[name] = abstract_type(fresh, parameters, lifted)


def _copy(
    context: Checking,
    signature: Signature,
    renamed: Mapping[Name, Name],
    mapping: Mapping[Name, Replacement],
) -> Signature:
    abstract = {
        renamed.get(name, name): place for name, place in signature.abstract.items()
    }
    return Signature(abstract, copy_module(context, signature.module, renamed, mapping))


def copy_module(
    context: Checking,
    module: CheckedModule,
    renamed: Mapping[Name, Name],
    mapping: Mapping[Name, Replacement],
) -> CheckedModule:
    """A module with values under new names and types replaced."""
    if isinstance(module, Functor):
        return Functor(
            _copy(context, module.parameter, renamed, mapping),
            _copy(context, module.result, renamed, mapping),
            module.name,
        )
    if type(module) is not Structure:
        return module
    done = Structure(signatures=dict(module.signatures))
    for written, name in module.values.items():
        fresh = renamed.get(name, name)
        if fresh is not name or name not in context.values:
            context.values[fresh] = copy_scheme(context, context.values[name], mapping)
        done.values[written] = fresh
    for written, binding in module.types.items():
        copied = copy_binding(context, binding, mapping)
        copied.name = renamed.get(binding.name, binding.name)
        done.types[written] = copied
    for written, inner in module.modules.items():
        done.modules[written] = copy_module(context, inner, renamed, mapping)
    return done


def copy_scheme(
    context: Checking, scheme: Scheme, mapping: Mapping[Name, Replacement]
) -> Scheme:
    """A type scheme with types replaced."""
    type_, exts = replace_types(context.names, scheme.type, mapping)
    more = tuple((e, "size") for e in exts)
    return Scheme((*scheme.parameters, *more), type_)


def copy_binding(
    context: Checking, binding: TypeBinding, mapping: Mapping[Name, Replacement]
) -> TypeBinding:
    """A type abbreviation with types replaced."""
    type_, exts = replace_types(context.names, binding.type, mapping)
    return TypeBinding(
        binding.name, binding.parameters, type_, (*binding.exts, *exts), binding.lifted
    )


# --- refinement ------------------------------------------------------------------


def _refine(context: Checking, scope: Scope, node: syntax.ModuleTypeWith) -> Signature:
    signature = evaluate_signature(context, scope, node.signature)
    if not isinstance(signature.module, Structure):
        raise unapplied(node.location)
    parameters, type_, exts, lifted = declared_types.evaluate_type(
        context, scope, node.parameters, node.definition
    )
    module: CheckedModule = signature.module
    for part in node.name.qualifiers:
        inner = module.modules.get(part) if isinstance(module, Structure) else None
        module = inner if inner is not None else Structure()
    found = module.types.get(node.name.name) if isinstance(module, Structure) else None
    abstract = found.type.name if found and isinstance(found.type, Named) else None
    if found is None or abstract not in signature.abstract:
        raise error(
            node.location,
            f"{quote(str(node.name))} is not an abstract type in the module type.",
            "not-abstract",
        )
    kinds = [kind for _, kind in parameters]
    wanted = [kind for _, kind in found.parameters]
    if len(kinds) != len(wanted) or any(
        (a == "size") != (b == "size") or (a != "size" and RANK[b] > RANK[a])
        for a, b in zip(kinds, wanted, strict=True)
    ):
        raise error(
            node.location,
            f"Cannot refine a type having {_listing(found.parameters)} with a type "
            f"having {_listing(parameters)}.",
            "not-abstract",
        )
    binding = TypeBinding(found.name, parameters, type_, exts, lifted)
    mapping: dict[Name, Replacement] = {abstract: binding}
    renamed: dict[Name, Name] = {}
    kept = {n: place for n, place in signature.abstract.items() if n != abstract}
    copied = Signature(kept, signature.module)
    _rename(context, copied, renamed, mapping)
    return _copy(context, copied, renamed, Replacements(mapping))


def _listing(parameters: tuple[tuple[Name, str], ...]) -> str:
    if not parameters:
        return "no type parameters"
    shown = (f"[{p.base}]" if k == "size" else f"'{k}{p.base}" for p, k in parameters)
    return f"type parameters {' '.join(shown)}"
