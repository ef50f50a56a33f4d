"""Declarations and modules: structures, functors, signatures, `open` and `import`.

A functor's body is interpreted anew for each application. What an ascription hides is
left out of the module, so that opening it cannot shadow anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.errors import error
from minifut.frontend import syntax
from minifut.frontend.elaborate import expressions, free, sealed, variables
from minifut.frontend.elaborate.environment import (
    Deferred,
    ElaboratedFunctor,
    Environment,
    Module,
    SignatureTerm,
    Term,
    Thunk,
    TypeFunction,
)
from minifut.frontend.elaborate.values import Closure, Value

if TYPE_CHECKING:
    from minifut.frontend.check.matching import FunctorBindings, ModuleBindings
    from minifut.frontend.elaborate.work import Work
    from minifut.names import Name


class Modules:
    """Interprets declarations; `files` finds an imported file by its resolved path."""

    def __init__(
        self,
        work: Work,
        outermost: Environment,
        files: Callable[[str], syntax.Program | None],
    ) -> None:
        self.work = work
        self.outermost = outermost
        self.files = files
        self.imported: dict[str, Module] = {}
        self.entries: list[tuple[syntax.ValueDeclaration, Environment]] = []

    # --- declarations ---

    def declarations(
        self, declarations: Iterable[syntax.Declaration], env: Environment
    ) -> tuple[Environment, Module]:
        """The scope after them, and what they export."""
        exports = Module()
        for declaration in declarations:
            env = self.declaration(declaration, env, exports)
        return env, exports

    def declaration(
        self, declaration: syntax.Declaration, env: Environment, exports: Module
    ) -> Environment:
        """One of them; what it exports is added."""
        match declaration:
            case syntax.ValueDeclaration(name=name):
                before = env
                env = env.child() if env.is_bound(name) else env
                home = env if free.calls_itself(declaration) else before
                value = self.value(declaration, home)
                self._bind(name, declaration.name_resolved, value, env, exports)
            case syntax.ModuleDeclaration(name=name):
                module = self.module_declaration(declaration, env)
                env = env.child() if env.is_bound(name) else env
                env.terms[name] = exports.terms[name] = module
                self._share_names(module, env, exports)
            case syntax.ModuleTypeDeclaration(name=name, value=value_):
                env = env.child() if name in env.signatures else env
                env.signatures[name] = exports.signatures[name] = (value_, env)
            case syntax.Open(value=opened):
                module = self.structure(opened, env)
                env = env.child()
                open_module(module, env)
                open_module(module, exports)
            case syntax.Import(path=path, resolved=resolved):
                module = self.file(resolved or path, declaration)
                env = env.child()
                open_module(module, env)
            case syntax.Local(declaration=inner):
                env = self.declaration(inner, env, Module())
            case _:
                pass
        return env

    @staticmethod
    def _bind(
        name: str, resolved: Name | None, value: Term, env: Environment, exports: Module
    ) -> None:
        env.terms[name] = exports.terms[name] = value
        if resolved is not None:
            env.names[resolved] = exports.names[resolved] = value

    @staticmethod
    def _share_names(module: Term, env: Environment, exports: Module) -> None:
        """What types of a module stand for is known wherever it is."""
        if isinstance(module, Module):
            env.names.update(module.names)
            exports.names.update(module.names)

    def value(self, declaration: syntax.ValueDeclaration, env: Environment) -> Term:
        """A definition: code, or a constant evaluated when it is first used."""
        if declaration.is_entry:
            self.entries.append((declaration, env))
        closure = Closure(
            declaration.name,
            declaration.parameters,
            declaration.body,
            env,
            definition=declaration,
            sizes=tuple(
                p
                for p in declaration.type_parameters
                if isinstance(p, syntax.SizeParam)
            ),
            unsafe=any(a.name == "unsafe" for a in declaration.attributes),
        )
        if declaration.parameters or declaration.scheme_parameters:
            return closure
        return self.constant(declaration, env)

    def constant(self, declaration: syntax.ValueDeclaration, env: Environment) -> Term:
        """A definition without parameters, made once among the program's constants."""
        found: list[Value] = []

        def run() -> Value:
            if not found:
                work = self.work
                with work.at_top():
                    work.location = declaration.location
                    found.append(expressions.evaluate(declaration.body, env, work))
            return found[0]

        return Deferred(run)

    # --- modules ---

    def module_declaration(
        self, declaration: syntax.ModuleDeclaration, env: Environment
    ) -> Term:
        """`module m (p: S) : T = e`."""
        signature, bindings = declaration.signature, declaration.bindings
        if not declaration.parameters:
            return self.module(declaration.value, env, signature, bindings)
        first, *rest = declaration.parameters
        body = declaration.value
        for parameter in reversed(rest):
            body = syntax.ModuleLambda(body.location, parameter, signature, body)
            body.bindings = bindings
            signature = bindings = None
        return ElaboratedFunctor(first, signature, bindings, body, env)

    def module(
        self,
        exp: syntax.ModuleExp,
        env: Environment,
        signature: syntax.ModuleTypeExp | None = None,
        bindings: ModuleBindings | None = None,
    ) -> Term:
        """What a module expression stands for."""
        found = self._module(exp, env)
        if signature is not None and isinstance(found, Module):
            found = restrict(found, signature, env)
            bind_names(bindings, found.names, found, env)
        return found

    def _module(self, exp: syntax.ModuleExp, env: Environment) -> Term:
        match exp:
            case syntax.ModuleRef(name=name):
                return variables.lookup(name, env)
            case syntax.ModuleParens(inner=inner):
                return self._module(inner, env)
            case syntax.ModuleImport(path=path, resolved=resolved):
                return self.file(resolved or path, exp)
            case syntax.ModuleBody(declarations=declarations):
                return self.declarations(declarations, env.child())[1]
            case syntax.ModuleLambda(parameter=parameter, signature=signature):
                return ElaboratedFunctor(
                    parameter, signature, exp.bindings, exp.body, env
                )
            case syntax.ModuleAscription(inner=inner, signature=signature):
                return self.module(inner, env, signature, exp.bindings)
            case syntax.ModuleApply(function=function, argument=argument):
                functor = self._module(function, env)
                given = self._module(argument, env)
                return self.apply(exp, functor, given, env)
            case _:
                raise error(
                    exp.location, "this module is not supported", "not-supported"
                )

    def apply(
        self, exp: syntax.ModuleApply, functor: Term, given: Term, env: Environment
    ) -> Term:
        """A functor's body with its parameter bound to the argument."""
        if not isinstance(functor, ElaboratedFunctor):
            raise error(
                exp.location, "only parametric modules can be applied", "not-supported"
            )
        inner = functor.env.child()
        parameter = functor.parameter
        bindings: FunctorBindings = exp.bindings
        if isinstance(given, Module):
            whole, given = given, restrict(given, parameter.signature, functor.env)
            inner.names.update(given.names)
            # last: an argument that this functor made has the names of its parameter
            bind_names(bindings.parameter, inner.names, whole, env)
        inner.terms[parameter.name] = given
        for before in reversed(functor.renamed):
            bind_names(before.taken, inner.names, Module(), inner)
        result = self.module(functor.body, inner, functor.signature, functor.bindings)
        renamed = (*functor.renamed, bindings)
        if isinstance(result, Module):
            names = {**inner.names, **result.names}
            result = Module(result.terms, names, result.signatures)
            for each in renamed:
                bind_names(each.result, result.names, result, inner)
        return rename(result, renamed)

    def structure(self, exp: syntax.ModuleExp, env: Environment) -> Module:
        """A module that must not be parametric."""
        found = self.module(exp, env)
        if not isinstance(found, Module):
            raise error(
                exp.location, "a parametric module cannot be opened", "not-supported"
            )
        return found

    def file(self, path: str, where: syntax.Node) -> Module:
        """An imported file as a module."""
        if path not in self.imported:
            program = self.files(path)
            if program is None:
                raise error(where.location, f"cannot find the file {path}", "import")
            before, self.entries = self.entries, []
            _, exports = self.declarations(program.declarations, self.outermost.child())
            self.entries = before
            self.imported[path] = exports
        return self.imported[path]


