"""The prelude, made one definition at a time when a program first mentions it.

Operators and numeric modules come from tables (`builtins`); everything else is in
`frontend/prelude/*.fut`, of which only an index is made by a scan of the lines: each
definition begins with `def`, `val` or `module type` in the first column and ends before
the next one. A `def` is parsed and checked when it is first used, together with what it
uses; a `val` is an intrinsic: a signature without a body.
"""

from __future__ import annotations

import re
from functools import cache

from minifut.errors import Source
from minifut.frontend import syntax, types
from minifut.frontend.check import builtins
from minifut.frontend.check.environment import (
    CheckedModule,
    Checking,
    Scope,
    Signature,
    Structure,
    TypeBinding,
    abstract_type,
)
from minifut.frontend.types import Type
from minifut.ir.node import immutable
from minifut.names import Name
from minifut.resources import PACKAGE

_START = re.compile(
    r"^(?P<kind>def|val|module type)\s+(?:\((?P<symbol>[^)]+)\)|(?P<name>[\w']+))", re.M
)

_SPACES = {
    "numeric.fut": "numeric",
    "accumulators.fut": "member",
    "strided.fut": "member",
}
"""files whose definitions are not in scope: of numeric modules, of `intrinsics` only"""


@immutable
class PreludeText:
    """A definition in the prelude's files that has not been parsed."""

    kind: str
    name: str
    source: Source


@immutable
class PreludeValue:
    """A value of the prelude: `kind` is "intrinsic" or "definition"."""

    name: Name
    scheme: types.Scheme
    kind: str
    intrinsic: str | None = None
    declaration: syntax.ValueDeclaration | None = None


@cache
def index() -> dict[tuple[str, str], PreludeText]:
    """All definitions of the prelude's files by kind ("value", "module type",
    "numeric", "member") and name."""
    found: dict[tuple[str, str], PreludeText] = {}
    for entry in sorted((PACKAGE / "frontend" / "prelude").glob("*.fut")):
        text = entry.read_text(encoding="utf-8")
        starts = list(_START.finditer(text))
        for start, following in zip(starts, [*starts[1:], None], strict=True):
            end = following.start() if following else len(text)
            kind = start["kind"]
            name = (start["symbol"] or start["name"]).strip()
            line = text.count("\n", 0, start.start())
            source = Source(
                f"prelude/{entry.name}",
                "\n" * line + _without_comment(text[start.start() : end]),
            )
            space = "module type" if kind == "module type" else "value"
            space = _SPACES.get(entry.name, space)
            found[space, name] = PreludeText(kind, name, source)
    return found


def _without_comment(text: str) -> str:
    """Drop the comment lines that belong to the next definition."""
    lines = text.rstrip().split("\n")
    while lines and (lines[-1].startswith("--") or not lines[-1].strip()):
        lines.pop()
    return "\n".join(lines) + "\n"


class NumericModule(Structure):
    """`i32`, `f64`, ...: values are made when they are requested."""

    __slots__ = ("name", "prelude", "table")

    def __init__(self, name: str, prelude: Prelude) -> None:
        super().__init__()
        self.name = name
        self.prelude = prelude
        self.table = builtins.module_table(name)
        names = prelude.context.names
        scalar = types.Scalar(name)
        self.types["t"] = TypeBinding(names.fresh("t"), (), scalar, (), "")
        if name in builtins.FLOATS:
            bits = builtins.bits_type(name)
            self.types["int_t"] = TypeBinding(names.fresh("int_t"), (), bits, (), "")

    def value(self, name: str) -> Name | None:
        found = self.values.get(name)
        if found is not None:
            return found
        signature = self.table.get(name)
        if signature is not None:
            type_ = builtins.intrinsic_type(self.name, name, signature)
            scheme = types.Scheme((), type_)
            found = self.prelude.intrinsic(f"{self.name}.{name}", name, scheme)
        elif name in builtins.template_names(self.name):
            found = self.prelude.template(name, self.name)
        else:
            return None
        self.values[name] = found
        return found

    def complete(self) -> Structure:
        for name in (*self.table, *builtins.template_names(self.name)):
            self.value(name)
        return self


class Intrinsics(Structure):
    """The module `intrinsics`: the built-in operators, however shadowed, and what is
    in scope only as its members."""

    __slots__ = ("prelude",)

    def __init__(self, prelude: Prelude) -> None:
        super().__init__()
        self.prelude = prelude
        names = prelude.context.names
        element = ((names.fresh("t"), ""),)
        self.types["acc"] = abstract_type(names.fresh("acc"), element, "~")

    def value(self, name: str) -> Name | None:
        found = self.prelude.member(name) or self.prelude.term(name)
        return found if isinstance(found, Name) else None


