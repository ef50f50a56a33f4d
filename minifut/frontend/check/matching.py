"""Does a module implement a module type?

Abstract types are matched first; with what they stand for put in, every value must be
at least as general as its specification. The result says what each name of the
specification stands for in the module, as elaboration needs it.
"""

from __future__ import annotations

from dataclasses import field

from minifut.errors import CompileError, Location, error
from minifut.frontend.check.environment import (
    CheckedModule,
    Checking,
    Functor,
    Parameters,
    Scope,
    Signature,
    Structure,
    TypeBinding,
    abstract_type,
    parameters_of,
)
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.inference.type_expressions import RANK
from minifut.frontend.check.messages import Mismatch, Shown, quote, show
from minifut.frontend.check.restrictions import check_instantiation
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unify import unify
from minifut.frontend.check.sizing.unknowns import Usage
from minifut.frontend.check.solver import Free
from minifut.frontend.check.type_substitution import (
    Replacement,
    Replacements,
    apply_binding,
    replace_types,
)
from minifut.frontend.check.witnesses import witnessed
from minifut.frontend.types import (
    Named,
    Scheme,
    Size,
    SizeVar,
    Type,
    has_unique,
    substitute,
)
from minifut.ir.node import mutable
from minifut.names import Name


@mutable
class ModuleBindings:
    """What the names of a module type stand for in a module.

    `types`: each abstract type with the type it is there (a type constructor, as it may
    have parameters). `values`: each value's name with the value's name there; a size
    that mentions the former means the latter. Submodules are included.
    """

    types: dict[Name, TypeBinding] = field(default_factory=dict)
    values: dict[Name, Name] = field(default_factory=dict)


@mutable
class FunctorBindings:
    """For the application of a parametric module: `parameter` says what the names of
    its parameter stand for in the argument, `result` what the new names of the result
    stand for in the body, and `taken` what the names in the body stand for that
    parametric modules in the result take."""

    parameter: ModuleBindings
    result: ModuleBindings
    taken: ModuleBindings


def match_module(
    context: Checking,
    scope: Scope,
    module: CheckedModule,
    signature: Signature,
    location: Location,
) -> ModuleBindings:
    """Check a module against a module type."""
    matcher = _Matcher(context, scope, location)
    matcher.signature(module, signature, {}, ())
    return matcher.bindings