def rename(term: Term, renamed: tuple[FunctorBindings, ...]) -> Term:
    """Parametric modules that come out of an application have its names, too."""
    match term:
        case ElaboratedFunctor():
            return replace(term, renamed=(*term.renamed, *renamed))
        case Module(terms, names, signatures):
            changed = {
                name: rename(inner, renamed)
                for name, inner in terms.items()
                if isinstance(inner, Module | ElaboratedFunctor)
            }
            return Module({**terms, **changed}, names, signatures)
        case _:
            return term


def open_module(module: Module, into: Environment | Module) -> None:
    """Bring all that a module exports into scope."""
    into.terms.update(module.terms)
    into.names.update(module.names)
    into.signatures.update(module.signatures)


def bind_names(
    bindings: ModuleBindings | None,
    names: dict[Name, object],
    module: Module,
    env: Environment,
) -> None:
    """Let the names of a module type stand for what they are in the module."""
    if bindings is None:
        return
    home = env.child()
    home.names = dict(module.names)
    for name, binding in bindings.types.items():
        names[name] = Thunk(TypeFunction(binding.parameters, binding.type), home)
    for name, inner in bindings.values.items():
        found = home.meaning(inner)
        if found is not None:
            names[name] = found


# --- signatures ----------------------------------------------------------------------