class Prelude:
    """The part of the prelude that one program uses."""

    def __init__(self, context: Checking) -> None:
        self.context = context
        self.definitions: dict[Name, syntax.ValueDeclaration] = {}
        """checked definitions, each after those it uses"""
        self.intrinsics: dict[Name, str] = {}
        """values without a body: "+", "map", "f32.sqrt", ..."""
        self._values: dict[str, Name] = {}
        self._modules: dict[str, CheckedModule] = {}
        self._types: dict[str, TypeBinding] = {}
        self._signatures: dict[str, Signature] = {}

    # --- lookup -------------------------------------------------------------------

    def term(self, name: str) -> Name | CheckedModule | None:
        """A value or module, made now if it was not mentioned before."""
        found = self._values.get(name)
        if found is not None:
            return found
        if name in builtins.OPERATORS:
            found = self._operator(name)
        elif ("value", name) in index():
            found = self._from_text(index()["value", name])
        elif name in types.SCALAR_NAMES or name == "intrinsics":
            module = self._modules.get(name)
            if module is None:
                module = (
                    Intrinsics(self)
                    if name == "intrinsics"
                    else NumericModule(name, self)
                )
                self._modules[name] = module
            return module
        else:
            return None
        self._values[name] = found
        return found

    def member(self, name: str) -> Name | None:
        """A value that is in scope only as a member of `intrinsics`."""
        text = index().get(("member", name))
        if text is None:
            return None
        if name not in self._values:
            self._values[name] = self._from_text(text)
        return self._values[name]

    def type(self, name: str) -> TypeBinding | None:
        """A scalar type."""
        if name not in types.SCALAR_NAMES:
            return None
        found = self._types.get(name)
        if found is None:
            fresh = self.context.names.fresh(name)
            found = TypeBinding(fresh, (), types.Scalar(name), (), "")
            self._types[name] = found
        return found

    def signature(self, name: str) -> Signature | None:
        """A module type: `numeric`, `real`, ..."""
        found = self._signatures.get(name)
        if found is None and ("module type", name) in index():
            from minifut.frontend.check.signatures import evaluate_signature
            from minifut.frontend.parser import parse_program

            program = parse_program(index()["module type", name].source)
            declaration = program.declarations[0]
            assert isinstance(declaration, syntax.ModuleTypeDeclaration)
            found = evaluate_signature(self.context, Scope(self), declaration.value)
            self._signatures[name] = found
        return found

    def lookup_value(self, name: str) -> PreludeValue | None:
        """A value with its type, for those who do not check a program."""
        found = self.member(name) or self.term(name)
        if found is None or isinstance(found, Structure):
            return None
        assert not hasattr(found, "parameter")
        return self.describe(found)

    def describe(self, name: Name) -> PreludeValue:
        """What a value of the prelude is."""
        scheme = self.context.values[name]
        declaration = self.definitions.get(name)
        if declaration is not None:
            return PreludeValue(name, scheme, "definition", None, declaration)
        return PreludeValue(name, scheme, "intrinsic", self.intrinsics[name])

    def operator_symbol(self, name: Name) -> str | None:
        """The symbol of a built-in operator, if the name is that of one."""
        symbol = self.intrinsics.get(name)
        return symbol if symbol in builtins.OPERATORS else None

    def owns(self, name: Name) -> bool:
        """Is a value one of the prelude?"""
        return name in self.intrinsics or name in self.definitions

    def numeric_modules(self, name: str) -> tuple[str, ...]:
        """The most usual modules of numbers that have a value of this name."""
        return tuple(
            module
            for module in ("f32", "f64", "i32", "i64")
            if name in builtins.module_table(module)
            or name in builtins.template_names(module)
        )

    def listing(self) -> dict[str, None]:
        """The names of values, for hints."""
        names = [name for space, name in index() if space == "value"]
        return dict.fromkeys((*names, *types.SCALAR_NAMES))

    # --- making -------------------------------------------------------------------

    def intrinsic(self, key: str, base: str, scheme: types.Scheme) -> Name:
        """A value without a body."""
        name = self.context.names.fresh(base)
        self.context.values[name] = scheme
        self.intrinsics[name] = key
        return name

    def _operator(self, symbol: str) -> Name:
        kinds, signature = builtins.OPERATORS[symbol]
        parameter = self.context.names.fresh("t")
        letters: dict[str, Type] = {"t": types.Named(parameter), "b": types.BOOL}
        scheme = types.Scheme(
            ((parameter, ""),), builtins.from_letters(signature, letters)
        )
        if len(kinds) == 1:
            scheme = types.Scheme(
                (),
                types.Arrow(
                    None, types.BOOL, types.Arrow(None, types.BOOL, types.BOOL)
                ),
            )
        elif kinds:
            self.context.overloads[parameter] = kinds
        return self.intrinsic(symbol, symbol, scheme)

    def template(self, name: str, module: str) -> Name:
        """A definition of a numeric module, from its text for all such modules."""
        text = index()["numeric", name]
        is_float = module in builtins.FLOATS
        bits = builtins.bits_type(module).name if is_float else module
        written = text.source.text
        for placeholder, stands_for in (
            ("@to_bits", f"{module}.to_bits" if is_float else ""),
            ("@from_bits", f"{module}.from_bits" if is_float else ""),
            ("@bits", bits),
            ("@t", module),
        ):
            written = written.replace(placeholder, stands_for)
        source = Source(text.source.name, written)
        return self._from_text(PreludeText(text.kind, name, source))

    def _from_text(self, text: PreludeText) -> Name:
        from minifut.frontend.parser import parse_program

        scope = Scope(self)
        if text.kind == "def":
            from minifut.frontend.check.definitions import check_definition

            declaration = parse_program(text.source).declarations[0]
            assert isinstance(declaration, syntax.ValueDeclaration)
            name = check_definition(self.context, scope, declaration)
            self.definitions[name] = declaration
            return name
        from minifut.frontend.check.declared_types import value_spec_scheme

        # On one line with the text, so that positions stay right.
        lines = text.source.text.lstrip("\n")
        skipped = len(text.source.text) - len(lines)
        wrapped = "\n" * skipped + "module type s = { " + lines.rstrip() + "\n}\n"
        program = parse_program(Source(text.source.name, wrapped))
        declaration = program.declarations[0]
        assert isinstance(declaration, syntax.ModuleTypeDeclaration)
        body = declaration.value
        assert isinstance(body, syntax.ModuleTypeBody)
        spec = body.specs[0]
        assert isinstance(spec, syntax.ValueSpec)
        scheme = value_spec_scheme(self.context, scope, spec)
        return self.intrinsic(text.name, text.name, scheme)