class _Matcher:
    def __init__(self, context: Checking, scope: Scope, location: Location) -> None:
        self.context = context
        self.scope = scope
        self.location = location
        self.bindings = ModuleBindings()

    def fail(self, message: str, anchor: str = "module-mismatch") -> Exception:
        return error(self.location, message, anchor)

    def signature(
        self,
        module: CheckedModule,
        signature: Signature,
        mapping: dict[Name, Replacement],
        path: tuple[str, ...],
    ) -> None:
        found = self._abstract_types(module, signature)
        whole = {**mapping, **found}
        self._collect_values(module, signature.module, whole)
        self.bindings.types.update(found)
        known = Replacements(whole)
        self.module(module, signature.module, known, path, set(found))

    def _collect_values(
        self,
        module: CheckedModule,
        wanted: CheckedModule,
        sizes: dict[Name, Replacement],
    ) -> None:
        """Sizes may mention values of any part of the signature."""
        if not isinstance(module, Structure) or not isinstance(wanted, Structure):
            return
        for written, name in wanted.values.items():
            found = module.value(written)
            if found is not None:
                self.bindings.values[name] = found
                sizes[name] = SizeVar(found)
        for written, inner in wanted.modules.items():
            sub = module.modules.get(written)
            if sub is not None:
                self._collect_values(sub, inner, sizes)

    def _abstract_types(
        self, module: CheckedModule, signature: Signature
    ) -> dict[Name, TypeBinding]:
        found = {}
        for name, (place, lifted) in signature.abstract.items():
            inner: CheckedModule | None = module
            for part in place[:-1]:
                inner = (
                    inner.modules.get(part) if isinstance(inner, Structure) else None
                )
            binding = (
                inner.types.get(place[-1]) if isinstance(inner, Structure) else None
            )
            if binding is None:
                if isinstance(module, Functor):
                    break
                text = f"Module does not define a type named {quote('.'.join(place))}."
                raise self.fail(text)
            shown = show_binding(".".join(place), binding)
            if RANK[binding.lifted] > RANK[lifted]:
                kind = {"": "a non-lifted", "~": "a size-lifted", "^": "a lifted"}
                raise self.fail(
                    f"Module defines\n  {shown}\nbut module type requires "
                    f"{kind[lifted]} type."
                )
            if not lifted and binding.exts:
                raise self.fail(
                    f"Module defines\n  {shown}\nwhich contains anonymous sizes, but "
                    "module type requires non-lifted type."
                )
            found[name] = binding
            wanted = self._parameters(signature.module, place)
            if [k == "size" for _, k in wanted] != [
                k == "size" for _, k in binding.parameters
            ]:
                spec = abstract_type(name, wanted, lifted)
                raise self.fail(
                    f"Module defines\n  {shown}\nbut module type requires\n"
                    f"  {show_binding('.'.join(place), spec)}"
                )
        return found

    def _parameters(self, module: CheckedModule, place: tuple[str, ...]) -> Parameters:
        for part in place[:-1]:
            assert isinstance(module, Structure)
            module = module.modules[part]
        assert isinstance(module, Structure)
        return module.types[place[-1]].parameters

    def module(
        self,
        module: CheckedModule,
        wanted: CheckedModule,
        mapping: dict[Name, Replacement],
        path: tuple[str, ...],
        abstract: set[Name],
    ) -> None:
        if isinstance(module, Functor) and isinstance(wanted, Functor):
            self._functor(module, wanted, mapping, path)
        elif isinstance(module, Functor):
            raise self.fail(
                "Cannot match parametric module with non-parametric module type."
            )
        elif isinstance(wanted, Functor):
            raise self.fail(
                "Cannot match non-parametric module with parametric module type."
            )
        else:
            self._structure(module, wanted, mapping, path, abstract)

    def _functor(
        self,
        module: Functor,
        wanted: Functor,
        mapping: dict[Name, Replacement],
        path: tuple[str, ...],
    ) -> None:
        # The module must take what the specification says is given, and give what it
        # says is taken.
        inner = _Matcher(self.context, self.scope, self.location)
        inner.signature(wanted.parameter.module, module.parameter, {}, path)
        given = {**mapping, **inner.bindings.types}
        given |= {old: SizeVar(new) for old, new in inner.bindings.values.items()}
        back = self._abstract_types(module.parameter.module, wanted.parameter)
        from minifut.frontend.check.signatures import copy_signature

        result, _ = copy_signature(
            self.context,
            module.result,
            {n: t for n, t in given.items() if n not in back},
        )
        self.signature(result.module, wanted.result, mapping, path)

    def _structure(
        self,
        module: Structure,
        wanted: Structure,
        mapping: dict[Name, Replacement],
        path: tuple[str, ...],
        abstract: set[Name],
    ) -> None:
        for written, spec in wanted.types.items():
            binding = module.types.get(written)
            if binding is None:
                text = f"Module does not define a type named {quote(written)}."
                raise self.fail(text)
            self._type(written, spec, binding, mapping, path, abstract)
        for written, name in wanted.values.items():
            found = self.bindings.values.get(name)
            if found is None:
                text = f"Module does not define a value named {quote(written)}."
                raise self.fail(text)
            self._value(written, name, found, mapping, path)
        for written, inner in wanted.modules.items():
            sub = module.modules.get(written)
            if sub is None:
                text = f"Module does not define a module named {quote(written)}."
                raise self.fail(text)
            self.module(sub, inner, mapping, (*path, written), abstract)

    def _type(
        self,
        written: str,
        spec: TypeBinding,
        binding: TypeBinding,
        mapping: dict[Name, Replacement],
        path: tuple[str, ...],
        abstract: set[Name],
    ) -> None:
        shown = ".".join((*path, written))
        wanted, exts = replace_types(self.context.names, spec.type, mapping)
        spec_now = TypeBinding(
            spec.name, spec.parameters, wanted, (*spec.exts, *exts), spec.lifted
        )
        problem = self.fail(
            f"Module defines\n  {show_binding(shown, binding)}\nbut module type "
            f"requires\n  {show_binding(shown, spec_now)}"
        )
        kinds = [k == "size" for _, k in spec.parameters]
        if kinds != [k == "size" for _, k in binding.parameters]:
            raise problem
        is_abstract = isinstance(spec.type, Named) and spec.type.name in abstract
        if is_abstract:
            found = witnessed(binding.type)
            for name, kind in binding.parameters:
                if kind == "size" and name not in found:
                    raise self.fail(
                        f"Type\n  {show_binding(shown, binding)}\ncannot be made "
                        f"abstract because size parameter {quote(name.base)} is not "
                        "used constructively as an array size in the definition."
                    )
        arguments: tuple[Type | Size, ...] = tuple(
            SizeVar(p) if kind == "size" else Named(p, (), kind)
            for p, kind in spec.parameters
        )
        given, given_exts = apply_binding(self.context.names, binding, arguments)
        scheme = Scheme(tuple((e, "size") for e in given_exts), given)
        try:
            self._unify(spec.parameters, wanted, scheme)
        except Mismatch:
            raise problem from None

    def _value(
        self,
        written: str,
        name: Name,
        found: Name,
        mapping: dict[Name, Replacement],
        path: tuple[str, ...],
    ) -> None:
        spec = self.context.values[name]
        type_, exts = replace_types(self.context.names, spec.type, mapping)
        if set(exts) & witnessed(type_):
            raise self.fail(
                f"Type substitution in {quote(written)} results in a top-level size."
            )
        parameters = (*spec.parameters, *((e, "size") for e in exts))
        scheme = self.context.values[found]
        try:
            self._unify(parameters, type_, scheme)
            self._freshness(type_, found, scheme)
        except (Mismatch, CompileError) as fault:
            shown = ".".join((*path, written))
            details = fault.details() if isinstance(fault, Mismatch) else fault.message
            raise self.fail(
                "Module type specifies\n  "
                f"{show_value(shown, Scheme(parameters, type_))}\n"
                f"but module provides\n  {show_value(shown, scheme)}"
                + (f"\n{details}" if details else "")
            ) from None

    def _freshness(self, wanted: Type, found: Name, scheme: Scheme) -> None:
        """A result promised to alias nothing (`*`) must not."""
        given = self.context.consumption.state.inferred.get(found, scheme.type)
        promised = parameters_of(wanted)[1]
        result = parameters_of(given)[1]
        if has_unique(promised) and not has_unique(result):
            note = (
                f"Return types\n  {show(promised)}\nand\n  {show(result)}\n"
                "have incompatible uniqueness."
            )
            raise Mismatch(wanted, given, (), note)

    def _unify(
        self, rigid: tuple[tuple[Name, str], ...], wanted: Type, scheme: Scheme
    ) -> None:
        """The scheme must have the wanted type as an instance."""
        if wanted == scheme.type and not scheme.parameters:
            return
        inference = Inference(self.context, self.scope)
        mapping: dict[Name, Type | Size] = {}
        metas = {}
        for name, kind in scheme.parameters:
            if kind != "size":
                metas[name] = inference.solver.fresh(Free(kind), 1, self.location)
        typed = substitute(scheme.type, metas) if metas else scheme.type
        inference.solver.unify(wanted, typed)
        state = Sizing(self.context, inference)
        for name, kind in rigid:
            if kind == "size":
                state.bind_size_like(name, None)
        state.level = 1
        for name, kind in scheme.parameters:
            if kind == "size":
                mapping[name] = state.fresh(self.location, None, name.base)
            else:
                type_ = inference.finish(metas[name])
                check_instantiation(self.location, name.base, kind, type_)
                mapping[name] = state.freshen(type_, self.location)
        given = substitute(scheme.type, mapping) if mapping else scheme.type
        unify(state, Usage(None, self.location), wanted, given)


def show_binding(name: str, binding: TypeBinding) -> str:
    """`type t 'a = ...` as the user would write it."""
    shown = Shown()
    head = f"type{binding.lifted} {name}{_show_parameters(binding.parameters, shown)}"
    if isinstance(binding.type, Named) and binding.type.name == binding.name:
        return head
    exts = "".join(f"[{shown.name(e).base}]" for e in binding.exts)
    whole = show(binding.type, shown=shown)
    return f"{head} = {f'?{exts}.' if exts else ''}{whole}"


def show_value(name: str, scheme: Scheme) -> str:
    """`val f [n] 'a : ...` as the user would write it."""
    shown = Shown()
    head = f"val {name}{_show_parameters(scheme.parameters, shown)}"
    return f"{head} : {show(scheme.type, shown=shown)}"


def _show_parameters(parameters: Parameters, shown: Shown) -> str:
    return "".join(
        f" [{shown.name(p).base}]" if kind == "size" else f" '{kind}{p.base}"
        for p, kind in parameters
    )