def restrict(
    module: Module, signature: syntax.ModuleTypeExp, env: Environment
) -> Module:
    """Only what the signature mentions."""
    result = Module(names=dict(module.names))
    _collect(module, signature, env, result)
    return result


def _collect(
    module: Module, signature: syntax.ModuleTypeExp, env: Environment, result: Module
) -> None:
    match signature:
        case syntax.ModuleTypeRef(name=name):
            found = find_signature(name, env)
            if found is None:
                result.terms.update(module.terms)
            else:
                _collect(module, found[0], found[1], result)
        case (
            syntax.ModuleTypeParens(inner=inner)
            | syntax.ModuleTypeWith(signature=inner)
        ):
            _collect(module, inner, env, result)
        case syntax.ModuleTypeBody(specs=specs):
            for spec in specs:
                _collect_spec(module, spec, env, result)
        case _:
            result.terms.update(module.terms)


def _collect_spec(
    module: Module, spec: syntax.Spec, env: Environment, result: Module
) -> None:
    match spec:
        case syntax.ValueSpec(name=name):
            value = module.terms.get(name)
            if value is not None:
                if spec.type.type is not None:
                    home = Environment()
                    home.names = result.names
                    value = sealed.seal(value, spec, home)
                result.terms[name] = value
                if spec.name_resolved is not None:
                    result.names[spec.name_resolved] = value
        case syntax.ModuleSpec(name=name, signature=signature):
            inner = module.terms.get(name)
            if isinstance(inner, Module):
                inner = restrict(inner, signature, env)
                result.names.update(inner.names)
            if inner is not None:
                result.terms[name] = inner
        case syntax.IncludeSpec(signature=signature):
            _collect(module, signature, env, result)


def find_signature(name: syntax.QualName, env: Environment) -> SignatureTerm | None:
    """A module type by its name; None for those of the prelude."""
    if not name.qualifiers:
        return env.signature(name.name)
    scope: Term | None = env.term(name.qualifiers[0])
    for qualifier in name.qualifiers[1:]:
        scope = scope.terms.get(qualifier) if isinstance(scope, Module) else None
    return scope.signatures.get(name.name) if isinstance(scope, Module) else None
